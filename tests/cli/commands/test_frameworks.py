"""`advcli frameworks`, and `--like` on real dumps."""

import json
import re

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
    table, _, below = run("frameworks", "trl").stdout.partition("\n\n")
    lines = table.splitlines()
    assert len(lines) == 1 + len(rules_of("trl"))
    assert lines[1].split()[:2] == ["grpo", ">=1.6"]
    assert "n = 1: 0; missing: left out, 0; float32; groups by position; " in lines[1]
    assert "counts rollouts, by the reward of its last turn; checked: package" in lines[1]
    assert below.splitlines() == [
        "not in a dump: KL in the reward (rloo, ppo)",
        "not in a dump: reward_clip_range (rloo)",
        "not in a dump: missing_eos_penalty, whiten_rewards (ppo)",
        "source: trl/trainer/grpo_trainer.py",
        "source: trl/trainer/rloo_trainer.py",
        "source: trl/experimental/async_grpo/async_rollout_worker.py",
        "source: trl/experimental/ppo/ppo_trainer.py",
    ]


@pytest.mark.parametrize("name", frameworks())
def test_a_terminal_of_100_columns_is_wide_enough(name, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    table, _, _ = run("frameworks", name).stdout.partition("\n\n")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", table)
    assert max(map(len, plain.splitlines())) <= 100
    assert len(plain.splitlines()) > 1 + len(rules_of(name)) or len(rules_of(name)) == 1
    assert "…" not in plain
    shown = {line.split()[0] for line in plain.splitlines() if not line.startswith(" ")}
    assert {rule.estimator for rule in rules_of(name)} <= shown


@pytest.mark.parametrize(("name", "scale"), RUNS)
def test_like_trl_gives_what_trl_logged(data, name, scale):
    done = run("compare", data / "trl" / name, "--like", "trl", "--scale", scale, "--json")
    (note,) = (line for line in done.stderr.splitlines() if "logged 'advantage'" in line)
    apart = re.search(r"differs from original by at most (\S+) in 32 rows", note)
    assert float(apart[1]) <= 2.4e-7 if apart else "equals original in 32 rows" in note
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
    assert "--like openrlhf can't reproduce KL in the reward" in talk
    assert "openrlhf groups rows by position" in talk


@pytest.mark.parametrize(
    ("like", "said", "last"),
    [
        (
            "slime",
            "treats all rows of an uneven step as one group; --like reproduces this",
            0.80178219,
        ),
        ("areal@1.0.4", "splits uneven steps by the largest group size", 50000),
        ("areal", "size: it may have trained on other groups", -0.7070868),
    ],
)
def test_what_becomes_of_uneven_groups_is_said_and_done(tmp_path, like, said, last):
    tail = [1, 1, 1] if like == "slime" else [1, 0.5]
    rows = [(0, r) for r in (1, 0, 0, 0)] + [(1, r) for r in tail]
    file, out = tmp_path / "f.jsonl", tmp_path / "out.jsonl"
    file.write_text("".join(json.dumps({"prompt_id": g, "reward": r}) + "\n" for g, r in rows))
    talk = run("compute", file, "--like", like, "--out", out).stderr
    assert said in talk
    found = [json.loads(line)["adv_original"] for line in out.read_text().splitlines()]
    assert found[-1] == pytest.approx(last, rel=1e-5)
