"""Why no rule fits: what was tried, the most telling first."""

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
_TOLD_STEPS, _TOLD_VALUES = 5, 5
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


def causes(problem: Problem, best: Trial | None, where: Breaks | None, shuffled: str | None) -> list[str]:
    """What explains the rest, in sentences, the most telling first.

    Args:
        problem: what was searched for.
        best: the rule that fits best, on all rows.
        where: where it does not fit.
        shuffled: what `find_shuffle` says.
    """
    if shuffled is not None:
        # Sums over the groups of such rows tell nothing.
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
    """A rule fits everywhere but in groups of equal rewards, which carry something."""
    if best is None or best.predicted is None:
        return
    part = problem.whole(best.partition)
    values, dead = part.given.values, chosen(part.groups.std, part.compared()) == 0
    sizes = chosen(part.groups.sizes, part.compared())
    off = (chosen(best.predicted, part.compared()) - values).abs().nan_to_num(nan=torch.inf) > part.given.room
    if not bool(off.any()) or not bool((dead & (sizes > 1))[off].all()):
        return
    met = values[off].unique()
    carry = shortened([f"{value:.4g}" for value in met[:_WORST].tolist()], _TOLD_VALUES)
    groups = counted(len(chosen(part.columns["group"], part.compared())[off].unique()), "dead group")
    yield (
        f"it fits every live group, but {counted(int(off.sum()), 'row')} of {groups} (equal rewards) "
        f"{verb(int(off.sum()), 'carries', 'carry')} "
        f"{carry}{'' if len(met) <= _WORST else ' and more'}: no rule gives that"
    )


def _nearly(problem: Problem, best: Trial | None) -> Iterator[str]:
    """Every row is nearly right."""
    if best is not None and best.share == 1 and not best.explained:
        yield (
            f"every row is within {problem.logged.tolerance:.1g}, but off by up to {best.max_abs:.1g}, more than rounding gives "
            f"({problem.logged.exact:.1g}): a related rule, with another eps perhaps"
        )


def _pairs(problem: Problem) -> Iterator[str]:
    """Groups of two rows with several reward parts: over their std, both are the same whatever the weights."""
    part = problem.whole(problem.partitions[0])
    if problem.columns["parts"].shape[1] < 2 or int(part.groups.sizes.max()) != 2:
        return
    values = part.given.values.abs()
    live = values[values > _NEARLY * problem.logged.peak]
    alike = (live - live.median()).abs() <= _NEARLY * live.median() if len(live) else live
    # An eps shows where the rewards nearly agree.
    if len(live) and float(alike.double().mean()) >= 1 - FEW:
        yield (
            "the reward weights are not determined by this log: in groups of two rows, advantages over their std are "
            f"±{float(live.median()):.4g} whatever the weights"
        )


def _partly(where: Breaks | None) -> Iterator[str]:
    """The rule fits but for some steps or groups."""
    if where is None or not where.rows or where.rows > where.compared / 2:
        return
    if where.rows > _WORST and where.groups == where.all_groups:
        return
    alone = ", the only one of its group" if where.alone and where.rows == 1 else ""
    at = f" of {verb(len(where.steps), 'step', 'steps')} {shortened(where.steps, _TOLD_STEPS)}"
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
    finding = f"s = {slope:.6g} · std + {offset:.3g} (ddof 1)"
    if slope > 0 and not 1 / _OF_DDOF <= slope <= _OF_DDOF:
        return f"{finding}: advantages over std + {offset / slope:.3g} that were then multiplied by {1 / slope:.6g}"
    return f"{finding}: an eps or a ddof that no rule has"


def _not_centred(problem: Problem) -> Iterator[str]:
    """Advantages that do not sum to 0 in the groups."""
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
        yield f"{finding}: the groups are others, or rows are missing, or the rule does not centre by group"
