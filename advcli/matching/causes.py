"""Explains why no rule fits, most informative reason first."""

from collections.abc import Iterator

import torch
from torch import Tensor

from advcli.common.wording import counted, shortened, verb
from advcli.matching.problem import Problem
from advcli.matching.trials import Trial
from advcli.records.results.match import Break, Breaks
from advcli.records.table import RewardTable
from advcli.tensors.masks import chosen
from advcli.tensors.segments import Segments

_WORST = 5
_SHOWN_STEPS, _SHOWN_VALUES = 5, 5
_NEARLY = 0.02
# Largest ratio of two stds that differ in ddof only: that of two rows.
_DDOF_RATIO = 1.42
FEW = 0.1
"""Up to this share of mismatches, the rule is taken as right and the rows as wrong."""


def breaks(table: RewardTable, problem: Problem, trial: Trial) -> Breaks | None:
    """The rows that don't fit a rule; None if it was not computed.

    Args:
        table: the narrow columns.
        problem: the search problem.
        trial: the rule on all rows, with its advantages.
    """
    if trial.predicted is None:
        return None
    part = problem.whole(trial.partition)
    compared = part.compared()
    difference = (trial.predicted - problem.logged.values).abs().nan_to_num(nan=torch.inf)
    off = compared & (difference > problem.logged.room())
    group, step = part.columns["group"], part.columns["step"]
    shown = _furthest(difference, torch.nonzero(off).squeeze(1)).tolist()
    names = table.step_names if table.step is not None else ()
    return Breaks(
        rows=int(off.sum()),
        compared=int(compared.sum()),
        groups=len(_distinct(group[off])),
        all_groups=len(_distinct(chosen(group, compared))),
        steps=tuple(names[code] for code in _distinct(step[off])) if names else (),
        all_steps=len(names),
        alone=bool((part.groups.sizes[off] == 1).all()),
        worst=tuple(
            Break(
                table.place(row),
                int(group[row]),
                names[int(step[row])] if names else "",
                float(part.columns["rewards"][row]),
                float(problem.logged.values[row]),
                float(trial.predicted[row]),
            )
            for row in shown
        ),
    )


def _furthest(difference: Tensor, rows: Tensor) -> Tensor:
    """The few rows with the largest difference; ties in row order."""
    if not len(rows):
        return rows
    off = difference[rows]
    least = off.topk(min(_WORST, len(rows))).values[-1]
    further = rows[off > least]
    further = further[difference[further].argsort(descending=True, stable=True)]
    return torch.cat([further, rows[off == least][: _WORST - len(further)]])


def _distinct(index: Tensor) -> list[int]:
    """The distinct values of an index, in ascending order."""
    return torch.nonzero(torch.bincount(index)).squeeze(1).tolist()


def causes(problem: Problem, best: Trial | None, where: Breaks | None, shuffled: str | None) -> list[str]:
    """Sentences that explain the mismatch, most informative first.

    Args:
        problem: the search problem.
        best: the rule that fits best, on all rows.
        where: the rows that don't fit it.
        shuffled: the result of `find_shuffle`.
    """
    if shuffled is not None:
        # Group sums of shuffled rows are meaningless.
        return [shuffled, *_partly(where)]
    dead = list(_dead(problem, best))
    if dead or (where is not None and where.rows <= FEW * where.compared):
        return [*dead, *_pairs(problem), *_partly(where), *_nearly(problem, best)]
    return [
        *_pairs(problem),
        *_partly(where),
        *_nearly(problem, best),
        *_parallel(problem),
        *_not_centred(problem),
    ]


def _dead(problem: Problem, best: Trial | None) -> Iterator[str]:
    """A rule fits everywhere except in dead groups, which have non-zero advantages."""
    if best is None or best.predicted is None:
        return
    part = problem.whole(best.partition)
    values, dead = part.given.values, chosen(part.groups.std, part.compared()) == 0
    sizes = chosen(part.groups.sizes, part.compared())
    off = (chosen(best.predicted, part.compared()) - values).abs().nan_to_num(nan=torch.inf) > part.given.room
    if not bool(off.any()) or not bool((dead & (sizes > 1))[off].all()):
        return
    distinct = values[off].unique()
    carry = shortened([f"{value:.4g}" for value in distinct[:_WORST].tolist()], _SHOWN_VALUES)
    groups = counted(len(chosen(part.columns["group"], part.compared())[off].unique()), "dead group")
    yield (
        f"it fits every live group, but {counted(int(off.sum()), 'row')} of {groups} (equal rewards) "
        f"{verb(int(off.sum()), 'carries', 'carry')} "
        f"{carry}{'' if len(distinct) <= _WORST else ' and more'}: no rule gives that"
    )


def _nearly(problem: Problem, best: Trial | None) -> Iterator[str]:
    """Every row fits within the tolerance, but not to rounding."""
    if best is not None and best.share == 1 and not best.explained:
        yield (
            f"every row is within {problem.logged.tolerance:.1g}, but off by up to {best.max_abs:.1g}, more than rounding gives "
            f"({problem.logged.exact:.1g}): a related rule, with another eps perhaps"
        )


