"""What was found, in words."""

from collections.abc import Iterator, Sequence

import torch

from advcli.matching.after import After
from advcli.matching.search import Problem, Trial
from advcli.records import Fit
from advcli.words import counted


def found(fit: Fit, trial: Trial, problem: Problem, *, weights: str = "", done: Sequence[str] = ()) -> str:
    """The sentence that says what made the log."""
    compared = int(problem.logged.values.isfinite().sum())
    rule = f"{fit.name} made this log: {trial.candidate.plan.entry.formula}"
    extra = [text for text in (weights, *done) if text]
    decimals = problem.logged.decimals
    exact = f" to {counted(decimals, 'decimal')}, as the log is rounded" if decimals is not None else ""
    agree = f"all {compared:,} logged rows agree{exact} (max |Δ| {fit.max_abs_diff:.2g})"
    return "; ".join([rule, f"grouped by {fit.grouping}", *extra, agree])


def not_found(fit: Fit | None, causes: Sequence[str]) -> str:
    """The sentence that says why nothing was found."""
    if fit is None:
        return "no rule could be tried on this log"
    best = f"no rule reproduces this log: the best, {fit.name}, fits {100 * fit.share_matched:.1f} % of the rows"
    return f"{best}; {causes[0]}" if causes else best


def done(after: After) -> Iterator[str]:
    """What happened to the advantages of the rule."""
    if after.clip:
        low, high = after.clip
        yield f"then clipped to ±{high:g}" if low == -high else f"then clipped to [{low:g}, {high:g}]"
    if after.keep:
        again = ", and the kept rows were computed again" if after.recomputed else ""
        yield (
            f"then {after.keep[0]:g} of the positive and {after.keep[1]:g} of the negative rows of each group were kept"
            f"{again}"
        )
    elif after.filtered:
        yield f"then {counted(after.filtered, 'row')} of live groups were set to 0 (filtered)"


def reason(problem: Problem, best: Trial, other: Trial) -> str:
    """Why a rule cannot be told from the best one, in a few words."""
    told = [text for text in _reasons(problem, best, other) if text]
    return "; ".join(told) or "the same numbers on this data"


def _reasons(problem: Problem, best: Trial, other: Trial) -> Iterator[str]:
    one, two = best.candidate, other.candidate
    if best.partition is not other.partition:
        yield f"grouped by {other.partition.label}, and the rule gives the same"
    if one.work == two.work:
        yield "the same computation"
        return
    if one.eps != two.eps and two.eps is not None and one.eps is not None:
        yield f"eps {two.eps:g}: cannot be told, {_why_eps(problem)}"
    if one.ddof != two.ddof and two.ddof is not None and one.ddof is not None:
        yield f"ddof {two.ddof}: cannot be told"
    if one.scale != two.scale and two.scale:
        yield f"scale {two.scale}: {_why_scale(problem, best)}"
    if _same_rule(best, other):
        yield _why_rows(problem, best)


def _same_rule(best: Trial, other: Trial) -> bool:
    one, two = best.candidate, other.candidate
    return (one.eps, one.ddof, one.scale) == (two.eps, two.ddof, two.scale)


def _why_eps(problem: Problem) -> str:
    del problem
    return "it is below the rounding of the log"


def _why_scale(problem: Problem, best: Trial) -> str:
    group = problem.grouped(best.partition)["group"]
    if int(group.max()) == 0:
        return "there is one group, so group and batch are the same"
    return "all groups have equal std"


def _why_rows(problem: Problem, best: Trial) -> str:
    """What rules that differ in rare rows would need to be told apart."""
    missing = bool((~problem.columns["rewards"].isfinite()).any())
    sizes = torch.bincount(problem.grouped(best.partition)["group"].clamp(min=0))
    absent = ["no reward is missing"] if not missing else []
    absent += ["no group has one row"] if int((sizes == 1).sum()) == 0 else []
    return ", ".join(absent) or "it differs in float32 rounding only"
