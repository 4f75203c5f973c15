"""Batches of rewards with fixed seeds, shared by the frameworks where the shape allows."""

import math
import random
from dataclasses import dataclass, replace

Reward = float | None


@dataclass(frozen=True)
class Batch:
    """Rows of one training step; `rewards` has one list per row when there are several reward functions.

    `n` is the size of the groups when they are contiguous and equal, which positional frameworks need; 0 otherwise.
    """

    name: str
    n: int
    rewards: list[Reward] | list[list[Reward]]
    groups: list[str]
    lengths: list[int]
    weights: list[float] | None = None

    @property
    def matrix(self) -> list[list[float]]:
        """Rows by reward functions, NaN where a function gave nothing."""
        rows = [row if isinstance(row, list) else [row] for row in self.rewards]
        return [[math.nan if value is None else value for value in row] for row in rows]

    @property
    def column(self) -> list[float]:
        """The rewards of the only reward function, NaN where it gave nothing."""
        return [row[0] for row in self.matrix]

    @property
    def full(self) -> bool:
        """No reward is missing."""
        return not any(math.isnan(value) for row in self.matrix for value in row)


def _rng(name: str) -> random.Random:
    return random.Random(f"advcli parity {name}")  # a text seed is the same on every platform


def _lengths(rng: random.Random, rows: int, longest: int) -> list[int]:
    lengths = [rng.randint(1, longest) for _ in range(rows)]
    lengths[0], lengths[-1] = 1, longest
    return lengths


def _batch(name, groups, *, longest=64, weights=None) -> Batch:
    """Name the groups in order; groups of one size, side by side, may go to a positional framework."""
    sizes = {len(group) for group in groups}
    rewards = [reward for group in groups for reward in group]
    ids = [f"g{index}" for index, group in enumerate(groups) for _ in group]
    n = sizes.pop() if len(sizes) == 1 else 0
    return Batch(name, n, rewards, ids, _lengths(_rng(name), len(rewards), longest), weights)


def shuffled(batch: Batch) -> Batch:
    """The same rows in another order: the groups are no longer contiguous."""
    name = f"{batch.name}-shuffled"
    order = list(range(len(batch.rewards)))
    _rng(name).shuffle(order)
    pick = {key: [getattr(batch, key)[i] for i in order] for key in ("rewards", "groups", "lengths")}
    return replace(batch, name=name, n=0, **pick)


def _binary(rng: random.Random, n: int) -> list[Reward]:
    rate = rng.choice([0.2, 0.5, 0.8])
    return [float(rng.random() < rate) for _ in range(n)]


def _normal(rng: random.Random, n: int, mean: float = 0.0, std: float = 1.0) -> list[Reward]:
    return [round(rng.gauss(mean, std), 6) for _ in range(n)]


def single() -> list[Batch]:
    """One reward per row, none missing."""
    return [*_ordinary(), *far()]


def far() -> list[Batch]:
    """Rewards that lie far from 0, or close together, in the whole step: a float32 mean or std decides the first digits."""
    rng = _rng("far")
    tenths = [round(1000.1 + rng.randint(0, 9) / 10, 1) for _ in range(48)]
    ragged = [[1e6 + rng.randint(0, 15) / 8 for _ in range(n)] for n in (2, 5, 3, 4, 7, 3)]
    return [
        _batch("far-n4", [_normal(rng, 4, 1e6) for _ in range(7)]),
        _batch("far-tenths-n8", [tenths[at : at + 8] for at in range(0, 48, 8)]),
        _batch("far-binary-n4", [[5000.1 + x for x in _binary(rng, 4)] for _ in range(6)], longest=700),
        _batch("near-n4", [[0.5 + rng.gauss(0, 1e-7) for _ in range(4)] for _ in range(9)]),
        _batch("far-one-group-n8", [_normal(rng, 8, 3000)]),
        shuffled(_batch("far-ragged", ragged)),
    ]


