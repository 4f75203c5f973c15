"""--before and --after, and `advcli filters`; all numbers made by hand."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from advcli.cli import app
from advcli.common.errors import DataError, UsageError
from advcli.filters.catalog import FILTERS

# One live group of four, one dead group of two. Group means 0.5 and 1.
ROWS = [
    {"prompt_id": "a", "reward": 1.0, "raw": 1, "len": 10},
    {"prompt_id": "a", "reward": 0.5, "raw": 1, "len": 20},
    {"prompt_id": "a", "reward": 0.5, "raw": 1, "len": 30},
    {"prompt_id": "a", "reward": 0.0, "raw": 1, "len": 40},
    {"prompt_id": "b", "reward": 1.0, "raw": 0, "len": 50},
    {"prompt_id": "b", "reward": 1.0, "raw": 1, "len": 60},
]
CENTRED = ("--scale", "none", "--length-col", "len")


def run(command, *args):
    return CliRunner().invoke(app, [command, *map(str, args)], catch_exceptions=False)


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("f.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return "f.jsonl"


def computed(path, *args):
    """original, processed and kept of every row."""
    out = run("compute", path, *CENTRED, *args, "--out", "-").stdout.splitlines()
    rows = [json.loads(line) for line in out]
    return [[row[f"adv_{name}"] for row in rows] for name in ("original", "processed", "kept")]


def test_before_the_statistics_a_row_is_in_no_mean(path):
    # Without the row of 40 tokens the mean of the group is 2/3, and the dead group is gone.
    original, processed, kept = computed(path, "--before", "truncated:max=40")
    assert original[:3] == pytest.approx([1 / 3, -1 / 6, -1 / 6])
    assert original[3:] == [None] * 3
    assert processed[3:] == [0.0] * 3
    assert kept == [True, True, True, False, False, False]


def test_after_the_statistics_it_is(path):
    original, processed, kept = computed(path, "--after", "truncated:max=40")
    assert original == [0.5, 0.0, 0.0, -0.5, 0.0, 0.0]
    assert processed == [0.5, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert kept == [True, True, True, False, False, False]


def test_one_after_the_other(path):
    # Dynamic sampling takes the dead group, then two of the four rows of largest |A| stay.
    _, _, kept = computed(path, "--before", "dynamic_sampling", "--after", "cppo:keep=0.5")
    assert kept == [True, False, False, True, False, False]


def test_another_column_can_be_looked_at(path):
    # The reward of group b is constant, its raw column is not; with group a it is the other way round.
    _, _, kept = computed(path, "--before", "dynamic_sampling:column=raw")
    assert kept == [False] * 4 + [True] * 2


def test_computed_again_on_what_a_filter_leaves(path):
    # grpo of the rewards 1 and 0.5 alone: ±0.25 · √2 ... centred only: ±0.25.
    _, processed, _ = computed(path, "--after", "gfpo:k=2", "--compute-new-adv")
    assert processed == [0.25, -0.25, 0.0, 0.0, 0.0, 0.0]


def test_what_is_left_out_is_counted_by_filter(path):
    flags = ("--before", "dynamic_sampling", "--after", "truncated:max=40")
    shown = run("compare", path, *CENTRED, *flags).stdout
    assert "left out before the statistics by dynamic_sampling: 2 rows, 1 whole group, 110 tokens" in shown
    assert "left out after the statistics by truncated:max=40: 1 row, 0 whole groups, 40 tokens" in shown
    told = json.loads(run("compare", path, *CENTRED, *flags, "--json").stdout)
    assert told["left_out"] == [
        {"when": "before", "filter": "dynamic_sampling", "rows": 2, "groups": 1, "tokens": 110},
        {"when": "after", "filter": "truncated:max=40", "rows": 1, "groups": 0, "tokens": 40},
    ]
    assert told["columns"]["original"]["count"] == 6
    assert told["columns"]["kept"]["count"] == 3


def test_keep_ratios_work_on_what_a_filter_leaves(path):
    # With the best row of group a gone no positive is left; one of the dead rows goes first.
    _, _, kept = computed(path, "--after", "gfpo:k=3", "--keep-neg", 0, "--before", "truncated:max=40")
    assert kept == [True, False, False, False, False, False]


@pytest.mark.parametrize("like", ["verl", "trl", "openrlhf"])
def test_with_a_frameworks_own_numbers(path, like):
    original, _, kept = computed_like(path, like)
    assert original[3:] == [None] * 3
    assert original[0] > 0 > original[1] == original[2]
    assert kept == [True, True, True, False, False, False]


def computed_like(path, like):
    out = run(
        "compute", path, "--length-col", "len", "--like", like, "--before", "truncated:max=40", "--out", "-"
    )
    rows = [json.loads(line) for line in out.stdout.splitlines()]
    return [[row[f"adv_{name}"] for row in rows] for name in ("original", "processed", "kept")]


@pytest.mark.parametrize(
    ("flags", "error", "message"),
    [
        (
            ("--before", "cppo"),
            UsageError,
            "cppo uses the advantage, so it can only come after the statistics; try --after cppo",
        ),
        (("--before", "truncated"), UsageError, "truncated needs max; try truncated:max=…"),
        (("--before", "pods:m=0"), UsageError, "pods: m is 0, expected 1 or more"),
        (("--before", "pods:m=1.5"), UsageError, "pods: m is 1.5, expected a whole number"),
        (("--after", "cppo:keep=1.5"), UsageError, "cppo: keep is 1.5, expected a number from 0 to 1"),
        (("--after", "cppo:over=prompt"), UsageError, "cppo: over is 'prompt'; try batch or group"),
        (
            ("--after", "cppo:column=raw"),
            UsageError,
            "cppo does not use the reward, so it has no knob 'column'",
        ),
        (("--before", "pods:column=none"), UsageError, "no column 'none'"),
        (
            ("--before", "pods:column=prompt_id"),
            DataError,
            "f.jsonl:1: 'prompt_id' is 'a', expected a number",
        ),
        (("--before", "truncated:max=40"), DataError, "truncated needs the tokens of each row"),
    ],
)
def test_what_makes_no_sense(path, flags, error, message):
    with pytest.raises(error) as caught:
        run("compare", path, *flags)
    assert message in str(caught.value)


def test_the_table_of_filters():
    heading, *rows = run("filters").stdout.splitlines()
    assert heading.split() == ["name", "when", "drops"]
    assert [row.split()[0] for row in rows] == list(FILTERS.names())


def test_one_filter():
    shown = run("filters", "gfpo").stdout
    assert "knobs   k=4, by='length', column=NAME" in shown
    assert "when    --before or --after" in shown
