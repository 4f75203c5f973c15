"""Try every rule on a part of the rows, and those that are left on all of them."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from advcli.advantages import run
from advcli.errors import AdvcliError
from advcli.matching.candidates import Candidate
from advcli.matching.logged import Logged, rounding
from advcli.matching.partitions import Partition
from advcli.matching.sample import SIZE, Slice, sample
from advcli.segments import Segments
from advcli.words import counted

Tell = Callable[[str], None]
# Different computations that are run on all rows, and how many more where none of them fits.
_CONFIRMED = 8
_MORE = 3
# Rows on which the rules that are left are compared once more before one of them is run on all rows.
_MANY = 65_536
# By how much the spread of a part of a step may differ from that of the whole step.
_STRETCH = 1.5
# Rows that have to fit before the others may be called clipped or filtered.
_FEWEST, _SHARE = 3, 0.05


@dataclass(frozen=True)
class Problem:
    """What is searched for.

    Attributes:
        columns: what an estimator may need, of all rows; without the group.
        logged: the logged advantages.
        partitions: the groupings to try.
        candidates: the rules to try.
        framework: the framework that writes such dumps, which is believed first; or None.
        excluded: [N] bool, rows that the statistics leave out; None for none.
        blur: how far a logged reward may be from the one that was used, because it was rounded.
    """

    columns: Mapping[str, Tensor]
    logged: Logged
    partitions: Sequence[Partition]
    candidates: Sequence[Candidate]
    framework: str | None = None
    excluded: Tensor | None = None
    blur: float = 0.0
    _whole: dict[str, Slice] = field(default_factory=dict, init=False, repr=False, compare=False)

    def whole(self, partition: Partition) -> Slice:
        """All rows with the groups of a partition; looked at once."""
        if partition.label not in self._whole:
            columns = self.grouped(partition)
            self._whole[partition.label] = Slice.of(columns, self.logged, None, whole=True, blur=self.blur)
        return self._whole[partition.label]

    def part(self, partition: Partition, size: int = SIZE) -> Slice:
        """Enough rows to rule most candidates out, with the groups of a partition."""
        return sample(self.grouped(partition), self.logged, size, self.whole(partition))

    def grouped(self, partition: Partition) -> dict[str, Tensor]:
        """The columns with the groups of a partition; excluded rows are in none."""
        group = torch.from_numpy(partition.grouping.group)
        if self.excluded is not None:
            group = torch.where(self.excluded, -1, group)
        return {**self.columns, "group": group}

    def preference(self, trial: "Trial") -> tuple[int, int, int]:
        """The lower, the sooner a rule is believed: fewest assumptions, the dump's own framework, the newest."""
        framework = trial.candidate.framework
        # Trainers compute in float32; numbers with more digits are rather a notebook's.
        first, second = (1, 2) if self.logged.single else (2, 1)
        own = 0 if framework and framework == self.framework else first if framework else second
        return (self._place(trial.partition), own, trial.candidate.order)

    def _place(self, partition: Partition) -> int:
        return next(place for place, known in enumerate(self.partitions) if known is partition)


