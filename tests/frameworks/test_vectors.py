"""Every golden vector noted from the frameworks' code, as literals.

Two small batches that were run through the frameworks: three groups of four rows with two rewards (a dead
group in the middle, a row without any score in the third), and one prompt with rewards 1, 0, 0, 0.
"""

import math

import pytest
import torch

from advcli import DataError, compute_advantages

NAN = float("nan")
ACCURACY = [1, 0, 0, 1, 1, 1, 1, 1, 0, NAN, 1, 0]
FORMAT = [0.1, 0.1, 0, 0.1, 0.1, 0.1, 0.1, 0.1, NAN, NAN, 0.1, 0.1]
TOTAL = [1.1, 0.1, 0.0, 1.1, 1.1, 1.1, 1.1, 1.1, 0.0, NAN, 1.1, 0.1]
GROUPS = [0] * 4 + [1] * 4 + [2] * 4
LENGTHS = [10, 20, 30, 40, 10, 10, 10, 10, 50, 5, 5, 5]
DEAD = [0.0] * 4

SCALED = [0.863926, -0.781647, -0.946205, 0.863926]
CENTRED = [0.525, -0.475, -0.575, 0.525]
LOO = [0.7, -0.633333, -0.766667, 0.7]
THREE_ROWS = [-0.3, -0.3, 0.8, -0.2]
LOO_THREE = [-0.4, -0.4, 1.066667, -0.266667]
OLD_SCALED = [-0.560211, -0.560211, 1.493896, -0.373474]

# like, estimator, scale, group 1, group 2, group 3
TOTALS = [
    ("trl", "grpo", "group", SCALED, DEAD, [-0.657488, 0, 1.150604, -0.493116]),
    (
        "trl",
        "grpo",
        "batch",
        [0.989084, -0.894885, -1.083282, 0.989084],
        DEAD,
        [-0.753588, 0, 1.318779, -0.565191],
    ),
    ("trl", "grpo", "none", CENTRED, DEAD, [-0.4, 0, 0.7, -0.3]),
    ("trl", "rloo", None, LOO, DEAD, [-0.6, 0, 1.05, -0.45]),
    ("trl@1.5", "rloo", None, LOO, DEAD, LOO_THREE),
    (
        "trl",
        "async_grpo",
        None,
        [0.997740, -0.902717, -1.092763, 0.997740],
        DEAD,
        [-0.805387, 0, 1.409428, -0.604040],
    ),
    ("trl@0.21", "grpo", "group", SCALED, DEAD, OLD_SCALED),
    ("trl@1.5", "grpo", "group", SCALED, DEAD, OLD_SCALED),
    ("trl@1.5", "grpo", "none", CENTRED, DEAD, THREE_ROWS),
    ("trl@0.22.1", "grpo", "group", CENTRED, DEAD, THREE_ROWS),
    ("trl@0.22.0", "grpo", "none", SCALED, DEAD, OLD_SCALED),
    ("trl@0.22.0", "grpo", "batch", SCALED, DEAD, OLD_SCALED),
    ("ms-swift", "grpo", "group", SCALED, DEAD, OLD_SCALED),
    ("ms-swift", "grpo", "none", CENTRED, DEAD, THREE_ROWS),
    (
        "ms-swift",
        "grpo",
        "batch",
        [0.959916, -0.868496, -1.051337, 0.959916],
        DEAD,
        [-0.548523, -0.548523, 1.462729, -0.365682],
    ),
    ("ms-swift", "rloo", None, LOO, DEAD, LOO_THREE),
    (
        "ms-swift",
        "rloo",
        "group",
        [1.151901, -1.042197, -1.261606, 1.151901],
        DEAD,
        [-0.746948, -0.746948, 1.991861, -0.497965],
    ),
    (
        "ms-swift",
        "reinforce_plus_plus",
        None,
        [1.241068, -1.122871, -1.359265, 1.241068],
        DEAD,
        [-0.709182, -0.709182, 1.891151, -0.472788],
    ),
    ("openrlhf", "rloo", None, LOO, DEAD, LOO_THREE),
    ("openrlhf", "dr_grpo", None, CENTRED, DEAD, THREE_ROWS),
    (
        "openrlhf",
        "group_norm",
        None,
        [0.864068, -0.781776, -0.946361, 0.864068],
        DEAD,
        [-0.560316, -0.560316, 1.494175, -0.373544],
    ),
    (
        "openrlhf",
        "reinforce_baseline",
        None,
        [1.423580, -0.975877, -1.215822, 1.423580],
        [0.163865] * 4,
        [-0.555972, -0.555972, 2.083431, -0.316026],
    ),
    (
        "openrlhf",
        "reinforce",
        None,
        [1.074303, -0.784195, -0.970045, 1.074303],
        [1.074303] * 4,
        [-0.970045, -0.970045, 1.074303, -0.784195],
    ),
]
# OpenRLHF has no missing rewards; the row without a score has the reward 0 there.
NO_MISSING = ("openrlhf",)

