"""Groups: by key, by step, by n, and what looks wrong with them."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advcli.common.errors import DataError, UsageError
from advcli.dataset.grouping import group, sizes_of
from advcli.records.table import Choice, RewardTable


def table(keys, steps=None, *, prompt=("prompt_id",), step_in_key=True):
    """A table of rows of which only the keys and steps matter; the key None is a bad row."""
    names = list(dict.fromkeys(key for key in keys if key is not None))
    step_names = list(dict.fromkeys(steps or ()))
    return RewardTable(
        rewards=np.zeros(len(keys)),
        cause=np.zeros(len(keys), dtype=np.int8),
        key=np.array([-1 if key is None else names.index(key) for key in keys], dtype=np.int64),
        step=None if steps is None else np.array([step_names.index(step) for step in steps], dtype=np.int64),
        step_names=tuple(map(str, step_names)),
        length=None,
        logged=None,
        rows=(len(keys),),
        choice=Choice(
            format="generic",
            prompt=prompt,
            step=None if steps is None else "step",
            rewards=(("reward", 1.0),),
            step_in_key=step_in_key,
        ),
        dropped=(frozenset(),),
        lines=np.arange(1, len(keys) + 1),
        names=("f.jsonl",),
    )


CASES = {
    # Each with its keys, steps, n and groups.
    "by key": ("aabba", None, None, [0, 0, 1, 1, 0]),
    "in order of appearance": ("cabcab", None, None, [0, 1, 2, 0, 1, 2]),
    "key and step": ("aaaabb", [1, 1, 2, 2, 1, 2], None, [0, 0, 1, 1, 2, 3]),
    "scattered over steps": ("abab", [2, 2, 1, 2], None, [0, 1, 2, 1]),
    "n cuts a key": ("aaaaaa", None, 2, [0, 0, 1, 1, 2, 2]),
    "n cuts scattered rows": ("abababab", None, 2, [0, 1, 0, 1, 2, 3, 2, 3]),
    "n within steps": ("aaaaaa", [1, 2, 1, 2, 1, 2], 2, [0, 1, 0, 1, 2, 3]),
    "n leaves a rest": ("aaaaab", None, 2, [0, 0, 1, 1, 2, 3]),
    "n larger than all": ("aab", None, 9, [0, 0, 1]),
    "n of one": ("aab", None, 1, [0, 1, 2]),
    "bad rows": (["a", None, "a", "b", None, "b"], None, None, [0, -1, 0, 1, -1, 1]),
    "bad rows do not count for n": (["a", None, "a", "a", "a"], None, 2, [0, -1, 0, 1, 1]),
    "one row": ("a", None, None, [0]),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_groups(case):
    keys, steps, n, expected = case
    found = group(table(keys, steps), n)
    assert (found.group.dtype, found.group.tolist()) == (np.int64, expected)
    assert found.count == max(expected) + 1


def test_without_a_key_consecutive_rows_are_cut():
    found = group(table("aaaaa", prompt=()), 2)
    assert found.group.tolist() == [0, 0, 1, 1, 2]
    assert (found.columns, found.rule) == ((), "consecutive rows, cut by 2")


def test_without_a_key_rows_of_two_steps_are_never_cut_together():
    found = group(table("aaaaaa", [1, 1, 1, 2, 2, 2], prompt=()), 2)
    assert found.group.tolist() == [0, 0, 1, 2, 2, 3]
    assert (found.columns, found.rule) == (("step",), "'step', cut by 2")


def test_the_rule_in_words():
    assert group(table("aabb")).rule == "'prompt_id'"
    assert group(table("aabb", [1, 1, 1, 1])).rule == "'prompt_id' + 'step'"
    assert group(table("aabb", prompt=("p", "q")), 2).rule == "'p' + 'q', cut by 2"
    both = group(table("aabb", [1, 1, 2, 2], step_in_key=False))
    assert (both.rule, both.columns) == ("'prompt_id'", ("prompt_id",))


@given(
    st.lists(st.tuples(st.sampled_from([*"abcd", None]), st.integers(1, 3)), min_size=1, max_size=40).filter(
        lambda rows: any(key for key, _ in rows)
    ),
    st.none() | st.integers(1, 4),
)
def test_groups_are_those_of_a_plain_loop(rows, n):
    keys, steps = zip(*rows, strict=True)
    seen, numbers, expected = Counter(), {}, []
    for key, step in rows:
        if key is None:
            expected.append(-1)
            continue
        part = seen[key, step] // n if n else 0
        seen[key, step] += 1
        expected.append(numbers.setdefault((key, step, part), len(numbers)))
    found = group(table(keys, steps), n, singletons_expected=True)
    assert found.group.tolist() == expected
    assert found.count == len(numbers)


@pytest.mark.parametrize("n", [0, -1])
def test_n_below_one_is_a_usage_error(n):
    with pytest.raises(UsageError, match=rf"n is {n}, expected rows per prompt, from 1 to 2,147,483,648"):
        group(table("ab"), n)


def test_a_key_that_names_the_row_is_an_error():
    with pytest.raises(
        DataError, match=r"each of 4 prompts has one row \('prompt_id' differs in all of them\)"
    ) as error:
        group(table("abcd"))
    assert error.value.hint == "--estimator batch_norm, which compares all rows"
    with pytest.raises(DataError, match=r"each of 2 groups .*'prompt_id' \+ 'step' differ together") as error:
        group(table("aa", [1, 2]))
    assert error.value.hint == "--group-by prompt_id or --estimator batch_norm, which compares all rows"
    with pytest.raises(DataError, match=r"each of 2 prompts .*'prompt_id' \+ 'step' differ together"):
        group(table("ab", [1, 2]))


@pytest.mark.parametrize("options", [{"n": 1}, {"singletons_expected": True}])
def test_groups_of_one_are_no_error_where_they_are_wanted(options):
    assert group(table("abcd"), **options).count == 4


WARNINGS = {
    # id: (keys, steps, n, the warnings)
    "nothing wrong": ("aabb", None, None, ()),
    "one group": ("aaa", None, None, ("all 3 rows are one group: 'prompt_id' is the same in every row",)),
    "one row is no group to warn of": ("a", None, None, ()),
    "one group by n": ("aaa", None, 3, ()),
    "leftovers": (
        "aaaaabbb",
        None,
        2,
        ("2 groups of fewer than 2 rows left over (2 rows), kept as they are",),
    ),
    "one leftover": (
        "aaabb",
        None,
        2,
        ("1 group of fewer than 2 rows left over (1 row), kept as it is",),
    ),
    "a multiple": (
        "aabbcccc",
        None,
        None,
        (
            "1 group has a multiple of 2 rows: the same prompt drawn more than once? try --n 2 or --step-col COL",
        ),
    ),
    "multiples with a step": (
        "aabbccddddeeee",
        [1] * 14,
        None,
        ("2 groups have a multiple of 2 rows: the same prompt drawn more than once? try --n 2",),
    ),
    "odd sizes are no multiple": ("aabbccc", None, None, ()),
    "singletons are no mode": ("abccdd", None, None, ()),
}


@pytest.mark.parametrize("case", WARNINGS.values(), ids=WARNINGS)
def test_what_looks_wrong_is_said_once(case):
    keys, steps, n, warnings = case
    assert group(table(keys, steps), n).warnings == warnings


def test_groups_that_mix_steps_are_a_warning():
    mixed = table("aabbcc", [1, 2, 1, 2, 1, 1], step_in_key=False)
    assert group(mixed).warnings == ("2 groups mix rows of several steps; try --group-by prompt_id,step",)
    assert group(table("aabb", [1, 1, 2, 2], step_in_key=False)).warnings == ()


def test_sizes_most_frequent_first():
    sizes = sizes_of(np.array([0, 0, 1, 2, 2, -1, 3, 3, 3]), 4)
    assert list(sizes.items()) == [(2, 2), (1, 1), (3, 1)]
