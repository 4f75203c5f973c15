"""The order in which explanations are tried: the plain rules first, then one assumption more at a time."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch

from advcli.dataset import grouped
from advcli.errors import DataError, UsageError
from advcli.estimators.catalog import COLUMNS
from advcli.frameworks.catalog import frameworks
from advcli.matching import wording
from advcli.matching.after import After, after, recomputed
from advcli.matching.candidates import Candidate, candidates
from advcli.matching.causes import breaks, causes
from advcli.matching.fitted import fitted
from advcli.matching.logged import Logged, half_step
from advcli.matching.partitions import partitions
from advcli.matching.problem import Problem
from advcli.matching.search import Found, Tell, indistinguishable, search
from advcli.matching.trials import Trial
from advcli.matching.weights import Weighed, named, weighed
from advcli.records.match import Fit, Match
from advcli.records.settings import Settings
from advcli.records.table import RewardTable
from advcli.segments import Segments
from advcli.words import counted, shortened, verb

_OTHERS = 5
_NAMED = 3
_WHY_FREE = "constant within the groups, or only moving together with another part"


@dataclass(frozen=True)
class Explanation:
    """A search that reproduces every row, and what had to be assumed.

    Attributes:
        problem: what was searched for in the end.
        trials: the rules on all rows, the best first.
        words: what was assumed, in words.
        weights: reward column → inferred weight, or None.
        after: what happened to the advantages, name → value.
        otherwise: rules with the same numbers and other weights, each with those weights in words.
    """

    problem: Problem
    trials: Sequence[Trial]
    words: Sequence[str] = ()
    weights: Mapping[str, float | None] | None = None
    after: Mapping[str, object] | None = None
    otherwise: Sequence[tuple[Trial, str]] = ()


def match(
    table: RewardTable,
    *,
    n: int | None = None,
    only: Settings | None = None,
    tell: Tell = lambda text: None,
    prove: Callable[[Explanation], Explanation | None] = lambda explanation: explanation,
) -> Match:
    """Find the rule that made the logged advantages.

    Args:
        table: what was read, the logged advantages among it.
        n: rows per group, if the user named it.
        only: rules that the user asked for (`like`, `estimator`, `scale`); the others are not tried.
        tell: takes a line each time rules have been ruled out.
        prove: takes what reproduces every row of the table, where that is a sample, and gives it back as far as it
            reproduces the other rows too; None if it does not.

    Raises:
        DataError: no row has both a logged advantage and a reward.
        UsageError: there is no rule such as the user asked for.
    """
    with _one_thread():
        return _match(table, n, only or Settings(), tell, prove)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Thousands of small computations: threads that wait for each other cost more than they save."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _match(
    table: RewardTable,
    n: int | None,
    only: Settings,
    tell: Tell,
    prove: Callable[[Explanation], Explanation | None],
) -> Match:
    problem = _problem(table, n, only)
    if not bool(problem.logged.values.isfinite().any()):
        raise DataError(
            f"'{table.choice.logged}' is empty in every row, expected the advantage that was logged",
            hint="--logged-col COL",
        )
    if problem.logged.constant:
        return _silent(table, problem)
    first = search(problem, tell, nearest=True)
    explanation = _explain(problem, first, table, tell)
    if explanation is None and problem.logged.coarse:
        loose = problem.but(logged=problem.logged.loosened())
        explanation = _explain(loose, search(loose, tell), table, tell)
    if explanation is None:
        explanation = _blurred(problem, tell)
    explanation = explanation and prove(explanation)
    notes = _notes(table, problem, first)
    if explanation is None:
        return _broken(table, problem, first, notes)
    return _matched(explanation, first, table, notes)


def _problem(table: RewardTable, n: int | None, only: Settings) -> Problem:
    ways = partitions(table, n)
    if not ways:
        raise DataError("the rows cannot be grouped", hint="--prompt-col COL or --n ROWS_PER_PROMPT")
    columns = grouped(table, ways[0].grouping).columns()
    columns.pop("group")
    logged = table.logged
    if logged is None:
        raise DataError("there is no logged advantage")
    valid = torch.isfinite(columns["rewards"])
    group = torch.from_numpy(ways[0].grouping.group)
    alone = Segments.of(group[valid & (group >= 0)], ways[0].grouping.count).size() == 1
    tried = _wanted(candidates(singletons=bool(alone.any()), missing=not bool(valid.all())), only)
    framework = table.choice.format
    return Problem(
        columns,
        Logged.of(torch.from_numpy(logged)),
        ways,
        tried,
        framework if framework in frameworks() else None,
    )


def _wanted(found: Sequence[Candidate], only: Settings) -> list[Candidate]:
    """The rules that the user asked for."""
    framework = only.like.partition("@")[0].lower() if only.like else None
    wanted = [
        candidate
        for candidate in found
        if framework in (None, candidate.framework)
        and only.estimator in (None, candidate.estimator)
        and only.scale in (None, candidate.scale)
    ]
    if not wanted:
        asked = {"--like": only.like, "--estimator": only.estimator, "--scale": only.scale}
        named_ = " ".join(f"{flag} {value}" for flag, value in asked.items() if value)
        raise UsageError(f"there is no rule with {named_}", hint="fewer of them, or 'advcli frameworks'")
    return wanted


def _explain(problem: Problem, first: Found, table: RewardTable, tell: Tell) -> Explanation | None:
    """The first explanation that holds, fewest assumptions first."""
    if first.explained:
        return Explanation(problem, first.trials)
    for attempt in _ATTEMPTS:
        explanation = attempt(problem, first, table, tell)
        if explanation is not None:
            return explanation
    return None


def _as_changed(problem: Problem, first: Found, table: RewardTable, tell: Tell) -> Explanation | None:
    """Clipped, or rows set to 0."""
    del table, tell
    return _of_after(problem, after(problem, list(first.trials)))


def _as_recomputed(problem: Problem, first: Found, table: RewardTable, tell: Tell) -> Explanation | None:
    """Keep ratios, and the kept rows computed again."""
    del first, table, tell
    return _of_after(problem, recomputed(problem))


def _of_after(problem: Problem, done: After | None) -> Explanation | None:
    if done is None:
        return None
    told: dict[str, object] = {"clip": list(done.clip)} if done.clip else {}
    if done.keep:
        told |= {"keep_pos": done.keep[0], "keep_neg": done.keep[1], "compute_new_adv": done.recomputed}
    if done.filtered:
        told["filtered_rows"] = done.filtered
    return Explanation(problem, done.trials, list(wording.done(done)), after=told)


def _as_fitted(problem: Problem, first: Found, table: RewardTable, tell: Tell) -> Explanation | None:
    """An eps that is no one's default."""
    del first, table, tell
    found = fitted(problem)
    return Explanation(problem, found.trials) if found else None


