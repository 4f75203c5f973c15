"""Which columns are the reward: by evidence, with the doubts that come up."""

import json

import pytest

from advcli.common.errors import DataError
from advcli.io.inputs import opened
from advcli.io.read import look
from advcli.records.table import ColumnOptions


@pytest.fixture
def chosen(tmp_path):
    def run(rows, **options):
        path = tmp_path / "d.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        with opened([str(path)]) as sources:
            return look(sources, ColumnOptions(**options))[1]

    return run


def rows(count=8, **columns):
    base = {"prompt": lambda i: i // 4}
    return [{name: value(place) for name, value in (base | columns).items()} for place in range(count)]


TRL = {"step": lambda i: 1, "completion": str, "advantage": lambda i: 0.5}


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        # A total beats parts, ids and counters.
        ({"reward": lambda i: i % 2, "reward_format": lambda i: 1, "sample_id": lambda i: i}, ["reward"]),
        ({**TRL, "reward": lambda i: i % 2, "acc_reward": lambda i: 1, "sample_id": lambda i: i}, ["reward"]),
        ({"final_reward": lambda i: i % 2, "reward_format": lambda i: 1}, ["final_reward"]),
        # Of reward functions, no ids, counters, times, averages or lengths are any.
        (
            {
                **TRL,
                "acc": lambda i: i % 2,
                "uid2": lambda i: 5,
                "row": lambda i: 100 + i,
                "took_ms": lambda i: 3,
            },
            ["acc"],
        ),
        ({**TRL, "acc": lambda i: i % 2, "n_tokens": lambda i: 7, "score_mean": lambda i: 0.5}, ["acc"]),
        # A length that holds no whole numbers is a reward function of that name.
        ({**TRL, "acc": lambda i: i % 2, "length": lambda i: -i / 10}, ["acc", "length"]),
        # Two columns that hold the same are one reward.
        ({"reward": lambda i: i % 2, "score": lambda i: i % 2}, ["reward"]),
        # A full column beats one that is nearly empty.
        ({"reward": lambda i: 1 if i == 7 else None, "score": lambda i: i % 2}, ["score"]),
        ({"acc_reward": lambda i: i % 2, "reward_std": lambda i: 0.5}, ["acc_reward"]),
    ],
)
def test_the_reward(chosen, columns, expected):
    assert [name for name, _ in chosen(rows(**columns)).rewards] == expected


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (
            {"reward": lambda i: 1 if i == 7 else None, "score": lambda i: i % 2},
            "the reward is 'score', and could be 'reward' (in 1 of 8 rows)",
        ),
        (
            {"reward": lambda i: i % 2, "total_score": lambda i: i % 3},
            "the reward is 'reward', and could be 'total_score'",
        ),
    ],
)
def test_a_doubt_is_said_and_an_error_where_nothing_is_said(chosen, columns, words):
    (doubt,) = chosen(rows(**columns)).doubts
    assert words in doubt
    with pytest.raises(DataError) as error:
        chosen(rows(**columns), strict=True)
    assert words in error.value.message
    assert chosen(rows(**columns), strict=True, rewards=(("reward", 1.0),)).doubts == ()


def test_numbers_that_could_be_parts_are_told(chosen):
    choice = chosen(
        rows(
            reward=lambda i: i % 2,
            style=lambda i: i / 7,
            index=lambda i: i,
            length=lambda i: -i / 3,
            ms=lambda i: 9,
        )
    )
    assert choice.unread == ("style", "length")
    assert choice.length is None


