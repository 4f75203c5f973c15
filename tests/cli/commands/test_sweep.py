"""`advcli sweep`: a grid on data that are read once; numbers by hand or by `compare` on the same settings."""

import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from advcli.cli import app
from advcli.common.errors import UsageError

SAMPLE = str(Path(__file__).parents[3] / "sample_data" / "rewards.parquet")


def run(*args, command="sweep"):
    return CliRunner().invoke(app, [command, *map(str, args)], catch_exceptions=False)


def points(*args):
    return json.loads(run(SAMPLE, *args, "--json").stdout)["points"]


def test_without_a_grid_there_is_one_point():
    (point,) = points()
    assert (point["estimator"], point["scale"], point["keep_pos"], point["compute_new_adv"]) == (
        "grpo",
        "group",
        1,
        False,
    )
    assert point["sign_changes"] == 0


def test_every_combination_the_first_axis_slowest():
    found = points(
        "--estimator",
        "grpo",
        "--estimator",
        "rloo",
        "--scale",
        "group,none",
        "--keep-pos",
        "0.5:1:0.5",
        "--keep-neg",
        "0.3,1",
    )
    order = [(p["estimator"], p["scale"], p["keep_pos"], p["keep_neg"]) for p in found]
    assert order == [
        (e, s, a, b) for e in ("grpo", "rloo") for s in ("group", "none") for a in (0.5, 1) for b in (0.3, 1)
    ]


@pytest.mark.parametrize(
    "flags",
    [
        ("--keep-pos", 0.5, "--keep-neg", 0.3),
        ("--estimator", "rloo"),
        ("--like", "verl"),
        ("--scale", "batch"),
        ("--before", "dynamic_sampling", "--keep-pos", 0.5),
        ("--after", "truncated:max=200", "--estimator", "rloo"),
    ],
)
def test_a_point_is_what_compare_shows(flags):
    (point,) = points(*flags)
    told = json.loads(run(SAMPLE, *flags, "--json", command="compare").stdout)["columns"]["kept"]
    assert point["kept_rows"] == told["kept_rows"]
    assert point["mean_abs"] == told["mean_abs"]
    assert point["std"] == told["std"]
    assert point["max_abs"] == max(abs(told["min"]), abs(told["max"]))
    for figure in ("live_groups", "sign_changes", "rank_agreement", "correlation"):
        assert point[figure] == told[figure]


