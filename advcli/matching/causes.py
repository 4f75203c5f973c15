"""Why no rule fits: what was tried, the most telling first."""

from collections.abc import Iterator

import torch
from torch import Tensor

from advcli.matching.candidates import Candidate
from advcli.matching.sample import Slice
from advcli.matching.search import Problem, Trial, predict
from advcli.records import Break, Breaks, RewardTable
from advcli.segments import Segments
from advcli.words import counted, shortened, verb

_WORST = 5
_TOLD_STEPS = 5
# Rows up to which the advantages of every rule are looked for in another order; beyond, those of so many rules
# whose spread on a sample is off by no more than a share of it.
_SHUFFLED_ROWS = 32_768
_SHUFFLED, _SPREAD = 4, 0.05
_NEARLY = 0.02


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
    return [*_misaligned(problem), *_partly(where), *_parallel(problem), *_not_centred(problem)]


def _misaligned(problem: Problem) -> Iterator[str]:
    """The same advantages in another order within the groups, the steps, or all rows."""
    partition = problem.partitions[0]
    whole = problem.whole(partition)
    scopes = {"group": problem.part(partition), "step": _steps(whole), "file": whole}
    if int(whole.columns["step"].max()) == 0:
        scopes.pop("step")
    for scope, part in scopes.items():
        for candidate in _rules(problem, part):
            if _reordered(candidate, part, scope) and (part is whole or _reordered(candidate, whole, scope)):
                within = "over all rows" if scope == "file" else f"within each {scope}"
                yield (
                    f"rows and advantages are misaligned: {within}, the logged advantages are those of "
                    f"{candidate.fit('', 0.0, 0.0).name} in another order"
                )
                return


def _steps(whole: Slice) -> Slice:
    """Some whole steps; all rows where a step is large."""
    step = whole.columns["step"]
    sizes = torch.bincount(step)
    few = sizes.cumsum(0) <= _SHUFFLED_ROWS
    if bool(few.all()) or not bool(few.any()):
        return whole
    rows = torch.nonzero(few[step]).squeeze(1)
    return Slice.of(whole.columns, whole.logged, rows, whole=True)


def _rules(problem: Problem, part: Slice) -> list[Candidate]:
    """Each computation once; of many rows, those whose advantages spread as the logged ones do."""
    works: dict[object, Candidate] = {}
    ranked = sorted(
        problem.candidates,
        key=lambda c: (c.framework != problem.framework, c.framework is None, c.order),
    )
    for candidate in ranked:
        if all(name in part.columns for name in candidate.plan.entry.needs):
            works.setdefault(candidate.work, candidate)
    if len(part.extent) <= _SHUFFLED_ROWS:
        return list(works.values())
    few = problem.part(problem.partitions[0])
    wanted = float(_rms(few.logged.values[few.compared()]))
    far: dict[int, float] = {}
    for place, candidate in enumerate(works.values()):
        predicted = predict(candidate, few)
        if predicted is not None:
            far[place] = abs(float(_rms(predicted[few.compared()])) - wanted)
    tried = list(works.values())
    # A sample tells the spread to a few percent: of rules as near, the likelier come first.
    near = [place for place, off in far.items() if off <= _SPREAD * wanted]
    return [tried[place] for place in sorted(near)[:_SHUFFLED]]


def _rms(values: Tensor) -> Tensor:
    return values.nan_to_num(nan=0.0).square().mean().sqrt()


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
