"""What trainers do around a GRPO, against plain loops and the numbers that their code gave."""

import math
import statistics

import pytest
import torch

from advcli import UsageError, compute_advantages

THREE = [1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0]
GROUPS = [0] * 4 + [1] * 4 + [2] * 4


def advantages(rewards, groups, like, estimator, **given):
    return compute_advantages(rewards, groups, like=like, estimator=estimator, **given).original.tolist()


def test_the_std_of_the_batch_and_the_threshold_of_trinity():
    found = advantages(THREE, GROUPS, "trinity-rft", "grpo", scale="batch")
    expected = [1.5233, *[-0.5078] * 3, *[0.5078] * 3, -1.5233, *[0] * 4]
    assert found == pytest.approx(expected, abs=5e-5)
    # At 0 dead groups are dropped.
    found = advantages(THREE, GROUPS, "trinity-rft", "grpo", std_threshold=0)
    assert [math.isnan(a) for a in found] == [False] * 8 + [True] * 4
    # s is 0.5 in both live groups, and at most that is dropped.
    assert all(map(math.isnan, advantages(THREE, GROUPS, "trinity-rft", "grpo", std_threshold=0.5)))
    found = advantages([*THREE, 0.7], [*GROUPS, 3], "trinity-rft", "grpo", std_threshold=0.4)
    assert [math.isnan(a) for a in found] == [False] * 8 + [True] * 5


def test_a_rank_penalty_moves_the_mean_and_not_the_reward():
    given = {"log_probs": [[-0.1], [-0.2], [-0.3], [-0.4]]}
    with_penalty = advantages([1, 0, 1, 0], [0] * 4, "trinity-rft", "grpo", rank_penalty=0.5, **given)
    assert with_penalty == pytest.approx([1.4049, -0.8429, 1.4049, -0.8429], abs=5e-5)
    # Without one the tokens are nothing to the rule, and neither is their absence.
    assert advantages([1, 0, 1, 0], [0] * 4, "trinity-rft", "grpo", **given) == pytest.approx(
        [0.866, -0.866, 0.866, -0.866], abs=5e-5
    )


def test_a_group_is_dropped_by_the_spread_of_what_is_penalised():
    # r (1 − q / 2), q 0 and ½: 1 and 0.75 with s 0.1768, mean 0.875; 0.5 and 0.375 with s 0.0884.
    found = advantages(
        [1, 1, 0.5, 0.5],
        [0, 0, 1, 1],
        "trinity-rft",
        "grpo",
        rank_penalty=0.5,
        std_threshold=0.1,
        log_probs=[[-0.2], [-0.1]] * 2,
    )
    assert found == pytest.approx([0.5**0.5, 0.5**0.5, math.nan, math.nan], abs=5e-5, nan_ok=True)


@pytest.mark.parametrize(("tau", "expected"), [(0.1, (0.1386, -0.8614)), (10, (0.7405, -0.2595))])
def test_opmd_lies_between_the_mean_and_the_maximum(tau, expected):
    found = advantages([1, 0, 0, 0], [0] * 4, "trinity-rft", "opmd", opmd_baseline="logavgexp", tau=tau)
    assert found == pytest.approx([expected[0], *[expected[1]] * 3], abs=5e-5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"opmd_baseline": "median"}, "opmd_baseline is 'median'; try mean or logavgexp"),
        ({"tau": 0}, "tau is 0, expected a number above 0"),
        ({"tau": "warm"}, "tau is 'warm', expected a number"),
        ({"temperature": 1}, "temperature cannot be set; try without --like, or one of opmd_baseline or tau"),
    ],
)
def test_options_that_do_not_fit(given, message):
    with pytest.raises(UsageError) as caught:
        advantages([1, 0], [0, 0], "trinity-rft", "opmd", **given)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("like", "estimator", "given", "message"),
    [
        ("xtuner", "passk", {"k": 0}, "k is 0, expected 1 or more"),
        ("xtuner", "passk", {"k": 1.5}, "k is 1.5, expected a whole number"),
        ("xtuner", "drgrpo", {"max_length": 0}, "max_length is 0, expected a number above 0"),
        ("verl-recipe", "spo_offline", {"clip_lower": 1}, "clip_lower is 1, expected a number below 1"),
        ("verl-recipe", "spo_offline", {"scores": -1}, "scores is -1, expected 0 or more"),
        ("verl-recipe", "spo", {"rho": 2}, "rho is 2, expected a number from 0 to 1"),
    ],
)
def test_options_outside_of_their_range(like, estimator, given, message):
    with pytest.raises(UsageError, match=message):
        advantages([1, 0], [0, 0], like, estimator, lengths=[1, 1], baselines=[0.5, 0.5], **given)


def sets(n, c, k):
    """Right and wrong rows of XTuner, from its formula."""
    rho = 1 - math.comb(n - c, k) / math.comb(n, k)
    sigma = math.sqrt(rho * (1 - rho)) + 1e-6
    rest = math.comb(n - c - 1, k - 1) / math.comb(n - 1, k - 1) if n > c else 0
    return (1 - rho) / sigma, (1 - rho - rest) / sigma


