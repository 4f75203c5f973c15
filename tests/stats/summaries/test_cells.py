"""Cells against plain loops."""

import numpy as np
import pytest
import torch

from advcli.stats.summaries.cells import Cells


@pytest.mark.parametrize("values", [np.arange(11) / 10, [-1.0, 0.25], [0.0, 1.0], [0.3]])
def test_every_figure_is_that_of_a_plain_loop(values):
    draw = np.random.default_rng(1)
    rewards, prompt, step = draw.choice(values, 300), draw.integers(0, 7, 300), draw.integers(0, 5, 300)
    rewards[prompt == 3] = rewards.max()
    found = Cells.of(*map(torch.tensor, (rewards, prompt, step)), 8)
    for one in range(8):
        values = rewards[prompt == one]
        assert found.rows[one] == len(values)
        if not len(values):
            assert np.isnan([found.mean[one], found.low[one], found.high[one]]).all()
            continue
        assert np.isclose(found.mean[one], sum(values) / len(values))
        assert np.isclose(
            found.squares[one], sum((value - sum(values) / len(values)) ** 2 for value in values)
        )
        assert (found.low[one], found.high[one]) == (min(values), max(values))
        assert found.two_valued[one] == all(value in (min(values), max(values)) for value in values)
    pairs = sorted({*zip(prompt.tolist(), step.tolist(), strict=True)})
    assert list(zip(found.prompt.tolist(), found.step.tolist(), strict=True)) == pairs
    for place, (one, at) in enumerate(pairs):
        values = rewards[(prompt == one) & (step == at)]
        assert found.cell_rows[place] == len(values)
        assert np.isclose(found.cell_mean[place], values.mean())
    first, last = found.ends()
    assert (first[7], last[7]) == (-1, -1)
    assert [pairs[place] for place in first[:7]] == [min(p for p in pairs if p[0] == one) for one in range(7)]
    assert [pairs[place] for place in last[:7]] == [max(p for p in pairs if p[0] == one) for one in range(7)]


def test_nothing_at_all():
    none = torch.empty(0, dtype=torch.int64)
    found = Cells.of(torch.empty(0), none, none, 2)
    assert found.rows.tolist() == [0, 0]
    assert np.isnan(found.at(found.ends()[0], found.cell_mean)).all()
