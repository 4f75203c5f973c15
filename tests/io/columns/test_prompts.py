"""Which column is the prompt: in lists by step, in chats, and where a record has several prompts."""

import json

import pytest

import advcli
from advcli.io.inputs import opened
from advcli.io.read import look, read
from advcli.records.table import ColumnOptions


def written(tmp_path, rows):
    path = tmp_path / "dump.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def grouped(path, **options):
    """The columns of a group, the group of each row, and what is doubted."""
    found = advcli.read(path, **options)
    return found.columns["group"], found.advantages().group.tolist(), list(found.warnings)


def chat(*texts):
    roles = ("user", "assistant")
    return [{"role": roles[place % 2], "content": text} for place, text in enumerate(texts)]


REWARDS = [0.0, 1.0, 0.0, 1.0]


@pytest.mark.parametrize("name", ["prompts", "prompt_ids", "uids", "inputs"])
def test_lists_of_a_step_are_grouped_by_the_list_of_prompts(tmp_path, name):
    values = [[1, 5], [1, 5], [1, 6], [1, 6]] if name == "prompt_ids" else ["a", "a", "b", "b"]
    path = written(tmp_path, [{"global_step": step, name: values, "rewards": REWARDS} for step in range(2)])
    assert grouped(path)[:2] == ([name, "global_step"], [0, 0, 1, 1, 2, 2, 3, 3])


def test_lists_of_a_prompt_stay_together(tmp_path):
    path = written(tmp_path, [{"prompt": name, "rewards": REWARDS, "ids": [1, 1, 2, 2]} for name in "ab"])
    assert grouped(path)[:2] == (["prompt"], [0] * 4 + [1] * 4)


@pytest.mark.parametrize(
    "rows",
    [
        [{"step": step, "queries": ["a", "a", "b", "b"], "rewards": REWARDS} for step in range(2)],
        [
            {
                "step": step,
                "samples": [{"question": q, "reward": r} for q, r in zip("aabb", REWARDS, strict=True)],
            }
            for step in range(2)
        ],
    ],
    ids=["lists", "objects"],
)
def test_a_record_with_several_prompts_is_split_and_that_is_said(tmp_path, rows):
    columns, groups, warnings = grouped(written(tmp_path, rows))
    assert groups == [0, 0, 1, 1, 2, 2, 3, 3]
    assert f"the prompt is '{columns[0]}', of which a record has several" in " ".join(warnings)


@pytest.mark.parametrize(
    "chats",
    [
        [chat(name, answer) for name in "ab" for answer in "xy"],
        # An example stands before the question.
        [chat("example", "its answer", name, answer) for name in "ab" for answer in "xy"],
        # The environment answers differently.
        [chat(name, answer, f"saw {answer}", "end") for name in "ab" for answer in "xy"],
    ],
    ids=["one turn", "few-shot", "several turns"],
)
def test_what_stands_before_the_answer_of_a_chat(tmp_path, chats):
    rows = [{"messages": one, "reward": reward} for one, reward in zip(chats, REWARDS, strict=True)]
    path = written(tmp_path, rows)
    columns, groups, warnings = grouped(path)
    assert (columns, groups) == (["messages.prompt"], [0, 0, 1, 1])
    assert "before the answer in 'messages'; try --prompt-col messages.prompt" in " ".join(warnings)
    asked = grouped(path, prompt="messages.prompt")
    assert asked[:2] == (columns, groups)
    assert "before the answer" not in " ".join(asked[2])


def test_chats_in_the_words_of_sharegpt(tmp_path):
    """The system prompt that several questions share is no prompt of a group."""
    rows = [
        {
            "conversations": [
                {"from": "system", "value": f"be {asked // 2}"},
                {"from": "human", "value": f"question {asked}"},
                {"from": "gpt", "value": answer},
            ],
            "reward": reward,
        }
        for asked in range(4)
        for answer, reward in zip("xy", (1.0, 0.0), strict=True)
    ]
    columns, groups, _ = grouped(written(tmp_path, rows))
    assert (columns, groups) == (["conversations.prompt"], [0, 0, 1, 1, 2, 2, 3, 3])
    for row in rows:
        del row["conversations"][-1]["from"]
    with pytest.raises(advcli.DataError, match="no prompt id"):
        grouped(written(tmp_path, rows))


