"""Tries every rule on a sample of the rows, and those that remain on all rows."""

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
# Distinct computations to run on all rows; if none fits, how many more: one, and the others if they fit this share of rows.
_CONFIRMED, _MORE, _HALF = 8, 3, 0.5
# Differences in the share of fitting rows up to this are chance.
_CHANCE = 0.01
# Largest step, tried as one group, on which every rule is tried.
_STEP = 256
# How many distinct computations that don't fit on the small sample are run on the larger one.
_NEAR = 12


@dataclass(frozen=True)
class SearchResult:
    """The result of a search.

    Attributes:
        trials: rules on all rows, best first.
        tried: number of rules × groupings tried.
        lacking: estimators that could not be tried → the missing column.
    """

    trials: Sequence[Trial]
    tried: int
    lacking: Mapping[str, str] = field(default_factory=dict)

    @property
    def explained(self) -> bool:
        """Whether some rule reproduces every row."""
        return bool(self.trials) and self.trials[0].explained


def search(problem: Problem, tell: Tell = lambda text: None, *, nearest: bool = False) -> SearchResult:
    """Try all rules with all groupings.

    Args:
        problem: the search problem.
        tell: called with a progress line each time rules have been ruled out.
        nearest: whether to run the closest rules on all rows too, if none fits the sample.
    """
    lacking: dict[str, str] = {}
    sampled: list[Trial] = []
    count = 0
    for partition in problem.partitions:
        candidates = applicable(problem, _affordable(problem, partition), lacking)
        count += len(candidates)
        result = _sampled(problem, partition, candidates)
        remaining = sum(trial.explained for trial in result)
        sampled += result
        tell(
            f"{partition.label}: {counted(len(candidates), 'rule')} tried on a sample of the rows, {remaining} left"
        )
        if remaining and problem.part(partition).rows is not None:
            # Other groupings with the same numbers are searched for in small data only.
            break
    sampled.sort(key=lambda trial: (not trial.explained, -trial.share, problem.preference(trial)))
    done = [trial for trial in sampled if trial.complete]
    if len(done) < len(sampled):
        done = _confirmed(problem, sampled, tell, nearest=nearest)
    return SearchResult(_ordered(problem, done), count, lacking)


def applicable(problem: Problem, candidates: Sequence[Candidate], lacking: dict[str, str]) -> list[Candidate]:
    """The rules whose columns are there; missing columns of the others are added to `lacking`."""
    result = []
    for candidate in candidates:
        needs = candidate.plan.entry.needs
        columns = (
            problem.columns.keys() | {"group"} | (MADE if candidate.plan.entry.level == "turn" else set())
        )
        absent = next((name for name in needs if name not in columns), None)
        if absent is None:
            result.append(candidate)
        else:
            lacking[candidate.plan.entry.name] = absent
    return result


def _sampled(problem: Problem, partition: Partition, candidates: Sequence[Candidate]) -> list[Trial]:
    """The rules on a sample: all on a small one first, then the promising ones on a larger one."""
    part = problem.part(partition)
    if part.rows is None:
        return list(tried(partition, candidates, part))
    result = list(tried(partition, candidates, problem.part(partition, FIRST), brief=True))
    result.sort(key=lambda trial: (-trial.share, trial.max_abs))
    near = {trial.candidate.computation for trial in _distinct(result)[:_NEAR]}
    worth = [t for t in result if t.explained or t.core or t.candidate.computation in near]
    larger = {t.candidate: t for t in tried(partition, [t.candidate for t in worth], part)}
    return [larger.get(trial.candidate, trial) for trial in result]


def _distinct(trials: Sequence[Trial]) -> list[Trial]:
    """The first trial of each distinct pair of figures."""
    result: dict[tuple[float, float], Trial] = {}
    for trial in trials:
        result.setdefault((trial.share, trial.max_abs), trial)
    return list(result.values())


def _affordable(problem: Problem, partition: Partition) -> Sequence[Candidate]:
    """The candidates that are cheap enough: with very large groups or steps, our own plain estimators only.

    There, rules that loop over the rows of a group take seconds, and batch-level rules have been tried on the step already.
    """
    part = problem.part(partition)
    large = partition.kind is Kind.STEP and part.size > _STEP * max(part.groups.segments.count, 1)
    if not large and (part.rows is None or part.size <= 2 * SIZE):
        return problem.candidates
    return [c for c in problem.candidates if c.framework is None and c.plan.entry.recompute]


