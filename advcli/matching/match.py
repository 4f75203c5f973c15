"""Finds the rules that a log is consistent with: runs the search and builds the result."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from advcli.common.errors import DataError, UsageError
from advcli.common.registry import covers
from advcli.common.wording import counted, shortened
from advcli.dataset.load import grouped
from advcli.frameworks.catalog import frameworks
from advcli.io.formats.catalog import framework_of
from advcli.matching import explanations, wording
from advcli.matching.candidates import Candidate, candidates
from advcli.matching.causes import breaks, causes
from advcli.matching.evidence import evidence
from advcli.matching.explanations import Explanation
from advcli.matching.logged import Logged
from advcli.matching.partitions import partitions
from advcli.matching.problem import Problem
from advcli.matching.reproduce import flags
from advcli.matching.search import SearchResult, Tell, indistinguishable, search
from advcli.matching.trials import Trial
from advcli.records.results.match import Fit, Match
from advcli.records.roles import ROLES
from advcli.records.settings import Settings
from advcli.records.table import RewardTable
from advcli.tensors.segments import Segments

SKIPPED = "skipped"
"""Prefix of a note about rules that could not be tried."""
# What would distinguish explanations that differ in reward weights (False) or in shaping (True).
_APART = {False: "the reward weights of the run", True: "the reward function of the run"}
_OTHERS = 5
_NAMED = 3


def match(
    table: RewardTable,
    *,
    n: int | None = None,
    only: Settings | None = None,
    tell: Tell = lambda text: None,
    prove: Callable[[Explanation], Explanation | None] = lambda explanation: explanation,
) -> Match:
    """The rules that the logged advantages are consistent with.

    Args:
        table: the dump as read, with the logged advantages.
        n: rows per group, if the user set it.
        only: restricts the search (`like`, `estimator`, `scale`, `shaping`).
        tell: called with a progress line each time rules have been ruled out.
        prove: if the table is a sample, checks an explanation on the remaining rows: returns it as far as it
            reproduces them too, None if it doesn't.

    Raises:
        DataError: no row has both a logged advantage and a reward.
        UsageError: no rule meets the restriction.
    """
    return searched(table, n=n, only=only or Settings(), tell=tell, prove=prove)[0]


def searched(
    table: RewardTable,
    *,
    n: int | None,
    only: Settings,
    tell: Tell,
    prove: Callable[[Explanation], Explanation | None] = lambda explanation: explanation,
) -> tuple[Match, SearchResult | None]:
    """The result of `match`, and that of the search without any assumption; None if all logged advantages are equal."""
    with _one_thread():
        problem = _problem(table, n, only)
        if problem.logged.constant:
            return _constant_log(table, problem), None
        first = search(problem, tell, nearest=True)
        explanation, shuffled = explanations.explained(problem, first, table, tell)
        proven = explanation and prove(explanation)
        notes = _notes(table, problem, first)
        if proven is None:
            return _broken(table, problem, first, notes, shuffled, only), first
        return _matched(proven, first, table, notes), first


def shaped(
    table: RewardTable, first: SearchResult, *, n: int | None, only: Settings, tell: Tell
) -> Match | None:
    """The result of `match` if a shaping rule of the catalog had changed the rewards or the advantages.

    Args:
        table: the dump as read, with the columns that shaping rules need.
        first: the result of the search without any assumption.
        n: rows per group, if the user set it.
        only: restricts the search.
        tell: called with a progress line each time a shaping has been tried.

    Returns:
        None if no shaping explains the log.
    """
    with _one_thread():
        problem = _problem(table, n, only)
        explanation = explanations.shaped(problem, tell)
        if explanation is None:
            return None
        return _matched(explanation, first, table, _notes(table, problem, first))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Run torch on one thread: for thousands of small computations, synchronizing threads costs more than it saves."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _problem(table: RewardTable, n: int | None, only: Settings) -> Problem:
    ways = partitions(table, n)
    if not ways:
        raise DataError("the rows cannot be grouped", hint="--prompt-col COL or --n ROWS_PER_PROMPT")
    columns = grouped(table, ways[0].grouping).columns()
    columns.pop("group")
    # Lists of turns have no entry per row.
    columns = {
        name: column for name, column in columns.items() if name not in ("turn_rewards", "turn_counts")
    }
    logged = table.logged
    if logged is None:
        raise DataError("there is no logged advantage")
    valid = torch.isfinite(columns["rewards"])
    group = torch.from_numpy(ways[0].grouping.group)
    alone = Segments.of(group[valid & (group >= 0)], ways[0].grouping.count).size() == 1
    known = {
        "singletons": bool(alone.any()),
        "missing": not bool(valid.all()),
        "rollouts": "rollout" in columns,
    }
    tried = _wanted(candidates(**known), only)
    framework = framework_of(table.choice.format)
    problem = Problem(
        columns,
        Logged.of(torch.from_numpy(logged)),
        ways,
        tried,
        framework if framework in frameworks() else None,
        shapes=only.shaping,
    )
    if not bool(problem.logged.values.isfinite().any()):
        raise DataError(
            f"'{table.choice.logged}' is empty in every row, expected the advantage that was logged",
            hint="--logged-col COL",
        )
    return problem


def _wanted(found: Sequence[Candidate], only: Settings) -> list[Candidate]:
    """The candidates that meet the user's restriction."""
    framework, _, version = (only.like or "").lower().partition("@")
    wanted = [
        candidate
        for candidate in found
        if framework in ("", candidate.framework)
        and _covers(candidate, version)
        and only.estimator in (None, candidate.estimator)
        and only.scale in (None, candidate.scale)
    ]
    if not wanted:
        raise UsageError(
            f"there is no rule with {_asked(only)}", hint="fewer of these options, or 'advcli frameworks'"
        )
    return wanted


