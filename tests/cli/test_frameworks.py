"""`advcli frameworks`, and `--like` on real dumps."""

import json

import pytest
from typer.testing import CliRunner

from advcli.cli import app
from advcli.frameworks.catalog import frameworks, rules_of

# The scale of each run, and how far float32 may be from what the trainer logged: one unit in the last place.
RUNS = [("grpo-batch-chat", "batch"), ("grpo-group", "group"), ("grpo-group-nullreward", "group")]


def run(*arguments: object):
    return CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False)


def test_list_names_every_framework_and_estimator():
    shown = run("frameworks").stdout
    for name in frameworks():
        (line,) = (line for line in shown.splitlines() if line.startswith(f"{name} "))
        assert all(rule.estimator in line for rule in rules_of(name))


def test_one_framework_shows_its_rules():
    lines = run("frameworks", "trl").stdout.splitlines()
    assert len(lines) == 1 + len(rules_of("trl"))
    assert lines[1].split()[:2] == ["grpo", ">=1.6"]


@pytest.mark.parametrize(("name", "scale"), RUNS)
def test_like_trl_gives_what_trl_logged(data, name, scale):
    done = run("compare", data / "trl" / name, "--like", "trl", "--scale", scale, "--json")
    (note,) = (line for line in done.stderr.splitlines() if "logged 'advantage' differs" in line)
    assert float(note.split("at most ")[1].split()[0]) <= 2.4e-7
    body = json.loads(done.stdout)
    assert body["settings"]["like"] == "trl >=1.6"
    assert body["columns"]["original"]["count"] == 32


def test_a_framework_as_a_further_column(data):
    folder = data / "trl" / "grpo-group"
    body = json.loads(
        run("compare", folder, "--vs", "grpo:like=trl@1.5,scale=none", "--quiet", "--json").stdout
    )
    assert body["columns"]["grpo:like=trl@1.5,scale=none"]["max"] == pytest.approx(0.6875)


def test_phantom_advantages_are_counted(tmp_path):
    rows = [
        {"prompt_id": g, "reward": r}
        for g, rewards in enumerate(([0.1] * 8, [0.0, 1.0] * 4))
        for r in rewards
    ]
    file = tmp_path / "f.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    columns = json.loads(run("compare", file, "--vs", "grpo:like=slime", "--json").stdout)["columns"]
    assert columns["original"]["phantoms"] == 0
    assert columns["grpo:like=slime"]["phantoms"] == 8


def test_what_is_lost_and_positional_grouping_are_said(tmp_path):
    file = tmp_path / "f.jsonl"
    file.write_text(
        "".join(json.dumps({"prompt_id": g, "reward": r}) + "\n" for g, r in [(0, 0), (1, 1), (0, 1), (1, 0)])
    )
    talk = run("compare", file, "--like", "openrlhf", "--estimator", "rloo").stderr
    assert "like openrlhf: what a dump does not tell is not replayed: KL in the reward" in talk
    assert "openrlhf groups rows by position" in talk
