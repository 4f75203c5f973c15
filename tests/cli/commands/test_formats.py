"""`advcli formats`: the catalog, as a table and row by row."""

import sys

import pytest
from typer.testing import CliRunner

from advcli.cli import app, output
from advcli.common.errors import UsageError
from advcli.io.formats.catalog import FORMATS


def run(*args):
    return CliRunner().invoke(app, ["formats", *args], catch_exceptions=False)


def test_one_line_per_format():
    done = run()
    heading, *rows = done.stdout.splitlines()
    assert heading.startswith("name ")
    assert [row.split()[0] for row in rows] == list(FORMATS.names())
    assert [row.split(None, 1)[1].strip() for row in rows] == [row.summary for row in FORMATS]
    assert done.stderr == ""


@pytest.mark.parametrize("row", list(FORMATS), ids=lambda row: row.name)
def test_one_format(row):
    """Where it comes from, its keys, the setting that switches it on, its traps."""
    shown = dict(line.split("  ", 1) for line in run(row.name).stdout.splitlines())
    values = {label: text.strip() for label, text in shown.items()}
    assert values["format"] == f"{row.name}: {row.summary}"
    otherwise = "the kind of its file" if row.opener else "nothing: used when no other format fits"
    assert values["detected by"] == (", ".join(row.requires) or otherwise)
    assert values["files"].split(", ") == [*row.files, *row.otherwise]
    assert values["written by"] == row.source
    assert values.get("enabled by", "") == row.switch
    assert [text for label, text in values.items() if label.startswith("trap")] == list(row.traps)


def test_a_format_in_full():
    assert run("verl-v1").stdout.splitlines()[1:9] == [
        "detected by       input, output, score, step, uid:text",
        "one per row       uid",
        "layout            rows",
        "prompt            uid.prompt",
        "step              step",
        "reward            score",
        "logged advantage  auto-detected",
        "files             [0-9]*.jsonl",
    ]


def test_an_unknown_format():
    with pytest.raises(UsageError, match="unknown format 'ver'; try verl"):
        run("ver")


def test_a_description_fits_the_terminal(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    output.pairs(
        {"name": "short", "trap 1": "a sentence that is longer than sixty columns can show in one line"}
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "name    short"
    assert lines[1].startswith("trap 1  a sentence")
    assert lines[2].startswith("          ")
    assert max(map(len, lines)) <= 60
