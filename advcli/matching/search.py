"""Try every rule on a part of the rows, and those that are left on all of them."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from advcli.advantages import run
from advcli.errors import AdvcliError
from advcli.matching.candidates import Candidate
from advcli.matching.logged import Logged
from advcli.matching.partitions import Partition
from advcli.matching.sample import FIRST, SIZE, Slice, by_steps, sample
from advcli.segments import Segments, chosen
from advcli.words import counted

Tell = Callable[[str], None]
# Different computations that are run on all rows, and how many more where none of them fits.
_CONFIRMED = 8
_MORE, _HALF = 3, 0.5
# Rows on which the rules that are left are compared once more before one of them is run on all rows.
_MANY = 65_536
# By how much the spread of a part of a step may differ from that of the whole step, and of a small part.
_STRETCH, _STRETCH_FIRST = 1.5, 1e3
# Rows with a sign that tell whether a rule's signs are those of the log, and the share that has to agree.
_TOLD, _AGREE = 64, 0.7
# How many different computations that do not fit on a small part of the rows are run on a larger one.
_NEAR = 12
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
        slices: some and all rows in the groups of a partition, as far as they were looked at.
        picked: which rows those are, and whether they are whole steps.
    """

    columns: Mapping[str, Tensor]
    logged: Logged
    partitions: Sequence[Partition]
    candidates: Sequence[Candidate]
    framework: str | None = None
    excluded: Tensor | None = None
    blur: float = 0.0
    slices: dict[tuple[str, int | None], Slice] = field(default_factory=dict, repr=False, compare=False)
    picked: dict[tuple[str, int], tuple[Tensor | None, bool]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def but(self, **changes: Any) -> "Problem":  # noqa: ANN401  the fields
        """The same search with some fields changed; what does not hang on them is not computed again."""
        if changes.keys() & {"excluded", "columns"}:
            return replace(self, **changes, slices={})
        if changes.keys() & {"logged", "blur"}:
            other = replace(self, **changes)
            against = {key: part.against(other.logged, other.blur) for key, part in self.slices.items()}
            return replace(other, slices=against)
        return replace(self, **changes)

    def whole(self, partition: Partition) -> Slice:
        """All rows with the groups of a partition; looked at once."""
        key = (partition.label, None)
        if key not in self.slices:
            columns = self.grouped(partition)
            self.slices[key] = Slice.of(columns, self.logged, None, whole=True, blur=self.blur)
        return self.slices[key]

    def part(self, partition: Partition, size: int = SIZE) -> Slice:
        """Enough rows to rule most candidates out, with the groups of a partition; looked at once."""
        key = (partition.label, size)
        if key not in self.slices:
            # Which rows those are is the same for all searches in a log: no rule is believed for a part of the rows.
            if key not in self.picked:
                everything = self.whole(partition)
                self.picked[key] = (sample(everything, size), by_steps(everything, size))
            rows, whole = self.picked[key]
            self.slices[key] = (
                self.whole(partition)
                if rows is None
                else Slice.of(self.grouped(partition), self.logged, rows, whole=whole, blur=self.blur)
            )
        return self.slices[key]

    def step(self, partition: Partition) -> Slice | None:
        """All rows of the smallest step; None where that has very many, or where groups reach over steps."""
        everything = self.whole(partition)
        if everything.rows is None and everything.one_step_each:
            step = everything.columns["step"]
            sizes = torch.bincount(step)
            least = int(torch.where(sizes > 0, sizes, len(step)).argmin())
            if _FEWEST < int(sizes[least]) <= _MANY:
                rows = torch.nonzero(step == least).squeeze(1)
                return Slice.of(everything.columns, self.logged, rows, whole=True, blur=self.blur)
        return None

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
        rows: where these are the figures of a rule with the same numbers, on how many rows that was seen.
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
    count = 0
    for partition in problem.partitions:
        able = _able(problem, _affordable(problem, problem.part(partition)), lacking)
        count += len(able)
        found = _sampled(problem, partition, able)
        left = sum(trial.explained for trial in found)
        sampled += found
        tell(f"{partition.label}: {counted(len(able), 'rule')} tried on a part of the rows, {left} left")
        if left and problem.part(partition).rows is not None:
            # Whether another grouping gives the same numbers is asked of small data only.
            break
    sampled.sort(key=lambda trial: (not trial.explained, -trial.share, problem.preference(trial)))
    done = [trial for trial in sampled if trial.complete]
    if len(done) < len(sampled):
        done = _confirmed(problem, sampled, tell, nearest=nearest)
    return Found(_ordered(problem, done), count, lacking)


def _able(problem: Problem, candidates: Sequence[Candidate], lacking: dict[str, str]) -> list[Candidate]:
    """The rules whose columns are there; what the others lack is noted."""
    able = []
    for candidate in candidates:
        needs = candidate.plan.entry.needs
        absent = next((name for name in needs if name != "group" and name not in problem.columns), None)
        if absent is None:
            able.append(candidate)
        else:
            lacking[candidate.plan.entry.name] = absent
    return able


def _sampled(problem: Problem, partition: Partition, able: Sequence[Candidate]) -> list[Trial]:
    """The rules on a part of the rows: on a small one first, and those that are worth it on a larger one."""
    part = problem.part(partition)
    if part.rows is None:
        return list(tried(partition, able, part))
    found = list(tried(partition, able, problem.part(partition, FIRST), brief=True))
    found.sort(key=lambda trial: (-trial.share, trial.max_abs))
    near = {trial.candidate.work for trial in _distinct(found)[:_NEAR]}
    worth = [t for t in found if t.explained or t.core or t.candidate.work in near]
    again = {t.candidate: t for t in tried(partition, [t.candidate for t in worth], part)}
    return [again.get(trial.candidate, trial) for trial in found]


def _distinct(trials: Sequence[Trial]) -> list[Trial]:
    """The first of those with the same figures."""
    found: dict[tuple[float, float], Trial] = {}
    for trial in trials:
        found.setdefault((trial.share, trial.max_abs), trial)
    return list(found.values())


def _affordable(problem: Problem, part: Slice) -> Sequence[Candidate]:
    """The candidates; of groups of thousands of rows, which no sample makes small, the plain ones only."""
    if part.rows is None or part.size <= 2 * SIZE:
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
    """[n] the rule's advantages; None if it cannot be computed on these rows. The same computation runs once."""
    work = candidate.work
    if work not in part.known:
        try:
            part.known[work] = run(candidate.plan, part.columns).processed.to(torch.float64)
        except AdvcliError:
            part.known[work] = None
    return part.known[work]


def judge(candidate: Candidate, partition: Partition, part: Slice, predicted: Tensor) -> Trial:
    """Compare a rule's advantages with the logged ones."""
    given = part.given
    # A rule that gives none where there is one does not fit.
    difference = (chosen(predicted, given.compared) - given.values).abs_().nan_to_num_(nan=torch.inf)
    fits = strict = difference <= given.room
    many = fits.numel()
    strict_ones = int(strict.sum())
    if part.blur or strict_ones < many:
        fits = difference <= given.room + part.allowed(candidate.eps)[0]
        strict = fits if part.blur else strict
        strict_ones = int(strict.sum())
    explained = many > 0 and bool(fits.all())
    return Trial(
        candidate,
        partition,
        explained=explained,
        core=_core(part, fits),
        share=strict_ones / max(many, 1),
        misses=many - strict_ones,
        max_abs=_largest(difference, part, candidate.eps),
        nulls=1.0 if given.empty is None else float(predicted[given.empty].isnan().double().mean()),
        complete=part.rows is None,
        predicted=predicted,
    )


def _largest(difference: Tensor, part: Slice, eps: float | None) -> float:
    """The largest finite difference, over rows that rounding cannot blur if there are any; inf if there is none."""
    _, clear = part.allowed(eps)
    for seen in (difference if clear is None else difference[clear], difference):
        largest = float(seen.max()) if seen.numel() else 0.0
        finite = seen[seen < torch.inf] if largest == torch.inf else seen
        if finite.numel():
            return float(finite.max())
    return torch.inf


def _core(part: Slice, fits: Tensor) -> bool:
    """Whether everything fits but rows at 0, rows at the largest and the smallest value, or both."""
    share = _SHARE if part.size > 2 * FIRST else 0.0
    enough = max(_FEWEST, int(share * fits.numel()))
    # Zeros fit every rule in dead groups: they prove nothing.
    return any(many >= enough and bool(fits[inner].all()) for inner, many in part.given.inner)


def tried(
    partition: Partition, candidates: Sequence[Candidate], part: Slice, *, brief: bool = False
) -> Iterator[Trial]:
    """Each rule on some rows.

    Args:
        partition: their groups.
        candidates: the rules.
        part: the rows.
        brief: leave out rules whose next of kin says plus where the log says minus.
    """
    against: dict[object, bool] = {}
    for candidate in candidates:
        if brief and against.get(candidate.kin):
            continue
        predicted = predict(candidate, part)
        if predicted is None:
            continue
        if brief and candidate.kin not in against:
            against[candidate.kin] = _contrary(predicted, part)
        if candidate.of_batch and not part.whole:
            predicted = _affine(predicted, part, _STRETCH_FIRST if brief else _STRETCH)
        yield judge(candidate, partition, part, predicted)


def _contrary(predicted: Tensor, part: Slice) -> bool:
    """Whether a rule's signs are others than those of the log, so that no eps and no ddof helps."""
    signs = chosen(predicted, part.given.compared).sign() * part.given.values.sign()
    told = int((signs.abs() == 1).sum())
    return told >= _TOLD and int((signs == 1).sum()) < _AGREE * told


def _affine(predicted: Tensor, part: Slice, stretch: float) -> Tensor:
    """The best a·p + b per step: a part of a step has another mean and another spread than the whole.

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
    # Of a step that is all dead here, nothing is known.
    slope = torch.where(spread > 0, steps.sum(dp * da) / spread, 1.0)
    typical = slope[spread > 0].median() if bool((spread > 0).any()) else slope.new_ones(())
    if bool((slope < 0).any()) or not 1 / stretch <= float(typical) <= stretch:
        return predicted
    fitted = predicted.clone()
    fitted[use] = steps.rows(slope) * dp + steps.rows(steps.mean(a))
    return fitted


def _confirmed(problem: Problem, sampled: Sequence[Trial], tell: Tell, *, nearest: bool) -> list[Trial]:
    """The best of the sample on all rows."""
    done: list[Trial] = []
    known: dict[Any, tuple[Trial, Trial]] = {}
    for trial in _narrowed(problem, sampled, tell):
        key = (trial.partition.label, trial.candidate.work)
        if key not in known:
            same = (whole for part, whole in known.values() if _same(problem, trial, part, whole))
            found = next(same, None)
            if found is not None:
                found = replace(found, rows=len(trial.predicted) if trial.predicted is not None else None)
            elif len(known) >= _CONFIRMED:
                continue
            known[key] = (trial, found or _on_all(problem, trial, tell))
        done.append(replace(known[key][1], candidate=trial.candidate))
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
        if not mine:
            continue
        part = problem.part(partition, _MANY)
        step = problem.step(partition)
        if step is None or part.whole:
            found += tried(partition, mine, part)
        else:
            # Of a part of a step a rule of the batch is known up to a factor only.
            found += tried(partition, [c for c in mine if not c.of_batch], part)
            found += tried(partition, [c for c in mine if c.of_batch], step)
    left = indistinguishable(problem, found)
    tell(f"{counted(len(left), 'rule')} of {len(alike):,} left on a larger part of the rows")
    return left or alike


def _same(problem: Problem, trial: Trial, part: Trial, whole: Trial) -> bool:
    """Whether a rule gives, on the same part of the rows, the numbers of one that was run on all rows.

    Args:
        problem: what is searched for.
        trial: the rule, on a part of the rows.
        part: the other one, on the same part.
        whole: the other one, on all rows.
    """
    if trial.candidate.of_batch or part.candidate.of_batch or trial.partition is not part.partition:
        return False
    if not whole.explained and not whole.core:
        return False
    one, two = trial.predicted, part.predicted
    if one is None or two is None or len(one) != len(two) or not bool((one.isnan() == two.isnan()).all()):
        return False
    return float((one - two).abs().nan_to_num(nan=0.0).max()) <= max(
        problem.logged.resolution, 4 * part.max_abs if whole.explained else 0.0
    )


def _on_all(problem: Problem, trial: Trial, tell: Tell) -> Trial:
    """A rule on all rows; the trial as it is where it cannot be run on them."""
    part = problem.whole(trial.partition)
    predicted = predict(trial.candidate, part)
    if predicted is None:
        return trial
    judged = judge(trial.candidate, trial.partition, part, predicted)
    name = trial.candidate.fit(trial.partition.label, judged.max_abs, judged.share).name
    tell(f"{name}: {100 * judged.share:.1f} % of all {part.size:,} rows fit")
    return judged


def _nearest(sampled: Sequence[Trial], known: Collection[Any]) -> list[Trial]:
    """The best few of the sample, one of those with the same figures; where not even half of the rows fit, one."""
    found: dict[tuple[str, float, float], Trial] = {}
    for trial in sampled:
        if (trial.partition.label, trial.candidate.work) not in known:
            found.setdefault((trial.partition.label, trial.share, trial.max_abs), trial)
    few = list(found.values())[:_MORE]
    return few[:1] + [trial for trial in few[1:] if trial.share > _HALF]


def _ordered(problem: Problem, trials: Sequence[Trial]) -> list[Trial]:
    """The best first: those that cannot be told from it, then by how much fits."""
    alike = indistinguishable(problem, trials)
    rest = [trial for trial in trials if trial not in alike]
    rest.sort(key=lambda t: (not t.explained, -t.share, t.max_abs, problem.preference(t)))
    return [*alike, *rest]