PARTS = [
    (
        "trl",
        [1.275807, -0.342932, -2.208683, 1.275807],
        [-0.539580, 0, 1.079159, -0.539580],
    ),
    ("trl@1.5", [1.338072, -0.359668, -2.316476, 1.338072], [-0.565913, 0, 1.131827, -0.565913]),
    ("ms-swift", [1.338089, -0.358540, -2.317638, 1.338089], [-0.565543, 0, 1.131086, -0.565543]),
]


@pytest.mark.parametrize(("like", "estimator", "scale", *"abc"), TOTALS)
def test_three_groups(like, estimator, scale, a, b, c):
    rewards = torch.tensor(TOTAL)
    rewards = rewards.nan_to_num(nan=0.0) if like in NO_MISSING else rewards
    found = compute_advantages(rewards, GROUPS, like=like, estimator=estimator, scale=scale, lengths=LENGTHS)
    # 1.1 is no sum of powers of two: float32 leaves a residue of one unit in the last place over the eps.
    assert found.original.tolist() == pytest.approx([*a, *b, *c], abs=2e-6)


@pytest.mark.parametrize(("like", "first", "third"), PARTS)
def test_three_groups_with_two_rewards(like, first, third):
    rewards = torch.tensor([ACCURACY, FORMAT]).T
    found = compute_advantages(rewards, GROUPS, like=like, estimator="gdpo")
    assert found.original.tolist() == pytest.approx([*first, *DEAD, *third], abs=2e-6)


# like, estimator, scale, [1, 0, 0, 0] → first, rest
ONE_SUCCESS = [
    ("nemo-rl", "grpo", None, 1.0, -0.577349),
    ("nemo-rl", "grpo_no_loo", None, 1.499997, -0.499999),
    ("skyrl", "grpo", None, 1.499997, -0.499999),
    ("skyrl", "grpo", "none", 0.75, -0.25),
    ("skyrl", "rloo", None, 1, -1 / 3),
    ("skyrl", "maxrl", None, 2.999988, -0.999996),
    ("slime", "grpo", None, 1.499997, -0.499999),
    ("prime-rl", "grpo", None, 0.75, -0.25),
    ("tinker-cookbook", "grpo", None, 0.75, -0.25),
    ("prime-rl", "max_rl", None, 3, -1),
    ("roll", "agentic_grpo", None, 1.499997, -0.499999),
    ("open-instruct", "centered", None, 0.75, -0.25),
    ("open-instruct", "standard", None, 1.7320508, -0.5773503),
    ("areal", "grpo", None, 1.49997, -0.49999),
    ("rllm", "grpo", None, 1.732047, -0.577349),
    ("rllm", "rloo", None, 1, -1 / 3),
    ("art", "grpo", None, 1.732047, -0.577349),
    ("oat", "grpo", None, 1.5, -0.5),
    ("oat", "drgrpo", None, 0.75, -0.25),
    ("verl", "grpo", None, 1.499997, -0.499999),
    ("verl", "gpg", None, 3, -1),
    ("easyr1", "grpo", None, 1.499997, -0.499999),
    ("easyr1", "rloo", None, 1, -1 / 3),
    ("twinkle", "grpo", None, 1.5, -0.5),
    ("twinkle", "rloo", None, 2, -2 / 3),
]


@pytest.mark.parametrize(("like", "estimator", "scale", "first", "rest"), ONE_SUCCESS)
def test_one_success_of_four(like, estimator, scale, first, rest):
    found = compute_advantages([1, 0, 0, 0], [0] * 4, like=like, estimator=estimator, scale=scale)
    assert found.original.tolist() == pytest.approx([first, rest, rest, rest], abs=2e-6)


# like, estimator, scale, a group of one with the reward 0.7
ALONE = [
    ("nemo-rl", "grpo", None, 0),
    ("nemo-rl", "grpo_no_loo", None, 0),
    ("skyrl", "grpo", None, 0.699999),
    ("skyrl", "grpo", "none", 0.7),
    ("skyrl", "rloo", None, 0),
    ("skyrl", "maxrl", None, 0.7),
    ("slime", "grpo", None, 0),
    ("prime-rl", "grpo", None, 0),
    ("prime-rl", "max_rl", None, 0),
    ("tinker-cookbook", "grpo", None, 0),
    ("roll", "agentic_grpo", None, 0),
    ("open-instruct", "standard", None, 0),
    ("areal", "grpo", None, 0),
    ("rllm", "grpo", None, 0.699999),
    ("rllm", "rloo", None, 0.7),
    ("art", "grpo", None, 0),
    ("oat", "grpo", None, NAN),
    ("verl", "grpo", None, 0.6999993),
    ("verl", "grpo", "none", 0.7),
    ("verl", "rloo", None, 0.7),
    ("verl", "rloo_vectorized", None, 0),
    ("twinkle", "grpo", None, 0.7),
    ("trl", "grpo", None, 0),
    ("ms-swift", "grpo", None, 0),
    ("openrlhf", "group_norm", None, NAN),
]