def _as_weighed(problem: Problem, first: Found, table: RewardTable, tell: Tell) -> Explanation | None:
    """Reward parts with weights, and what was clipped or set to 0 then."""
    del first
    choice = table.choice
    names = [name for name, _ in choice.rewards]
    able = weighed(problem, tell, skip_missing_parts=choice.skip_missing_parts)
    for best in able:
        weights = named(best.solution, names)
        told = _weights_told(best, weights)
        if best.found.explained:
            trials = best.found.trials
            otherwise = _otherwise(best, able, names)
            return Explanation(best.problem, trials, [told], weights, otherwise=otherwise)
        changed = _of_after(best.problem, after(best.problem, list(best.found.trials)))
        if changed is not None:
            return replace(changed, words=[told, *changed.words], weights=weights)
    return None


def _otherwise(best: Weighed, rest: Iterable[Weighed], names: Sequence[str]) -> list[tuple[Trial, str]]:
    """Rules that do not divide and explain all rows with other weights: a constant factor is a weight's or a rule's."""
    if best.solution.scale != "none":
        return []
    found = []
    for other in rest:
        if other.found.explained and other.solution.scale == "none":
            told = _listed(named(other.solution, names))
            alike = indistinguishable(other.problem, other.found.trials)
            found += [(trial, f"with reward weights {told}") for trial in alike]
    return found


def _blurred(problem: Problem, tell: Tell) -> Explanation | None:
    """Rewards that were rounded when they were logged."""
    half = half_step(problem.columns["rewards"])
    if not half:
        return None
    blurred = problem.but(blur=half)
    found = search(blurred, tell)
    if not found.explained or not _told_apart(blurred, found):
        return None
    return Explanation(blurred, found.trials, [f"as far as rewards rounded to {2 * half:g} tell"])


def _silent(table: RewardTable, problem: Problem) -> Match:
    """A log of zeros is that of every rule without signal, and of a trainer that logged nothing; ones tell no more."""
    values = problem.logged.values
    # No minus before a zero.
    same = float(values[values.isfinite()][0]) + 0.0
    return Match(
        found=False,
        sentence=f"every logged advantage in '{table.choice.logged}' is {same:g}: that tells no rule",
        best=None,
        **_common(table, problem, Found((), 0), ()),
    )


def _listed(weights: Mapping[str, float | None]) -> str:
    return ", ".join(f"{name} {weight:.4g}" for name, weight in weights.items() if weight is not None)


def _weights_told(best: Weighed, weights: Mapping[str, float | None]) -> str:
    told = _listed(weights)
    free = [name for name, weight in weights.items() if weight is None]
    text = f"reward weights: {told}" if told else "reward weights"
    if not best.solution.factor_known:
        text += " (their ratios only: the scale divides a common factor out)"
    if free:
        text += f"; not determined: {', '.join(free)} ({_WHY_FREE})"
    return f"{text}; residual {best.solution.residual:.1g}"


