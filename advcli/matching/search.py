"""Try every rule on a part of the rows, and those that are left on all of them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from advcli.common.wording import counted
from advcli.engine.turns import MADE
from advcli.matching.candidates import Candidate
from advcli.matching.partitions import Kind, Partition
from advcli.matching.problem import MANY, Problem
from advcli.matching.sample import FIRST, SIZE
from advcli.matching.trials import Trial, judge, predict, tried

Tell = Callable[[str], None]
# Different computations that are run on all rows, and how many more where none of them fits: one, and the others if
# they fit so many rows.
_CONFIRMED, _MORE, _HALF = 8, 3, 0.5
# Share of the rows that more of them may fit without that saying anything.
_CHANCE = 0.01
# Rows of a step, where it is tried as a group, up to which every rule is.
_STEP = 256
# How many different computations that do not fit on a small part of the rows are run on a larger one.
_NEAR = 12


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
        there = able(problem, _affordable(problem, partition), lacking)
        count += len(there)
        result = _sampled(problem, partition, there)
        left = sum(trial.explained for trial in result)
        sampled += result
        tell(f"{partition.label}: {counted(len(there), 'rule')} tried on a sample of the rows, {left} left")
        if left and problem.part(partition).rows is not None:
            # Whether another grouping gives the same numbers is asked of small data only.
            break
    sampled.sort(key=lambda trial: (not trial.explained, -trial.share, problem.preference(trial)))
    done = [trial for trial in sampled if trial.complete]
    if len(done) < len(sampled):
        done = _confirmed(problem, sampled, tell, nearest=nearest)
    return Found(_ordered(problem, done), count, lacking)


def able(problem: Problem, candidates: Sequence[Candidate], lacking: dict[str, str]) -> list[Candidate]:
    """The rules whose columns are there; what the others lack is noted."""
    there_are = []
    for candidate in candidates:
        needs = candidate.plan.entry.needs
        there = problem.columns.keys() | {"group"} | (MADE if candidate.plan.entry.level == "turn" else set())
        absent = next((name for name in needs if name not in there), None)
        if absent is None:
            there_are.append(candidate)
        else:
            lacking[candidate.plan.entry.name] = absent
    return there_are


def _sampled(problem: Problem, partition: Partition, able: Sequence[Candidate]) -> list[Trial]:
    """The rules on a part of the rows: on a small one first, and those that are worth it on a larger one."""
    part = problem.part(partition)
    if part.rows is None:
        return list(tried(partition, able, part))
    result = list(tried(partition, able, problem.part(partition, FIRST), brief=True))
    result.sort(key=lambda trial: (-trial.share, trial.max_abs))
    near = {trial.candidate.work for trial in _distinct(result)[:_NEAR]}
    worth = [t for t in result if t.explained or t.core or t.candidate.work in near]
    again = {t.candidate: t for t in tried(partition, [t.candidate for t in worth], part)}
    return [again.get(trial.candidate, trial) for trial in result]


def _distinct(trials: Sequence[Trial]) -> list[Trial]:
    """The first of those with the same figures."""
    result: dict[tuple[float, float], Trial] = {}
    for trial in trials:
        result.setdefault((trial.share, trial.max_abs), trial)
    return list(result.values())


def _affordable(problem: Problem, partition: Partition) -> Sequence[Candidate]:
    """The candidates; of groups of thousands of rows, which no sample makes small, and of large steps the plain ones only.

    Rules that go over the rows of a group one by one take seconds there, and rules of the batch have seen the step already.
    """
    part = problem.part(partition)
    large = partition.kind is Kind.STEP and part.size > _STEP * max(part.groups.segments.count, 1)
    if not large and (part.rows is None or part.size <= 2 * SIZE):
        return problem.candidates
    return [c for c in problem.candidates if c.framework is None and c.plan.entry.recompute]


def indistinguishable(problem: Problem, trials: Sequence[Trial]) -> list[Trial]:
    """The trials that fit as well as the best one, most plausible first."""
    fitting = [trial for trial in trials if trial.explained]
    if not fitting:
        return []
    nulls = max(trial.nulls for trial in fitting)
    fitting = [trial for trial in fitting if trial.nulls == nulls]
    misses = min(trial.misses for trial in fitting)
    fitting = [trial for trial in fitting if trial.misses == misses]
    return sorted(_as_close(problem, fitting), key=problem.preference)


def _as_close(problem: Problem, fitting: Sequence[Trial]) -> list[Trial]:
    """Of rules that fit, those that fit equally.

    What float32 or fewer digits leave says nothing. Of a log with more digits, the closest and those with its eps and ddof,
    which may be the same in float32.
    """
    if problem.logged.single or problem.logged.coarse:
        return list(fitting)
    closest = min(trial.max_abs for trial in fitting)
    limit = max(problem.logged.resolution, 4 * closest)
    near = [trial for trial in fitting if trial.max_abs <= limit]
    known = {(t.partition.label, t.candidate.ddof, t.candidate.eps) for t in near}
    return [t for t in fitting if (t.partition.label, t.candidate.ddof, t.candidate.eps) in known]


def _confirmed(problem: Problem, sampled: Sequence[Trial], tell: Tell, *, nearest: bool) -> list[Trial]:
    """The best of the sample on all rows."""
    done: list[Trial] = []
    known: dict[Any, tuple[Trial, Trial]] = {}
    for trial in _narrowed(problem, sampled, tell):
        key = (trial.partition.label, trial.candidate.work)
        if key not in known:
            same = (whole for part, whole in known.values() if _same(problem, trial, part, whole))
            result = trial if trial.complete else next(same, None)
            if result is None and len(known) >= _CONFIRMED:
                continue
            if result is None:
                result = _on_all(problem, trial, tell)
            elif not trial.complete and trial.predicted is not None:
                result = replace(result, rows=len(trial.predicted))
            known[key] = (trial, result)
        done.append(replace(known[key][1], candidate=trial.candidate))
    if nearest and not any(trial.explained for trial in done):
        done += [_on_all(problem, trial, tell) for trial in _nearest(problem, sampled, known)]
    return [trial for trial in done if trial.complete]


def _narrowed(problem: Problem, sampled: Sequence[Trial], tell: Tell) -> list[Trial]:
    """What is left on a sample: rules that cannot be told apart; else those that fit but for zeros and bounds.

    Rules that the small sample cannot tell apart are compared on a larger one.
    """
    alike = indistinguishable(problem, sampled)
    if not alike:
        return [trial for trial in sampled if trial.core]
    result: list[Trial] = []
    for partition in problem.partitions:
        mine = [trial.candidate for trial in alike if trial.partition is partition]
        if not mine:
            continue
        part = problem.part(partition, MANY)
        step = problem.step(partition)
        if step is None or part.whole:
            result += tried(partition, mine, part)
        else:
            # Of a part of a step a rule of the batch is known up to a factor only.
            result += tried(partition, [c for c in mine if not c.of_batch], part)
            result += tried(partition, [c for c in mine if c.of_batch], step)
    left = indistinguishable(problem, result)
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
    tell(f"{name}: {100 * judged.share:.1f}% of all {part.size:,} rows fit")
    return judged


def _nearest(problem: Problem, sampled: Sequence[Trial], known: Collection[Any]) -> list[Trial]:
    """The best few of the sample, one of those with the same figures; where not even half of the rows fit, one."""
    result: dict[tuple[str, float, float], Trial] = {}
    for trial in sampled:
        if (trial.partition.label, trial.candidate.work) not in known:
            result.setdefault((trial.partition.label, trial.share, trial.max_abs), trial)
    few = list(result.values())[:_MORE]
    if few and few[0].share <= _HALF:
        # A row more or less is chance: of those that fit about as many, the one that is believed first.
        alike = [trial for trial in result.values() if trial.share >= few[0].share - _CHANCE]
        return [min(alike, key=problem.preference)]
    return few[:1] + [trial for trial in few[1:] if trial.share > _HALF]


def _ordered(problem: Problem, trials: Sequence[Trial]) -> list[Trial]:
    """The best first: those that cannot be told from it, then by how much fits."""
    alike = indistinguishable(problem, trials)
    rest = [trial for trial in trials if trial not in alike]
    rest.sort(key=lambda t: (not t.explained, -t.share, t.max_abs, problem.preference(t)))
    return [*alike, *rest]
