"""What is done to the reward before the estimator and to the advantage after it, and what is said about it, by hand."""

import numpy as np
import pytest
import torch

from advcli.engine.plan import Plan
from advcli.engine.run import run
from advcli.records.settings import Settings
from advcli.shaping.spec import specs_of

NAN, INF = float("nan"), float("inf")


def numbers(values):
    return torch.tensor(values, dtype=torch.float64)


def table(settings, rewards, groups=None, steps=None, **columns):
    """What the engine makes of some rows; by default they are one group and one step."""
    groups, steps = (torch.tensor(each or [0] * len(rewards)) for each in (groups, steps))
    shaping = specs_of(settings.pop("shaping", ()))
    given = {"rewards": numbers(rewards), "group": groups, "step": steps, **columns}
    return run(Plan.of(Settings(**settings, shaping=shaping)), given)


KL = {
    "token_kl": numbers([1.0, 2.0, 4.0]),
    "tokens": torch.tensor([2, 1]),
    "mask": numbers([1, 0, 1]),
    "lengths": numbers([2, 1]),
}


@pytest.mark.parametrize(("shaping", "expected"), [("kl:coef=0.1", -0.35), ((), -0.5)])
def test_the_kl_of_the_tokens_that_count_is_taken_off_a_row(shaping, expected):
    # 1 − 0.1 · 1 and 2 − 0.1 · 4, minus their mean.
    found = table({"scale": "none", "shaping": shaping}, [1, 2], **KL)
    assert found.original.tolist() == pytest.approx([expected, -expected])


def test_a_row_without_tokens_has_no_kl():
    columns = {**KL, "token_kl": numbers([1.0, 2.0]), "tokens": torch.tensor([2, 0]), "mask": numbers([1, 1])}
    found = table({"scale": "none", "shaping": "kl:coef=0.1"}, [1, 0], **columns)
    assert found.original.tolist() == pytest.approx([0.35, -0.35])


@pytest.mark.parametrize(("shaping", "expected"), [("kl:coef=0.1", [0.4, 1.1, 1.35]), ((), [0.5, 1.0, 1.75])])
def test_the_kl_is_taken_off_token_by_token(shaping, expected):
    # λ = 1: the reward minus the KL of this token and of all after it, minus the value.
    columns = {**KL, "token_kl": numbers([2.0, -1.0, 4.0]), "mask": numbers([1, 1, 1])}
    columns["values"] = numbers([0.5, 0.0, 0.25])
    found = table({"estimator": "gae", "shaping": shaping}, [1, 2], **columns)
    assert found.tokens.tolist() == pytest.approx(expected)


def test_the_steps_of_a_framework_have_its_order():
    # AReaL scales, then clips at 1: 1 and 0.5 whichever comes first here.
    for shaping in (
        ["affine:scale=2,shift=0", "clip:min=0,max=1"],
        ["clip:min=0,max=1", "affine:scale=2,shift=0"],
    ):
        found = table({"like": "areal", "estimator": "drgrpo", "shaping": shaping}, [0.75, 0.25])
        assert found.original.tolist() == pytest.approx([0.25, -0.25])


def test_what_is_of_no_framework_comes_first():
    # 1 · (1 − 2 / 4) and 1 · (1 − 0); then twice that, which the clip cuts.
    shaping = ["clip:min=0,max=1.5", "r * (1 - len / 4)", "affine:scale=2,shift=0"]
    found = table(
        {"like": "areal", "estimator": "drgrpo", "shaping": shaping}, [1, 1], lengths=numbers([2, 0])
    )
    assert found.original.tolist() == pytest.approx([-0.25, 0.25])
    found = table(
        {"like": "areal", "estimator": "drgrpo", "shaping": ["length_limit:max=3,coef=1"]},
        [1, 1],
        lengths=numbers([2, 4]),
    )
    assert found.original.abs().min() > 0


def test_a_framework_that_computes_in_float64_shapes_in_it():
    settings = {"like": "prime-rl", "estimator": "hierarchical_grpo", "shaping": "r * 1"}
    assert table(settings, [0.1, 0.4]).original.tolist() == [0.1 - 0.25, 0.4 - 0.25]