def test_several_that_differ_are_an_error(chosen):
    with pytest.raises(DataError, match="2 columns can be the reward: reward, score") as error:
        chosen(rows(reward=lambda i: i % 2, score=lambda i: i % 3))
    assert error.value.hint == "--reward reward or --reward score"


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (
            [{"prompt": "a", "reward_0": 0.0, "reward_1": 1.0}] * 2,
            "'reward_0', 'reward_1' look like the rewards of several answers in one row; try a row per answer",
        ),
        (
            [{"prompt": "a", "chosen_score": 1.0, "rejected_score": 0.0}] * 2,
            "'chosen_score', 'rejected_score' look like the rewards of several answers in one row",
        ),
        ([{"prompt": "a", "judge": {"score": 1.0, "why": "x"}}] * 2, "try --reward judge.score"),
        (
            [{"prompt": "a", "verifier": {"why": "x", "rewards": {"reward": 1.0}}}] * 2,
            "try --reward verifier.rewards.reward",
        ),
        (
            [{"prompt": "a", "score": {"correct": 1.0}}] * 2,
            "'score' holds objects, expected a number per row",
        ),
        (
            [{"prompt": "a", "token_level_rewards": [0.0, 1.0]}] * 2,
            "no reward among .* try --token-rewards-col token_level_rewards$",
        ),
        (
            [{"prompt": "a", "step_scores": [0.0, 1.0]}] * 2,
            "no reward among .* try --turn-rewards-col step_scores$",
        ),
        ([{"prompt": "a", "reward": [1.0]}] * 2, "'reward' holds lists, .* try --explode reward$"),
        (
            [{"prompt": "a", "rewards": {"accuracy": 1.0, "format": 0.5, "why": "x"}}] * 2,
            "try --reward rewards.accuracy --reward rewards.format$",
        ),
        ([{"prompt": "a", "reward": {"value": 1.0, "why": "x"}}] * 2, "try --reward reward.value$"),
        (
            [{"prompt": "a", "reward_info": {"total": 1.0, "format": 0.5}}] * 2,
            "try --reward reward_info.total$",
        ),
        (
            [{"prompt": "a", "accuracy_reward_func": 1.0, "rewardFormat": 0.5}] * 2,
            "no total reward, and several parts: .*; try --reward accuracy_reward_func --reward rewardFormat$",
        ),
        (
            [{"rows": [{"row": {"prompt": "a", "reward": 1.0}, "row_idx": 0}] * 2}],
            "try --explode rows --reward row.reward$",
        ),
        (
            [{"2+2?": [{"text": "4", "reward": 1.0}], "3+3?": [{"text": "7", "reward": 0.0}]}],
            r"one record with a list in each column .*; try jq -c 'to_entries\[\] \| {prompt: .key, rollouts: .value}'$",
        ),
        (
            [{"2+2?": [1.0, 0.0], "3+3?": [1.0, 1.0]}],
            r"as if each key were a prompt; try jq -c 'to_entries\[\] \| {prompt: .key, rewards: .value}'$",
        ),
        ([{"prompt": "a", "episode_return": 1.0}] * 2, "try --reward episode_return"),
        (
            [{"prompt": {"0": "a", "1": "a"}, "reward": {"0": 0.0, "1": 1.0}}],
            r"as pandas' to_json\(\) writes it; try df.to_json\(path, orient='records', lines=True\)",
        ),
    ],
    ids=[
        "numbered",
        "pair",
        "in an object",
        "deeper",
        "an object",
        "of tokens",
        "of turns",
        "lists of one",
        "parts in an object",
        "the only number of an object",
        "the whole of an object",
        "parts by a word",
        "rows in objects",
        "answers by prompt",
        "rewards by prompt",
        "return",
        "by column",
    ],
)
def test_what_is_said_where_there_is_no_reward(chosen, records, message):
    with pytest.raises(DataError, match=message):
        chosen(records)


def test_the_only_part_beside_an_outcome_is_in_doubt(chosen):
    several = rows(difficulty_score=lambda i: i // 4 / 8, correct=lambda i: i % 2 == 1)
    (doubt,) = chosen(several).doubts
    assert doubt == (
        "the reward is 'difficulty_score', as no other name says so, and could be 'correct'; "
        "try --reward difficulty_score or --reward correct"
    )
    assert chosen(several, rewards=(("correct", 1.0),)).doubts == ()


def test_pictures_are_no_reward_functions(chosen):
    record = {
        "step": ["1"] * 4,
        "prompt": ["a", "a", "b", "b"],
        "completion": ["x"] * 4,
        "Accuracy": [1.0, 0.0, 1.0, 1.0],
        "images": [None] * 4,
    }
    assert chosen([record]).rewards == (("Accuracy", 1.0),)
