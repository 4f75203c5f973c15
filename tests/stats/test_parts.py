"""Several rewards, compared with plain loops over the groups."""

import math

import pytest
import references_inspect as plain
import torch
from repeated import over

from advcli.stats.parts import collapses, parts
from advcli.tensors.segments import Segments

NAN = math.nan
WEIGHTS = (("a", 1.0), ("b", 2.0))


@over(seed=range(4))
def test_figures_of_a_messy_dump(seed):
    rows = plain.messy(seed)
    for row in rows:
        row["reward"] = row["parts"][0] + 2 * row["parts"][1] if row["group"] >= 0 else NAN
    advantages = [row["reward"] for row in rows]
    found = parts(
        WEIGHTS,
        torch.tensor([row["parts"] for row in rows], dtype=torch.float64),
        torch.tensor([row["reward"] for row in rows], dtype=torch.float64),
        torch.tensor(advantages, dtype=torch.float64),
        torch.tensor([row["group"] for row in rows]),
        40,
    )
    valid = [row for row in rows if row["group"] >= 0 and not math.isnan(row["reward"])]
    mates = {row["group"]: [r for r in valid if r["group"] == row["group"]] for row in valid}
    live = {group for group, members in mates.items() if plain.is_live([r["reward"] for r in members])}

    def deviation(row, pick):
        return pick(row) - plain.mean([pick(r) for r in mates[row["group"]]])

    picks = [lambda r: r["parts"][0], lambda r: 2 * r["parts"][1]]
    summed = [deviation(row, lambda r: r["reward"]) for row in valid]
    for place, (part, pick) in enumerate(zip(found.parts, picks, strict=True)):
        own = [deviation(row, pick) for row in valid]
        assert part.share == pytest.approx(
            sum(x * y for x, y in zip(own, summed, strict=True)) / sum(y * y for y in summed)
        )
        assert part.variance == pytest.approx(plain.mean([x * x for x in own]))
        constant = [group for group in live if len({pick(row) for row in mates[group]}) == 1]
        assert part.constant_in_live == len(constant)
        column = [row["parts"][place] for row in rows if not math.isnan(row["parts"][place])]
        assert part.saturated == pytest.approx(column.count(max(column)) / len(column))
    assert sum(part.share for part in found.parts) == pytest.approx(1.0)
    directions = [
        sorted(
            0 if abs(deviation(row, pick)) < 1e-12 else math.copysign(1, deviation(row, pick))
            for pick in picks
        )
        for row in valid
        if row["group"] in live
    ]
    assert found.conflicts == pytest.approx(plain.mean([float(pair == [-1, 1]) for pair in directions]))
    collapsed = [
        row
        for row in valid
        if any(
            abs(mate["reward"] - row["reward"]) < 1e-12 and mate["parts"] != row["parts"]
            for mate in mates[row["group"]]
        )
    ]
    assert found.collapsed_rows == len(collapsed)
    assert found.collapsed_groups == len({row["group"] for row in collapsed})


def test_a_missing_part_counts_as_zero_where_there_is_a_sum():
    found = parts(
        WEIGHTS,
        torch.tensor([[NAN, 1.0], [1.0, 1.0]], dtype=torch.float64),
        torch.tensor([2.0, 3.0], dtype=torch.float64),
        torch.tensor([-1.0, 1.0]),
        torch.tensor([0, 0]),
        1,
    )
    assert [part.share for part in found.parts] == [1.0, 0.0]
    assert [part.variance for part in found.parts] == [0.25, 0.0]
    assert [part.constant_in_live for part in found.parts] == [0, 1]


def test_no_variance_has_no_shares():
    found = parts(
        WEIGHTS,
        torch.ones(2, 2, dtype=torch.float64),
        torch.full((2,), 3.0, dtype=torch.float64),
        torch.zeros(2),
        torch.tensor([0, 0]),
        1,
    )
    assert math.isnan(found.parts[0].share)
    assert math.isnan(found.conflicts)
    assert found.collapsed_rows == 0


@pytest.mark.parametrize(
    ("vectors", "advantages", "group", "expected"),
    [
        # the same vector twice has not collapsed
        ([[1, 0], [1, 0], [0, 0]], [0.5, 0.5, -1], [0, 0, 0], [False, False, False]),
        # the same advantage in another group is no collapse
        ([[1, 0], [0, 1]], [0.5, 0.5], [0, 1], [False, False]),
        # sums of parts round: 0.1 + 0.2 against 0.3
        ([[0.1, 0.2], [0.3, 0], [0, 0]], [0.1 + 0.2, 0.3, -0.6], [0, 0, 0], [True, True, False]),
        # of two missing parts the vectors are the same
        ([[NAN, 1], [NAN, 1], [1, NAN]], [0.5, 0.5, 0.5], [0, 0, 0], [True, True, True]),
        ([[1, 0], [0, 1]], [NAN, NAN], [0, 0], [False, False]),
        # a row without an advantage is no partner
        ([[1, 0], [0, 1]], [0.0, NAN], [0, 0], [False, False]),
    ],
)
def test_collapses(vectors, advantages, group, expected):
    found = collapses(
        torch.tensor(vectors, dtype=torch.float64),
        torch.tensor(advantages, dtype=torch.float64),
        Segments.of(torch.tensor(group)),
    )
    assert found.tolist() == expected
