"""Infers changes made to a rule's advantages before logging: filtered rows, clipped values."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias

import torch
from torch import Tensor

from advcli.engine.plan import Plan
from advcli.matching.candidates import Candidate
from advcli.matching.partitions import Partition
from advcli.matching.problem import Problem
from advcli.matching.sample import FIRST, Slice
from advcli.matching.trials import Trial, judge, predict
from advcli.tensors.masks import chosen
from advcli.tensors.segments import Segments, signs

# Keep ratios are tried in hundredths; the roundest that fits is reported.
_STEPS = 100
_TOP = 3
_FEWEST_AT_BOUND = 2
# Smallest relative excess over a bound that counts as clipped.
_VISIBLE = 0.01
LIVE, WHOLE, DEAD = "of live groups", "of whole groups", "of dead groups"
"""Which rows were set to 0."""
# Share of the groups that must agree with a ratio if rows were recomputed, since some are then 0 by chance.
_AGREED = 0.5
_Pair: TypeAlias = tuple[float, float]


@dataclass(frozen=True)
class After:
    """Changes made to the advantages of some rules.

    Attributes:
        trials: the rules with the changes applied: every row fits.
        clip: the bounds, or None.
        filtered: number of rows set to 0 that have an advantage by the rule.
        where: which groups those rows are in, in words.
        keep: the keep ratios (positive, negative) that filtered them, or None.
        range_: for each, the lowest and highest ratio with the same effect.
        recomputed: whether the kept rows were recomputed.
        free: how many numbers were fitted to the log.
        doubt: why the change is not determined although it explains every row; "" if it is.
    """

    trials: tuple[Trial, ...]
    clip: _Pair | None = None
    filtered: int = 0
    where: str = ""
    keep: _Pair | None = None
    range_: tuple[_Pair, _Pair] | None = None
    recomputed: bool = False
    free: int = 0
    doubt: str = ""


def after(problem: Problem, trials: list[Trial]) -> After | None:
    """Explain rows that don't fit by clipping or by rows set to 0; None if that doesn't explain them.

    Args:
        problem: the search problem.
        trials: rules on all rows, best first.
    """
    result: list[After] = []
    known: dict[object, After | None] = {}
    for trial in trials:
        if trial.core and trial.predicted is not None:
            # Rules with the same numbers share the result.
            key = (id(trial.predicted), trial.candidate.eps, trial.candidate.plan.entry.recompute)
            if key not in known:
                known[key] = _explained(trial, trial.predicted, problem.whole(trial.partition))
            explained = known[key]
            if explained:
                own = tuple(replace(one, candidate=trial.candidate) for one in explained.trials)
                result.append(replace(explained, trials=own))
    if not result:
        return None
    # Prefer fewest changed rows, then changes explained by keep ratios.
    first = min(result, key=lambda item: (bool(item.doubt), _changed(item), item.keep is None))
    same = [item.trials[0] for item in result if _done(item) == _done(first)]
    return replace(first, trials=tuple(same))


def recomputed(problem: Problem) -> After | None:
    """Keep ratios with the kept rows recomputed; None if they don't explain the log.

    Args:
        problem: the search problem.
    """
    plain = [
        candidate
        for candidate in problem.candidates
        if candidate.framework is None
        and candidate.plan.entry.recompute
        and candidate.ddof in (1, None)
        and candidate.plan.settings.missing == candidate.plan.settings.singleton == "null"
    ]
    for partition in problem.partitions:
        if not _zeros(problem.part(partition)):
            continue
        result = [item for candidate in plain for item in _recomputed(problem, partition, candidate)]
        same = [item for item in result if _done(item) == _done(result[0])]
        if same:
            return replace(same[0], trials=tuple(item.trials[0] for item in same))
    return None


def _recomputed(problem: Problem, partition: Partition, candidate: Candidate) -> Iterator[After]:
    """The most likely keep ratios with which a rule, recomputed on the kept rows, explains all rows."""
    part = problem.part(partition)
    original = predict(candidate, part)
    if original is None:
        return
    for keep, range_ in _ratios(original, part, agreed=_AGREED):
        tried = _with(candidate, keep, compute_new_adv=True)
        if not (_fits(tried, partition, problem.part(partition, FIRST)) and _fits(tried, partition, part)):
            continue
        full = problem.whole(partition)
        trial = _judged(tried, partition, full)
        if trial is not None and trial.explained:
            yield After((trial,), None, _zeros(full), LIVE, keep, range_, recomputed=True, free=1)
            return


def _fits(candidate: Candidate, partition: Partition, part: Slice) -> bool:
    trial = _judged(candidate, partition, part)
    return trial is not None and trial.explained


def _judged(candidate: Candidate, partition: Partition, part: Slice) -> Trial | None:
    predicted = predict(candidate, part)
    return None if predicted is None else judge(candidate, partition, part, predicted)


def _changed(item: After) -> int:
    return item.filtered + (0 if item.clip is None else 1)


def _done(item: After) -> tuple[object, ...]:
    return (item.clip, item.filtered, item.keep)


def _explained(trial: Trial, predicted: Tensor, part: Slice) -> After | None:
    """One rule with clipping, with rows set to 0, or both."""
    values = part.logged.values
    compared = part.compared()
    clip = _bounds(predicted[compared], values[compared], part.logged.tolerance)
    clipped = predicted.clamp(*clip) if clip else predicted
    judged = judge(trial.candidate, trial.partition, part, clipped)
    free = len({abs(bound) for bound in clip or () if math.isfinite(bound)})
    vague = _clip_doubt(predicted[compared], clip, part) if clip else ""
    if judged.explained:
        return After((judged,), clip, free=free, doubt=vague) if clip else None
    off = compared & ((clipped - values).abs() > part.logged.tolerance)
    if not bool((values[off] == 0).all()):
        return None
    judged = judge(trial.candidate, trial.partition, part, torch.where(off, 0.0, clipped))
    if not judged.explained:
        return None
    keep, range_ = _verified(trial.candidate, predicted, part, clip) or (None, None)
    where, ambiguity = _where(part, off)
    return After(
        (judged,),
        clip,
        int(off.sum()),
        where,
        keep,
        range_,
        free=free + 1,
        doubt=vague or ("" if keep else ambiguity),
    )


def _where(part: Slice, off: Tensor) -> tuple[str, str]:
    """The groups of the rows set to 0, in words, and a doubt if too many rows are 0 for that to be plausible."""
    live = part.groups.std > 0
    if not bool((off & live).any()):
        rewards = part.columns["rewards"][off].unique()
        return f"{DEAD} (every reward {float(rewards[0]):g})" if len(rewards) == 1 else DEAD, ""
    segments, used = part.groups.segments, part.groups.used
    all_zero = segments.max(chosen(part.logged.values.abs().nan_to_num(nan=0.0), used)) == 0
    if bool(all_zero[part.columns["group"][off]].all()):
        return WHOLE, ""
    count, of = int((off & live).sum()), int((part.compared() & live).sum())
    return (
        LIVE,
        f"{count:,} of {of:,} rows of live groups carry 0, and the dump does not say why"
        if 2 * count > of
        else "",
    )


def _clip_doubt(predicted: Tensor, clip: _Pair, part: Slice) -> str:
    """Why clipping is not determined: the bound isn't round, and all rows beyond it have one value; "" if it is."""
    beyond = torch.cat([predicted[predicted > clip[1]], predicted[predicted < clip[0]]]).abs()
    bound = max(abs(edge) for edge in clip if math.isfinite(edge))
    several = float(beyond.max() - beyond.min()) > _VISIBLE * bound
    round_ = abs(bound - float(f"{bound:.2g}")) <= part.logged.exact and not part.logged.stored.absolute
    return (
        "" if several or round_ else f"all rows at the bound {bound:.4g} would be equal without clipping too"
    )


