"""Runs a rule on some of the rows and judges how well it fits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from advcli.common.errors import AdvcliError
from advcli.engine import dispatch, fallbacks
from advcli.engine.run import run
from advcli.matching.candidates import Candidate
from advcli.matching.dead import carried
from advcli.matching.partitions import Partition
from advcli.matching.sample import FIRST, Slice
from advcli.tensors.masks import chosen, every, some
from advcli.tensors.segments import Segments

# Factor by which the spread of a sample of a step may differ from that of the whole step; the second for a small sample.
_STRETCH, _STRETCH_FIRST = 1.5, 1e3
# Rows with a sign needed to compare a rule's signs with the log's, and the share that has to agree.
_SIGNED, _AGREE = 64, 0.7
# Multiple of the float32 rounding error in sums over a step.
_STEPS = 8
# Number of distinct dead-group rewards up to which possible float32 results are enumerated.
_REWARDS = 256
# Number and share of rows that must fit before the others may count as clipped or filtered.
_FEWEST, _SHARE = 3, 0.05


@dataclass(frozen=True, eq=False)
class Trial:
    """How well a rule reproduces the logged advantages.

    Attributes:
        candidate: the rule.
        partition: the grouping.
        explained: whether every compared row fits, up to the digits of the log and of float32.
        core: whether all rows fit that are neither 0 nor at a bound.
        share: share of the compared rows that are nearly equal.
        misses: number of compared rows that aren't.
        max_abs: largest difference, over rows not affected by rounding if there are any.
        nulls: share of the rows without a logged advantage to which the rule gives none either.
        complete: whether all rows were used.
        predicted: [n] the rule's advantages for the rows used.
        rows: if the figures are taken from an equal rule, the number of rows on which both were compared.
    """

    candidate: Candidate
    partition: Partition
    explained: bool
    core: bool
    share: float
    misses: int
    max_abs: float
    nulls: float
    complete: bool
    predicted: Tensor | None = None
    rows: int | None = None


def predict(candidate: Candidate, part: Slice) -> Tensor | None:
    """[n] the rule's advantages, cached by computation; None if it can't be computed on these rows."""
    computation = candidate.computation
    if computation not in part.predictions:
        plain = candidate.unfilled
        filled = plain is not candidate and "rollout" not in part.columns
        part.predictions[computation] = (
            _filled(candidate, plain, part) if filled else _computed(candidate, part)
        )
    return part.predictions[computation]


def _computed(candidate: Candidate, part: Slice) -> Tensor | None:
    try:
        return run(candidate.plan, part.columns).processed.to(torch.float64)
    except AdvcliError:
        return None


def _filled(candidate: Candidate, plain: Candidate, part: Slice) -> Tensor | None:
    """[n] the advantages of a rule that differs from `plain` only in groups of one and rows without a reward."""
    original, entry, settings = predict(plain, part), candidate.plan.entry, candidate.plan.settings
    if original is None:
        return None
    usable = dispatch.usable(entry, part.columns)
    if not entry.alone:
        original = fallbacks.singletons(original, part.columns, usable, settings.singleton)
    return fallbacks.missing_rewards(original, part.columns["group"], usable, settings.missing)


def judge(candidate: Candidate, partition: Partition, part: Slice, predicted: Tensor) -> Trial:
    """Compare a rule's advantages with the logged ones."""
    given = part.given
    # A missing prediction for a logged advantage counts as an infinite difference.
    difference = (chosen(predicted, given.compared) - given.values).abs_().nan_to_num_(nan=torch.inf)
    count = difference.numel()
    # Sums over a step may run in any order; on part of a step, the rule is determined only up to scale and shift.
    loose = _STEPS * part.logged.exact if part.whole else part.logged.tolerance
    exact = given.exact + loose if candidate.sums_steps else given.exact
    fits, near = difference <= exact, difference <= given.room
    by_rounding = None
    if part.blur or not every(fits):
        room = exact + part.allowed(candidate.eps)[0]
        fits = difference <= room
        by_rounding = _carried(candidate, part, chosen(predicted, given.compared), room, fits)
        fits = fits if by_rounding is None else fits | by_rounding
    near = near | fits
    close = int(near.sum())
    return Trial(
        candidate,
        partition,
        explained=count > 0 and every(fits),
        core=_core(part, fits),
        share=close / max(count, 1),
        misses=count - close,
        max_abs=_largest(difference, part, candidate.eps, by_rounding),
        nulls=1.0 if given.empty is None else float(predicted[given.empty].isnan().double().mean()),
        complete=part.rows is None,
        predicted=predicted,
    )


