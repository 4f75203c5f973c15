"""Why no rule fits: what was tried, the most telling first."""

from collections.abc import Iterator

import torch
from torch import Tensor

from advcli.matching.sample import Slice
from advcli.matching.search import Problem, Trial, predict
from advcli.records import Break, Breaks, RewardTable
from advcli.segments import Segments
from advcli.words import counted, shortened, verb

_WORST = 5
_TOLD_STEPS = 5
# Rules whose advantages are looked for in another order.
_SHUFFLED = 16
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
    part = Slice.of(problem.grouped(trial.partition), problem.logged, None, whole=True)
    compared = part.compared()
    difference = (trial.predicted - problem.logged.values).abs().nan_to_num(nan=torch.inf)
    off = compared & (difference > problem.logged.tolerance)
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


def causes(problem: Problem, trials: list[Trial], where: Breaks | None) -> list[str]:
    """What explains the rest, in sentences, the most telling first.

    Args:
        problem: what was searched for.
        trials: rules on all rows, the best first.
        where: where the best one does not fit.
    """
    return [*_misaligned(problem, trials), *_partly(where), *_parallel(problem), *_not_centred(problem)]


def _misaligned(problem: Problem, trials: list[Trial]) -> Iterator[str]:
    """The same advantages in another order within the groups, the steps, or all rows."""
    partition = problem.partitions[0]
    part = Slice.of(problem.grouped(partition), problem.logged, None, whole=True)
    compared = part.compared()
    everything = torch.zeros_like(part.columns["step"])
    scopes = {"group": part.columns["group"].clamp(min=0), "step": part.columns["step"], "file": everything}
    if int(part.columns["step"].max()) == 0:
        scopes.pop("step")
    predictions = list(_predictions(problem, trials, part))
    for scope, index in scopes.items():
        for name, predicted in predictions:
            if _same_set(predicted[compared], problem.logged.values[compared], index[compared], problem):
                within = "over all rows" if scope == "file" else f"within each {scope}"
                yield (
                    f"rows and advantages are misaligned: {within}, the logged advantages are those of "
                    f"{name} in another order"
                )
                return


def _predictions(problem: Problem, trials: list[Trial], part: Slice) -> Iterator[tuple[str, Tensor]]:
    """The likeliest rules on all rows, each computation once."""
    known: set[object] = set()
    likely = [trial.candidate for trial in trials]
    ranked = sorted(
        problem.candidates,
        key=lambda c: (c.framework != problem.framework, c.framework is None, c.order),
    )
    for candidate in [*ranked, *likely]:
        if candidate.work in known or len(known) >= _SHUFFLED * (4 if len(part.extent) < 100_000 else 1):
            continue
        known.add(candidate.work)
        if all(name in part.columns for name in candidate.plan.entry.needs):
            predicted = predict(candidate, part)
            if predicted is not None:
                yield candidate.fit("", 0.0, 0.0).name, predicted


def _same_set(predicted: Tensor, values: Tensor, index: Tensor, problem: Problem) -> bool:
    """Whether the two have the same values in every segment, in whatever order."""
    if not bool(predicted.isfinite().all()):
        return False
    segments = Segments.of(index)
    # Cheap and nearly always enough: the sums of squares have to agree before anything is sorted.
    first, second = segments.sum(predicted**2), segments.sum(values**2)
    room = 2 * problem.logged.tolerance * problem.logged.peak * segments.size()
    if bool(((first - second).abs() > room).any()):
        return False
    one, other = predicted[segments.order(predicted)], values[segments.order(values)]
    return bool(((one - other).abs() <= problem.logged.tolerance).all())


def _partly(where: Breaks | None) -> Iterator[str]:
    """The rule fits but for some steps or groups."""
    if where is None or not where.rows or where.rows > where.compared / 2:
        return
    if where.steps and len(where.steps) < where.all_steps:
        yield (
            f"the rule fits everywhere but in {counted(where.groups, 'group')} of "
            f"{verb(len(where.steps), 'step', 'steps')} {shortened(where.steps, _TOLD_STEPS)}"
        )
    else:
        yield f"the rule fits everywhere but in {counted(where.groups, 'group')} of {where.all_groups:,}"


def _parallel(problem: Problem) -> Iterator[str]:
    """Centred rewards times a factor of each group: the centring is right and the divisor is not."""
    for partition in problem.partitions:
        part = Slice.of(problem.grouped(partition), problem.logged, None, whole=True)
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
        yield f"{_of_group(partition.label)}, A = (r − mean) / s with {_divisor(divisor, part.std[use], segments, live)}"
        return


def _of_group(label: str) -> str:
    return f"grouped by {label}"


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
    part = Slice.of(problem.grouped(problem.partitions[0]), problem.logged, None, whole=True)
    use = part.compared()
    segments = Segments.of(part.columns["group"][use])
    sums = segments.mean(problem.logged.values[use]).nan_to_num(nan=0.0).abs()
    many = int((sums > _NEARLY * problem.logged.peak).sum())
    if many:
        yield (
            f"the advantages of {counted(many, 'group')} of {segments.count:,} do not sum to 0: the groups are others, "
            "or rows are missing, or the rule does not centre by group"
        )
