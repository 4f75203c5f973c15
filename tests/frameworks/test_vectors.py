"""Golden vectors noted from the frameworks' code (`vectors.py`), and rules that take a sentence to say."""

import math

import pytest
import torch
from frameworks.vectors import (
    ACCURACY,
    ALONE,
    CODE,
    DEAD,
    FORMAT,
    GROUPS,
    LENGTHS,
    NO_MISSING,
    NOTED,
    ONE_SUCCESS,
    PARTS,
    PHANTOMS,
    RAN,
    TOTAL,
    TOTALS,
    literals,
)

from advcli import DataError, compute_advantages
from advcli.frameworks.catalog import RULES, find


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


@pytest.mark.parametrize(("like", "estimator", "scale", "first", "rest"), ONE_SUCCESS)
def test_one_success_of_four(like, estimator, scale, first, rest):
    found = compute_advantages([1, 0, 0, 0], [0] * 4, like=like, estimator=estimator, scale=scale)
    assert found.original.tolist() == pytest.approx([first, rest, rest, rest], abs=2e-6)


@pytest.mark.parametrize(("like", "estimator", "scale", "expected"), ALONE)
def test_a_group_of_one(like, estimator, scale, expected):
    found = compute_advantages([0.7, 0.0, 1.0], [0, 1, 1], like=like, estimator=estimator, scale=scale)
    assert found.original[0].item() == pytest.approx(expected, abs=1e-6, nan_ok=True)
    assert found.kept[0].item() is not math.isnan(expected)


@pytest.mark.parametrize(
    ("like", "estimator"), [("easyr1", "grpo"), ("verl", "grpo_passk"), ("twinkle", "rloo")]
)
def test_a_group_of_one_that_the_trainer_refuses(like, estimator):
    with pytest.raises(DataError, match="a group has one row, which this trainer rejects"):
        compute_advantages([0.7, 0.0, 1.0], [0, 1, 1], like=like, estimator=estimator)


@pytest.mark.parametrize(("like", "estimator", "scale", "reward", "n", "bound", "sign"), PHANTOMS)
def test_phantom_advantages_are_bounded_and_of_one_sign(like, estimator, scale, reward, n, bound, sign):
    rewards = [reward] * n + [0.0, 1.0] * (n // 2)
    groups = [0] * n + [1] * n
    found = compute_advantages(rewards, groups, like=like, estimator=estimator, scale=scale).original[:n]
    assert (found.sign() == sign).all()
    assert found.abs().max() <= bound


@pytest.mark.parametrize(("like", "estimator", "scale", "batch", "expected"), CODE)
def test_what_the_frameworks_own_code_gave(like, estimator, scale, batch, expected):
    found = compute_advantages(**batch, like=like, estimator=estimator, scale=scale).original.tolist()
    half = find(like, estimator).knobs.get("dtype") == "float16"
    peak = max(1, *map(abs, expected))
    assert found == pytest.approx(expected, abs=(1e-3 if half else 2e-6) * peak)


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


# rewards of the others, how many; the first row has 0. Its advantage is in the thousands or exactly the difference: that
# hangs on how a processor multiplies matrices.
SPIKES = [(0.9, 3), (0.3, 7), (0.3, 15), (0.95, 7)]


@pytest.mark.parametrize(("reward", "others"), SPIKES)
def test_nemos_lone_failure(reward, others):
    """Up to 0.7.0 a one-pass std of equal rewards may be positive; later it is 0 and the row is not divided."""
    rewards, groups = [0.0] + [reward] * others, [0] * (others + 1)
    before = compute_advantages(rewards, groups, like="nemo-rl@0.7.0").original
    after = compute_advantages(rewards, groups, like="nemo-rl").original
    assert before[0] < -10 or before[0].item() == pytest.approx(-reward, abs=1e-6)
    assert after[0].item() == pytest.approx(-reward, abs=1e-6)
    assert torch.equal(before[1:], after[1:])


def test_nemos_spikes_are_reproduced_somewhere():
    found = [
        compute_advantages([0.0] + [reward] * others, [0] * (others + 1), like="nemo-rl@0.7.0").original[0]
        for reward, others in SPIKES
    ]
    assert min(found) < -1000


def test_every_row_without_a_package_has_literals():
    proven = {find(like, estimator).name for like, estimator in literals()}
    assert {rule.name for rule in RULES if rule.proof != "package"} <= proven


def test_the_code_that_was_run_is_named():
    named = {rule.framework for rule in RULES if rule.proof == "code"}
    assert named == set(RAN)
    assert {rule.framework for rule in RULES if rule.proof == "notes"} == set(NOTED)


# Rewards whose standard deviation torch rounds differently for one tensor and for the rows of a matrix.
ROUNDED = [[1e6, 1e6 + 0.5, 1e6 + 0.25, 1e6], [0.9] * 8, [0.1] * 8, [5000.1, 5000.3, 5000.2, 5000.9]] * 2


@pytest.mark.parametrize("like", ["verl", "skyrl"])
def test_a_trainer_that_loops_over_groups_takes_the_std_of_a_tensor(like):
    rewards = [reward for group in ROUNDED for reward in group]
    groups = [index for index, group in enumerate(ROUNDED) for _ in group]
    tensors = [torch.tensor(group) for group in ROUNDED]
    expected = torch.cat([(tensor - tensor.mean()) / (tensor.std() + 1e-6) for tensor in tensors])
    assert torch.equal(compute_advantages(rewards, groups, like=like).original, expected)


def test_a_trainer_that_reshapes_takes_the_std_of_the_rows_of_a_matrix():
    four = [group for group in ROUNDED if len(group) == 4]
    matrix = torch.tensor(four)
    expected = (matrix - matrix.mean(dim=1, keepdim=True)) / (matrix.std(dim=1, keepdim=True) + 1e-6)
    rewards, groups = matrix.flatten().double(), torch.arange(matrix.numel()) // 4
    assert torch.equal(compute_advantages(rewards, groups, like="slime").original, expected.flatten())
