"""The two log-probabilities of each token through the commands; all numbers made by hand."""

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

from advcli import read
from advcli.cli import app
from advcli.common.errors import DataError, UsageError

# Ratios of the trained tokens: 4 and 1/2; 1/8; 1; 1 and 2.
RATIOS = [[4.0, 0.5, 1.0], [0.125], [1.0], [1.0, 2.0]]
MASKS = [[1, 1, 0], [1], [1], [1, 1]]


def rows():
    for at, (ratios, mask) in enumerate(zip(RATIOS, MASKS, strict=True)):
        rollout = [-3.0] * len(ratios)
        train = [-3.0 + math.log(ratio) for ratio in ratios]
        yield {
            "prompt": "p",
            "reward": float(at % 2),
            "step": 7 + at // 2,
            "policy_version": 7 - at % 2,
            "rollout_log_probs": rollout,
            "old_log_probs": train,
            "response_mask": mask,
        }


def run(command, *args):
    return CliRunner().invoke(app, [command, *map(str, args)], catch_exceptions=False)


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(given=None):
        lines = (json.dumps(row) + "\n" for row in (rows() if given is None else given))
        Path("f.jsonl").write_text("".join(lines), encoding="utf-8")
        return "f.jsonl"

    return write


def computed(path, *args):
    run("compute", path, "--group-by", "prompt", *args, "--out", "out.jsonl", "--force")
    return [json.loads(line) for line in Path("out.jsonl").read_text(encoding="utf-8").splitlines()]


# Rewards 0 1 0 1 in one group.
A = [-(0.75**0.5), 0.75**0.5] * 2


def test_the_weighted_advantage_beside_the_plain_one(write):
    found = computed(write(), "--after", "tis:high=3")
    assert [row["adv_processed"] for row in found] == pytest.approx(A)
    assert [row["adv_weight"] for row in found] == pytest.approx([1.75, 0.125, 1.0, 1.5])
    assert [row["adv_weighted"] for row in found] == pytest.approx(
        [a * w for a, w in zip(A, [1.75, 0.125, 1.0, 1.5], strict=True)]
    )
    assert found[0]["adv_weight_tokens"] == [3.0, pytest.approx(0.5), None]
    assert all(row["adv_kept"] for row in found)


def test_what_is_masked_is_left_out_and_weighs_nothing(write):
    found = computed(write(), "--after", "mis:level=sequence,high=2.5")
    assert [row["adv_kept"] for row in found] == [True, False, True, True]
    assert found[1]["adv_processed"] == found[1]["adv_weighted"] == found[1]["adv_weight"] == 0
    assert found[0]["adv_weight"] == pytest.approx(2.0)


def test_weights_of_several_filters_multiply(write):
    found = computed(write(), "--after", "tis:high=3", "--after", "reject:level=token,low=0.4")
    assert found[0]["adv_weight_tokens"] == [0, pytest.approx(0.5), None]
    assert found[1]["adv_kept"] is False


def test_columns_by_their_option(write):
    given = [
        {**row, "a": row["rollout_log_probs"], "b": row["old_log_probs"], "rollout_log_probs": None}
        for row in rows()
    ]
    path = write(given)
    found = computed(path, "--rollout-log-probs-col", "a", "--log-probs-col", "b", "--after", "tis:high=9")
    # The mask was found by its name.
    assert [row["adv_weight"] for row in found] == pytest.approx([2.25, 0.125, 1.0, 1.5])


def test_a_row_without_its_lists_is_left_out(write):
    given = list(rows())
    given[2]["old_log_probs"] = None
    found = computed(write(given), "--after", "tis")
    assert [row["adv_kept"] for row in found] == [True, True, False, True]
    assert found[2]["adv_weight"] is None


def test_a_framework_weighs_each_step(write):
    normalised = "rollout_is=token,rollout_is_batch_normalize=true"
    found = computed(write(), "--like", "verl", "--after", f"correction:{normalised}")
    # Step 7: weights 2, 1/2, 1/8 over their mean 0.875; step 8: 1, 1, 2 over 4/3.
    weights = [1.25 / 0.875, 0.125 / 0.875, 0.75, 1.125]
    assert [row["adv_weight"] for row in found] == pytest.approx(weights, abs=1e-6)


