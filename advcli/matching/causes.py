"""Why no rule fits: what was tried, the most telling first."""

from collections.abc import Iterator

import torch
from torch import Tensor

from advcli.matching.candidates import Candidate
from advcli.matching.sample import Slice
from advcli.matching.search import Problem, Trial, predict
from advcli.records.match import Break, Breaks
from advcli.records.table import RewardTable
from advcli.segments import Segments
from advcli.words import counted, shortened, verb

_WORST = 5
_TOLD_STEPS = 5
# Rows up to which the advantages of every rule are looked for in another order; of more rows, of so many rules.
_SHUFFLED_ROWS, _SHUFFLED = 32_768, 4
# How much a spread may be off on a sample, and on all rows.
_SAMPLED, _EXACT = 0.05, 1e-4
_NEARLY = 0.02
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
    worst = difference.where(off, torch.tensor(-1.0, dtype=difference.dtype)).argsort(
        descending=True, stable=True
    )
    shown = worst[: min(_WORST, int(off.sum()))].tolist()
    names = table.step_names if table.step is not None else ()
    return Breaks(
        rows=int(off.sum()),
        compared=int(compared.sum()),
        groups=int(group[off].unique().numel()),
        all_groups=int(group[compared].unique().numel()),
        steps=tuple(names[code] for code in step[off].unique().tolist()) if names else (),
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
    scopes = {"group": problem.part(partition), "step": _step(whole), "file": whole}
    if int(whole.columns["step"].max()) == 0:
        scopes.pop("step")
    rules = _rules(problem)
    for scope, part in scopes.items():
        for candidate in rules if len(part.extent) <= _SHUFFLED_ROWS else rules[:_SHUFFLED]:
            if _reordered(candidate, part, scope) and (part is whole or _reordered(candidate, whole, scope)):
                within = "over all rows" if scope == "file" else f"within each {scope}"
                yield (
                    f"rows and advantages are misaligned: {within}, the logged advantages are those of "
                    f"{candidate.fit('', 0.0, 0.0).name} in another order"
                )
                return


def _step(whole: Slice) -> Slice:
    """The first step; all rows where they are few."""
    if len(whole.extent) <= _SHUFFLED_ROWS:
        return whole
    rows = torch.nonzero(whole.columns["step"] == 0).squeeze(1)
    return Slice.of(whole.columns, whole.logged, rows, whole=True)


def _rules(problem: Problem) -> list[Candidate]:
    """The rules whose advantages spread as the logged ones do, one of those with the same numbers, likeliest first."""
    part = problem.part(problem.partitions[0])
    compared = part.compared()
    wanted = _spread(part.logged.values[compared])
    # A sample tells the spread to a few percent, all rows tell it well.
    room = (_SAMPLED if part.rows is not None else _EXACT) * wanted[0]
    found: dict[tuple[int, ...], Candidate] = {}
    works: set[object] = set()
    ranked = sorted(
        problem.candidates,
        key=lambda c: (c.framework != problem.framework, c.framework is None, c.order),
    )
    for candidate in ranked:
        lacks = any(name not in part.columns for name in candidate.plan.entry.needs)
        if lacks or candidate.work in works:
            continue
        works.add(candidate.work)
        predicted = predict(candidate, part)
        if predicted is not None:
            spread = _spread(predicted[compared])
            if abs(spread[0] - wanted[0]) <= room:
                same = tuple(round(figure / part.logged.tolerance) for figure in spread)
                found.setdefault(same, candidate)
    return list(found.values())


def _spread(values: Tensor) -> tuple[float, float]:
    """Root mean square and mean size."""
    known = values.nan_to_num(nan=0.0)
    return float(known.square().mean().sqrt()), float(known.abs().mean())


def _reordered(candidate: Candidate, part: Slice, scope: str) -> bool:
    """Whether a rule has the logged advantages in every segment, in whatever order."""
    predicted = predict(candidate, part)
    compared = part.compared()
    if predicted is None or not bool(predicted[compared].isfinite().all()):
        return False
    index = {**part.columns, "file": torch.zeros_like(part.columns["step"])}[scope][compared]
    one, other = predicted[compared], part.logged.values[compared]
    segments = Segments.dense(index)
    # Cheap and nearly always enough: the sums of squares have to agree before anything is sorted.
    room = 2 * part.logged.tolerance * part.logged.peak * segments.size()
    if bool(((segments.sum(one**2) - segments.sum(other**2)).abs() > room).any()):
        return False
    one, other = one[segments.order(one)], other[segments.order(other)]
    return bool(((one - other).abs() <= part.logged.tolerance).all())


def _partly(where: Breaks | None) -> Iterator[str]:
    """The rule fits but for some steps or groups."""
    if where is None or not where.rows or where.rows > where.compared / 2:
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
        live = (length > 0) & (along > 0)
        if int(live.sum()) < 2:
            continue
        divisor = (length / along.clamp(min=1e-300))[live]
        yield f"grouped by {partition.label}, A = (r − mean) / s with {_divisor(divisor, part.std[use], segments, live)}"
        return


def _divisor(divisor: Tensor, std: Tensor, segments: Segments, live: Tensor) -> str:
    """The divisors of the groups in words: a constant, a line over the std, or neither."""
    spread = segments.max(std)[live]
    middle = float(divisor.median())
    if float((divisor - middle).abs().max()) <= 1e-4 * middle:
        return f"s = {middle:.6g} in every group: the rewards were scaled, or divided by a constant"
    matrix = torch.stack([spread, torch.ones_like(spread)], dim=1)
    slope, offset = torch.linalg.lstsq(matrix, divisor[:, None]).solution.squeeze(1).tolist()
    if (
        float((matrix @ torch.tensor([slope, offset], dtype=matrix.dtype) - divisor).abs().max())
        <= 1e-3 * middle
    ):
        return f"s = {slope:.6g} · std + {offset:.3g} (ddof 1): an eps or a ddof that no rule has"
    return f"s between {float(divisor.min()):.4g} and {float(divisor.max()):.4g}, which is no function of the std of the group"


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
