"""`advcli formats`: the catalog, as a table and row by row."""

import pytest
from typer.testing import CliRunner

from advcli.cli import app
from advcli.errors import UsageError
from advcli.io.catalog import FORMATS


def run(*args):
    return CliRunner().invoke(app, ["formats", *args], catch_exceptions=False)


def test_one_line_per_format():
    done = run()
    heading, *rows = done.stdout.splitlines()
    assert heading.startswith("name ")
    assert [row.split()[0] for row in rows] == list(FORMATS.names())
    assert [row.split(None, 1)[1].strip() for row in rows] == [row.summary for row in FORMATS]
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("name", "by", "files", "writer"),
    [
        (
            "trl",
            "step, prompt, completion, advantage",
            "completions_*.parquet",
            "trl/trainer/grpo_trainer.py",
        ),
        ("verl", "input, output, score, step", "[0-9]*.jsonl", "verl/trainer/ppo/ray_trainer.py"),
        ("generic", "nothing: used when no other format fits", "*.parquet", "any writer"),
    ],
)
def test_one_format(name, by, files, writer):
    shown = [line.split("  ", 1) for line in run(name).stdout.splitlines()]
    assert [label for label, _ in shown] == ["format", "recognised by", "files", "written by"]
    values = [value.strip() for _, value in shown]
    assert values[0] == f"{name}: {FORMATS[name].summary}"
    assert values[1] == by
    assert files in values[2].split(", ")
    assert values[3].startswith(writer)


def test_an_unknown_format():
    with pytest.raises(UsageError, match="unknown format 'ver'; try verl"):
        run("ver")
