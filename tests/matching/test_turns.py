"""Logs of turns: rules, units, and rows that got 0."""

import json
import random

import pytest
from typer.testing import CliRunner

from advcli import compute_advantages
from advcli.cli import app


def dump(path, log, **given):
    draw = random.Random(3)
    rows = []
    for group in range(10):
        for rollout in range(4):
            turns, right = draw.randint(1, 4), draw.random() < 0.5
            for turn in range(turns):
                reward = float(right and turn == turns - 1) + draw.choice([0, 0, 0, 0.25])
                state = f"s{draw.randrange(3) if turn else 0}"
                rows.append(
                    {
                        "prompt_id": group,
                        "traj_id": f"{group}-{rollout}",
                        "turn": turn,
                        "reward": reward,
                        "state_hash": state,
                    }
                )
    found = compute_advantages(
        [row["reward"] for row in rows],
        [row["prompt_id"] for row in rows],
        rollouts=[row["traj_id"] for row in rows],
        turns=[row["turn"] for row in rows],
        anchors=[row["state_hash"] for row in rows],
        **given,
    ).original.tolist()
    logged = log(rows, found)
    path.write_text(
        "".join(json.dumps(row | {"advantage": one}) + "\n" for row, one in zip(rows, logged, strict=True))
    )
    return path


def as_computed(rows, found):
    return [None if one != one else one for one in found]


def last_only(rows, found):
    last = {row["traj_id"]: row["turn"] for row in rows}
    return [one if row["turn"] == last[row["traj_id"]] else 0.0 for row, one in zip(rows, found, strict=True)]


def match(path):
    done = CliRunner().invoke(app, ["match", str(path), "--json"], catch_exceptions=False)
    return done.exit_code, json.loads(done.stdout)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"like": "verl-agent", "estimator": "gigpo", "scale": "group", "penalty": 0.0}, "verl-agent"),
        ({"like": "trinity-rft", "estimator": "gigpo"}, "trinity-rft"),
        ({"like": "pipelinerl", "estimator": "loo_per_step"}, "pipelinerl"),
        ({"estimator": "gigpo"}, None),
    ],
)
def test_rules_of_turns_are_named(tmp_path, given, name):
    code, found = match(dump(tmp_path / "a.jsonl", as_computed, **given))
    assert (code, found["best"]["framework"]) == (0, name)
    assert "a row is a turn" in found["sentence"]


@pytest.mark.parametrize(
    ("count", "said"), [("rollouts", "each rollout counted once"), ("rows", "every row counted")]
)
def test_the_unit_is_named(tmp_path, count, said):
    code, found = match(dump(tmp_path / "a.jsonl", as_computed, estimator="grpo", count=count))
    assert code == 0
    assert said in found["sentence"]


def test_rows_that_got_0_in_place_of_their_rollouts_advantage(tmp_path):
    code, found = match(dump(tmp_path / "a.jsonl", last_only, estimator="grpo"))
    assert (code, found["found"]) == (1, False)
    assert found["sentence"].startswith("the log is broken: ")
    assert (
        "in place of the advantage of their rollout, all before the last turn; all other rows fit"
        in found["sentence"]
    )