@pytest.mark.parametrize(("like", "estimator", "scale", "expected"), ALONE)
def test_a_group_of_one(like, estimator, scale, expected):
    found = compute_advantages([0.7, 0.0, 1.0], [0, 1, 1], like=like, estimator=estimator, scale=scale)
    assert found.original[0].item() == pytest.approx(expected, abs=1e-6, nan_ok=True)
    assert found.kept[0].item() is not math.isnan(expected)


@pytest.mark.parametrize(
    ("like", "estimator"), [("easyr1", "grpo"), ("verl", "grpo_passk"), ("twinkle", "rloo")]
)
def test_a_group_of_one_that_the_trainer_refuses(like, estimator):
    with pytest.raises(DataError, match="a group has one row, which this trainer refuses"):
        compute_advantages([0.7, 0.0, 1.0], [0, 1, 1], like=like, estimator=estimator)


# like, estimator, largest |A| that float32 leaves in a group of eight 0.1; the sign is that of the residue
PHANTOMS = [
    ("verl", "grpo", 0.01),
    ("slime", "grpo", 0.01),
    ("skyrl", "grpo", 0.01),
    ("twinkle", "grpo", 1),
    ("oat", "grpo", 1),
]


@pytest.mark.parametrize(("like", "estimator", "bound"), PHANTOMS)
def test_phantom_advantages_are_bounded_and_of_one_sign(like, estimator, bound):
    rewards = [0.1] * 8 + [0.0, 1.0] * 4
    found = compute_advantages(rewards, [0] * 8 + [1] * 8, like=like, estimator=estimator).original[:8]
    assert (found != 0).all()
    assert found.abs().max() < bound
    assert (found < 0).all()


@pytest.mark.parametrize(
    ("version", "rewards", "first", "tolerance"),
    [
        ("0.9.1", [0.501, 0.499, 0.5, 0.5], 1.2232, 1e-3),
        ("0.7.1", [0.501, 0.499, 0.5, 0.5], 0.9990, 1e-3),
        ("0.9.1", [0.50001, 0.49999, 0.5, 0.5], 1.0913, 1e-2),
        ("0.7.1", [0.50001, 0.49999, 0.5, 0.5], 0.0100, 1e-2),
        ("0.9.1", [5001, 5000, 5001, 5000], 0.8660, 1e-3),
        ("0.7.1", [5001, 5000, 5001, 5000], 499.5, 1e-3),
    ],
)
def test_verls_vectorised_grpo_changed_with_0_8(version, rewards, first, tolerance):
    """A floor of 1e-6 under the variance damps, and a one-pass variance cancels at a large offset."""
    found = compute_advantages(rewards, [0] * 4, like=f"verl@{version}", estimator="grpo_vectorized")
    assert found.original[0].item() == pytest.approx(first, rel=tolerance)


def test_lengths_couple_the_rows_of_a_batch():
    found = compute_advantages(
        [1, 0, 1, 0], [0, 0, 1, 1], like="verl", estimator="reinforce_plus_plus", lengths=[10, 1, 1, 1]
    )
    assert found.original.tolist() == pytest.approx([0.4097, -2.2532, 0.4097, -2.2532], abs=1e-4)


def test_opo_weighs_the_mean_by_tokens():
    found = compute_advantages([1, 0, 0, 1], [0] * 4, like="verl", estimator="opo", lengths=[30, 10, 20, 40])
    assert found.original.tolist() == pytest.approx([0.3, -0.7, -0.7, 0.3], abs=1e-6)


@pytest.mark.parametrize(
    ("rewards", "scale", "expected"),
    [
        ([0.5, 0.9, 0.9, 0.1], None, [0, 0, 0, 0]),
        ([0.5, 0.9, 0.7, 0.1], None, [0, 0.5855, 0, 0]),
        ([0.5, 0.9, 0.7, 0.1], "none", [0, 0.2, 0, 0]),
    ],
)
def test_only_the_best_row_of_grpo_passk(rewards, scale, expected):
    found = compute_advantages(rewards, [0] * 4, like="verl", estimator="grpo_passk", scale=scale)
    assert found.original.tolist() == pytest.approx(expected, abs=1e-4)


def test_gpg_counts_negative_rewards_as_nonzero():
    found = compute_advantages([1, -1, -1, -1], [0] * 4, like="verl", estimator="gpg")
    assert found.original.tolist() == pytest.approx([1.5, -0.5, -0.5, -0.5])


@pytest.mark.parametrize(("estimator", "expected"), [("grpo", 0.0909), ("rloo", 0.1818)])
def test_twinkles_batch_scale_takes_raw_rewards(estimator, expected):
    found = compute_advantages(
        [1, 0, 10, 10], [0, 0, 1, 1], like="twinkle", estimator=estimator, scale="batch"
    )
    assert found.original.tolist() == pytest.approx([expected, -expected, 0, 0], abs=1e-4)


def test_openrlhf_clips_after_the_baseline():
    found = compute_advantages([100, 0, 0, 0], [0] * 4, like="openrlhf", estimator="dr_grpo")
    assert found.original.tolist() == [10, -10, -10, -10]


def test_nemo_does_not_divide_two_rows():
    found = compute_advantages([1, 0], [0, 0], like="nemo-rl")
    assert found.original.tolist() == [1, -1]
