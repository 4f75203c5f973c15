"""Infers difficulty weighting of advantages: compares the weights seen in the log with those of the rule.

Given an estimator, the weight of a row is its logged advantage divided by the computed one. If the rule was
used, this is the same for all right answers to prompts with the same solve rate, and likewise for all wrong
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
# Grid of midpoints and steepnesses at which the search starts, and how many starts are followed.
_MIDDLES, _STEEPNESSES, _FOLLOWED = torch.linspace(0, 1, 21), torch.logspace(0, 1.8, 19), 3
# Largest relative difference between equal weights, and the advantage, relative to the largest, below which a row
# determines no weight.
_SAME, _NONE = 1e-3, 1e-3
# Shorter knobs are accepted if their residual is at most this multiple of the best, or this share of the weights.
_AS_GOOD, _EXACT = 2.0, 1e-9
# Other estimators are kept if their residual is at most this multiple of the best; how many fits are returned.
_KEPT_RESIDUAL, _MOST = 1e3, 4
# Decimals to which estimators and solve rates are compared.
_DIGITS, _SHARES = 4, 9


def fitting(problem: Problem, partition: Partition) -> Iterator[Shaped]:
    """The difficulty rule with inferred knobs, most likely first; nothing if no estimator gives consistent weights.

    Args:
        problem: the search problem.
        partition: the groups.
    """
    result = list(_implied_weights(problem, problem.part(partition, FIRST)))
    if any(_of_source(*one) for one in result):
        yield Shaped(ShapeSpec(NAME, dict(zip(_KNOBS, _SOURCE, strict=True))), 0)
    fits = [fit for one in result for fit in _fitted(*one)]
    best = max(min((fit.residual for fit in fits), default=0.0), _EXACT)
    near = sorted((fit for fit in fits if fit.residual <= _KEPT_RESIDUAL * best), key=lambda fit: fit.digits)
    # The sort is stable: among equally long ones the preferred estimator stays first.
    for fit in near[:_MOST]:
        yield Shaped(ShapeSpec(NAME, dict(zip(_KNOBS, fit.knobs, strict=True))), fit.free)


@dataclass(frozen=True)
class _Fit:
    """Knobs that reproduce the weights for an estimator.

    Attributes:
        knobs: in the order of `_KNOBS`.
        residual: largest relative residual of a weight.
        free: how many of them count as fitted: a group gives two weights, but evidence counts groups.
    """

    knobs: tuple[float, ...]
    residual: float
    free: int

    @property
    def digits(self) -> int:
        """Total length of the knobs when printed."""
        return sum(len(f"{knob:g}") for knob in self.knobs)


def _implied_weights(problem: Problem, part: Slice) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """The weights implied by each distinct estimator, see `_weights`."""
    seen: set[bytes] = set()
    for candidate in problem.candidates:
        base = None if candidate.of_batch and not part.whole else predict(candidate, part)
        key = b"" if base is None else base.round(decimals=_DIGITS).numpy().tobytes()
        result = None if base is None or key in seen else _weights(part, base)
        seen.add(key)
        if result is not None:
            yield result


def applied(problem: Problem, partition: Partition, one: Shaped) -> Problem:
    """The problem with every candidate weighted by difficulty.

    Args:
        problem: the search problem.
        partition: the groups.
        one: the difficulty rule with its knobs.
    """

    def weighed(candidate: Candidate) -> Candidate:
        settings = replace(candidate.plan.settings, shaping=(one.step,))
        return replace(candidate, plan=replace(candidate.plan, settings=settings))

    tried = [weighed(candidate) for candidate in problem.candidates]
    return problem.but(columns=dict(problem.columns), partitions=[partition], candidates=tried)


def _weights(part: Slice, base: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
    """[K] the share of right (or wrong) answers, the weight of such rows, and its relative uncertainty.

    None if the weights are inconsistent.
    """
    rewards, values = part.columns["rewards"], part.logged.values
    groups = Groups.of(rewards, part.columns["group"])
    share = groups.count(rewards > 0) / groups.count(groups.used)
    answer_share = torch.where(base > 0, share, 1 - share)
    finite = part.compared() & groups.used & base.isfinite()
    peak = float(base[finite].abs().max()) if bool(finite.any()) else 0.0
    use = finite & (base.abs() > _NONE * peak)
    if not peak or not bool(use.any()):
        return None
    weight = values[use] / base[use]
    shares, kind = answer_share[use].round(decimals=_SHARES).unique(return_inverse=True)
    segments = Segments.of(kind, len(shares))
    mean, spread = segments.mean(weight), segments.max(weight) - segments.min(weight)
    room = part.logged.room()[use] / base[use].abs()
    digits = (part.logged.stored.room(values[use]) + part.logged.exact) / base[use].abs()
    same = spread <= _SAME * mean.abs() + 2 * segments.max(room)
    return (shares, mean, -segments.max(-digits) / mean) if bool(same.all() and (mean > 0).all()) else None


def _of_source(shares: Tensor, weights: Tensor, room: Tensor) -> bool:
    """Whether the paper's knobs reproduce the weights."""
    residuals = _residuals(torch.tensor(_SOURCE, dtype=torch.float64), shares, weights)
    return _differ(weights) and bool((residuals.abs() <= room.clamp(min=_SAME)).all())