@dataclass(frozen=True, eq=False)
class Trial:
    """How well a rule reproduces the logged advantages.

    Attributes:
        candidate: the rule.
        partition: the grouping.
        explained: whether every compared row fits, float32 rounding allowed for.
        core: whether all rows fit that are neither 0 nor at a bound.
        share: share of the compared rows within the tolerance.
        misses: compared rows that are not within the tolerance.
        max_abs: largest difference, over rows that rounding cannot blur if there are any.
        nulls: share of the rows without a logged advantage that have none by the rule either.
        complete: whether all rows were looked at.
        predicted: [n] the rule's advantages in the rows that were looked at.
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


@dataclass(frozen=True)
class Found:
    """The outcome of a search.

    Attributes:
        trials: rules on all rows, the best first.
        tried: rules × groupings that were tried.
        lacking: estimators that could not be tried, and why.
    """

    trials: Sequence[Trial]
    tried: int
    lacking: Mapping[str, str] = field(default_factory=dict)

    @property
    def explained(self) -> bool:
        """Whether some rule reproduces every row."""
        return bool(self.trials) and self.trials[0].explained


def search(problem: Problem, tell: Tell = lambda text: None, *, nearest: bool = False) -> Found:
    """Try all rules with all groupings.

    Args:
        problem: what to search for.
        tell: takes a line each time rules have been ruled out.
        nearest: whether to run the nearest rules on all rows too, where none fits on a part of them.
    """
    lacking: dict[str, str] = {}
    sampled: list[Trial] = []
    for partition in problem.partitions:
        part = problem.part(partition)
        sampled += tried(partition, _affordable(problem, part), part, lacking)
        left = sum(trial.explained for trial in sampled)
        tell(f"{partition.label}: {counted(len(sampled), 'rule')} tried on a part of the rows, {left} left")
        if left and part.rows is not None:
            # Whether another grouping gives the same numbers is asked of small data only.
            break
    sampled.sort(key=lambda trial: (not trial.explained, -trial.share, problem.preference(trial)))
    done = [trial for trial in sampled if trial.complete]
    if len(done) < len(sampled):
        done = _confirmed(problem, sampled, tell, nearest=nearest)
    return Found(_ordered(problem, done), len(sampled), lacking)


def _affordable(problem: Problem, part: Slice) -> Sequence[Candidate]:
    """The candidates; of groups of thousands of rows, which no sample makes small, the plain ones only."""
    if part.rows is None or len(part.extent) <= 2 * SIZE:
        return problem.candidates
    return [c for c in problem.candidates if c.framework is None and c.plan.entry.recompute]


def indistinguishable(problem: Problem, trials: Sequence[Trial]) -> list[Trial]:
    """The trials that the data cannot tell from the best one, in the order in which they are believed."""
    fitting = [trial for trial in trials if trial.explained]
    if not fitting:
        return []
    nulls = max(trial.nulls for trial in fitting)
    fitting = [trial for trial in fitting if trial.nulls == nulls]
    misses = min(trial.misses for trial in fitting)
    fitting = [trial for trial in fitting if trial.misses == misses]
    closest = min(trial.max_abs for trial in fitting)
    limit = max(problem.logged.resolution, 4 * closest)
    return sorted((t for t in fitting if t.max_abs <= limit), key=problem.preference)


def predict(candidate: Candidate, part: Slice) -> Tensor | None:
    """[n] the rule's advantages; None if it cannot be computed on these rows."""
    try:
        return run(candidate.plan, part.columns).processed.to(torch.float64)
    except AdvcliError:
        return None


def judge(candidate: Candidate, partition: Partition, part: Slice, predicted: Tensor) -> Trial:
    """Compare a rule's advantages with the logged ones."""
    logged, compared = part.logged, part.compared()
    difference = (predicted - logged.values).abs()[compared]
    allowed = rounding(part.columns["rewards"], part.extent, part.std, candidate.eps, part.blur)[compared]
    values, room = logged.values[compared], logged.room()[compared]
    # A rule that gives none where there is one does not fit.
    difference = difference.nan_to_num(nan=torch.inf)
    fits = difference <= room + allowed
    strict = fits if part.blur else difference <= room
    clear = difference[(allowed <= logged.tolerance) & difference.isfinite()]
    largest = clear if clear.numel() else difference[difference.isfinite()]
    empty = ~part.logged.values.isfinite() & (part.columns["group"] >= 0)
    many = max(int(compared.sum()), 1)
    return Trial(
        candidate,
        partition,
        explained=bool(fits.all()) and bool(compared.any()),
        core=_core(values, fits),
        share=int(strict.sum()) / many,
        misses=int((~strict).sum()),
        max_abs=float(largest.max()) if largest.numel() else torch.inf,
        nulls=float(predicted[empty].isnan().double().mean()) if empty.any() else 1.0,
        complete=part.rows is None,
        predicted=predicted,
    )


def _core(values: Tensor, fits: Tensor) -> bool:
    """Whether everything fits but rows at 0, rows at the largest and the smallest value, or both."""
    if not values.numel():
        return False
    zero, bound = values == 0, (values == values.max()) | (values == values.min())
    enough = max(_FEWEST, int(_SHARE * values.numel()))
    parts = (~zero, ~bound, ~zero & ~bound)
    # Zeros fit every rule in dead groups: they prove nothing.
    return any(bool(fits[part].all()) and int((part & ~zero).sum()) >= enough for part in parts)


def tried(
    partition: Partition, candidates: Sequence[Candidate], part: Slice, lacking: dict[str, str]
) -> Iterator[Trial]:
    """Each rule on some rows; the same computation runs once."""
    known: dict[Any, Tensor | None] = {}
    for candidate in candidates:
        absent = [name for name in candidate.plan.entry.needs if name not in part.columns]
        if absent:
            lacking[candidate.plan.entry.name] = absent[0]
            continue
        if candidate.work not in known:
            known[candidate.work] = predict(candidate, part)
        predicted = known[candidate.work]
        if predicted is None:
            continue
        if candidate.of_batch and not part.whole:
            predicted = _affine(predicted, part)
        yield judge(candidate, partition, part, predicted)