def _ordinary() -> list[Batch]:
    rng = _rng("single")
    stock = [0.0, 0.1, 0.9, 1.0]  # format 0.1 and accuracy 0.9: ties that are not dyadic
    ragged = [_normal(rng, n, 1.0) for n in (1, 2, 3, 4, 8, 5, 7, 1, 6)]
    mixed = [[rng.choice([-1.0, 0.0, 1.0]) for _ in range(n)] for n in (2, 8, 1, 4, 5, 7, 3, 2)]
    constants = _batch(
        "constants-n8", [[0.1] * 8, [0.9] * 8, [0.0] * 8, [1.0] * 8, _binary(rng, 8), _normal(rng, 8)]
    )
    return [
        _batch("binary-n8", [[0.0] * 8, *(_binary(rng, 8) for _ in range(3)), [1.0] * 7 + [0.0]]),
        constants,
        shuffled(constants),
        _batch("continuous-n4", [_normal(rng, 4) for _ in range(8)]),
        _batch("ties-n5", [[rng.choice(stock) for _ in range(5)] for _ in range(6)]),
        _batch("offset-n4", [_normal(rng, 4, mean) for mean in (5000, 1e6, -300, 70)] + [[1000.1] * 4]),
        _batch("pairs-n2", [_normal(rng, 2) for _ in range(8)] + [[0.7] * 2, [0.0, 1.0]]),
        _batch("constants-n7", [[0.1] * 7, [0.7] * 7, [-0.3] * 7, _normal(rng, 7)]),
        _batch("narrow-n4", [[0.5 - d, 0.5 + d, 0.5 - d, 0.5 + d] for d in (1e-1, 1e-3, 1e-5, 1e-6)]),
        _batch("long-n4", [_binary(rng, 4) for _ in range(5)], longest=2000),
        shuffled(_batch("ragged", ragged)),
        shuffled(_batch("ragged-ternary", mixed)),
    ]


def several() -> list[Batch]:
    """Two or three rewards per row with weights, none missing."""
    rng = _rng("several")

    def rows(n: int, dead: bool = False) -> list[list[Reward]]:
        accuracy = [1.0] * n if dead else _binary(rng, n)
        return [[a, rng.choice([0.0, 0.1]), x] for a, x in zip(accuracy, _normal(rng, n, 2, 3), strict=True)]

    two = [[row[:2] for row in rows(4)] for _ in range(5)] + [[[0.9, 0.1]] * 4]
    return [
        _batch("two-rewards-n4", two, weights=[1.0, 0.5]),
        _batch("three-rewards-n8", [rows(8), rows(8), rows(8, dead=True)], weights=[2.0, 1.0, 0.25]),
        shuffled(_batch("two-rewards-ragged", [[row[:2] for row in rows(n)] for n in (1, 4, 2, 7, 3)])),
        *_decimals(),
    ]


def _decimals() -> list[Batch]:
    """Parts whose sums are equal as they are written, and not always in float32; parts far from 0."""
    rng = _rng("decimals")
    same = [
        [[0.6, 0.3], [0.9, 0.0], [0.9, 0.0], [0.9, 0.0]],
        [[0.1, 0.2], [0.3, 0.0], [0.0, 0.3], [0.2, 0.1]],
    ]
    tenths = [[[rng.randint(0, 9) / 10, rng.randint(0, 9) / 10] for _ in range(4)] for _ in range(6)]
    apart = [[[1e6 + rng.gauss(0, 1), round(rng.random(), 1)] for _ in range(4)] for _ in range(5)]
    return [
        _batch("decimals-n4", [*same, *tenths]),
        _batch("decimals-weighed-n4", [*same, *tenths], weights=[0.7, 0.3]),
        _batch("far-parts-n4", apart, weights=[1.0, 0.3]),
    ]


def missing() -> list[Batch]:
    """Rewards that a function did not give."""
    rng = _rng("missing")
    one = [
        _binary(rng, 4),
        [None] * 4,
        [0.3, None, None, None],
        [None, *_normal(rng, 3)],
        [0.9, 0.9, None, 0.9],
    ]
    acc = [1, 0, 0, 1, 1, 1, 1, 1, 0, None, 1, 0]  # the golden batch of the notes
    fmt = [0.1, 0.1, 0, 0.1, 0.1, 0.1, 0.1, 0.1, None, None, 0.1, 0.1]
    golden = list(map(list, zip(acc, fmt, strict=True)))
    drop = [
        [
            [None if rng.random() < 0.3 else x for x in (a, b)]
            for a, b in zip(_binary(rng, 8), _normal(rng, 8), strict=True)
        ]
        for _ in range(3)
    ]
    partial = [
        [
            [a, None if rng.random() < 0.4 else x]
            for a, x in zip(_binary(rng, 8), _normal(rng, 8), strict=True)
        ]
        for _ in range(2)
    ]
    partial += [[[1.0, None]] * 8, [[0.0, 0.1]] * 7 + [[0.0, None]]]
    unscored = [[[None, x] for x in _normal(rng, 8)], [[None, None]] * 7 + [[1.0, None]]]
    return [
        _batch("missing-n4", one),
        _batch("missing-golden-n4", [golden[i : i + 4] for i in (0, 4, 8)]),
        _batch("missing-partial-n8", partial, weights=[0.9, 0.1]),
        _batch("missing-two-n8", [*drop, *unscored], weights=[1.0, 0.5]),
    ]
