"""opmd, asymre, rec, cpgd and batch_mean_group_std: plain loops, numbers of the frameworks, limits."""

import math
import random
import statistics

import pytest
import torch

from advcli import UsageError, compute_advantages

GROUPS = [0] * 4 + [1] * 3 + [2] * 5 + [3] * 2


def dump(seed):
    draw = random.Random(seed)
    rewards = [round(draw.gauss(0, 1), 3) for _ in GROUPS]
    rewards[4:7] = [0.3] * 3
    return rewards


def by_group(rewards, function, groups=GROUPS):
    own = {g: [r for r, h in zip(rewards, groups, strict=True) if h == g] for g in set(groups)}
    return [function(reward, own[g]) for reward, g in zip(rewards, groups, strict=True)]


def advantages(rewards, estimator, groups=GROUPS, **given):
    return compute_advantages(rewards, groups, estimator=estimator, **given).original.tolist()


@pytest.mark.parametrize("tau", [0.05, 0.5, 1, 20])
def test_opmd_is_the_plain_formula(tau):
    rewards = dump(1)

    def plain(reward, own):
        return reward - tau * math.log(sum(math.exp(r / tau) for r in own) / len(own))

    assert advantages(rewards, "opmd", tau=tau) == pytest.approx(by_group(rewards, plain), abs=1e-9)


@pytest.mark.parametrize(("tau", "baseline"), [(0, max), (1e-9, max), (1e9, statistics.fmean)])
def test_opmd_at_both_ends(tau, baseline):
    rewards = dump(2)
    expected = by_group(rewards, lambda reward, own: reward - baseline(own))
    assert advantages(rewards, "opmd", tau=tau) == pytest.approx(expected, abs=1e-6)


def test_opmd_of_a_dead_group_is_0_and_large_rewards_do_not_overflow():
    assert advantages([0.1] * 4, "opmd", [0] * 4) == [0] * 4
    assert advantages([1e5, 0], "opmd", [0, 0]) == pytest.approx([math.log(2), math.log(2) - 1e5])


def test_a_temperature_below_0_is_refused():
    with pytest.raises(UsageError, match="tau is -1, expected 0 or more"):
        advantages([1, 0], "opmd", [0, 0], tau=-1)


@pytest.mark.parametrize("shift", [-0.1, 0.0, 0.3])
def test_asymre_is_the_plain_formula(shift):
    rewards = dump(3)
    expected = by_group(rewards, lambda reward, own: reward - statistics.fmean(own) - shift)
    assert advantages(rewards, "asymre", shift=shift) == pytest.approx(expected, abs=1e-12)


def test_rec_divides_by_the_standard_deviation_of_the_population():
    rewards = dump(4)
    centred = by_group(rewards, lambda reward, own: reward - statistics.fmean(own))
    assert advantages(rewards, "rec") == pytest.approx(centred, abs=1e-12)
    divided = by_group(
        rewards, lambda reward, own: (reward - statistics.fmean(own)) / (statistics.pstdev(own) or 1)
    )
    assert advantages(rewards, "rec", scale="group") == pytest.approx(divided, abs=1e-12)


def test_cpgd_multiplies_by_rows_over_live_groups_of_the_step():
    rewards, groups = [1, 0, 1, 0, 0.7, 1, 1], [0, 0, 1, 1, 2, 3, 3]
    # Seven rows and two live groups; the lone row counts as a row only.
    found = advantages(rewards, "cpgd", groups, cap=9)
    assert found == pytest.approx([1.75, -1.75, 1.75, -1.75, math.nan, 0, 0], nan_ok=True)
    assert advantages(rewards, "cpgd", groups)[0] == 1.5
    apart = advantages(rewards, "cpgd", groups, cap=9, steps=[0, 0, 1, 1, 1, 1, 1])
    assert apart[:4] == [1, -1, 2.5, -2.5]


def test_the_mean_of_the_step_over_the_std_of_the_group():
    rewards, mean = dump(5), statistics.fmean(dump(5))
    expected = by_group(
        rewards, lambda reward, own: (reward - mean) / statistics.stdev(own) if len(set(own)) > 1 else 0.0
    )
    assert advantages(rewards, "batch_mean_group_std") == pytest.approx(expected, abs=1e-9)
    with_eps = by_group(
        rewards, lambda r, own: (r - mean) / (statistics.stdev(own) + 0.5) if len(set(own)) > 1 else 0.0
    )
    assert advantages(rewards, "batch_mean_group_std", eps=0.5) == pytest.approx(with_eps, abs=1e-9)


@pytest.mark.parametrize("estimator", ["opmd", "asymre", "rec", "cpgd", "batch_mean_group_std"])
def test_inputs_of_float32_give_float32(estimator):
    from advcli.common.registry import load
    from advcli.estimators.catalog import ESTIMATORS

    entry = ESTIMATORS[estimator]
    zero = torch.zeros(4, dtype=torch.int64)
    given = {"rewards": torch.tensor([1.0, 0, 0, 0]), "group": zero, "step": zero}
    assert load(entry.target)(*(given[name] for name in entry.needs)).dtype == torch.float32
