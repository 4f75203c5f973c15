"""Advantages that were weighed by how hard the prompt is: the weights that the log tells, beside those of the rule.

Behind each estimator the weight of a row is its logged advantage over the computed one. Where the rule was
used, that is one number for all right answers to prompts that are solved as often, and one for the wrong
ones.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from advcli.matching.candidates import Candidate
from advcli.matching.inference.fitting import least_squares, shortened
from advcli.matching.inference.shapers import Shaped
from advcli.matching.partitions import Partition
from advcli.matching.problem import Problem
from advcli.matching.sample import FIRST, Slice
from advcli.matching.trials import predict
from advcli.records.settings import ShapeSpec
from advcli.shaping.groups import Groups
from advcli.tensors.segments import Segments

NAME = "difficulty"
_KNOBS = ("low", "high", "middle", "steepness")
_SOURCE = (0.4, 1.5, 0.75, 10.0)
# Where the weights are half way, and how fast they fall, on which the search begins; how many of these are followed.
_MIDDLES, _STEEPNESSES, _FOLLOWED = torch.linspace(0, 1, 21), torch.logspace(0, 1.8, 19), 3
# How far weights of one kind may lie apart, as a share of the weight, and an advantage that tells none, as a
# share of the largest.
_SAME, _NONE = 1e-3, 1e-3
# Shorter knobs are as good if they leave so many times as much, or this share of the weights.
_AS_GOOD, _EXACT = 2.0, 1e-9
# How many times as much as the best the weights behind another estimator may leave over; how many knobs are gone on with.
_NEARBY, _MOST = 1e3, 4
# Digits by which estimators differ, and shares.
_DIGITS, _SHARES = 4, 9


def fitting(problem: Problem, partition: Partition) -> Iterator[Shaped]:
    """The rule, with the knobs that the log tells, the likeliest first; nothing where no estimator leaves such weights.

    Args:
        problem: what is searched for.
        partition: the groups.
    """
    result = list(_told(problem, problem.part(partition, FIRST)))
    if any(_of_source(*one) for one in result):
        yield Shaped(ShapeSpec(NAME, dict(zip(_KNOBS, _SOURCE, strict=True))), 0)
    able = [fit for one in result for fit in _fitted(*one)]
    best = max(min((fit.left for fit in able), default=0.0), _EXACT)
    near = sorted((fit for fit in able if fit.left <= _NEARBY * best), key=lambda fit: fit.digits)
    # Of those as long, the estimator that is believed first.
    for fit in near[:_MOST]:
        yield Shaped(ShapeSpec(NAME, dict(zip(_KNOBS, fit.knobs, strict=True))), fit.free)


@dataclass(frozen=True)
class _Fit:
    """Knobs that give the weights behind an estimator.

    Attributes:
        knobs: in the order of `_KNOBS`.
        left: the most that they leave of a weight, as a share of it.
        free: how many of them the groups alone cannot tell: a group tells two weights, and evidence counts groups.
    """

    knobs: tuple[float, ...]
    left: float
    free: int

    @property
    def digits(self) -> int:
        """How long the knobs are, written out."""
        return sum(len(f"{knob:g}") for knob in self.knobs)


def _told(problem: Problem, part: Slice) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """What each estimator that there is says of the weights, see `_weights`."""
    seen: set[bytes] = set()
    for candidate in problem.candidates:
        base = None if candidate.of_batch and not part.whole else predict(candidate, part)
        key = b"" if base is None else base.round(decimals=_DIGITS).numpy().tobytes()
        result = None if base is None or key in seen else _weights(part, base)
        seen.add(key)
        if result is not None:
            yield result


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


def _weights(part: Slice, base: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
    """[K] how often a right (or wrong) answer is given, the weight of such rows, and by which share the log's digits blur it.

    None if there is no such weight.
    """
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
    digits = (part.logged.stored.room(values[use]) + part.logged.exact) / base[use].abs()
    same = spread <= _SAME * mean.abs() + 2 * segments.max(room)
    return (shares, mean, -segments.max(-digits) / mean) if bool(same.all() and (mean > 0).all()) else None


def _of_source(shares: Tensor, weights: Tensor, room: Tensor) -> bool:
    """Whether the knobs of the source give the weights."""
    left = _left(torch.tensor(_SOURCE, dtype=torch.float64), shares, weights)
    return _differ(weights) and bool((left.abs() <= room.clamp(min=_SAME)).all())


def _differ(weights: Tensor) -> bool:
    """Whether there is more than a factor."""
    return _kinds(weights) > 1


def _kinds(weights: Tensor) -> int:
    """How many weights there are that differ by more than the log's digits make."""
    ordered = weights.sort().values
    return 1 + int((ordered.diff() > _SAME * ordered[:-1]).sum())


def _fitted(shares: Tensor, weights: Tensor, room: Tensor) -> Iterator[_Fit]:
    """Knobs that give the weights, where there are more weights than knobs: short ones, then those that leave least."""
    if _kinds(weights) <= len(_KNOBS):
        return
    pairs = len(torch.minimum(shares, 1 - shares).round(decimals=_SHARES).unique())
    free = max(0, len(_KNOBS) - (len(shares) - pairs))

    def left(numbers: Tensor) -> Tensor:
        return _left(numbers, shares, weights)

    for start in _starts(shares, weights):
        numbers, _ = least_squares(left, start, near=1.0)
        if not _meant(numbers) or not bool((left(numbers).abs() <= room.clamp(min=_SAME)).all()):
            continue
        least = _AS_GOOD * left(numbers).abs().max().clamp(min=_EXACT)
        for most in (torch.maximum(room, least), least):
            short = shortened(numbers, lambda one: bool((left(one).abs() <= most).all()))  # noqa: B023  used at once
            if _meant(short):
                yield _Fit(tuple(short.tolist()), float(left(short).abs().max()), free)
        return


def _meant(numbers: Tensor) -> bool:
    """Whether knobs are what they stand for; beyond that the curve is a line or an exponential, which any weights may be."""
    middle, steepness = numbers[2:]
    return bool((numbers >= 0).all() and middle <= 1 and steepness > 0)


def _starts(shares: Tensor, weights: Tensor) -> Iterator[Tensor]:
    """Knobs to begin with: of a grid of the two that are not in a line with the weights, those that leave least."""
    middle, steepness = torch.cartesian_prod(_MIDDLES.double(), _STEEPNESSES.double()).unbind(dim=1)
    wave = 1 / (1 + torch.exp(steepness[:, None] * (shares - middle[:, None])))
    lines = torch.stack([1 - wave, wave], dim=2) / weights[:, None]
    ends = torch.linalg.lstsq(lines, torch.ones_like(wave)[:, :, None], driver="gelsd").solution
    left = (lines @ ends - 1).squeeze(2).square().sum(dim=1)
    for one in left.topk(_FOLLOWED, largest=False).indices:
        yield torch.cat([ends[one, :, 0], middle[one, None], steepness[one, None]])


def _left(numbers: Tensor, shares: Tensor, weights: Tensor) -> Tensor:
    """[K] what the weights of some knobs leave, as a share of the weight."""
    low, high, middle, steepness = numbers
    result: Tensor = (low + (high - low) / (1 + torch.exp(steepness * (shares - middle)))) / weights - 1
    return result
