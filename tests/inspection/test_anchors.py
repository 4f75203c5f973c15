"""How often states meet, counted by hand; the counts of two parts make those of both."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from advcli.cli import app

# p0 lives by its rewards. In p1 both rollouts have 1, and from s0 one is a turn nearer to it. In p2 nothing differs.
TURNS = {
    "p0": {"a": [(0, "s0"), (1, "s1")], "b": [(0, "s0")]},
    "p1": {"c": [(0, "s0"), (1, "s1")], "d": [(0, "s0"), (0, "s2"), (1, "s3")]},
    "p2": {"e": [(1, "s0")], "f": [(1, "s0")]},
}


def write(path: Path, prompts) -> Path:
    rows = [
        {"prompt_id": prompt, "traj_id": rollout, "turn": turn, "reward": reward, "state_hash": state}
        for prompt in prompts
        for rollout, turns in TURNS[prompt].items()
        for turn, (reward, state) in enumerate(turns)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def inspect(*arguments):
    return CliRunner().invoke(app, ["inspect", *map(str, arguments)], catch_exceptions=False).stdout


def test_figures_by_hand(tmp_path):
    found = json.loads(inspect(write(tmp_path / "a.jsonl", TURNS), "--json"))
    assert found["columns"]["anchor"] == "state_hash"
    assert found["rollouts"]["anchors"] == {
        "turns": 10,
        "states": 7,
        # All but s1 of p0, and s1, s2 and s3 of p1.
        "shared_share": pytest.approx(6 / 10),
        "dead_share": pytest.approx(2 / 3),
        "only_share": pytest.approx(1 / 3),
    }


def test_what_is_said(tmp_path):
    text = " ".join(inspect(write(tmp_path / "a.jsonl", TURNS)).split())
    assert (
        "states: 7 in 10 turns; 60.0% of the turns begin in the same state as another turn of their group"
        in text
    )
    assert "groups with signal through states alone: 33.3%; with equal rewards: 66.7%" in text


def test_rows_that_have_the_reward_of_their_rollout(tmp_path):
    """Copies of 1 on each row count once: the same as the reward on the last turn alone."""
    rows = [json.loads(line) for line in write(tmp_path / "a.jsonl", ["p1"]).read_text().splitlines()]
    path = tmp_path / "b.jsonl"
    path.write_text("".join(json.dumps(row | {"reward": 1}) + "\n" for row in rows))
    by_turn, by_rollout = (
        json.loads(inspect(name, "--json"))["rollouts"]["anchors"] for name in (tmp_path / "a.jsonl", path)
    )
    assert by_turn == by_rollout
    assert by_turn["only_share"] == 1


def test_without_states_nothing_is_said(tmp_path):
    path = write(tmp_path / "a.jsonl", TURNS)
    path.write_text(path.read_text().replace("state_hash", "weather"))
    assert json.loads(inspect(path, "--json"))["rollouts"]["anchors"] is None
    assert "states:" not in inspect(path)
