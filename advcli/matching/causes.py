"""Why no rule fits: what was tried, the most telling first."""

from collections.abc import Iterator

import torch
from torch import Tensor

from advcli.matching.problem import Problem
from advcli.matching.trials import Trial
from advcli.records.match import Break, Breaks
from advcli.records.table import RewardTable
from advcli.tensors.masks import chosen
from advcli.tensors.segments import Segments
from advcli.wording import counted, shortened, verb

_WORST = 5
_TOLD_STEPS = 5
_NEARLY = 0.02
# What another ddof makes of a std, at most: that of two rows.
_OF_DDOF = 1.42
FEW = 0.1
"""Share of rows that do not fit up to which the rule is right and the rows are not."""


def breaks(table: RewardTable, problem: Problem, trial: Trial) -> Breaks | None:
    """Where a rule on all rows does not fit.

    Args:
        table: the narrow columns.
        problem: what was searched for.
        trial: the rule, with its advantages.
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
        groups=len(_met(group[off])),
        all_groups=len(_met(chosen(group, compared))),
        steps=tuple(names[code] for code in _met(step[off])) if names else (),
        all_steps=len(names),
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
    """The few rows that are furthest off, of equal ones the first."""
    if not len(rows):
        return rows
    off = difference[rows]
    least = off.topk(min(_WORST, len(rows))).values[-1]
    further = rows[off > least]
    further = further[difference[further].argsort(descending=True, stable=True)]
    return torch.cat([further, rows[off == least][: _WORST - len(further)]])


def _met(index: Tensor) -> list[int]:
    """The different numbers of an index, in ascending order."""
    return torch.nonzero(torch.bincount(index)).squeeze(1).tolist()


def causes(problem: Problem, where: Breaks | None, shuffled: str | None) -> list[str]:
    """What explains the rest, in sentences, the most telling first.

    Args:
        problem: what was searched for.
        where: where the best one does not fit.
        shuffled: what `misaligned` says.
    """
    if shuffled is not None:
        # Sums over the groups of such rows tell nothing.
        return [shuffled, *_partly(where)]
    if where is not None and where.rows <= FEW * where.compared:
        return list(_partly(where))
    return [*_partly(where), *_parallel(problem), *_not_centred(problem)]


def _partly(where: Breaks | None) -> Iterator[str]:
    """The rule fits but for some steps or groups."""
    if where is None or not where.rows or where.rows > where.compared / 2:
        return
    if where.rows > _WORST and where.groups == where.all_groups:
        return
    at = f" of {verb(len(where.steps), 'step', 'steps')} {shortened(where.steps, _TOLD_STEPS)}"
    few = where.steps and len(where.steps) < where.all_steps
    inside = f"in {counted(where.groups, 'group')} of {where.all_groups:,}{at if few else ''}"
    if where.rows <= _WORST:
        places = ", ".join(
            f"{bad.place} (logged {bad.logged:.4g}, computed {bad.computed:.4g})" for bad in where.worst
        )
        yield f"the rule fits everywhere but in {counted(where.rows, 'row')}, {inside}: {places}"
    else:
        yield f"the rule fits everywhere but {inside} ({counted(where.rows, 'row')})"


def _parallel(problem: Problem) -> Iterator[str]:
    """Centred rewards times a factor of each group: the centring is right and the divisor is not."""
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
        turned = bool((along <= 0).all())
        along = -along if turned else along
        live = (length > 0) & (along > 0)
        if int(live.sum()) < 2:
            continue
        divisor = (length / along.clamp(min=1e-300))[live]
        spread = segments.max(part.groups.std[use])[live]
        sign = "−" if turned else ""
        yield f"grouped by {partition.label}, A = {sign}(r − mean) / s with {_divisor(divisor, spread)}"
        return


def _divisor(divisor: Tensor, spread: Tensor) -> str:
    """The divisors of the groups in words: a constant, a line over the std (ddof 1), or neither."""
    middle = float(divisor.median())
    if float((divisor - middle).abs().max()) <= 1e-4 * middle:
        return f"s = {middle:.6g} in every group: the rewards were scaled, or divided by a constant"
    matrix = torch.stack([spread, torch.ones_like(spread)], dim=1)
    slope, offset = torch.linalg.lstsq(matrix, divisor[:, None]).solution.squeeze(1).tolist()
    line = matrix @ torch.tensor([slope, offset], dtype=matrix.dtype)
    if float((line - divisor).abs().max()) > 1e-3 * middle:
        least, most = float(divisor.min()), float(divisor.max())
        return f"s between {least:.4g} and {most:.4g}, which is no function of the std of the group"
    told = f"s = {slope:.6g} · std + {offset:.3g} (ddof 1)"
    if slope > 0 and not 1 / _OF_DDOF <= slope <= _OF_DDOF:
        return (
            f"{told}: advantages over std + {offset / slope:.3g} that were then multiplied by {1 / slope:.6g}"
        )
    return f"{told}: an eps or a ddof that no rule has"


def _not_centred(problem: Problem) -> Iterator[str]:
    """Advantages that do not sum to 0 in the groups."""
    part = problem.whole(problem.partitions[0])
    use = part.compared()
    segments = Segments.of(part.columns["group"][use])
    sums = segments.mean(problem.logged.values[use]).nan_to_num(nan=0.0).abs()
    many = int((sums > _NEARLY * problem.logged.peak).sum())
    if not many:
        return
    steps = Segments.of(part.columns["step"][use])
    off = float(steps.mean(problem.logged.values[use]).nan_to_num(nan=0.0).abs().max())
    told = f"the advantages of {counted(many, 'group')} of {segments.count:,} do not sum to 0"
    if steps.count < segments.count and off <= problem.logged.tolerance:
        all_ = "those of every step" if steps.count > 1 else "all together"
        yield f"{told}, and {all_} do: rows and advantages are misaligned, or the rule centres by step"
    else:
        yield f"{told}: the groups are others, or rows are missing, or the rule does not centre by group"