def _differ(weights: Tensor) -> bool:
    """Whether the weights are more than one common factor."""
    return _kinds(weights) > 1


def _kinds(weights: Tensor) -> int:
    """How many distinct weights there are, up to rounding."""
    ordered = weights.sort().values
    return 1 + int((ordered.diff() > _SAME * ordered[:-1]).sum())


def _fitted(shares: Tensor, weights: Tensor, room: Tensor) -> Iterator[_Fit]:
    """Knobs that reproduce the weights, if there are more weights than knobs: short ones first, then the best fit."""
    if _kinds(weights) <= len(_KNOBS):
        return
    pairs = len(torch.minimum(shares, 1 - shares).round(decimals=_SHARES).unique())
    free = max(0, len(_KNOBS) - (len(shares) - pairs))

    def residuals(numbers: Tensor) -> Tensor:
        return _residuals(numbers, shares, weights)

    for start in _starts(shares, weights):
        numbers, _ = least_squares(residuals, start, near=1.0)
        if not _valid(numbers) or not bool((residuals(numbers).abs() <= room.clamp(min=_SAME)).all()):
            continue
        least = _AS_GOOD * residuals(numbers).abs().max().clamp(min=_EXACT)
        for most in (torch.maximum(room, least), least):
            short = shortened(numbers, lambda one: bool((residuals(one).abs() <= most).all()))  # noqa: B023  used at once
            if _valid(short):
                yield _Fit(tuple(short.tolist()), float(residuals(short).abs().max()), free)
        return


def _valid(numbers: Tensor) -> bool:
    """Whether knobs are in their valid range; outside, the curve degenerates to a line or an exponential that fits anything."""
    middle, steepness = numbers[2:]
    return bool((numbers >= 0).all() and middle <= 1 and steepness > 0)


def _starts(shares: Tensor, weights: Tensor) -> Iterator[Tensor]:
    """Starting knobs: the best of a grid over the two nonlinear ones, the linear two solved for."""
    middle, steepness = torch.cartesian_prod(_MIDDLES.double(), _STEEPNESSES.double()).unbind(dim=1)
    wave = 1 / (1 + torch.exp(steepness[:, None] * (shares - middle[:, None])))
    lines = torch.stack([1 - wave, wave], dim=2) / weights[:, None]
    ends = torch.linalg.lstsq(lines, torch.ones_like(wave)[:, :, None], driver="gelsd").solution
    residual = (lines @ ends - 1).squeeze(2).square().sum(dim=1)
    for one in residual.topk(_FOLLOWED, largest=False).indices:
        yield torch.cat([ends[one, :, 0], middle[one, None], steepness[one, None]])


def _residuals(numbers: Tensor, shares: Tensor, weights: Tensor) -> Tensor:
    """[K] relative residuals of the weights for some knobs."""
    low, high, middle, steepness = numbers
    result: Tensor = (low + (high - low) / (1 + torch.exp(steepness * (shares - middle)))) / weights - 1
    return result