def indistinguishable(problem: Problem, trials: Sequence[Trial]) -> list[Trial]:
    """The trials that fit as well as the best one, in order of preference."""
    fitting = [trial for trial in trials if trial.explained]
    if not fitting:
        return []
    nulls = max(trial.nulls for trial in fitting)
    fitting = [trial for trial in fitting if trial.nulls == nulls]
    misses = min(trial.misses for trial in fitting)
    fitting = [trial for trial in fitting if trial.misses == misses]
    return sorted(_as_close(problem, fitting), key=problem.preference)


def _as_close(problem: Problem, fitting: Sequence[Trial]) -> list[Trial]:
    """The rules that fit equally well.

    At float32 precision or below, differences in closeness are meaningless. In a log with more digits, keeps the closest
    and those with the same eps and ddof, which may be the same rule in float32.
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
        key = (trial.partition.label, trial.candidate.computation)
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
    """The rules that remain after the sample: the indistinguishable best ones, else those that fit except zeros and bounds.

    Rules that the small sample can't distinguish are compared on a larger one.
    """
    equivalent = indistinguishable(problem, sampled)
    if not equivalent:
        return [trial for trial in sampled if trial.core]
    result: list[Trial] = []
    for partition in problem.partitions:
        candidates = [trial.candidate for trial in equivalent if trial.partition is partition]
        if not candidates:
            continue
        part = problem.part(partition, MANY)
        step = problem.step(partition)
        if step is None or part.whole:
            result += tried(partition, candidates, part)
        else:
            # On part of a step, a batch-level rule is determined only up to a factor.
            result += tried(partition, [c for c in candidates if not c.of_batch], part)
            result += tried(partition, [c for c in candidates if c.of_batch], step)
    remaining = indistinguishable(problem, result)
    tell(f"{counted(len(remaining), 'rule')} of {len(equivalent):,} left on a larger part of the rows")
    return remaining or equivalent


def _same(problem: Problem, trial: Trial, part: Trial, whole: Trial) -> bool:
    """Whether a rule gives the same numbers on a sample as another one that was run on all rows.

    Args:
        problem: the search problem.
        trial: the rule, on a sample.
        part: the other one, on the same sample.
        whole: the other one, on all rows.
    """
    if trial.candidate.of_batch or part.candidate.of_batch or trial.partition is not part.partition:
        return False
    if not whole.explained and not whole.core:
        return False
    own, other = trial.predicted, part.predicted
    if (
        own is None
        or other is None
        or len(own) != len(other)
        or not bool((own.isnan() == other.isnan()).all())
    ):
        return False
    return float((own - other).abs().nan_to_num(nan=0.0).max()) <= max(
        problem.logged.resolution, 4 * part.max_abs if whole.explained else 0.0
    )


def _on_all(problem: Problem, trial: Trial, tell: Tell) -> Trial:
    """The rule run on all rows; the trial unchanged if it can't be."""
    part = problem.whole(trial.partition)
    predicted = predict(trial.candidate, part)
    if predicted is None:
        return trial
    judged = judge(trial.candidate, trial.partition, part, predicted)
    name = trial.candidate.fit(trial.partition.label, judged.max_abs, judged.share).name
    tell(f"{name}: {100 * judged.share:.1f}% of all {part.size:,} rows fit")
    return judged


def _nearest(problem: Problem, sampled: Sequence[Trial], known: Collection[Any]) -> list[Trial]:
    """The best few of the sample, without duplicate figures; only one if not even half of the rows fit."""
    result: dict[tuple[str, float, float], Trial] = {}
    for trial in sampled:
        if (trial.partition.label, trial.candidate.computation) not in known:
            result.setdefault((trial.partition.label, trial.share, trial.max_abs), trial)
    few = list(result.values())[:_MORE]
    if few and few[0].share <= _HALF:
        # A row more or less is chance: take the preferred one among those that fit about as many.
        similar = [trial for trial in result.values() if trial.share >= few[0].share - _CHANCE]
        return [min(similar, key=problem.preference)]
    return few[:1] + [trial for trial in few[1:] if trial.share > _HALF]


def _ordered(problem: Problem, trials: Sequence[Trial]) -> list[Trial]:
    """The trials, best first: the indistinguishable best ones, then by share of fitting rows."""
    equivalent = indistinguishable(problem, trials)
    others = [trial for trial in trials if trial not in equivalent]
    others.sort(key=lambda t: (not t.explained, -t.share, t.max_abs, problem.preference(t)))
    return [*equivalent, *others]
