"""The runner of golden files: what agrees, what differs, and files of other makes of the same format."""

import json
from pathlib import Path

import pytest
from parity import golden

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
ROWS = [{"group": "g", "reward": reward} for reward in (1.0, 0.0, 0.0, 1.0)]
# That is (1 - 0.5) / (sqrt(1/3) + 1e-6).
HIGH = 0.5 / (3**-0.5 + 1e-6)
CASE = {
    "framework": "verl",
    "version": "0.9.1",
    "estimator": "grpo",
    "settings": {},
    "rows": ROWS,
    "expected": [HIGH, -HIGH, -HIGH, HIGH],
}


def run(tmp_path, capsys, *cases):
    path = tmp_path / "golden.jsonl"
    path.write_text("".join(json.dumps(case) + "\n" for case in cases))
    code = golden.main([str(path)])
    return code, capsys.readouterr().out.splitlines()


def test_cases_that_agree(tmp_path, capsys):
    code, lines = run(
        tmp_path,
        capsys,
        CASE,
        {**CASE, "settings": {"norm_adv_by_std_in_grpo": False}, "expected": [0.5, -0.5, -0.5, 0.5]},
    )
    assert code == 0
    assert lines[1].split()[:5] == ["verl", "grpo", "2", "of", "2"]
    assert lines[-1] == "agree 2 of 2"


@pytest.mark.parametrize(
    "change",
    [
        {"expected": [HIGH, -HIGH, -HIGH, HIGH + 1e-5]},
        {"expected": [HIGH, -HIGH, -HIGH]},
        {"expected": [HIGH, -HIGH, -HIGH, None]},
        {"expected": {"original": [HIGH, -HIGH, -HIGH, HIGH], "returns": [0, 0, 0, 0]}},
        {"framework": "nobody"},
    ],
)
def test_a_case_that_differs(tmp_path, capsys, change):
    code, lines = run(tmp_path, capsys, CASE, {**CASE, **change})
    assert code == 1
    assert "golden.jsonl:2" in lines[-2]
    assert lines[-1] == "agree 1 of 2"


def test_columns_in_place_of_rows_and_params_in_place_of_settings(tmp_path, capsys):
    columns = {"prompt_id": ["p"] * 4, "reward": [1, 0, 0, 1], "keep_pos": 0.5}
    root = 3**0.5 / 2
    expected = {
        "original": [root, -root, -root, root],
        "processed": [root, -root, -root, 0.0],
        "kept": [True, True, True, False],
    }
    case = {key: value for key, value in CASE.items() if key != "settings"}
    code, lines = run(
        tmp_path, capsys, {**columns, **expected}, {**case, "params": {"norm_adv_by_std_in_grpo": True}}
    )
    assert code == 0
    assert lines[-1] == "agree 2 of 2"


CASES = [("rollout_unit", 45), ("more_rules", 157), ("turn_credit", 129), ("off_policy", 39)]


@pytest.mark.parametrize(("name", "cases"), CASES)
def test_what_trainers_compute(capsys, name, cases):
    assert golden.main([str(GOLDEN / f"{name}.jsonl")]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"agree {cases} of {cases}"


def test_one_number_for_a_row_is_compared_with_each_of_its_tokens():
    assert golden._pairs(1.0, [1.0, 2.0]) == [(1.0, 1.0), (1.0, 2.0)]
    assert golden._pairs([1.0], [1.0]) == golden._pairs(1.0, 1.0) == [(1.0, 1.0)]


@pytest.mark.parametrize("change", [1e-5, None])
def test_a_metric_that_differs(tmp_path, capsys, change):
    case = json.loads((GOLDEN / "off_policy.jsonl").read_text().splitlines()[0])
    name = "rollout_corr/kl"
    case["expected"][name] = None if change is None else case["expected"][name] + change
    code, lines = run(tmp_path, capsys, case)
    assert code == 1
    assert lines[-1] == "agree 0 of 1"