def _bounds(predicted: Tensor, values: Tensor, room: float) -> tuple[float, float] | None:
    """The clipping bounds that the log shows; None if too few rows are at a bound that the rule noticeably exceeds.

    If only one bound is reached, the clipping is assumed symmetric where possible.
    """
    low, high = float(values.min()), float(values.max())
    # A bound of 0 is not clipping: the rows of one sign were filtered.
    above = (predicted > high + room) & (values == high) & (high != 0)
    below = (predicted < low - room) & (values == low) & (low != 0)
    if int(above.sum() + below.sum()) < _FEWEST_AT_BOUND:
        return None
    excess = float(torch.cat([(predicted - high)[above], (low - predicted)[below]]).max())
    if excess <= _VISIBLE * max(abs(low), abs(high)):
        return None
    if not below.any():
        low = -high if high > 0 and float(predicted.min()) >= -high - room else -math.inf
    if not above.any():
        high = -low if low < 0 and float(predicted.max()) <= -low + room else math.inf
    return low, high


def _verified(
    candidate: Candidate, predicted: Tensor, part: Slice, clip: _Pair | None
) -> tuple[_Pair, tuple[_Pair, _Pair]] | None:
    """The keep ratios, with their ranges, that filter exactly the rows filtered in the log."""
    for keep, range_ in _ratios(predicted, part):
        processed = predict(_with(candidate, keep), part)
        if processed is None:
            continue
        processed = processed.clamp(*clip) if clip else processed
        difference = (processed - part.logged.values).abs()[part.compared()]
        if bool((difference.nan_to_num(nan=torch.inf) <= part.logged.tolerance).all()):
            return keep, range_
    return None