@pytest.mark.parametrize("name", ["promptId", "Prompt ID", "Prompt"])
def test_a_name_in_other_letters(tmp_path, name):
    rows = [{name: one, "reward": reward} for one, reward in zip("aabb", REWARDS, strict=True)]
    assert grouped(written(tmp_path, rows))[0] == [name]


def test_the_tokens_of_a_prompt_are_proposed(tmp_path):
    rows = [
        {"prompt_token_ids": [1, 2, one], "num_prompt_tokens": 3, "reward": reward}
        for one, reward in zip((7, 7, 8, 8), REWARDS, strict=True)
    ]
    path = written(tmp_path, rows)
    with pytest.raises(advcli.DataError, match=r"try --prompt-col prompt_token_ids$"):
        grouped(path)
    assert grouped(path, prompt="prompt_token_ids")[1] == [0, 0, 1, 1]


def test_a_prompt_in_an_object_is_proposed(tmp_path):
    rows = [
        {"inputs": {"question": one, "seed": at}, "reward": reward}
        for at, (one, reward) in enumerate(zip("aabb", REWARDS, strict=True))
    ]
    path = written(tmp_path, rows)
    with pytest.raises(advcli.DataError, match=r"try --prompt-col inputs.question$"):
        grouped(path)
    assert grouped(path, prompt="inputs.question")[1] == [0, 0, 1, 1]


def test_chats_that_share_nothing_are_no_groups(tmp_path):
    path = written(tmp_path, [{"messages": chat(name, "x"), "reward": 1.0} for name in "abcd"])
    with pytest.raises(advcli.DataError, match="no prompt id"):
        grouped(path)


def test_a_hash_of_the_prompt_is_proposed(tmp_path):
    path = written(
        tmp_path,
        [{"prompt_hash": name, "reward": reward} for name, reward in zip("aabb", REWARDS, strict=True)],
    )
    with pytest.raises(advcli.DataError, match="try --prompt-col prompt_hash"):
        grouped(path)


@pytest.mark.parametrize(
    ("name", "hint"), [("task", "task"), ("instruction", "instruction"), ("kind", "COL")]
)
def test_texts_that_make_groups_of_one_size_are_proposed(tmp_path, name, hint):
    values = "aaab" if name == "kind" else "aabb"
    rows = [
        {name: value, "response": response, "reward": reward}
        for value, response, reward in zip(values, "xyxy", REWARDS, strict=True)
    ]
    with pytest.raises(advcli.DataError, match=f"try --prompt-col {hint}"):
        grouped(written(tmp_path, rows))


def test_lists_in_several_records_of_a_prompt_may_be_turns(tmp_path):
    rows = [{"uid": name, "total": 1.0, "rewards": REWARDS} for name in "aabb"]
    path = written(tmp_path, rows)
    said = " ".join(grouped(path)[2])
    assert "each number in 'rewards' is taken as an answer of its own, not as a turn or token" in said
    once = written(
        tmp_path, [{"uid": name, "step": step, "rewards": REWARDS} for step in range(2) for name in "ab"]
    )
    assert "answer of its own" not in " ".join(grouped(once)[2])


def test_without_a_prompt_there_is_no_rollout(tmp_path):
    path = written(tmp_path, [{"episode": one, "reward": float(one)} for one in (0, 0, 1, 1)])
    with opened([str(path)]) as sources:
        assert look(sources, ColumnOptions(ungrouped=True))[1].rollout == ()
        assert look(sources, ColumnOptions(n=2))[1].rollout == ("episode",)


@pytest.mark.parametrize("option", [{"turn_rewards": "rewards"}, {"tokens": {"token_rewards": "rewards"}}])
def test_the_reward_of_a_list_that_is_named_is_its_sum(tmp_path, option):
    path = written(tmp_path, [{"uid": name, "rewards": REWARDS, "ids": [1] * 4} for name in "aabb"])
    with opened([str(path)]) as sources:
        table = read(sources, ColumnOptions(**option))
    assert table.rewards.tolist() == [2.0] * 4
    assert table.choice.layout.name == "rows"


def test_a_turn_that_is_taken_as_the_step_is_said(tmp_path):
    rows = [{"prompt": "a", "step_idx": one % 2, "reward": float(one)} for one in range(4)]
    found = grouped(written(tmp_path, rows))
    assert found[0] == ["prompt", "step_idx"]
    assert "'step_idx' is taken as the training step, and could be the turn of a rollout" in " ".join(
        found[2]
    )