@pytest.mark.parametrize(
    ("k", "expected"),
    [(1, (1.732, -0.5773)), (2, (1, -0.3333)), (3, (0.5773, -0.1924)), (4, (0, 0)), (8, (1.732, 1.732))],
)
def test_sets_of_k_of_one_success(k, expected):
    found = advantages([1, 0, 0, 0], [0] * 4, "xtuner", "passk", k=k)
    assert found == pytest.approx([expected[0], *[expected[1]] * 3], abs=2e-4)


def test_sets_of_k_of_every_count():
    for n, k in ((8, 4), (6, 2), (5, 5)):
        for c in range(1, n + 1):
            right, wrong = sets(n, c, k)
            found = advantages([1] * c + [0] * (n - c), [0] * n, "xtuner", "passk", k=k)
            assert found == pytest.approx([right] * c + [wrong] * (n - c), abs=1e-5, rel=1e-6)
    assert advantages([0] * 4, [0] * 4, "xtuner", "passk") == [-1e6] * 4


def test_xtuners_dr_grpo_is_weighed_by_length():
    found = advantages([1, 0], [0, 0], "xtuner", "drgrpo", lengths=[10, 20], max_length=40)
    assert found == pytest.approx([0.7071 / 4, -0.7071 / 2], abs=5e-5)


def test_cpgd_multiplies_by_rows_over_live_groups():
    # Two groups of two, and one of one, which counts as live: 5 rows / 3.
    rewards, groups = [1, 0, 1, 0, 0.7], [0, 0, 1, 1, 2]
    found = advantages(rewards, groups, "siirl", "cpgd", scale="batch")
    assert found == pytest.approx([a * 5 / 3 for a in (0.5, -0.5, 0.5, -0.5, 0.7)], rel=1e-6)
    # A dead group does not: 7 rows / 3, and then the cap.
    found = advantages([*rewards, 1, 1], [*groups, 3, 3], "siirl", "cpgd", scale="batch")
    assert found[0] == pytest.approx(0.5 * 7 / 3, rel=1e-6)
    assert advantages([1, 0, 0, 0], [0] * 4, "siirl", "cpgd", scale="batch")[0] == pytest.approx(2.25)


def test_a_reward_is_clipped_before_the_baseline_and_an_advantage_after_it():
    rewards, groups = [100, 0, 0, 0], [0] * 4
    assert advantages(rewards, groups, "labs-molt", "dr_grpo")[0] == 7.5
    assert advantages(rewards, groups, "labs-molt", "dr_grpo", reward_clip=20)[0] == 15
    assert advantages(rewards, groups, "marti", "dr_grpo") == [10, -10, -10, -10]


def test_the_baseline_of_asymre_is_shifted():
    found = advantages([1, 0, 0, 0, 0.7], [0] * 4 + [1], "trinity-rft", "asymre")
    assert found == pytest.approx([0.85, -0.15, -0.15, -0.15, 0.7], abs=1e-6)


def test_whitening_of_rlinf_adds_its_eps_outside_of_the_root():
    lengths = [1, 2, 3, 4]
    tokens = [r for r, n in zip([1, 0, 0, 0], lengths, strict=True) for _ in range(n)]
    spread = statistics.stdev(tokens) + 1e-5
    found = compute_advantages(
        [1, 0, 0, 0], [0] * 4, like="rlinf", estimator="raw", scale="batch", lengths=lengths
    ).original
    mean = statistics.mean(tokens)
    small = compute_advantages(
        [1e-5, 0, 0, 0], [0] * 4, like="rlinf", estimator="raw", scale="batch", lengths=lengths
    ).original
    spread_of_small = statistics.stdev(tokens) * 1e-5 + 1e-5
    assert small.tolist() == pytest.approx(
        [(r - mean) * 1e-5 / spread_of_small for r in (1, 0, 0, 0)], rel=1e-4
    )
    torch.testing.assert_close(
        found.double(),
        torch.tensor([(r - mean) / spread for r in (1, 0, 0, 0)], dtype=torch.float64),
        rtol=1e-5,
        atol=1e-6,
    )


def test_dropped_groups_are_said_apart_from_those_that_lack_a_reward():
    rewards, groups = [1, 0, 0.5, 0.5, math.nan, 1, 0.7], [0, 0, 1, 1, 2, 2, 3]
    said = compute_advantages(
        rewards, groups, like="trinity-rft", estimator="grpo", std_threshold=0.1
    ).warnings
    assert said == (
        "1 row has a reward but no advantage: in trinity-rft a row without a reward makes its group NaN",
        "3 rows have a reward but no advantage: trinity-rft drops their groups here",
    )
    # Without a threshold a group of one has its reward, and in XTuner NaN: neither is the fault of a missing reward.
    for like in ("trinity-rft", "xtuner"):
        said = compute_advantages(rewards, groups, like=like).warnings
        assert said == (
            f"1 row has a reward but no advantage: in {like} a row without a reward makes its group NaN",
        )