def _pairs(problem: Problem) -> Iterator[str]:
    """Groups of two rows with several reward parts: divided by their std, any weights give the same."""
    part = problem.whole(problem.partitions[0])
    if problem.columns["parts"].shape[1] < 2 or int(part.groups.sizes.max()) != 2:
        return
    values = part.given.values.abs()
    live = values[values > _NEARLY * problem.logged.peak]
    equal = (live - live.median()).abs() <= _NEARLY * live.median() if len(live) else live
    # Where the rewards are nearly equal, the eps makes a difference.
    if len(live) and float(equal.double().mean()) >= 1 - FEW:
        yield (
            "the reward weights are not determined by this log: in groups of two rows, advantages over their std are "
            f"±{float(live.median()):.4g} whatever the weights"
        )


def _partly(where: Breaks | None) -> Iterator[str]:
    """The rule fits except in some steps or groups."""
    if where is None or not where.rows or where.rows > where.compared / 2:
        return
    if where.rows > _WORST and where.groups == where.all_groups:
        return
    alone = ", the only one of its group" if where.alone and where.rows == 1 else ""
    at = f" of {verb(len(where.steps), 'step', 'steps')} {shortened(where.steps, _SHOWN_STEPS)}"
    few = where.steps and len(where.steps) < where.all_steps
    inside = f"in {counted(where.groups, 'group')} of {where.all_groups:,}{at if few else ''}"
    if where.rows <= _WORST:
        places = ", ".join(
            f"{bad.place} (logged {bad.logged:.4g}, computed {bad.computed:.4g})" for bad in where.worst
        )
        yield f"the rule fits everywhere but in {counted(where.rows, 'row')}{alone}, {inside}: {places}"
    else:
        yield f"the rule fits everywhere but {inside} ({counted(where.rows, 'row')})"


def _parallel(problem: Problem) -> Iterator[str]:
    """Centred rewards times a factor per group: the centring is right, the divisor isn't."""
    for partition in problem.partitions:
        part = problem.whole(partition)
        use = part.compared() & part.columns["rewards"].isfinite()
        segments = Segments.dense(part.columns["group"][use])
        rewards, values = part.columns["rewards"][use], problem.logged.values[use]
        centred = rewards - segments.rows(segments.mean(rewards))
        along, length = segments.sum(centred * values), segments.sum(centred**2)
        fitted = segments.rows(along / length.clamp(min=1e-300)) * centred
        if not bool(((fitted - values).abs() <= problem.logged.tolerance).all()) or segments.count < 2:
            continue
        negated = bool((along <= 0).all())
        along = -along if negated else along
        live = (length > 0) & (along > 0)
        if int(live.sum()) < 2:
            continue
        divisor = (length / along.clamp(min=1e-300))[live]
        spread = segments.max(part.groups.std[use])[live]
        sign = "−" if negated else ""
        yield f"grouped by {partition.label}, A = {sign}(r − mean) / s with {_divisor(divisor, spread)}"
        return


def _divisor(divisor: Tensor, spread: Tensor) -> str:
    """Describes the divisors of the groups: a constant, linear in the std (ddof 1), or neither."""
    middle = float(divisor.median())
    if float((divisor - middle).abs().max()) <= 1e-4 * middle:
        return f"s = {middle:.6g} in every group: the rewards were scaled, or divided by a constant"
    matrix = torch.stack([spread, torch.ones_like(spread)], dim=1)
    slope, offset = torch.linalg.lstsq(matrix, divisor[:, None]).solution.squeeze(1).tolist()
    line = matrix @ torch.tensor([slope, offset], dtype=matrix.dtype)
    if float((line - divisor).abs().max()) > 1e-3 * middle:
        least, most = float(divisor.min()), float(divisor.max())
        return f"s between {least:.4g} and {most:.4g}, which is not a linear function of the group's std"
    finding = f"s = {slope:.6g} · std + {offset:.3g} (ddof 1)"
    if slope > 0 and not 1 / _DDOF_RATIO <= slope <= _DDOF_RATIO:
        return f"{finding}: advantages over std + {offset / slope:.3g} that were then multiplied by {1 / slope:.6g}"
    return f"{finding}: no rule has such an eps or ddof"


def _not_centred(problem: Problem) -> Iterator[str]:
    """The advantages don't sum to 0 within the groups."""
    part = problem.whole(problem.partitions[0])
    use = part.compared()
    segments = Segments.of(part.columns["group"][use])
    sums = segments.mean(problem.logged.values[use]).nan_to_num(nan=0.0).abs()
    count = int((sums > _NEARLY * problem.logged.peak).sum())
    if not count:
        return
    steps = Segments.of(part.columns["step"][use])
    off = float(steps.mean(problem.logged.values[use]).nan_to_num(nan=0.0).abs().max())
    finding = f"the advantages of {counted(count, 'group')} of {segments.count:,} do not sum to 0"
    if steps.count < segments.count and off <= problem.logged.tolerance:
        all_ = "those of every step" if steps.count > 1 else "all together"
        yield f"{finding}, and {all_} do: rows and advantages are shuffled, or the rule centres by step"
    else:
        yield f"{finding}: the grouping differs, rows are missing, or the rule does not centre by group"