def _carried(
    candidate: Candidate, part: Slice, predicted: Tensor, room: Tensor, fits: Tensor
) -> Tensor | None:
    """[m] bool, the rows of dead groups whose advantage float32 rounding can explain; None for none."""
    if candidate.eps is None or candidate.scale != "group":
        return None
    std, sizes = (chosen(column, part.given.compared) for column in (part.groups.std, part.groups.sizes))
    rewards = chosen(part.columns["rewards"], part.given.compared)
    dead = torch.nonzero(
        (std == 0) & (sizes > 1) & ~fits & rewards.isfinite() & predicted.isfinite()
    ).squeeze(1)
    if not len(dead) or len(rewards[dead].unique()) > _REWARDS:
        return None
    result = torch.zeros_like(fits)
    result[dead] = carried(
        rewards[dead],
        part.given.values[dead],
        sizes[dead].long(),
        room[dead],
        eps=candidate.eps,
        ddof=candidate.ddof or 0,
        clip=float(candidate.arguments.get("clip") or torch.inf),
        dtype=str(candidate.arguments.get("dtype", "float32")),
    )
    return result


def _largest(difference: Tensor, part: Slice, eps: float | None, by_rounding: Tensor | None) -> float:
    """The largest finite difference, over rows not affected by rounding if there are any; inf if there is none."""
    _, clear = part.allowed(eps)
    if by_rounding is not None:
        clear = ~by_rounding if clear is None else clear & ~by_rounding
    for values in (difference if clear is None else difference[clear], difference):
        largest = float(values.max()) if values.numel() else 0.0
        finite = values[values < torch.inf] if largest == torch.inf else values
        if finite.numel():
            return float(finite.max())
    return torch.inf


def _core(part: Slice, fits: Tensor) -> bool:
    """Whether everything fits except rows at 0, rows at the largest and the smallest value, or both."""
    share = _SHARE if part.size > 2 * FIRST else 0.0
    enough = max(_FEWEST, int(share * fits.numel()))
    misses = ~fits
    # In dead groups zeros fit every rule, so they are not counted.
    return any(count >= enough and not some(inner & misses) for inner, count in part.given.inner)


def tried(
    partition: Partition, candidates: Sequence[Candidate], part: Slice, *, brief: bool = False
) -> Iterator[Trial]:
    """Try each rule on some rows.

    Args:
        partition: their groups.
        candidates: the rules.
        part: the rows.
        brief: skip rules if one of their family has the opposite sign of the log.
    """
    against: dict[object, bool] = {}
    for candidate in candidates:
        if brief and against.get(candidate.family):
            continue
        predicted = predict(candidate, part)
        if predicted is None:
            continue
        if brief and candidate.family not in against:
            against[candidate.family] = _contrary(predicted, part)
        if candidate.of_batch and not part.whole:
            predicted = _affine(predicted, part, _STRETCH_FIRST if brief else _STRETCH)
        yield judge(candidate, partition, part, predicted)


def _contrary(predicted: Tensor, part: Slice) -> bool:
    """Whether a rule's signs disagree with the log's, so that no eps or ddof can help."""
    signs = chosen(predicted, part.given.compared).sign() * part.given.values.sign()
    decided = int((signs.abs() == 1).sum())
    return decided >= _SIGNED and int((signs == 1).sum()) < _AGREE * decided


def _affine(predicted: Tensor, part: Slice, stretch: float) -> Tensor:
    """The best fit a·p + b per step, since part of a step has a different mean and spread than the whole.

    Args:
        predicted: [n] the rule's advantages.
        part: the rows.
        stretch: how much larger or smaller a typical step's spread may be.
    """
    use = predicted.isfinite() & part.compared()
    steps = Segments.of(part.columns["step"][use], int(part.columns["step"].max()) + 1)
    p, a = predicted[use], part.logged.values[use]
    dp, da = p - steps.rows(steps.mean(p)), a - steps.rows(steps.mean(a))
    spread = steps.sum(dp * dp)
    # A step whose sampled groups are all dead determines no slope.
    slope = torch.where(spread > 0, steps.sum(dp * da) / spread, 1.0)
    typical = slope[spread > 0].median() if bool((spread > 0).any()) else slope.new_ones(())
    if bool((slope < 0).any()) or not 1 / stretch <= float(typical) <= stretch:
        return predicted
    fitted = predicted.clone()
    fitted[use] = steps.rows(slope) * dp + steps.rows(steps.mean(a))
    return fitted