@pytest.mark.parametrize(
    ("args", "error", "said"),
    [
        (["--after", "correction"], UsageError, "--after correction needs --like"),
        (["--like", "trl", "--after", "correction"], UsageError, "no off-policy correction of 'trl'"),
        (["--like", "verl", "--after", "correction:rollout=x"], UsageError, "has no 'rollout'"),
        (["--after", "tis:level=word"], UsageError, "tis: level is 'word'"),
        (["--before", "tis"], UsageError, "tis weighs the advantage, so it can only come after"),
        (["--after", "opsm"], UsageError, "opsm needs delta"),
        (["--after", "tis", "--engine", "ray"], UsageError, "tis does not run on Ray"),
        (
            ["--after", "tis", "--estimator", "gae", "--values-col", "old_log_probs"],
            UsageError,
            "filters need",
        ),
    ],
)
def test_what_is_refused(write, args, error, said):
    with pytest.raises(error, match=said):
        run("compute", write(), *args)


def test_a_dump_with_one_list(write):
    path = write([{**row, "old_log_probs": None} for row in rows()])
    with pytest.raises(
        DataError, match=r"needs two log-probabilities of each token, .* no two columns have them"
    ):
        run("compute", path, "--after", "tis")
    assert json.loads(run("inspect", path, "--json").output)["off_policy"] is None


def test_a_placeholder_of_the_trainer(write):
    path = write([{**row, "old_log_probs": [0.0] * len(row["old_log_probs"])} for row in rows()])
    with pytest.raises(DataError, match="every trainer log-probability is 0"):
        run("compute", path, "--after", "tis")
    # A column that nobody named stops no description of the rest.
    told = json.loads(run("inspect", path, "--json").output)
    assert told["off_policy"] is None
    assert told["lint"][-1].startswith("the off-policy table: every trainer log-probability is 0")
    with pytest.raises(DataError, match="every trainer log-probability is 0"):
        run("inspect", path, "--log-probs-col", "old_log_probs")


def test_lists_that_never_fit_together_are_said(write):
    path = write([{**row, "old_log_probs": [*row["old_log_probs"], -1.0]} for row in rows()])
    told = json.loads(run("inspect", path, "--json").output)
    assert told["off_policy"] is None
    assert (
        told["lint"][-1]
        == "the off-policy table: no row has both log-probabilities of all its trained tokens"
    )


def test_the_table_of_inspect(write):
    found = json.loads(run("inspect", write(), "--like", "verl", "--json").output)["off_policy"]
    assert (found["rollout"], found["train"], found["mask"]) == (
        "rollout_log_probs",
        "old_log_probs",
        "response_mask",
    )
    ratios = [
        ratio
        for row, mask in zip(RATIOS, MASKS, strict=True)
        for ratio, m in zip(row, mask, strict=True)
        if m
    ]
    assert found["all"]["tokens"] == 6
    assert found["all"]["kl"] == pytest.approx(-sum(map(math.log, ratios)) / 6)
    assert found["all"]["ratio_max"] == pytest.approx(4)
    assert [part["name"] for part in found["per_step"]] == ["7", "8"]
    assert [part["name"] for part in found["per_version"]] == ["6", "7"]
    # Steps 7 7 8 8, versions 7 6 7 6.
    assert [(part["name"], part["figures"]["rows"]) for part in found["staleness"]] == [
        ("0", 1),
        ("1", 2),
        ("2", 1),
    ]
    assert found["framework"] == "verl"
    # A mean over the two steps.
    steps = [[4.0, 0.5, 0.125], [1.0, 1.0, 2.0]]
    kl = sum(-sum(map(math.log, step)) / 3 for step in steps) / 2
    assert found["metrics"]["rollout_corr/kl"] == pytest.approx(kl, abs=1e-6)


def test_the_table_on_the_screen(write):
    lines = run("inspect", write()).output.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("off policy"))
    assert lines[at].split("  ")[0] == "off policy"
    assert lines[at + 1].split()[:2] == ["all", "4"]
    assert any(line.startswith("lag 2") for line in lines)
    assert max(map(len, lines)) <= 80


def test_the_advantages_of_inspect_are_those_without_the_lists(write):
    bare = [{name: value for name, value in row.items() if "log" not in name} for row in rows()]
    found, plain = (
        json.loads(run("inspect", write(given), "--json").output) for given in (list(rows()), bare)
    )
    assert found["off_policy"] is not None
    names = ("mean_abs_adv", "max_abs_adv", "length", "effective_rows")
    assert [found[name] for name in names] == [plain[name] for name in names]


