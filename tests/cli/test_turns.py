"""Turns from the command line: where they come from, what is written, what is said."""

import json

import pytest
from typer.testing import CliRunner

from advcli import DataError, UsageError
from advcli.cli import app

TURNS = {"p0": {"a": [0, 0, 1], "b": [0, 0], "c": [0, 1]}, "p1": {"d": [0, 1], "e": [0]}}
# verl-agent's code gave these, for its default.
GIGPO = [0.6190, 0.5357, 0.5357, -1.3810, -1.4643, 0.6190, 0.5357, 0.8333, 0.3333, -1.1667]
LIKE = ("--like", "verl-agent", "--estimator", "gigpo")


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def state(turn):
    return f"s{min(turn, 1)}"


@pytest.fixture
def rows(tmp_path):
    found = [
        {"task": prompt, "run": rollout, "t": turn, "score": reward, "obs": state(turn)}
        for prompt, rollouts in TURNS.items()
        for rollout, rewards in rollouts.items()
        for turn, reward in enumerate(rewards)
    ]
    return write(tmp_path / "rows.jsonl", found)


@pytest.fixture
def lists(tmp_path):
    found = [
        {
            "task": prompt,
            "score": sum(rewards),
            "earned": rewards,
            "obs": [state(t) for t in range(len(rewards))],
        }
        for prompt, rollouts in TURNS.items()
        for rewards in rollouts.values()
    ]
    return write(tmp_path / "lists.jsonl", found)


@pytest.fixture
def nested(tmp_path):
    found = [
        {
            "task": prompt,
            "turns": [{"earned": reward, "obs": state(turn)} for turn, reward in enumerate(rewards)],
        }
        for prompt, rollouts in TURNS.items()
        for rewards in rollouts.values()
    ]
    return write(tmp_path / "nested.jsonl", found)


def computed(path, name, *arguments):
    out = path.with_name("out.jsonl")
    done = run("compute", path, "--prompt-col", "task", "--anchor-col", "obs", *arguments, "-o", out)
    assert done.exit_code == 0
    return [json.loads(line)[name] for line in out.read_text().splitlines()]


def test_a_row_per_turn(rows):
    given = ("--reward", "score", "--rollout-col", "run", "--turn-col", "t")
    assert computed(rows, "adv_original", *given, *LIKE) == pytest.approx(GIGPO, abs=6e-5)


def test_a_row_per_rollout_with_a_list_of_turns(lists):
    given = ("--reward", "score", "--turn-rewards-col", "earned")
    found = computed(lists, "adv_turns", *given, *LIKE)
    assert [len(one) for one in found] == [3, 2, 2, 2, 1]
    assert [number for one in found for number in one] == pytest.approx(GIGPO, abs=6e-5)


def test_a_record_per_rollout_with_turns_in_it(nested):
    given = ("--explode", "turns", "--reward", "earned", "--rollout-col", "@line")
    assert computed(nested, "adv_original", *given, *LIKE) == pytest.approx(GIGPO, abs=6e-5)


def test_a_role(rows):
    """With each episode worth as much nothing but the states is left."""
    given = ("--reward", "score", "--rollout-col", "run", "--turn-col", "t", "--role", "episode=same")
    text = rows.read_text().replace('"obs"', '"same": 0.5, "obs"')
    rows.write_text(text)
    found = computed(rows, "adv_original", *given, *LIKE, "--scale", "none")
    assert found[7:] == pytest.approx([0.5, 0, -0.5], abs=1e-6)


def test_what_is_wrong_is_said(rows, lists):
    plain = ("--prompt-col", "task", "--reward", "score", "--estimator", "turn_loo", "-o", "-")
    with pytest.raises(UsageError, match="--role 'episodes=x': expected ROLE=COL"):
        run("compute", rows, *plain, "--role", "episodes=x")
    with pytest.raises(DataError, match="turn_loo needs the turns of each rollout"):
        run("compute", rows, *plain)
    short = lists.read_text().replace('["s0", "s1", "s1"]', '["s0", "s1"]')
    lists.write_text(short)
    with pytest.raises(
        DataError, match=r"lists.jsonl:1: 'obs' has 2 states, expected one for each of 3 turns"
    ):
        run("compute", lists, *plain, "--turn-rewards-col", "earned", "--anchor-col", "obs")


def test_how_many_rollouts_reach_a_turn_is_said(rows):
    done = run(
        "compute",
        rows,
        "--prompt-col",
        "task",
        "--reward",
        "score",
        "--rollout-col",
        "run",
        "--turn-col",
        "t",
        "--estimator",
        "turn_loo",
        "-o",
        "-",
    )
    assert "rollouts that reach each: 5 turn 0, 4 turn 1, 1 turn 2" in done.stderr


def test_an_estimator_of_turns_is_described():
    done = run("estimators", "turn_loo")
    assert "advantage per            turn" in done.stdout
    assert "biased                   if the policy decides when to stop" in done.stdout


def test_a_rule_of_three_rewards_says_so(advcli, tmp_path):
    rows = [{"prompt_id": "a", "a": float(n), "b": 0.0, "tokens": 2, "tool": 0} for n in (0, 1)]
    (tmp_path / "two.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    flags = ("--reward", "a", "--reward", "b", "--length-col", "tokens", "--role", "segment=tool")
    done = advcli("compute", "two.jsonl", *flags, "--like", "multi-turn-rl-agent", "--estimator", "mt_grpo")
    assert done.returncode == 2
    assert done.stderr.decode().splitlines()[-1] == (
        "advcli: mt_grpo takes three rewards (of the turn, of the outcome, and both combined), not 2; "
        "try --reward TURN --reward OUTCOME --reward BOTH"
    )


def test_a_turn_without_a_reward_in_a_list_earned_nothing(tmp_path):
    path = write(
        tmp_path / "x.jsonl", [{"task": "p", "earned": one} for one in ([0, None], [1, None], [None])]
    )
    done = run(
        "compute",
        path,
        "--estimator",
        "turn_loo",
        "--turn-rewards-col",
        "earned",
        "--prompt-col",
        "task",
        "--out",
        "-",
    )
    assert done.exit_code == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    # Turn 0: 0 and 1, each against the other; turn 1: nothing and nothing. The third rollout has no reward at all.
    assert [row["adv_turns"] for row in rows] == [[-1, 0], [1, 0], [None]]


def test_where_rewards_are_there_too_few_of_them_are_not_to_blame(tmp_path):
    path = write(tmp_path / "x.jsonl", [{"task": "p", "score": one, "earned": "text"} for one in (0, 1)])
    done = run(
        "compare", path, "--estimator", "turn_loo", "--turn-rewards-col", "earned", "--prompt-col", "task"
    )
    assert "warning: no row has an advantage\n" in done.stderr
