"""Columns that no dump has as such: their inputs, their values, and where a row comes from."""

import numpy as np
import pyarrow as pa
import pytest

from advcli.io.collect.batch import Batch
from advcli.io.collect.duplicates import ROW
from advcli.io.formats import derived
from advcli.records.layout import Condition, Derived, Rules
from advcli.records.table import Choice

UUID = "0f6c2b1e-7a55-4b0e-9d0c-3a7b2f1c9e11"
TOTAL = Derived("total", ("rewards",), "advcli.io.formats.derived:weighted_total")


def choice(*prompt, **more):
    return Choice("generic", prompt, None, (("total", 1.0),), derived=(TOTAL,), **more)


def test_inputs_are_what_the_files_have():
    rules = Rules(conditions=(Condition("pad != true", ("pad",), ""),), same=("x",))
    made = choice("@file", "p", rules=rules, rollout=("unit",), turn="place")
    assert derived.inputs(made) == ("p", "rewards", "place", "unit", "pad", "x")
    assert derived.inputs(choice("p", dedup=True)) == ("p", "rewards", ROW)


@pytest.mark.parametrize("make", [list, pa.array])
def test_completed(make):
    batch = Batch(
        "run/step_3/a.jsonl", {"rewards": make([{"a": {"score": 1, "weight": 2}}, None])}, np.array([4, 9])
    )
    done = derived.completed(batch, choice("@file", "@line", "@folder", "@step"))
    assert done.columns["total"] == [2.0, None]
    assert done.columns["@file"] == ["run/step_3/a.jsonl"] * 2
    assert done.columns["@line"] == ["4", "9"]
    assert done.columns["@folder"] == ["step_3"] * 2
    assert done.columns["@step"] == ["3"] * 2


def test_a_literal_column_of_such_a_name_wins():
    batch = Batch("a", {"rewards": [None], "@line": ["own"]}, np.array([1]))
    assert derived.completed(batch, choice("@line")).columns["@line"] == ["own"]


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("run/step_12/train/all/traces.jsonl", "12"),
        ("exp_001/train_data_step4.jsonl", "4"),
        ("global_step_20_evals/gsm8k.jsonl", "20"),
        ("rollout_dump_data.step_3.jsonl", "3"),
        ("iteration_000012/train_rollout_summaries.jsonl", "12"),
        ("step_1/step_2/x.jsonl", "2"),
        ("trajectories/train/0007.parquet", "7"),
        ("completions_00120.parquet", "120"),
        ("2.jsonl.gz", "2"),
        ("rewards.jsonl", None),
        ("run2/rewards.jsonl", None),
        ("<stdin>", None),
    ],
)
def test_step_of(name, step):
    assert derived.step_of(name) == step


@pytest.mark.parametrize("uid", [None, 5, "plain", "a_1", f"{UUID}_x_0"])
def test_a_uid_of_another_kind_is_itself(uid):
    assert derived.verl_prompt(uid) == uid
    assert derived.verl_session(uid) is None
    assert derived.verl_index(uid) == 0
    assert derived.verl_padding(uid) is False


def test_a_uid_of_verl():
    assert derived.verl_prompt(f"{UUID}_13_2") == UUID
    assert derived.verl_session(f"{UUID}_13_2") == f"{UUID}_13"
    assert derived.verl_index(f"{UUID}_13_2") == 2
    assert derived.verl_padding("pad" + "0" * 32 + "_4_0")
    assert not derived.verl_padding("padded_4_0")


@pytest.mark.parametrize(
    ("rewards", "total"),
    [
        ({"a": {"score": 1.0, "weight": 0.5}, "b": {"score": 2, "weight": 3}}, 6.5),
        ({"a": {"score": 1.0, "weight": None}}, 1.0),
        ({"a": {"score": None, "weight": 1}, "b": {"score": 1, "weight": 0}}, 0.0),
        ({"a": 0.25, "b": True}, 1.25),
        ({"a": None}, None),
        ({}, None),
        (None, None),
        (3.0, None),
    ],
)
def test_weighted_total(rewards, total):
    assert derived.weighted_total(rewards) == total


def test_what_is_of_another_shape_is_no_crash():
    """A dump that is broken in one row gives a null there, or the value itself for the reader to refuse."""
    for odd in (None, 5, "x", [], {}, [None], [{"mask": None}], {"a": 1}):
        for one in (
            "total",
            "true_count",
            "before_answer",
            "action_tokens",
            "sampled_tokens",
            "answer_tokens",
        ):
            getattr(derived, one)(odd)
        for two in ("before_training", "first_trained", "first_answered"):
            getattr(derived, two)(odd, odd)
            getattr(derived, two)([1, 2], odd)
        derived.reward_value(odd)
    assert derived.first_trained([1.0], [0, 1]) is None
    assert derived.before_training([1, 2], [0, 0]) == [1, 2]
    assert derived.before_answer([{"role": "user"}, {"role": "user"}]) == [{"role": "user"}]
