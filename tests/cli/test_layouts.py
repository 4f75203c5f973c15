"""Dumps in which a record holds several rows, as a user meets them: what is said, and what is written."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from advcli.cli import app
from advcli.common.errors import DataError, UsageError

R3 = 3**0.5 / 2


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(*args, stdin=None):
    return CliRunner().invoke(app, ["compute", *map(str, args)], input=stdin, catch_exceptions=False)


def put(name, *rows):
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def lines(name):
    return [json.loads(line) for line in Path(name).read_text(encoding="utf-8").splitlines()]


GROUP = {"q": "p", "tries": [{"r": 1.0, "t": "a"}, {"r": 0.0, "t": "b"}], "rs": [2.0, 4.0]}


def test_objects_become_rows_with_the_number_of_their_line():
    put("d.jsonl", {"q": "o", "tries": []}, GROUP)
    done = run("d.jsonl", "--explode", "tries", "--reward", "r", "--scale", "none")
    assert "layout: nested of 'tries'" in done.stderr
    assert "warning: 1 record holds no row" in done.stderr
    assert [list(row) for row in lines("d.adv.jsonl")] == [
        ["q", "rs", "r", "t", "adv_original", "adv_processed", "adv_kept", "adv_group", "adv_source"]
    ] * 2
    assert [row["adv_source"] for row in lines("d.adv.jsonl")] == [2, 2]
    assert [row["adv_original"] for row in lines("d.adv.jsonl")] == [0.5, -0.5]


def test_the_same_layout_keeps_the_lines():
    put("d.jsonl", GROUP)
    run("d.jsonl", "--explode", "rs", "--reward", "rs", "--scale", "none", "--same-layout")
    (line,) = lines("d.adv.jsonl")
    assert {key: line[key] for key in GROUP} == GROUP
    assert (line["adv_original"], line["adv_kept"]) == ([-1.0, 1.0], [True, True])


def test_standard_input_to_standard_output():
    done = run("-", "--explode", "tries", "--reward", "r", stdin=json.dumps(GROUP))
    assert [json.loads(line)["adv_source"] for line in done.stdout.splitlines()] == [1, 1]


def test_several_files_of_one_name_keep_their_folders():
    for step in (1, 2):
        Path(f"run/step_{step}").mkdir(parents=True)
        put(f"run/step_{step}/d.jsonl", {"prompt_id": "a", "reward": 1}, {"prompt_id": "a", "reward": 0})
    run("run", "--out", "out/")
    assert sorted(map(str, Path("out").rglob("*.jsonl"))) == [
        "out/step_1/d.adv.jsonl",
        "out/step_2/d.adv.jsonl",
    ]


def test_dedup_is_counted():
    rows = [{"prompt_id": "a", "reward": reward, "step": step} for step in (1, 2) for reward in (0, 1)]
    put("d.jsonl", *rows)
    done = run("d.jsonl", "--dedup", "--json")
    assert "2 rows are exact repeats of an earlier one: left out" in done.stderr
    assert json.loads(done.stdout)["groups"] == 1
    assert json.loads(done.stdout)["settings"]["dedup"] is True


@pytest.mark.parametrize("prefix", ["adv_", "x_"])
def test_a_column_of_the_number_is_never_there_twice(prefix):
    put("d.jsonl", GROUP | {f"{prefix}source": 1})
    with pytest.raises(DataError, match=rf"the column {prefix}source is there already"):
        run("d.jsonl", "--explode", "tries", "--reward", "r", "--prefix", prefix)
    put("e.jsonl", GROUP | {"tries": [{"r": 1, f"{prefix}kept": 2}]})
    with pytest.raises(DataError, match=rf"e\.jsonl:1: the column {prefix}kept is there already"):
        run("e.jsonl", "--explode", "tries", "--reward", "r", "--prefix", prefix)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["--explode", "gone"],
            "--explode gone: no such column; the columns are q, tries, rs; try --explode COL",
        ),
        (["--layout", "odd"], "unknown layout 'odd'; try rows, ones, lists or nested"),
        (["--explode", " , "], "--explode ' , ' names no column"),
        (
            ["--explode", "rs", "--reward", "rs", "--same-layout", "--out", "d.parquet"],
            "--same-layout keeps the format",
        ),
    ],
)
def test_what_the_command_line_gets_wrong(args, message):
    put("d.jsonl", GROUP)
    with pytest.raises(UsageError) as error:
        run("d.jsonl", *args)
    assert message in str(error.value)


def test_a_list_that_is_too_short_is_named_by_its_line():
    put(
        "d.jsonl",
        {"prompt": "p", "rewards": [1, 0], "score_b": [1, 1]},
        {"prompt": "p", "rewards": [1, 0], "score_b": [1]},
    )
    args = ("--explode", "rewards,score_b", "--reward", "rewards", "--reward", "score_b")
    with pytest.raises(
        DataError, match=r"d\.jsonl:2: 'score_b' has 1 values, 'rewards' has 2, expected one value"
    ):
        run("d.jsonl", *args)
    done = run("d.jsonl", *args, "--on-bad-row", "skip")
    assert "1 bad row skipped" in done.stderr
    assert len(lines("d.adv.jsonl")) == 2
