"""Figures per step, compared with plain loops, and the steps that stand out."""

import math
from statistics import median

import pytest
import references_inspect as plain
import torch
from repeated import over

from advcli.records.table import Rows
from advcli.stats.per_step import per_step, robust_z

NAN = math.nan


@over(seed=range(4))
def test_figures_of_a_messy_dump(seed):
    rows = plain.messy(seed)
    for place, row in enumerate(rows):
        row["advantage"] = NAN if math.isnan(row["reward"]) else 5 * math.sin(place)
    # Codes are in order of appearance, steps are shown by value; code 5 has no rows.
    names = ("10", "9", "8", "7", "100", "3")
    found = per_step(
        Rows(
            rewards=torch.tensor([row["reward"] for row in rows], dtype=torch.float64),
            group=torch.tensor([row["group"] for row in rows]),
            count=40,
            step=torch.tensor([row["step"] for row in rows]),
            lengths=torch.tensor([row["length"] for row in rows], dtype=torch.float64),
        ),
        torch.tensor([row["advantage"] for row in rows], dtype=torch.float64),
        names,
    )
    assert [one.step for one in found] == ["7", "8", "9", "10", "100"]
    for one in found:
        here = [row for row in rows if names[row["step"]] == one.step]
        groups = plain.by_group(here)
        able = [values for values in groups.values() if len(values) > 1]
        size = [abs(row["advantage"]) for row in here if not math.isnan(row["advantage"])]
        assert one.rows == len(here)
        assert one.groups == len(groups)
        assert one.reward_mean == pytest.approx(plain.mean([v for vs in groups.values() for v in vs]))
        assert one.live == pytest.approx(sum(map(plain.is_live, able)) / len(able))
        assert one.mean_abs_adv == pytest.approx(plain.mean(size))
        assert one.max_abs_adv == pytest.approx(max(size))
        centred = [abs(v - plain.mean(vs)) for vs in groups.values() for v in vs]
        assert one.max_abs_centred == pytest.approx(max(centred))
        assert one.max_abs_reward == max(abs(v) for vs in groups.values() for v in vs)
        known = [row["length"] for row in here if not math.isnan(row["length"])]
        assert one.length_mean == pytest.approx(plain.mean(known))


def test_a_step_without_anything_valid_is_undefined():
    (one,) = per_step(
        Rows(torch.tensor([NAN, NAN]), torch.tensor([0, 0]), 1, torch.tensor([0, 0])),
        torch.tensor([NAN, NAN]),
        ("1",),
    )
    figures = (one.reward_mean, one.live, one.mean_abs_adv, one.max_abs_adv, one.length_mean, one.robust_z)
    assert all(math.isnan(value) for value in figures)
    assert not one.outlier


def test_robust_z_is_the_textbook_one():
    values = [1.0, 2.0, 4.0, 7.0, 11.0, 50.0]
    middle = median(values)
    spread = 1.4826 * median([abs(value - middle) for value in values])
    expected = [(value - middle) / spread for value in values]
    assert robust_z(torch.tensor(values, dtype=torch.float64)).tolist() == pytest.approx(expected)


def test_where_most_steps_are_alike_the_mean_distance_counts():
    # Median 2, mean distance 98/20; one step in 20 is far away, and a third of the steps is not.
    one = robust_z(torch.tensor([2.0] * 19 + [100.0], dtype=torch.float64))
    assert float(one[-1]) == pytest.approx(98 / (1.2533 * 98 / 20))
    third = robust_z(torch.tensor([2.0] * 8 + [3.0] * 4, dtype=torch.float64))
    assert float(third.max()) < 3.5


@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0, 99.0], [0.0] * 6, [NAN] * 6])
def test_no_z_without_enough_or_without_spread(values):
    assert robust_z(torch.tensor(values, dtype=torch.float64)).isnan().all()


def test_a_hair_is_no_outlier():
    # Without the floor of 5 % of the median the last would be far out.
    values = torch.tensor([2.0, 2.0 + 1e-9, 2.0 - 1e-9, 2.0 + 2e-9, 2.01], dtype=torch.float64)
    assert float(robust_z(values)[-1]) == pytest.approx(0.01 / 0.1, rel=1e-6)
