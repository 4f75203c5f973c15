"""Rollouts of several rows, from the command line: what counts, what each row gets, and what is said."""

import json
import random
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from typer.testing import CliRunner

from advcli.cli import app

RUN = "ab" * 16
# verl v1: four sessions of 1, 3, 2 and 1 outputs, of which the first and the third are right.
SESSIONS = [(0, 1, 1.0), (1, 3, 0.0), (2, 2, 1.0), (3, 1, 0.0)]
HALF = 3**0.5 / 2


@pytest.fixture
def here():
    """The program in this process, where no error is expected."""

    def run(*arguments):
        done = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
        return SimpleNamespace(returncode=done.exit_code, stdout=done.stdout, stderr=done.stderr)

    return run


def dump(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.fixture
def verl(tmp_path):
    rows = [
        {
            "input": "p",
            "output": f"o{session}{index}",
            "gts": "",
            "score": score,
            "step": 1,
            "uid": f"{RUN}_{session}_{index}",
        }
        for session, outputs, score in SESSIONS
        for index in range(outputs)
    ]
    return dump(tmp_path / "1.jsonl", rows)


def turns(tmp_path, named="rollout_id", turn="turn", rewards=(0.0, 0.0, 1.0), step=None):
    """Two prompts with two rollouts each; the first of each has three turns."""
    rows = []
    for prompt in ("a", "b"):
        for rollout, values in ((0, rewards), (1, (0.0,))):
            rows += [
                {
                    "prompt_id": prompt,
                    named: rollout,
                    **({turn: at} if turn else {}),
                    **({"step": step(at)} if step else {}),
                    "reward": value,
                    "response_length": 10,
                }
                for at, value in enumerate(values)
            ]
    return dump(tmp_path / "turns.jsonl", rows)


def annotated(here, *arguments):
    done = here("compute", *arguments, "--out", "-", "--quiet")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def report(here, *arguments):
    done = here(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def test_verls_grpo_counts_sessions_and_gives_all_their_outputs_the_advantage(here, verl):
    rows = annotated(here, verl, "--like", "verl", "--estimator", "grpo")
    expected = [HALF, *[-HALF] * 3, *[HALF] * 2, -HALF]
    assert [row["adv_original"] for row in rows] == pytest.approx(expected, abs=2e-6)
    assert [row["adv_rollout"] for row in rows] == [0, 1, 1, 1, 2, 2, 3]


def test_every_other_estimator_of_verl_counts_rows(here, verl):
    rows = annotated(here, verl, "--like", "verl", "--estimator", "rloo")
    assert [row["adv_original"] for row in rows] == pytest.approx([2 / 3, *[-0.5] * 3, 2 / 3, 2 / 3, -0.5])


def test_without_a_framework_rollouts_count_unless_rows_are_asked_for(here, verl):
    assert annotated(here, verl)[1]["adv_original"] == pytest.approx(-HALF)
    # Three of seven rows are right: mean 3/7, variance (3 · 4) / (7 · 6).
    rows = annotated(here, verl, "--count", "rows")
    assert rows[1]["adv_original"] == pytest.approx(-(3 / 7) / (12 / 42) ** 0.5)


def test_figures_count_rollouts(here, verl):
    found, _ = report(here, "compare", verl)
    assert (found["rows"], found["rollouts"], found["group_sizes"]) == (7, 4, {"4": 1})
    assert found["columns"]["original"]["count"] == 4
    found, said = report(here, "compare", verl, "--count", "rows")
    assert (found["rows"], found["rollouts"], found["group_sizes"]) == (7, None, {"7": 1})
    assert "every row counts, so a rollout of 3 rows counts 3 times" in said


def test_both_readings_beside_each_other(here, verl):
    found, said = report(here, "compare", verl, "--vs", "grpo:count=rows")
    assert found["columns"]["grpo:count=rows"]["count"] == found["columns"]["original"]["count"] == 7
    assert "all figures are over rows, as grpo:count=rows counts every row" in said


def test_inspect_says_what_counting_rows_does(here, verl):
    found, _ = report(here, "inspect", verl)
    assert found["rows"] == 7
    assert found["rewards"][0]["mean"] == 0.5
    assert found["rollouts"] == {
        "rollouts": 4,
        "rows": 7,
        "turns_mean": 1.75,
        "turns_max": 3,
        "several_steps": 0,
        "differ": 0,
        "largest_share_of_rows": pytest.approx(3 / 7),
        "its_share_of_rollouts": 0.25,
        "reward_by_rollouts": 0.5,
        "reward_by_rows": pytest.approx(3 / 7),
        "by_turns": [
            {"turns": 1, "rollouts": 2, "reward_mean": 0.5},
            {"turns": 2, "rollouts": 1, "reward_mean": 1.0},
            {"turns": 3, "rollouts": 1, "reward_mean": 0.0},
        ],
        "anchors": None,
    }
    shown = here("inspect", verl).stdout
    assert "7 rows · 4 rollouts · 1 group of 4 rollouts" in shown
    assert all(len(line) <= 80 for line in shown.splitlines()[1:])


@pytest.mark.parametrize("named", ["rollout_id", "trajectory_id", "episode_id", "rollout"])
def test_usual_names_are_found_and_rewards_that_differ_are_said(here, tmp_path, named):
    found, said = report(here, "compare", turns(tmp_path, named))
    assert (found["rows"], found["rollouts"]) == (8, 4)
    assert "2 rollouts have rows with different rewards (first: " in said
    assert "turns.jsonl:1): the last turn's counts" in said


@pytest.mark.parametrize(("rule", "first"), [("last", 1.0), ("first", 0.25), ("sum", 1.75)])
def test_the_reward_of_a_rollout(here, tmp_path, rule, first):
    path = turns(tmp_path, rewards=(0.25, 0.5, 1.0))
    rows = annotated(here, path, "--estimator", "reinforce", "--rollout-reward", rule)
    assert [row["adv_original"] for row in rows[:4]] == [first] * 3 + [0.0]


def test_turns_tell_the_order(here, tmp_path):
    rows = [
        {"prompt_id": "a", "my_id": 0, "at": at, "reward": reward}
        for at, reward in ((2, 1.0), (0, 0.0), (1, 0.5))
    ] + [{"prompt_id": "a", "my_id": 1, "at": 0, "reward": 0.0}]
    path = dump(tmp_path / "shuffled.jsonl", rows)
    given = ("--estimator", "reinforce", "--rollout-col", "my_id")
    assert annotated(here, path, *given)[0]["adv_original"] == 0.5
    assert annotated(here, path, *given, "--turn-col", "at")[0]["adv_original"] == 1.0


def test_n_counts_rollouts(here, tmp_path):
    rows = [
        {"prompt_id": "a", "rollout_id": rollout, "turn": turn, "reward": float(rollout % 2)}
        for rollout in range(4)
        for turn in range(2)
    ]
    found = annotated(here, dump(tmp_path / "n.jsonl", rows), "--n", "2")
    assert [row["adv_group"] for row in found] == [0] * 4 + [1] * 4


def test_keep_ratios_and_tokens_count_rollouts(here, tmp_path):
    rows = [
        {"prompt_id": "a", "rollout_id": rollout, "turn": turn, "reward": reward, "response_length": 10}
        for rollout, reward in enumerate((1.0, 0.9, 0.0, 0.0))
        for turn in range(4 - rollout)
    ]
    path = dump(tmp_path / "kept.jsonl", rows)
    kept = [row["adv_kept"] for row in annotated(here, path, "--keep-pos", "0.5")]
    assert kept == [True] * 4 + [False] * 3 + [True] * 3
    found, _ = report(here, "compare", path, "--before", "truncated:max=35")
    assert found["left_out"] == [
        {"when": "before", "filter": "truncated:max=35", "rows": 1, "groups": 0, "tokens": 40}
    ]


def test_a_step_by_the_name_of_a_rollout_is_none(here, tmp_path):
    rows = [
        {"prompt_id": prompt, "rollout_id": 7, "reward": reward}
        for prompt in ("a", "b")
        for reward in (1.0, 0.0)
    ]
    found, said = report(here, "compare", dump(tmp_path / "step.jsonl", rows))
    assert found["rollouts"] is None
    assert "'rollout_id' is one value in every group, so it is no rollout id" in said


def test_a_name_that_only_looks_like_a_rollout_must_agree_in_the_reward(here, tmp_path):
    rows = [
        {"prompt_id": "a", "episode": at // 2, "reward": reward}
        for at, reward in enumerate((1.0, 0.0, 0.0, 1.0))
    ]
    path = dump(tmp_path / "episode.jsonl", rows)
    found, said = report(here, "compare", path)
    assert found["rollouts"] is None
    assert "rows with one 'episode' have different rewards and no turn" in said
    found, _ = report(here, "compare", path, "--rollout-col", "episode")
    assert found["rollouts"] == 2


def test_rollouts_over_several_steps_are_counted(here, tmp_path):
    path = turns(tmp_path, step=lambda at: at)
    found, _ = report(here, "inspect", path, "--group-by", "prompt_id")
    assert found["rollouts"]["several_steps"] == 2
    # A rollout that begins again with its first turn is another one.
    rows = [
        {"prompt_id": "a", "rollout_id": rollout, "turn": turn, "step": step, "reward": float(rollout)}
        for step in (1, 2)
        for rollout in (0, 1)
        for turn in (0, 1)
    ]
    found, _ = report(here, "inspect", dump(tmp_path / "again.jsonl", rows))
    assert (found["rollouts"]["rollouts"], found["rollouts"]["several_steps"]) == (4, 0)


def test_a_list_of_turn_rewards_is_a_rollout_with_so_many_turns(here, tmp_path):
    rows = [
        {"prompt_id": "a", "reward": 1.0, "turn_rewards": [0.5, None, 1.0]},
        {"prompt_id": "a", "reward": 0.0, "turn_rewards": [0.0]},
    ]
    found, _ = report(here, "inspect", dump(tmp_path / "lists.jsonl", rows))
    assert found["rollouts"]["by_turns"] == [
        {"turns": 1, "rollouts": 1, "reward_mean": 0.0},
        {"turns": 3, "rollouts": 1, "reward_mean": 1.0},
    ]
    assert found["rollouts"]["reward_by_rows"] == 0.75


def test_rows_that_fill_up_the_batch_are_left_out(here, tmp_path):
    rows = [
        {"prompt_id": "a", "reward": reward, "_balance_is_pad": pad}
        for reward, pad in ((1.0, False), (0.0, False), (1.0, True))
    ]
    found = annotated(here, dump(tmp_path / "pads.jsonl", rows), "--scale", "none")
    assert [row["adv_original"] for row in found] == [0.5, -0.5, None]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--count turns", "unknown count rule 'turns'; try rollouts or rows"),
        ("--rollout-reward mean", "unknown rollout reward rule 'mean'; try last, first or sum"),
        ("--rollout-col nowhere", "no column 'nowhere'"),
        ("--turn-col nowhere", "no column 'nowhere'"),
    ],
)
def test_options_that_make_no_sense(advcli, verl, arguments, said):
    done = advcli("compare", verl, *arguments.split())
    assert done.returncode == 2
    assert said in done.stderr.decode()


def test_match_tells_rules_that_count_rollouts_from_those_that_count_rows(here, tmp_path):
    draw = random.Random(2)
    rows = [
        {"prompt_id": prompt, "trajectory_id": rollout, "turn": turn, "reward": float(turn == last) * won}
        for prompt in range(6)
        for rollout in range(4)
        for won, last in [(draw.randrange(2), draw.randrange(3))]
        for turn in range(last + 1)
    ]
    of: dict[int, dict[int, float]] = {}
    for row in rows:
        of.setdefault(row["prompt_id"], {})[row["trajectory_id"]] = row["reward"]
    for row in rows:
        rewards = torch.tensor(list(of[row["prompt_id"]].values()))
        deviation = of[row["prompt_id"]][row["trajectory_id"]] - rewards.mean()
        row["advantage"] = float(deviation / (rewards.std() + 1e-6))
    found, _ = report(here, "match", dump(tmp_path / "logged.jsonl", rows))
    assert found["found"]
    fits = {fit["framework"] for fit in (found["best"], *found["indistinguishable"])}
    assert {"verl", "skyrl"} <= fits
    assert not fits & {"verl-agent", "ragen"}


def test_prompts_follows_rollouts(here, tmp_path):
    # Each prompt: a right rollout of three turns, 30 tokens, and a wrong one of 10.
    found, said = report(here, "prompts", turns(tmp_path), "--k", "1,2")
    assert (found["rows"], found["rollouts"], found["mean_over_rows"]) == (8, 4, 0.5)
    for prompt in found["shown"]:
        assert (prompt["rows"], prompt["mean"]) == (2, 0.5)
        assert [rate["share"] for rate in prompt["pass_at"].values()] == [0.5, 1]
        assert (prompt["length_right"], prompt["length_wrong"]) == (30, 10)
    assert "2 rollouts have rows with different rewards" in said
    found, said = report(here, "prompts", turns(tmp_path), "--count", "rows")
    assert (found["mean_over_rows"], found["rollouts"]) == (0.25, None)
    assert "every row counts, so a rollout of 3 rows counts 3 times" in said
    found, _ = report(here, "prompts", turns(tmp_path), "--rollout-reward", "first")
    assert found["mean_over_rows"] == 0


def test_verify_and_select_count_rollouts(here, tmp_path):
    # The judge calls the right rollout of a right, at its last turn, and the wrong one of b.
    rows = [json.loads(line) for line in Path(turns(tmp_path)).read_text().splitlines()]
    judged = [0, 0, 1, 0, 0, 0, 0, 1]
    texts = [f"{row['prompt_id']}{row['rollout_id']}{row['turn']}" for row in rows]
    lines = [
        {**row, "prompt": row["prompt_id"], "judge": b, "response": text}
        for row, b, text in zip(rows, judged, texts, strict=True)
    ]
    path = dump(tmp_path / "judged.jsonl", lines)
    found, _ = report(here, "verify", path, "--reward", "reward", "--vs-reward", "judge")
    assert {found["every"][name] for name in ("both", "only_a", "only_b", "neither")} == {1}
    out = tmp_path / "out.jsonl"
    assert here("select", path, "--as", "prompts", "--out", str(out)).returncode == 0
    assert [json.loads(line)["solved"] for line in out.read_text().splitlines()] == [0.5, 0.5]
    assert here("select", path, "--as", "dpo", "--out", str(out), "--force").returncode == 0
    pairs = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(pair["chosen"], pair["rejected"]) for pair in pairs] == [("a02", "a10"), ("b02", "b10")]