def test_the_summary_has_the_weighted_column(write):
    shown = run(
        "compute", write(), "--group-by", "prompt", "--after", "tis:high=3", "--json", "--out", "o.jsonl"
    )
    found = json.loads(shown.stdout)
    mean = sum(a * w for a, w in zip(A, [1.75, 0.125, 1.0, 1.5], strict=True)) / 4
    assert found["weighted"]["mean"] == pytest.approx(mean)
    plain = run("compute", write(), "--group-by", "prompt", "--json", "--out", "p.jsonl")
    assert json.loads(plain.stdout)["weighted"] is None


def test_the_figures_of_each_row(write):
    found = computed(write(), "--off-policy")
    # Row 0: ratios 4 and 1/2; mean of the logs ln 2 / 2.
    first = {
        "log_ratio": math.log(2) / 2,
        "kl": -math.log(2) / 2,
        "k2_kl": (math.log(4) ** 2 + math.log(0.5) ** 2) / 4,
        "k3_kl": (3 - math.log(4) + 0.5 - 1 - math.log(0.5)) / 2,
        "chi2_token": (16 + 0.25) / 2 - 1,
        "eff_sample_size": 4.5**2 / (2 * 16.25),
        "rollout_ppl": math.exp(3),
        "training_ppl": math.exp(3) / math.sqrt(2),
        "ppl_ratio": 1 / math.sqrt(2),
        "lag": 0,
    }
    assert {name: found[0][f"adv_{name}"] for name in first} == pytest.approx(first)
    assert [row["adv_lag"] for row in found] == [0, 1, 1, 2]
    assert "adv_weight" not in found[0]


def test_the_figures_of_rows_beside_weights(write):
    found = computed(write(), "--off-policy", "--after", "tis:high=3")
    assert found[0]["adv_weight"] == pytest.approx(1.75)
    assert found[0]["adv_kl"] == pytest.approx(-math.log(2) / 2)


@pytest.mark.parametrize(
    ("args", "error", "said"),
    [
        (
            ["--rollout-log-probs-col", "reward"],
            UsageError,
            "expected a list of numbers",
        ),
        (["--engine", "ray"], UsageError, "--off-policy does not run on Ray"),
    ],
)
def test_figures_of_rows_that_are_refused(write, args, error, said):
    with pytest.raises((error, DataError), match=said):
        run("compute", write(), "--off-policy", *args)


def test_figures_of_rows_without_the_columns(write):
    bare = [{name: value for name, value in row.items() if "log" not in name} for row in rows()]
    with pytest.raises(DataError, match="--off-policy needs two log-probabilities of each token"):
        run("compute", write(bare), "--off-policy")


def test_in_python(write):
    dump = read(write(), group_by=["prompt"])
    found = dump.advantages(after="tis:high=3")
    assert found.weight.tolist() == pytest.approx([1.75, 0.125, 1.0, 1.5])
    assert found.weighted.tolist() == pytest.approx(
        [a * w for a, w in zip(A, [1.75, 0.125, 1.0, 1.5], strict=True)]
    )
    assert found.to_arrow(["reward"]).column_names[-3:] == ["adv_weight", "adv_weighted", "adv_weight_tokens"]
    assert dump.inspect().off_policy.all.tokens == 6
    assert dump.advantages().weighted is None


def test_other_commands_take_the_filters(write):
    path = write()
    shown = json.loads(
        run(
            "compare", path, "--group-by", "prompt", "--after", "mis:level=sequence,high=2.5", "--json"
        ).stdout
    )
    assert shown["kept_rows"] == 3


def test_rollouts_of_several_rows(write):
    # Rows 0 and 2, and 1 and 3, are the turns of two rollouts: products 2 · 1 and 1/8 · 2.
    given = [{**row, "rollout_id": at % 2} for at, row in enumerate(rows())]
    found = computed(write(given), "--after", "mis:level=sequence,low=0.3,high=2.5")
    assert [row["adv_kept"] for row in found] == [True, False, True, False]
    assert [row["adv_weight"] for row in found] == pytest.approx([2.0, 0, 2.0, 0])
    assert found[0]["adv_weight_tokens"] == [pytest.approx(2.0), pytest.approx(2.0), None]