def _with(candidate: Candidate, keep: _Pair, *, compute_new_adv: bool = False) -> Candidate:
    settings = replace(
        candidate.plan.settings, keep_pos=keep[0], keep_neg=keep[1], compute_new_adv=compute_new_adv
    )
    return replace(candidate, plan=Plan.of(settings))


def _ratios(
    original: Tensor, part: Slice, agreed: float = 0.0
) -> Iterator[tuple[_Pair, tuple[_Pair, _Pair]]]:
    """Pairs of keep ratios that keep as many rows as the log has, most likely first, and their ranges.

    Args:
        original: [n] the rule's advantages.
        part: the rows.
        agreed: share of the groups that must agree with a ratio.
    """
    sides = [_likely(original, part, sign, agreed) for sign in (1.0, -1.0)]
    for (positive, range_), (negative, other) in product(*sides):
        if (positive, negative) != (1.0, 1.0):
            yield (positive, negative), (range_, other)


def _likely(original: Tensor, part: Slice, sign: float, agreed: float) -> list[tuple[float, _Pair]]:
    """The ratios of one sign that most groups agree with, each with the range of equally supported ratios."""
    group = part.columns["group"]
    used = part.compared() & original.isfinite()
    count = int(group.max()) + 1
    segments = Segments.of(group[used], count)
    values = part.logged.values[used]
    has_sign = signs(original[used], group[used]) == sign
    total = segments.sum(has_sign.double())
    kept = segments.sum((has_sign & (values != 0)).double())
    # A group of zeros may have been recomputed on equal kept rows, so it says nothing.
    informative = (total > 0) & (segments.max(values.abs()) > 0)
    if not bool(informative.any()):
        return [(1.0, (1.0, 1.0))]
    ratios = torch.arange(_STEPS + 1, dtype=torch.float64) / _STEPS
    expected = (total[informative, None] * ratios).trunc().clamp(min=1)
    expected[:, 0] = 0
    expected[:, -1] = total[informative]
    votes = (expected == kept[informative, None]).sum(dim=0)
    likely = []
    for support in (
        votes[votes >= agreed * int(informative.sum())].unique(sorted=True).flip(0)[:_TOP].tolist()
    ):
        steps = torch.nonzero(votes == support).squeeze(1).tolist()
        # Among equally round ratios, the largest: it filters the fewest rows.
        best = min(steps, key=lambda step: (_roughness(step), -step))
        likely.append((best / _STEPS, (steps[0] / _STEPS, steps[-1] / _STEPS)))
    return likely


def _roughness(step: int) -> int:
    """Rank of roundness of a share in hundredths: 0 for 100, then multiples of 10, 5 and 1."""
    return next(position for position, unit in enumerate((100, 10, 5, 1)) if step % unit == 0)


def _zeros(part: Slice) -> int:
    """Number of rows with a logged 0 in live groups."""
    return int((part.compared() & (part.logged.values == 0) & (part.groups.std > 0)).sum())
