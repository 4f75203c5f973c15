"""What happened to the advantages of a rule before they were logged: rows filtered, values clipped."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import torch
from torch import Tensor

from advcli.advantages import Plan
from advcli.matching.candidates import Candidate, candidates
from advcli.matching.sample import Slice, sample
from advcli.matching.search import Problem, Trial, judge, predict
from advcli.segments import Segments, signs

# Shares in hundredths; of several that fit, the roundest.
_STEPS = 100
_TOP = 3
_FEWEST_AT_BOUND = 2


@dataclass(frozen=True)
class After:
    """What was done to the advantages of a rule.

    Attributes:
        trial: the rule, with it done: every row fits.
        clip: the bounds, or None.
        filtered: rows set to 0 in live groups.
        keep: the keep ratios (positive, negative) that filtered them, or None.
        recomputed: whether the kept rows were computed again.
    """

    trial: Trial
    clip: tuple[float, float] | None = None
    filtered: int = 0
    keep: tuple[float, float] | None = None
    recomputed: bool = False


def after(problem: Problem, trials: list[Trial]) -> After | None:
    """Explain rows that do not fit by a clamp or by rows that were set to 0; None if they are not.

    Args:
        problem: what is searched for.
        trials: rules on all rows, the best first.
    """
    found: list[After] = []
    for trial in trials:
        if trial.core and trial.predicted is not None:
            part = Slice.of(problem.grouped(trial.partition), problem.logged, None, whole=True)
            explained = _explained(trial, trial.predicted, part)
            if explained:
                found.append(explained)
    if not found:
        return None
    least = min(_changed(item) for item in found)
    return min(
        (item for item in found if _changed(item) == least), key=lambda item: problem.preference(item.trial)
    )


def recomputed(problem: Problem) -> After | None:
    """Keep ratios after which the kept rows were computed again; None if they do not explain the log.

    Args:
        problem: what is searched for.
    """
    able = [
        candidate
        for candidate in candidates(singletons=False, missing=False)
        if candidate.framework is None and candidate.plan.entry.recompute and candidate.ddof in (1, None)
    ]
    for partition in problem.partitions:
        part = sample(problem.grouped(partition), problem.logged)
        if not _has_filtered(part):
            continue
        for candidate in able:
            original = predict(candidate, part)
            for keep in _ratios(original, part, tries=_TOP) if original is not None else ():
                tried = _with(candidate, keep, compute_new_adv=True)
                trial = _judged(tried, problem, part, trial_of=partition)
                if trial is not None and trial.explained:
                    full = Slice.of(problem.grouped(partition), problem.logged, None, whole=True)
                    trial = _judged(tried, problem, full, trial_of=partition)
                    if trial is not None and trial.explained:
                        return After(trial, None, _zeros(full), keep, recomputed=True)
    return None


def _judged(candidate: Candidate, problem: Problem, part: Slice, trial_of) -> Trial | None:  # noqa: ANN001
    del problem
    predicted = predict(candidate, part)
    return None if predicted is None else judge(candidate, trial_of, part, predicted)


def _changed(item: After) -> int:
    return item.filtered + (0 if item.clip is None else 1)


def _explained(trial: Trial, predicted: Tensor, part: Slice) -> After | None:
    """One rule with a clamp, with rows at 0, or with both."""
    values = part.logged.values
    compared = part.compared()
    bounds = (float(values[compared].min()), float(values[compared].max()))
    beyond = compared & ((predicted > bounds[1] + part.logged.tolerance) | (predicted < bounds[0] - part.logged.tolerance))
    at_bound = beyond & ((values == bounds[0]) | (values == bounds[1]))
    clip = bounds if int(at_bound.sum()) >= _FEWEST_AT_BOUND else None
    clipped = predicted.clamp(*bounds) if clip else predicted
    judged = judge(trial.candidate, trial.partition, part, clipped)
    if judged.explained:
        return After(judged, clip) if clip else None
    off = compared & ((clipped - values).abs() > part.logged.tolerance)
    if not bool((values[off] == 0).all()):
        return None
    judged = judge(trial.candidate, trial.partition, part, torch.where(off, 0.0, clipped))
    if not judged.explained:
        return None
    return After(judged, clip, int(off.sum()), _verified(trial.candidate, predicted, part, clip))


def _verified(
    candidate: Candidate, predicted: Tensor, part: Slice, clip: tuple[float, float] | None
) -> tuple[float, float] | None:
    """The keep ratios that filter exactly the rows that were filtered."""
    for keep in _ratios(predicted, part, tries=_TOP):
        processed = predict(_with(candidate, keep), part)
        if processed is None:
            continue
        processed = processed.clamp(*clip) if clip else processed
        difference = (processed - part.logged.values).abs()[part.compared()]
        if bool((difference.nan_to_num(nan=torch.inf) <= part.logged.tolerance).all()):
            return keep
    return None


def _with(candidate: Candidate, keep: tuple[float, float], *, compute_new_adv: bool = False) -> Candidate:
    settings = replace(
        candidate.plan.settings, keep_pos=keep[0], keep_neg=keep[1], compute_new_adv=compute_new_adv
    )
    return replace(candidate, plan=Plan.of(settings))


def _ratios(original: Tensor, part: Slice, *, tries: int) -> Iterator[tuple[float, float]]:
    """Pairs of keep ratios that leave as many rows as the log has, the likeliest first."""
    sides = [_likely(original, part, sign)[:tries] for sign in (1.0, -1.0)]
    for pair in product(*sides):
        if pair != (1.0, 1.0):
            yield pair


def _likely(original: Tensor, part: Slice, sign: float) -> list[float]:
    """The ratios of one sign that most groups agree with, the roundest first."""
    group = part.columns["group"]
    used = part.compared() & original.isfinite()
    count = int(group.max()) + 1
    segments = Segments.of(group[used], count)
    values = part.logged.values[used]
    has_sign = signs(original[used], group[used]) == sign
    total = segments.sum(has_sign.double())
    kept = segments.sum((has_sign & (values != 0)).double())
    # A group that is all 0 may have had its kept rows computed again, all equal.
    telling = (total > 0) & (segments.max(values.abs()) > 0)
    if not bool(telling.any()):
        return [1.0]
    ratios = torch.arange(_STEPS + 1, dtype=torch.float64) / _STEPS
    expected = (total[telling, None] * ratios).trunc().clamp(min=1)
    expected[:, 0] = 0
    expected[:, -1] = total[telling]
    votes = (expected == kept[telling, None]).sum(dim=0)
    order = sorted(range(_STEPS + 1), key=lambda step: (-int(votes[step]), _roughness(step), step))
    return [order_step / _STEPS for order_step in order]


def _roughness(step: int) -> int:
    """How odd a share of so many hundredths is."""
    return next(place for place, unit in enumerate((100, 50, 10, 5, 1)) if step % unit == 0)


def _has_filtered(part: Slice) -> bool:
    return _zeros(part) > 0


def _zeros(part: Slice) -> int:
    """Rows with a logged 0 in groups whose rewards differ."""
    return int((part.compared() & (part.logged.values == 0) & (part.std > 0)).sum())
