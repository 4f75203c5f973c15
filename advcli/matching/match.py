"""Find the rules that a log is consistent with: the search and its outcome."""

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
from advcli.matching.search import Found, Tell, indistinguishable, search
from advcli.matching.trials import Trial
from advcli.records.results.match import Fit, Match
from advcli.records.roles import ROLES
from advcli.records.settings import Settings
from advcli.records.table import RewardTable
from advcli.tensors.segments import Segments

SKIPPED = "skipped"
"""What a note about rules that could not be tried begins with."""
# What would tell explanations apart that differ in the weights of the rewards, or in how they were shaped.
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
    """Find the rules that the logged advantages are consistent with.

    Args:
        table: what was read, the logged advantages among it.
        n: rows per group, if the user named it.
        only: rules that the user asked for (`like`, `estimator`, `scale`, `shaping`); the others are not tried.
        tell: takes a line each time rules have been ruled out.
        prove: takes what reproduces every row of the table, where that is a sample, and gives it back as far as it
            reproduces the other rows too; None if it does not.

    Raises:
        DataError: no row has both a logged advantage and a reward.
        UsageError: there is no rule such as the user asked for.
    """
    return searched(table, n=n, only=only or Settings(), tell=tell, prove=prove)[0]


def searched(
    table: RewardTable,
    *,
    n: int | None,
    only: Settings,
    tell: Tell,
    prove: Callable[[Explanation], Explanation | None] = lambda explanation: explanation,
) -> tuple[Match, Found | None]:
    """What `match` finds, and what fits without any assumption; None where all logged advantages are equal."""
    with _one_thread():
        problem = _problem(table, n, only)
        if problem.logged.constant:
            return _silent(table, problem), None
        first = search(problem, tell, nearest=True)
        explanation, shuffled = explanations.explained(problem, first, table, tell)
        proven = explanation and prove(explanation)
        notes = _notes(table, problem, first)
        if proven is None:
            return _broken(table, problem, first, notes, shuffled, only), first
        return _matched(proven, first, table, notes), first


def shaped(table: RewardTable, first: Found, *, n: int | None, only: Settings, tell: Tell) -> Match | None:
    """What explains the logged advantages if a rule of the catalog had shaped the rewards or the advantages.

    Args:
        table: what was read, with the columns that such rules look at.
        first: what fits without any assumption, where that is not every row.
        n: rows per group, if the user named it.
        only: rules that the user asked for.
        tell: takes a line each time something has been tried.

    Returns:
        None if nothing does.
    """
    with _one_thread():
        problem = _problem(table, n, only)
        explanation = explanations.shaped(problem, tell)
        if explanation is None:
            return None
        return _matched(explanation, first, table, _notes(table, problem, first))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Thousands of small computations: threads that wait for each other cost more than they save."""
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
    # A list of turns is no row.
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
    """The rules that the user asked for."""
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
            f"there is no rule with {_asked(only)}", hint="fewer of them, or 'advcli frameworks'"
        )
    return wanted


def _covers(candidate: Candidate, version: str) -> bool:
    """Whether a rule is that of a version; "" for any."""
    return not version or covers(candidate.version or "", version, hint=f"--like {candidate.framework}")


def _asked(only: Settings) -> str:
    """The rules that the user asked for, as they were typed; "" for all."""
    asked = {"--like": only.like, "--estimator": only.estimator, "--scale": only.scale}
    return " ".join(f"{flag} {value}" for flag, value in asked.items() if value)


def _silent(table: RewardTable, problem: Problem) -> Match:
    """Refuse a constant log: zeros fit every rule without signal, and a trainer that logged nothing."""
    values = problem.logged.values
    # No minus before a zero.
    same = float(values[values.isfinite()][0]) + 0.0
    return Match(
        found=False,
        sentence=f"every logged advantage in '{table.choice.logged}' is {same:g}: that tells no rule",
        best=None,
        **_common(table, problem, Found((), 0), ()),
    )


def _matched(explanation: Explanation, first: Found, table: RewardTable, notes: Sequence[str]) -> Match:
    problem, trials = explanation.problem, explanation.trials
    alike = indistinguishable(problem, trials)
    best = alike[0]
    fit = _fit(best)
    others = [trial for trial in trials if trial not in alike]
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
            *(replace(_fit(trial), reason=wording.reason(problem, best, trial)) for trial in alike[1:]),
            *(replace(_fit(trial), reason=told) for trial, told in explanation.otherwise),
        ),
        evidence=evidence(problem, best),
        apart=(
            *wording.apart(best, alike[1:]),
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
    first: Found,
    notes: Sequence[str],
    shuffled: str | None,
    only: Settings,
) -> Match:
    best = first.trials[0] if first.trials else None
    where = breaks(table, problem, best) if best else None
    told = causes(problem, best, where, shuffled)
    fit = _fit(best) if best else None
    return Match(
        found=False,
        sentence=wording.not_found(fit, told, asked=_asked(only)),
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