def _affine(predicted: Tensor, part: Slice) -> Tensor:
    """The best a·p + b per step: a part of a step has another mean and another spread than the whole."""
    use = predicted.isfinite() & part.compared()
    steps = Segments.of(part.columns["step"][use], int(part.columns["step"].max()) + 1)
    p, a = predicted[use], part.logged.values[use]
    dp, da = p - steps.rows(steps.mean(p)), a - steps.rows(steps.mean(a))
    slope = steps.sum(dp * da) / steps.sum(dp * dp).clamp(min=1e-300)
    fitted = predicted.clone()
    if bool(((slope > _STRETCH) | (slope < 1 / _STRETCH)).any()):
        return predicted
    fitted[use] = steps.rows(slope) * dp + steps.rows(steps.mean(a))
    return fitted


def _confirmed(problem: Problem, sampled: Sequence[Trial], tell: Tell, *, nearest: bool) -> list[Trial]:
    """The best of the sample on all rows."""
    left = _narrowed(problem, sampled, tell)
    done: list[Trial] = []
    known: dict[Any, Trial] = {}
    for trial in left:
        key = (trial.partition.label, trial.candidate.work)
        if key not in known:
            same = next(
                (seen for seen in known.values() if seen.explained and _same(problem, trial, seen)), None
            )
            if same is not None:
                done.append(replace(same, candidate=trial.candidate))
                continue
            if len(known) >= _CONFIRMED:
                continue
            known[key] = _on_all(problem, trial, tell)
        done.append(replace(known[key], candidate=trial.candidate))
    if nearest and not any(trial.explained for trial in done):
        done += [_on_all(problem, trial, tell) for trial in _nearest(sampled, known)]
    return [trial for trial in done if trial.complete]


def _narrowed(problem: Problem, sampled: Sequence[Trial], tell: Tell) -> list[Trial]:
    """What is left on a sample: rules that cannot be told apart; else those that fit but for zeros and bounds.

    Rules that the small sample cannot tell apart are compared on a larger one.
    """
    alike = indistinguishable(problem, sampled)
    if not alike:
        return [trial for trial in sampled if trial.core]
    found: list[Trial] = []
    for partition in problem.partitions:
        mine = [trial.candidate for trial in alike if trial.partition is partition]
        if mine:
            found += tried(partition, mine, problem.part(partition, _MANY), {})
    left = indistinguishable(problem, found)
    tell(f"{counted(len(left), 'rule')} of {len(alike):,} left on a larger part of the rows")
    return left or alike


def _same(problem: Problem, trial: Trial, seen: Trial) -> bool:
    """Whether a rule gives the numbers of one that was run on all rows, where both were run on the same sample."""
    if trial.candidate.of_batch or seen.candidate.of_batch or trial.partition is not seen.partition:
        return False
    return trial.max_abs <= max(problem.logged.resolution, 4 * seen.max_abs)


def _on_all(problem: Problem, trial: Trial, tell: Tell) -> Trial:
    """A rule on all rows; the trial as it is where it cannot be run on them."""
    part = problem.whole(trial.partition)
    predicted = predict(trial.candidate, part)
    if predicted is None:
        return trial
    judged = judge(trial.candidate, trial.partition, part, predicted)
    name = trial.candidate.fit(trial.partition.label, judged.max_abs, judged.share).name
    tell(f"{name}: {100 * judged.share:.1f} % of all {len(part.extent):,} rows fit")
    return judged


def _nearest(sampled: Sequence[Trial], known: Collection[Any]) -> list[Trial]:
    """The best few of the sample, one of those with the same figures."""
    found: dict[tuple[str, float, float], Trial] = {}
    for trial in sampled:
        if (trial.partition.label, trial.candidate.work) not in known:
            found.setdefault((trial.partition.label, trial.share, trial.max_abs), trial)
    return list(found.values())[:_MORE]


def _ordered(problem: Problem, trials: Sequence[Trial]) -> list[Trial]:
    """The best first: those that cannot be told from it, then by how much fits."""
    alike = indistinguishable(problem, trials)
    rest = [trial for trial in trials if trial not in alike]
    rest.sort(key=lambda t: (not t.explained, -t.share, t.max_abs, problem.preference(t)))
    return [*alike, *rest]