def test_a_framework_shapes_in_its_own_precision():
    draw = np.random.default_rng(1)
    rewards, kl = draw.random(100), draw.random(100)
    shaped = (np.float32(rewards) - np.float32(0.1) * np.float32(kl)).reshape(50, 2)
    expected = shaped - shaped.mean(axis=1, keepdims=True)
    settings = {"like": "verl", "estimator": "grpo", "scale": "none", "shaping": "kl:coef=0.1"}
    found = table(settings, rewards.tolist(), [row // 2 for row in range(100)], kl=numbers(kl.tolist()))
    assert found.original.tolist() == expected.reshape(-1).tolist()


@pytest.mark.parametrize(("like", "expected"), [("trl", [-0.5, 0.5]), ("twinkle", [NAN, NAN])])
def test_rewards_are_added_up_as_the_framework_does(like, expected):
    # 1 · 1 and 1 · 2 · ½ + 1; TRL leaves out a part that is missing, Twinkle does not.
    parts = numbers([[NAN, 1], [1, 1]])
    found = table({"like": like, "scale": "none"}, [NAN, 2], parts=parts, weights=numbers([1, 1]))
    assert found.original.tolist() == pytest.approx(expected, nan_ok=True)
    found = table({"like": like, "scale": "none"}, [0, 1])
    assert found.original.tolist() == [-0.5, 0.5]


def test_one_reward_counts_by_its_weight():
    found = table({"like": "trl", "scale": "none"}, [0, 1], parts=numbers([[0], [1]]), weights=numbers([3]))
    assert found.original.tolist() == [-1.5, 1.5]


def test_an_advantage_is_shaped_row_by_row():
    # One of two rows is right. A · (1 + …) is checked where the function is; here that it gets the columns.
    plain = table({"scale": "none"}, [1, 0]).original
    found = table({"scale": "none", "shaping": "difficulty"}, [1, 0]).original
    assert (found.sign() == plain.sign()).all()
    assert (found != plain).all()


@pytest.mark.parametrize("shaping", ["difficulty", "gr3", "r - len / 3"])
def test_what_is_shaped_stays_in_the_dtype_of_the_trainer(shaping):
    found = table({"like": "verl", "scale": "none", "shaping": shaping}, [1, 0], lengths=numbers([1, 2]))
    assert found.original.dtype == found.processed.dtype == torch.float32


SHAPED = {"shaping": "r - len / 10", "scale": "none"}


@pytest.mark.parametrize(
    ("settings", "rewards", "groups", "lengths", "said"),
    [
        (
            SHAPED,
            [1, 1, 0, 1],
            [0, 0, 1, 1],
            [1, 2, 1, 2],
            ("1 group is counted as dead but live after reward shaping",),
        ),
        (
            SHAPED,
            [1, 1, 0, 0],
            [0, 0, 1, 1],
            [1, 2, 1, 2],
            ("2 groups are counted as dead but live after reward shaping",),
        ),
        (SHAPED, [1, 1, 0, 1], [0, 0, 1, 1], [1, 1, 1, 2], ()),
        # Rows without a reward or a group have no part in it.
        (SHAPED, [1, NAN, 1], [0, 0, -1], [1, 2, 3], ()),
        # A penalty of the trainer is in what the trainer calls dead.
        (
            {"shaping": "overlong:max=4,buffer=3,factor=1", "scale": "none"},
            [1, 1],
            [0, 0],
            [1, 3],
            (),
        ),
        ({"scale": "none"}, [1, 1], [0, 0], [1, 2], ()),
    ],
)
def test_groups_that_shaping_brings_to_life(settings, rewards, groups, lengths, said):
    assert table(dict(settings), rewards, groups, lengths=numbers(lengths)).warnings == said


LENGTH = "the tokens of each row: no advantage"


@pytest.mark.parametrize(
    ("settings", "rewards", "more", "said"),
    [
        (
            {"estimator": "opo"},
            [1, 0, 1],
            {"lengths": numbers([1, NAN, 1])},
            (f"1 row has a reward but lacks {LENGTH}",),
        ),
        (
            {"estimator": "opo"},
            [1, 0, 1],
            {"lengths": numbers([NAN, INF, 1])},
            (f"2 rows have a reward but lack {LENGTH}",),
        ),
        # Those without a reward are said elsewhere.
        ({"estimator": "opo"}, [1, NAN, 1], {"lengths": numbers([1, NAN, 1])}, ()),
        (
            {"shaping": "r - len / 10"},
            [1, 0, 0],
            {"lengths": numbers([1, NAN, 2])},
            (f"1 row has a reward but lacks {LENGTH}",),
        ),
        (
            {"shaping": "r - 0.1 * turns"},
            [1, 0, 0],
            {"extra turns": numbers([1, NAN, 2])},
            ("1 row has a reward but lacks turns: no advantage",),
        ),
        # A reward that is beyond what a float holds once it is shaped.
        (
            {"shaping": "affine:scale=1e308,shift=0"},
            [10, 0, 1],
            {},
            ("1 row has a reward but lacks what is needed: no advantage",),
        ),
        ({}, [1, 0, NAN], {}, ()),
        ({"estimator": "gdpo"}, [1, 0, 1], {"parts": numbers([[1], [0], [1]]), "weights": numbers([1])}, ()),
    ],
)
def test_rows_that_lack_what_is_needed_besides_the_reward(settings, rewards, more, said):
    assert table(dict(settings), rewards, **more).warnings == said


def test_a_long_expression_is_cut_in_what_is_said():
    text = "'" + "x" * 60 + "' in answer"
    found = table({"shaping": f"r where {text}"}, [1, 0], **{f"extra {text}": numbers([NAN, 1])})
    assert all(len(warning) < 160 for warning in found.warnings)


SPOILT = "a reward but no advantage: in {} a row without a reward makes {} NaN"
GROUP, BATCH = SPOILT.format("verl", "its group"), SPOILT.format("verl", "its batch")
AFTER = SPOILT.format("prime-rl", "all rows after it")


@pytest.mark.parametrize(
    ("settings", "rewards", "groups", "steps", "said"),
    [
        ({"like": "verl"}, [1, NAN, 0, 1, 0], [0, 0, 0, 1, 1], None, (f"2 rows have {GROUP}",)),
        ({"like": "verl"}, [1, NAN, 0, 1], [0, 0, 1, 1], None, (f"1 row has {GROUP}",)),
        # What has no group is in none.
        ({"like": "verl"}, [1, 0, NAN], [0, 0, -1], None, ()),
        (
            {"like": "verl", "estimator": "reinforce_plus_plus_baseline"},
            [1, NAN, 0, 1, 0, 1],
            [0, 0, 1, 1, 2, 2],
            [0, 0, 0, 0, 1, 1],
            (f"3 rows have {BATCH}",),
        ),
        (
            {"like": "prime-rl", "estimator": "rae"},
            [1, NAN, 0, 1],
            [0, 0, 1, 1],
            None,
            (f"2 rows have {AFTER}",),
        ),
        (
            {"like": "trinity-rft", "knobs": {"std_threshold": 0.1}, "scale": "group"},
            [1, 1, 0, 1],
            [0, 0, 1, 1],
            None,
            ("2 rows have a reward but no advantage: trinity-rft drops their groups here",),
        ),
        ({"like": "trinity-rft", "scale": "group"}, [1, 1, 0, 1], [0, 0, 1, 1], None, ()),
        ({"like": "trl"}, [1, NAN, 0], [0, 0, 0], None, ()),
        ({}, [1, NAN, 0, 1], [0, 0, 0, 1], None, ()),
    ],
)
def test_rows_that_another_row_spoils(settings, rewards, groups, steps, said):
    lengths = torch.ones(len(rewards), dtype=torch.float64)
    assert table(dict(settings), rewards, groups, steps, lengths=lengths).warnings == said


def test_a_batch_that_is_undefined_for_another_reason_is_not_spoilt():
    # The second step has no length in one row.
    lengths = numbers([1, 1, 1, 1, 1, NAN])
    found = table(
        {"like": "verl", "estimator": "reinforce_plus_plus_baseline"},
        [1, NAN, 0, 1, 0, 1],
        [0, 0, 1, 1, 2, 2],
        [0, 0, 0, 0, 1, 1],
        lengths=lengths,
    )
    assert found.original.isnan().all()
    assert found.warnings == (f"3 rows have {BATCH}",)
