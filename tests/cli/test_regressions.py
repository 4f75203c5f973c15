"""What once went wrong on the command line; one test for each kind."""

import json
import math
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from advcli import cli
from advcli.cli import app
from advcli.common.errors import AdvcliError, DataError, UsageError
from advcli.records.table import ColumnOptions
from advcli.settings.resolve import resolve


def run(*args, stdin=None):
    return CliRunner().invoke(app, [*map(str, args)], input=stdin, catch_exceptions=False)


def text(*groups, **more):
    rows = [{"prompt_id": g, "reward": r, **more} for g, group in enumerate(groups) for r in group]
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def f(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(content, name="f.jsonl"):
        Path(name).write_text(content)
        return name

    return write


# 1: NaN in a configuration or --set: KeyError, traceback (NaN != NaN looks like two keys that disagree)
@pytest.mark.parametrize("pair", ["keep_pos_ratio=.nan", "reward_weights=.nan"])
def test_nan_in_a_configuration(pair):
    try:
        settings, _, _, origin = resolve({}, ColumnOptions(), pairs=[pair])
    except UsageError:
        return
    assert origin["keep_pos"] == "--set"
    assert math.isnan(settings.keep_pos)


# 2: every OSError is blamed on standard output
def test_an_input_that_cannot_be_read_is_not_blamed_on_standard_output(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["advcli", "compute", "/proc/self/mem"])
    with pytest.raises(SystemExit):
        cli.main()
    assert "/proc/self/mem" in capsys.readouterr().err


# 3: a folder of our own outputs: the name twice, and a hint that cannot help
def test_a_folder_with_our_own_outputs_only(f):
    Path("d").mkdir()
    f(text([0, 1]), "d/x.adv.jsonl")
    with pytest.raises(DataError) as caught:
        run("compare", "d")
    assert str(caught.value).count("d: ") == 1
    assert "adv" in str(caught.value)


# 5: a length column that nobody asked for stops the run; with skip the row is said to be skipped and is not
def lengths():
    rows = [{"prompt_id": i // 4, "reward": i % 3, "num_tokens": 5 if i < 300 else "n/a"} for i in range(400)]
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_a_length_that_nobody_asked_for_does_not_stop_the_run(f):
    assert run("compare", f(lengths())).exit_code == 0


def test_a_row_that_is_said_to_be_skipped_is_skipped(f):
    done = run("compare", f(lengths()), "--on-bad-row", "skip", "--json")
    body = json.loads(done.stdout)
    skipped = [warning for warning in body["warnings"] if "skipped" in warning]
    assert not skipped or body["columns"]["original"]["count"] < 400


# 6: wrong flag in the hint
def test_hint_of_metrics_that_cannot_be_written(f):
    with pytest.raises(AdvcliError) as caught:
        run("compute", f(text([0, 1])), "--metrics", "/proc/x.jsonl")
    assert "--out" not in str(caught.value)


# 7: grammar
def test_columns_are_there(f):
    rows = text([0, 1], adv_kept=True, adv_group=1)
    with pytest.raises(DataError, match=r"columns? .* are there already"):
        run("compute", f(rows))


# 8: an empty --out is the current folder (an unset shell variable: --out "$OUT")
def test_an_empty_out(f):
    with pytest.raises(UsageError):
        run("compute", f(text([0, 1])), "--out", "")


# 9: two lists of choices are written in two ways
def test_choices_are_written_in_one_way(f):
    hints = []
    for flag in ("--scale=x", "--missing=x", "--device=x", "--on-bad-row=x", "--format=x"):
        with pytest.raises(UsageError) as caught:
            run("compute", f(text([0, 1])), flag)
        hints.append(caught.value.hint)
    assert len({" or " in hint for hint in hints}) == 1, hints


# 10: which --vs?
def test_a_wrong_knob_says_which_versus(f):
    with pytest.raises(UsageError, match="--vs grpo:keep_pos=2"):
        run("compare", f(text([0, 1])), "--vs", "rloo", "--vs", "grpo:keep_pos=2")


def test_reward_weights_that_are_not_used_are_said(f):
    config = f("reward_weights: [1.0, 0.5]", "c.yaml")
    done = run("compare", f(text([0, 1])), "--config", config)
    assert "reward weights are not used: the reward is 'reward'" in done.stderr


# Sums of parts: 0.1 + 0.2 and 0.3 are one reward as written, in JSON and in float32 columns
@pytest.mark.parametrize("offset", [0.0, 1000.1])
@pytest.mark.parametrize("kind", ["jsonl", "float32"])
def test_equal_sums_of_parts_are_a_dead_group(f, kind, offset):
    parts = [(0.1, 0.2), (0.3, 0.0), (0.0, 0.3), (0.2, 0.1)]
    rows = [
        {"prompt_id": "a", "correct": a if kind == "float32" else round(a + offset, 1), "format": b}
        for a, b in parts
    ]
    rows += [{"prompt_id": "b", "correct": float(i), "format": 0.0} for i in range(4)]
    if kind == "float32":
        table = pa.Table.from_pylist(rows)
        fields = [("prompt_id", pa.string()), ("correct", pa.float32()), ("format", pa.float32())]
        pq.write_table(table.cast(pa.schema(fields)), "parts.parquet")
        path = "parts.parquet"
    else:
        path = f("".join(json.dumps(row) + "\n" for row in rows))
    args = (path, "--reward", "correct", "--reward", "format", "--json")
    assert json.loads(run("compute", *args, "--force").stdout)["dead_groups"] == 1
    found = json.loads(run("inspect", *args).stdout)
    total = next(column for column in found["rewards"] if column["name"] == "sum")
    assert (total["distinct"], total["dead_groups"]) == (5, 1)


# A framework that makes NaN of the batch of a row without a reward: the cause is said
def test_the_row_without_a_reward_is_the_cause(f):
    rows = [
        {"prompt_id": p, "reward": r, "response_length": 3}
        for p, r in zip("aabb", (1, None, 0, 1), strict=True)
    ]
    done = run("compute", f("".join(json.dumps(row) + "\n" for row in rows)), "--like", "openrlhf@0.5")
    assert "too few rows" not in done.stderr
    assert (
        "3 rows have a reward but no advantage: in openrlhf a row without a reward makes its batch NaN"
        in done.stderr
    )