def _as_filtered_before(problem: Problem, first: Found, table: RewardTable, tell: Tell) -> Explanation | None:
    """Rows that were left out before the statistics were made."""
    del first, table
    group = torch.from_numpy(problem.partitions[0].grouping.group)
    used = group >= 0
    segments = Segments.of(group[used], problem.partitions[0].grouping.count)
    blank = (problem.logged.values == 0) | ~problem.logged.values.isfinite()
    alive = torch.zeros_like(blank)
    alive[used] = segments.rows(segments.max((~blank[used]).double())) > 0
    live = problem.whole(problem.partitions[0]).groups.std > 0
    ways = {"rows": blank & alive, "groups": blank & ~alive, "rows and groups": blank}
    for what, excluded in ways.items():
        # The zeros of dead groups are no filter's.
        if not bool((excluded & used & live).any()) or bool(excluded[used].all()):
            continue
        values = torch.where(excluded, torch.nan, problem.logged.values)
        kept = problem.but(excluded=excluded, logged=replace(problem.logged, values=values))
        found = search(kept, tell)
        if found.explained and _told_apart(kept, found):
            many = int((excluded & used).sum())
            words = f"{counted(many, 'row')} with no advantage (whole {what}) {verb(many, 'was', 'were')} filtered before the statistics"
            return Explanation(kept, found.trials, [words], after={"filtered_before": many})
    return None


def _told_apart(problem: Problem, found: Found) -> bool:
    """Whether what is left is more than a few rows that many rules fit."""
    left = problem.logged.values.isfinite()
    return int((left & (problem.logged.values != 0)).sum()) >= 8 and found.trials[0].partition is not None


_ATTEMPTS: Sequence[Callable[[Problem, Found, RewardTable, Tell], Explanation | None]] = (
    _as_changed,
    _as_fitted,
    _as_weighed,
    _as_recomputed,
    _as_filtered_before,
)


def _matched(explanation: Explanation, first: Found, table: RewardTable, notes: Sequence[str]) -> Match:
    problem, trials = explanation.problem, explanation.trials
    alike = indistinguishable(problem, trials)
    best = alike[0]
    fit = _fit(best)
    others = [trial for trial in trials if trial not in alike]
    return Match(
        found=True,
        sentence=wording.found(fit, best, problem, done=explanation.words),
        best=fit,
        indistinguishable=(
            *(replace(_fit(trial), reason=wording.reason(problem, best, trial)) for trial in alike[1:]),
            *(replace(_fit(trial), reason=told) for trial, told in explanation.otherwise),
        ),
        others=_distinct(others),
        weights=explanation.weights,
        after=explanation.after or {},
        **_common(table, problem, first, notes),
    )


def _broken(table: RewardTable, problem: Problem, first: Found, notes: Sequence[str]) -> Match:
    best = first.trials[0] if first.trials else None
    where = breaks(table, problem, best) if best else None
    told = causes(problem, where)
    fit = _fit(best) if best else None
    return Match(
        found=False,
        sentence=wording.not_found(fit, told),
        best=fit,
        others=_distinct(first.trials[1:]),
        breaks=where,
        causes=tuple(told),
        **_common(table, problem, first, notes),
    )


def _common(table: RewardTable, problem: Problem, first: Found, notes: Sequence[str]) -> dict[str, Any]:
    return {
        "rows": len(table.rewards),
        "compared": int(problem.logged.values.isfinite().sum()),
        "tolerance": problem.logged.tolerance,
        "tried": first.tried,
        "notes": tuple(notes),
        "warnings": (*table.warnings, *problem.partitions[0].grouping.warnings),
    }


def _distinct(trials: Sequence[Trial]) -> tuple[Fit, ...]:
    """The first few, one of those with the same numbers."""
    shown: dict[tuple[str, str, float], Trial] = {}
    for trial in trials:
        if trial.share > 0:
            shown.setdefault((trial.partition.label, f"{trial.max_abs:.3g}", trial.share), trial)
    return tuple(_fit(trial) for trial in list(shown.values())[:_OTHERS])


def _fit(trial: Trial) -> Fit:
    return trial.candidate.fit(trial.partition.label, trial.max_abs, trial.share)


def _notes(table: RewardTable, problem: Problem, first: Found) -> list[str]:
    """What was compared, and what could not be tried."""
    empty = int((~problem.logged.values.isfinite()).sum())
    notes = [
        f"logged: '{table.choice.logged}' in {len(table.rewards) - empty:,} of {counted(len(table.rewards), 'row')}"
    ]
    if table.uneven is not None:
        many = int(table.uneven.sum())
        share = 100 * many / len(table.rewards)
        notes.append(
            f"'{table.choice.logged}' differs between the tokens of {counted(many, 'row')} ({share:.1f} %): a token-level "
            "estimator, of which the mean per row is compared"
        )
    for column in dict.fromkeys(first.lacking.values()):
        without = [name for name, lacks in first.lacking.items() if lacks == column]
        told = f"not tried for want of {COLUMNS[column].what} ({COLUMNS[column].flag})"
        notes.append(f"{told}: {shortened(without, _NAMED)}")
    return notes