def test_live_has_the_same_meaning_as_in_inspect(tmp_path):
    """Two live groups, one dead, two of one row: a rule over the batch gives each of them an advantage."""
    rewards = {"a": [0, 1], "b": [1, 1], "c": [0, 0, 1], "d": [1], "e": [0]}
    rows = [
        {"prompt_id": name, "reward": one, "response_length": 4}
        for name, group in rewards.items()
        for one in group
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = json.loads(run(path, "--estimator", "reinforce_plus_plus", "--json").stdout)["points"]
    told = json.loads(run(path, "--json", command="inspect").stdout)
    assert found[0]["live_groups"] == told["live_groups"] == 2


def test_the_distance_is_that_from_the_unfiltered_first_point():
    first, second = points("--before", "dynamic_sampling", "--keep-pos", "0.5,1")
    # The advantages that are kept are those of the original.
    assert (first["sign_changes"], first["correlation"]) == (0, pytest.approx(1))
    assert (second["sign_changes"], second["correlation"]) == (0, pytest.approx(1))


def test_the_distance_is_that_from_the_first_estimator():
    first, second = points("--estimator", "grpo", "--estimator", "positive_only:threshold=-1")
    assert first["sign_changes"] == 0
    # Every row has the sign + in the second: all that were not positive have changed.
    assert second["sign_changes"] == pytest.approx(1 - first["share_positive"])


def test_what_an_estimator_has_no_choice_of_is_left_alone():
    found = points(
        "--estimator", "passk", "--estimator", "grpo", "--scale", "group,none", "--compute-new-adv", "both"
    )
    assert [(p["estimator"], p["scale"], p["compute_new_adv"]) for p in found] == [
        ("passk", None, False),
        ("grpo", "group", False),
        ("grpo", "group", True),
        ("grpo", "none", False),
        ("grpo", "none", True),
    ]


def test_frameworks_are_an_axis():
    found = points("--like", "trl@1.5,verl", "--scale", "none")
    assert [(p["like"], p["scale"]) for p in found] == [("trl >=0.22.2,<1.6", "none"), ("verl >=0.4", "none")]


def test_filters_and_columns_hold_at_every_point():
    found = points(
        "--estimator",
        "grpo",
        "--estimator",
        "rloo",
        "--before",
        "truncated:max=250",
        "--reward",
        "accuracy_reward",
    )
    frame = pd.read_parquet(SAMPLE)
    left = frame[(frame["response_length"] < 250) & frame["accuracy_reward"].notna()]
    size = left.groupby(["prompt_id", "step"])["reward"].transform("size")
    assert {p["kept_rows"] for p in found} == {int((size > 1).sum())}


def test_sorted():
    flags = ("--keep-pos", "0.5:1:0.1", "--keep-neg", "0.5,1")
    largest = [p["mean_abs"] for p in points(*flags, "--sort", "mean_abs")]
    assert largest == sorted(largest, reverse=True)
    assert largest[::-1] == [p["mean_abs"] for p in points(*flags, "--sort", "-mean_abs")]


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_the_points_as_a_file(tmp_path, suffix):
    out = tmp_path / f"s.{suffix}"
    flags = ("--keep-pos", "0.5,1", "--estimator", "grpo")
    run(SAMPLE, *flags, "--out", out)
    read = {
        "parquet": pd.read_parquet,
        "csv": pd.read_csv,
        "jsonl": lambda path: pd.read_json(path, lines=True),
    }
    frame = read[suffix](out)
    assert frame["keep_pos"].tolist() == [0.5, 1]
    assert frame["kept_rows"].tolist() == [p["kept_rows"] for p in points(*flags)]
    assert frame["mean_abs"].tolist() == pytest.approx([p["mean_abs"] for p in points(*flags)], rel=1e-12)
    with pytest.raises(UsageError, match=r"exists already; try --force"):
        run(SAMPLE, "--out", out)
    assert run(SAMPLE, "--out", out, "--force").exit_code == 0


def test_undefined_is_null_and_not_nan(tmp_path):
    path = tmp_path / "f.jsonl"
    path.write_text("".join(json.dumps({"prompt_id": "a", "reward": 1.0}) + "\n" for _ in range(4)))
    (point,) = json.loads(run(path, "--json").stdout)["points"]
    assert (point["effective_rows"], point["rank_agreement"], point["token_share"]) == (None, None, None)
    assert "effective" not in run(path).stdout


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--sort", "speed"), "--sort speed: no such figure; try kept_rows,"),
        (("--out", "s.txt"), "--out s.txt: expected .parquet, .csv, .jsonl"),
        (("--compute-new-adv", "maybe"), "--compute-new-adv is 'maybe'; try no, yes or both"),
        (
            ("--estimator", "rloo", "--compute-new-adv", "yes"),
            "compute_new_adv is defined for grpo only, not for rloo",
        ),
        (("--scale", "word"), "unknown scale 'word'"),
        (("--keep-pos", "0.5:1"), "'0.5:1' is no range"),
        (("--like", "verl", "--estimator", "vtrace"), "verl has no estimator 'vtrace'"),
    ],
)
def test_what_makes_no_sense(flags, message):
    with pytest.raises(UsageError) as caught:
        run(SAMPLE, *flags)
    assert message in str(caught.value)


def test_the_bundled_sample_is_said():
    assert "no input: using the bundled sample" in run().stderr


def test_in_a_shell_nothing_but_the_table_is_on_standard_output():
    done = run(SAMPLE, "--keep-pos", "0.5,1")
    assert done.stdout.startswith("502 rows")
    assert "advcli:" not in done.stdout
    assert run(SAMPLE, "--quiet").stdout == ""


@pytest.mark.parametrize("flags", [(), ("--force",)])
def test_an_input_is_never_overwritten(tmp_path, flags):
    path = tmp_path / "f.jsonl"
    path.write_text("".join(json.dumps({"prompt_id": "a", "reward": r}) + "\n" for r in (0, 1)))
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r"f\.jsonl is an input, which is never overwritten"):
        run(path, "--out", path, *flags)
    assert path.read_bytes() == before


def test_an_advantage_of_0_is_a_figure_in_the_heat_map(tmp_path):
    path = tmp_path / "f.jsonl"
    path.write_text("".join(json.dumps({"prompt_id": "a", "reward": r}) + "\n" for r in (1, 1, 1)))
    *_, heading, _, one, two = run(path, "--keep-pos", "0.5,1", "--keep-neg", "0.5,1").stdout.splitlines()
    assert heading == "mean |A| of grpo group: ▁ 0 … █ 0; keep-pos across, keep-neg down"
    assert (one, two) == ("  0.5 ▁▁▁▁ ▁▁▁▁", "    1 ▁▁▁▁ ▁▁▁▁")


def test_an_estimator_may_name_its_framework(tmp_path):
    named = points("--estimator", "grpo:like=trl")
    assert named == points("--estimator", "grpo", "--like", "trl")
    with pytest.raises(UsageError, match=r"grpo:like=trl and --like verl both name a framework; try one of"):
        run(SAMPLE, "--estimator", "grpo:like=trl", "--like", "verl")


def test_a_version_that_was_not_compared_is_said():
    assert "like trl 99: its releases" in run(SAMPLE, "--like", "trl@99").stderr


def test_a_comma_after_knobs_begins_the_next_estimator():
    found = points("--estimator", "grpo:eps=1e-4,ddof=0,rloo")
    assert [point["estimator"] for point in found] == ["grpo:eps=0.0001,ddof=0", "rloo"]
