"""Rows that are no rollouts, and groups whose rows should agree."""

import json

import numpy as np
import pytest

from advcli.dataset.grouping import group
from advcli.io.collect.batch import Batch
from advcli.io.collect.row_rules import RuleBook
from advcli.io.inputs import opened
from advcli.io.read import read
from advcli.records.layout import Condition, Rules
from advcli.records.table import Choice, ColumnOptions

PAD = Condition("pad != true", ("pad",), "no rollout ('pad'): left out")


def book(rules, **columns):
    made = RuleBook(Choice("generic", (), None, (), rules=rules))
    half = len(next(iter(columns.values()))) // 2
    for part in (slice(half), slice(half, None)):
        cells = {name: values[part] for name, values in columns.items()}
        made.add(Batch("f", cells, np.arange(len(next(iter(cells.values()))))))
    return made


def test_filler():
    out, said = book(Rules(conditions=(PAD,)), pad=[False, True, None, 1]).left_out(4)
    assert out.tolist() == [False, True, False, True]
    assert said == ("2 rows are no rollout ('pad'): left out",)


def test_one_condition_twice():
    out, said = book(Rules(conditions=(PAD, PAD)), pad=[False, True, None]).left_out(3)
    assert out.tolist() == [False, True, False]
    assert said == ("1 row is no rollout ('pad'): left out",)


def test_no_rules():
    out, said = book(Rules(), x=[1, 2]).left_out(2)
    assert (out.tolist(), said) == ([False, False], ())


def test_a_group_must_agree():
    rules = Rules(same=("tokens",))
    made = book(rules, tokens=[[1], [1], [2], [3], [9], [8]])
    key = np.array([0, 0, 1, 1, -1, -1])
    (text,) = made.differing(key, None)
    assert text.startswith("1 group holds rows that differ in 'tokens', so its rows are of several prompts")
    # With the step in the group, the second key is two groups.
    assert made.differing(key, np.array([0, 0, 0, 1, 0, 0])) == ()


def loaded(path, rows, **options):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with opened([str(path)]) as sources:
        return read(sources, ColumnOptions(**options))


def test_open_instruct_with_shifted_prompts_is_said(tmp_path):
    """mask_truncated_completions shifts prompt_idx across prompts."""
    rows = [
        {
            "step": 1,
            "prompt_idx": place // 2,
            "sample_idx": place,
            "reward": 1,
            "advantage": 0,
            "prompt_tokens": tokens,
        }
        for place, tokens in enumerate(([1], [1], [1], [2]))
    ]
    assert any(
        "1 group holds rows that differ in 'prompt_tokens'" in text
        for text in loaded(tmp_path / "d", rows).warnings
    )


@pytest.mark.parametrize("images", [("a.png", "b.png"), ([{"path": "a"}], [{"path": "b"}])])
def test_prompts_equal_in_text_and_different_in_image(tmp_path, images):
    rows = [{"prompt": "?", "reward": 1, "images": image} for image in images for _ in (1, 2)]
    (text,) = loaded(tmp_path / "d", rows).warnings
    assert "1 group holds rows that differ in 'images'" in text
    assert loaded(tmp_path / "d", rows, group_by=("prompt", "images")).warnings == ()
    ids = [row | {"prompt_id": "x"} for row in rows]
    assert loaded(tmp_path / "d", ids).warnings == ()


def test_rows_that_are_left_out_have_no_reward_and_no_group(tmp_path):
    uid = "0f6c2b1e-7a55-4b0e-9d0c-3a7b2f1c9e11"
    pad = "pad5d1f0c3b9a7e4c0f8d2b6a1e93c47f05_0_0"
    rows = [
        {"input": "p", "output": "o", "score": score, "step": 1, "uid": name}
        for name, score in ((f"{uid}_0_0", 1), (f"{uid}_0_1", 1), (f"{uid}_1_0", 0), (pad, 0))
    ]
    table = loaded(tmp_path / "1.jsonl", rows)
    np.testing.assert_array_equal(table.rewards, [1, 1, 0, np.nan])
    assert table.cause.tolist() == [0, 0, 0, 0]
    assert group(table).group.tolist() == [0, 0, 0, -1]
    # The outputs of a session are one rollout.
    assert group(table).rollout.tolist() == [0, 0, 1, 2]


def test_rows_that_fill_up_a_batch_are_known_by_name(tmp_path):
    rows = [{"prompt_id": "a", "reward": 1, "_balance_is_pad": pad} for pad in (False, False, True)]
    table = loaded(tmp_path / "pads.jsonl", rows)
    assert table.key.tolist() == [0, 0, -1]
    assert table.warnings == ("1 row is no rollout ('_balance_is_pad'): left out",)


def test_a_mark_that_a_known_column_sets_is_one_rule(tmp_path):
    rows = [{"prompt_id": "a", "reward": 1, "is_pad": pad} for pad in (False, False, True)]
    choice = loaded(tmp_path / "pads.jsonl", rows).choice
    assert [condition.expression for condition in choice.rules.conditions] == ["`is_pad` != true"]
    assert choice.unread == ()
