"""Advantages that were weighed by how hard the prompt is: the weights that the log tells, beside those of the rule.

Behind each estimator the weight of a row is its logged advantage over the computed one. Where the rule was used, that is one number
for all right answers to prompts that are solved as often, and one for the wrong ones.
"""

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from advcli.matching.candidates import Candidate
from advcli.matching.fitting import least_squares, shortened
from advcli.matching.partitions import Partition
from advcli.matching.problem import Problem
from advcli.matching.sample import FIRST, Slice
from advcli.matching.shapers import Shaped
from advcli.matching.trials import predict
from advcli.records.settings import ShapeSpec
from advcli.shaping.groups import Groups
from advcli.tensors.segments import Segments

NAME = "difficulty"
_KNOBS = ("low", "high", "middle", "steepness")
_STARTS = ((0.4, 1.5, 0.75, 10.0), (0.4, 1.5, 0.5, 5.0), (0.2, 1.0, 0.7, 20.0))
# How far weights of one kind may lie apart, as a share of the weight, and an advantage that tells none, as a share of the largest.
_SAME, _NONE = 1e-3, 1e-3
# Digits by which estimators differ, and shares.
_DIGITS, _SHARES = 4, 9


def fitting(problem: Problem, partition: Partition) -> Iterator[Shaped]:
    """The rule, with the knobs that the log tells; nothing where no estimator leaves such weights.

    Args:
        problem: what is searched for.
        partition: the groups.
    """
    found = list(_told(problem, problem.part(partition, FIRST)))
    for knobs in (_of_source, _fitted):
        numbers = next(filter(None, (knobs(*one) for one in found)), None)
        if numbers is not None:
            step = ShapeSpec(NAME, dict(zip(_KNOBS, numbers, strict=True)))
            yield Shaped(step, 0 if knobs is _of_source else len(_KNOBS))
            return


def _told(problem: Problem, part: Slice) -> Iterator[tuple[Tensor, Tensor]]:
    """What each estimator that there is says of the weights, see `_weights`."""
    seen: set[bytes] = set()
    for candidate in problem.candidates:
        base = None if candidate.of_batch and not part.whole else predict(candidate, part)
        key = b"" if base is None else base.round(decimals=_DIGITS).numpy().tobytes()
        found = None if base is None or key in seen else _weights(part, base)
        seen.add(key)
        if found is not None:
            yield found


def applied(problem: Problem, partition: Partition, one: Shaped) -> Problem:
    """The search for the estimator before the weights: every rule, weighed.

    Args:
        problem: what is searched for.
        partition: the groups.
        one: the rule with its knobs.
    """

    def weighed(candidate: Candidate) -> Candidate:
        settings = replace(candidate.plan.settings, shaping=(one.step,))
        return replace(candidate, plan=replace(candidate.plan, settings=settings))

    tried = [weighed(candidate) for candidate in problem.candidates]
    return problem.but(columns=dict(problem.columns), partitions=[partition], candidates=tried)


def _weights(part: Slice, base: Tensor) -> tuple[Tensor, Tensor] | None:
    """[K] how often a right answer (or a wrong one) is given, and the weight of such rows; None if there is no such weight."""
    rewards, values = part.columns["rewards"], part.logged.values
    groups = Groups.of(rewards, part.columns["group"])
    share = groups.count(rewards > 0) / groups.count(groups.used)
    told = torch.where(base > 0, share, 1 - share)
    finite = part.compared() & groups.used & base.isfinite()
    peak = float(base[finite].abs().max()) if bool(finite.any()) else 0.0
    use = finite & (base.abs() > _NONE * peak)
    if not peak or not bool(use.any()):
        return None
    weight = values[use] / base[use]
    shares, kind = told[use].round(decimals=_SHARES).unique(return_inverse=True)
    segments = Segments.of(kind, len(shares))
    mean, spread = segments.mean(weight), segments.max(weight) - segments.min(weight)
    room = part.logged.room()[use] / base[use].abs()
    same = spread <= _SAME * mean.abs() + 2 * segments.max(room)
    return (shares, mean) if bool(same.all() and (mean > 0).all()) else None


def _of_source(shares: Tensor, weights: Tensor) -> list[float] | None:
    """The knobs of the source, where they give the weights."""
    left = _left(torch.tensor(_STARTS[0], dtype=torch.float64), shares, weights)
    differ = float(weights.max() - weights.min()) > _SAME
    return list(_STARTS[0]) if differ and bool((left.abs() <= _SAME * weights).all()) else None


def _fitted(shares: Tensor, weights: Tensor) -> list[float] | None:
    """Knobs that give the weights, where there are more weights than knobs."""
    if len(shares) <= len(_KNOBS):
        return None

    def left(numbers: Tensor) -> Tensor:
        return _left(numbers, shares, weights)

    for start in _STARTS:
        numbers = least_squares(left, torch.tensor(start, dtype=torch.float64), near=1.0)[0]
        if bool((left(numbers).abs() <= _SAME * weights).all()):
            least = 2 * max(float(left(numbers).abs().max()), 1e-9)
            short: list[float] = shortened(
                numbers,
                lambda one: bool((left(one).abs() <= least).all()),  # noqa: B023  used at once
            ).tolist()
            return short
    return None


def _left(numbers: Tensor, shares: Tensor, weights: Tensor) -> Tensor:
    low, high, middle, steepness = numbers
    found: Tensor = low + (high - low) / (1 + torch.exp(steepness * (shares - middle))) - weights
    return found