def _covers(candidate: Candidate, version: str) -> bool:
    """Whether a rule covers a version; "" matches any."""
    return not version or covers(candidate.version or "", version, hint=f"--like {candidate.framework}")


def _asked(only: Settings) -> str:
    """The user's restriction as typed; "" for none."""
    asked = {"--like": only.like, "--estimator": only.estimator, "--scale": only.scale}
    return " ".join(f"{flag} {value}" for flag, value in asked.items() if value)


def _constant_log(table: RewardTable, problem: Problem) -> Match:
    """The result for a constant log: zeros fit every rule without signal, and a trainer that logged nothing."""
    values = problem.logged.values
    # Adding 0 avoids printing -0.
    same = float(values[values.isfinite()][0]) + 0.0
    return Match(
        found=False,
        sentence=f"every logged advantage in '{table.choice.logged}' is {same:g}, which identifies no rule",
        best=None,
        **_common(table, problem, SearchResult((), 0), ()),
    )


def _matched(
    explanation: Explanation, first: SearchResult, table: RewardTable, notes: Sequence[str]
) -> Match:
    problem, trials = explanation.problem, explanation.trials
    equivalent = indistinguishable(problem, trials)
    best = equivalent[0]
    fit = _fit(best)
    others = [trial for trial in trials if trial not in equivalent]
    if explanation.broken:
        sentence = wording.broken(fit, best, explanation.broken)
    elif explanation.doubt:
        sentence = wording.not_determined(fit, best, done=explanation.words, doubt=explanation.doubt)
    else:
        sentence = wording.found(fit, best, problem, done=explanation.words)
    return Match(
        found=not (explanation.doubt or explanation.broken),
        sentence=sentence,
        best=fit,
        indistinguishable=(
            *(replace(_fit(trial), reason=wording.reason(problem, best, trial)) for trial in equivalent[1:]),
            *(replace(_fit(trial), reason=reason) for trial, reason in explanation.otherwise),
        ),
        evidence=evidence(problem, best),
        apart=(
            *wording.apart(best, equivalent[1:]),
            *([_APART[bool(explanation.shape)]] if explanation.otherwise else []),
        ),
        others=_distinct(others),
        weights=explanation.weights,
        after=explanation.after or {},
        shape=explanation.shape or None,
        command=flags(explanation, best, table),
        **_common(table, problem, first, notes),
    )


def _broken(
    table: RewardTable,
    problem: Problem,
    first: SearchResult,
    notes: Sequence[str],
    shuffled: str | None,
    only: Settings,
) -> Match:
    best = first.trials[0] if first.trials else None
    where = breaks(table, problem, best) if best else None
    reasons = causes(problem, best, where, shuffled)
    fit = _fit(best) if best else None
    return Match(
        found=False,
        sentence=wording.not_found(fit, reasons, asked=_asked(only)),
        best=fit,
        others=_distinct(first.trials[1:]),
        breaks=where,
        causes=tuple(reasons),
        **_common(table, problem, first, notes),
    )


def _common(
    table: RewardTable, problem: Problem, first: SearchResult, notes: Sequence[str]
) -> dict[str, Any]:
    return {
        "rows": len(table.rewards),
        "compared": int(problem.logged.values.isfinite().sum()),
        "tolerance": problem.logged.tolerance,
        "tried": first.tried,
        "notes": tuple(notes),
        "warnings": (*table.warnings, *problem.partitions[0].grouping.warnings),
    }


def _distinct(trials: Sequence[Trial]) -> tuple[Fit, ...]:
    """The first few, without those that have the same figures."""
    shown: dict[tuple[str, str, float], Trial] = {}
    for trial in trials:
        if trial.share > 0:
            shown.setdefault((trial.partition.label, f"{trial.max_abs:.3g}", trial.share), trial)
    return tuple(_fit(trial) for trial in list(shown.values())[:_OTHERS])


def _fit(trial: Trial) -> Fit:
    return trial.candidate.fit(trial.partition.label, trial.max_abs, trial.share)


def _notes(table: RewardTable, problem: Problem, first: SearchResult) -> list[str]:
    """Notes on what was compared and what could not be tried."""
    empty = int((~problem.logged.values.isfinite()).sum())
    notes = [
        f"logged: '{table.choice.logged}' in {len(table.rewards) - empty:,} of {counted(len(table.rewards), 'row')}"
    ]
    if table.uneven is not None:
        count = int(table.uneven.sum())
        share = 100 * count / len(table.rewards)
        notes.append(
            f"'{table.choice.logged}' differs between the tokens of {counted(count, 'row')} ({share:.1f}%): a token-level "
            "estimator; the mean of each row is compared"
        )
    for column in dict.fromkeys(first.lacking.values()):
        without = [name for name, lacks in first.lacking.items() if lacks == column]
        what, flag = ROLES[column].what, ROLES[column].flag
        notes.append(f"{SKIPPED}: {shortened(without, _NAMED)}; they need {what} ({flag})")
    return notes
