"""Why no rule fits: what was tried, the most telling first."""

from collections.abc import Iterator

import torch
from torch import Tensor

from advcli.masks import chosen
from advcli.matching.candidates import Candidate
from advcli.matching.problem import Problem
from advcli.matching.sample import SIZE, Slice
from advcli.matching.trials import Trial, predict
from advcli.records.match import Break, Breaks
from advcli.records.table import RewardTable
from advcli.segments import Segments
from advcli.words import counted, shortened, verb

_WORST = 5
_TOLD_STEPS = 5
# Rows up to which the advantages of every rule are looked for in another order; of more rows, of so many rules.
_SHUFFLED_ROWS, _SHUFFLED = 65_536, 6
# How far the advantages of a rule, in order of size, may be from the logged ones on average, as a share of their size.
_APART = 0.1
_NEARLY = 0.02
# How much larger or smaller the advantages of a rule are with another eps or ddof.
_FAR = 2.0
# What another ddof makes of a std, at most: that of two rows.
_OF_DDOF = 1.42
_DIGITS = 5
# Share of rows that do not fit up to which the rule is right and the rows are not.
_FEW = 0.1


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


def causes(problem: Problem, where: Breaks | None) -> list[str]:
    """What explains the rest, in sentences, the most telling first.

    Args:
        problem: what was searched for.
        where: where the best one does not fit.
    """
    if where is not None and where.rows <= _FEW * where.compared:
        return list(_partly(where))
    return [*_misaligned(problem), *_partly(where), *_parallel(problem), *_not_centred(problem)]


def _misaligned(problem: Problem) -> Iterator[str]:
    """The same advantages in another order within the groups, the steps, or all rows."""
    partition = problem.partitions[0]
    whole = problem.whole(partition)
    scopes = {"group": problem.part(partition), "step": problem.step(partition) or whole, "file": whole}
    if int(whole.columns["step"].max()) == 0:
        scopes.pop("step")
    rules = _rules(problem)
    for scope, part in scopes.items():
        for candidate in rules[:_SHUFFLED] if part.size > _SHUFFLED_ROWS else rules:
            if _reordered(candidate, part, scope) and (part is whole or _reordered(candidate, whole, scope)):
                within = "over all rows" if scope == "file" else f"within each {scope}"
                yield (
                    f"rows and advantages are misaligned: {within}, the logged advantages are those of "
                    f"{candidate.fit('', 0.0, 0.0).name} in another order"
                )
                return


def _rules(problem: Problem) -> list[Candidate]:
    """The rules whose advantages lie as the logged ones do, one of those with the same numbers, likeliest first."""
    even, step = _even(problem), problem.step(problem.partitions[0])
    ranked = sorted(
        problem.candidates,
        key=lambda c: (c.framework != problem.framework, c.framework is None, c.order),
    )
    found: dict[tuple[object, ...], tuple[float, Candidate]] = {}
    far: dict[object, bool] = {}
    for candidate in ranked:
        # Of a part of a step a rule of the batch is known up to a factor only.
        part = step if candidate.of_batch and step is not None and not even.whole else even
        if far.get(candidate.kin) or any(name not in part.columns for name in candidate.plan.entry.needs):
            continue
        predicted = predict(candidate, part)
        if predicted is None:
            continue
        one, other = predicted[part.compared()].nan_to_num(nan=0.0), part.given.values
        size = _size(other)
        far.setdefault(candidate.kin, not size / _FAR <= _size(one) <= size * _FAR)
        apart = float((one.sort().values - part.sorted_values).abs().mean()) / size
        if apart <= _APART:
            # What differs by a factor only is looked for once.
            figures = (one.abs().mean() / _size(one), one.max() / _size(one))
            same = tuple(round(float(figure), _DIGITS) for figure in figures)
            found.setdefault((part is even, *same), (round(apart, 2), candidate))
    return [candidate for _, candidate in sorted(found.values(), key=lambda pair: pair[0])]


def _even(problem: Problem) -> Slice:
    """Groups from all over the file, none chosen for what it is: their advantages lie as all do."""
    whole = problem.whole(problem.partitions[0])
    if whole.size <= 2 * SIZE:
        return whole
    count = whole.groups.segments.count
    picked = torch.zeros(count, dtype=torch.bool)
    picked[torch.linspace(0, count - 1, max(1, SIZE * count // whole.size)).long()] = True
    rows = torch.nonzero(picked[whole.groups.index.clamp(min=0)] & whole.groups.used).squeeze(1)
    return Slice.of(whole.columns, whole.logged, rows, whole=False)


def _size(values: Tensor) -> float:
    """Root mean square."""
    return float(values.square().mean().sqrt())


def _reordered(candidate: Candidate, part: Slice, scope: str) -> bool:
    """Whether a rule has the logged advantages in every segment, in whatever order, but for a factor near to 1.

    The factor is that of another eps or ddof, which the order of the rows hides.
    """
    predicted = predict(candidate, part)
    compared = part.compared()
    if predicted is None or not bool(predicted[compared].isfinite().all()):
        return False
    index = chosen({**part.columns, "file": torch.zeros_like(part.columns["step"])}[scope], compared)
    one, other = chosen(predicted, compared), part.given.values
    factor = _size(other) / max(_size(one), 1e-300)
    if abs(factor - 1) > _APART:
        return False
    one, segments = one * factor, Segments.dense(index)
    # Cheap and nearly always enough: sums have to agree before anything is sorted.
    room = part.logged.tolerance * segments.size()
    sums = ((one.abs(), other.abs(), room), (one**2, other**2, 2 * part.logged.peak * room))
    if any(bool(((segments.sum(a) - segments.sum(b)).abs() > most).any()) for a, b, most in sums):
        return False
    one, other = one[segments.order(one)], other[segments.order(other)]
    return bool(((one - other).abs() <= part.logged.tolerance).all())


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
    if many:
        yield (
            f"the advantages of {counted(many, 'group')} of {segments.count:,} do not sum to 0: the groups are others, "
            "or rows are missing, or the rule does not centre by group"
        )
