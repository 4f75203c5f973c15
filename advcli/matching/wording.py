"""The sentences that report a match."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from torch import Tensor

from advcli.common.wording import counted, verb
from advcli.matching.inference.postprocess import After
from advcli.matching.problem import Problem
from advcli.matching.trials import Trial
from advcli.records.results.match import Fit

_COUNTS = {
    "rollouts": "each rollout counted once",
    "rows": "every row counted",
    "refused": "every row counted",
    "turns": "a row is a turn",
}
# A range of ratios too narrow to mention.
_NARROW = 0.1
# Smallest share of fitting rows at which the nearest rule is named.
_SOME = 0.1


def found(
    fit: Fit, trial: Trial, problem: Problem, *, done: Sequence[str] = (), compared: int | None = None
) -> str:
    """The sentence for a match; `compared` is the number of rows that agree, by default the problem's."""
    compared = int(problem.logged.values.isfinite().sum()) if compared is None else compared
    rough = problem.logged.by_digits(fit.max_abs_diff)
    digits = f" at the precision of the log ({problem.logged.stored.words})" if rough else ""
    agree = f"all {compared:,} logged rows agree{digits} (max |Δ| {fit.max_abs_diff:.2g})"
    counts = [_COUNTS[trial.candidate.unit.counts]] if trial.candidate.unit else []
    parts = [f"consistent with {_rule(fit, trial)}", f"grouped by {fit.grouping}", *counts, *done, agree]
    return "; ".join(parts)


def _rule(fit: Fit, trial: Trial) -> str:
    return f"{fit.name}: {trial.candidate.formula}"


def not_determined(fit: Fit, trial: Trial, *, done: Sequence[str], doubt: str) -> str:
    """The sentence for a rule that fits every row but isn't determined by the log."""
    rule = "; ".join([f"{_rule(fit, trial)}, fits every row", *done])
    return f"not determined by this log: {doubt}; {rule}"


def broken(fit: Fit, trial: Trial, what: str) -> str:
    """The sentence for a log with faulty rows whose other rows fit a rule."""
    return f"the log is broken: {what}; all other rows fit {_rule(fit, trial)}"


def not_found(fit: Fit | None, causes: Sequence[str], asked: str = "") -> str:
    """The sentence for a log that no rule fits; `asked` is the user's restriction of the search."""
    none = f"no rule with {asked}" if asked else "no rule"
    if fit is None:
        return f"{none} could be tried on this log"
    percent = f"{100 * fit.share_matched:.1f}"
    # Never round up to 100%.
    near = f"the nearest, {fit.name}, fits" if fit.share_matched >= _SOME else "the nearest fits"
    share = "more than 99.9" if percent == "100.0" and fit.share_matched < 1 else percent
    return "; ".join([f"{none} fits this log: {near} {share}% of the rows", *causes[:1]])


def done(after: After) -> Iterator[str]:
    """Phrases for what was done to the advantages after the rule."""
    if after.clip:
        yield f"then clipped to {_bounds(*after.clip)}"
    if after.keep:
        again = ", and the kept rows were computed again" if after.recomputed else ""
        positive, negative = (_ratio(*pair) for pair in zip(after.keep, after.range_ or (), strict=True))
        yield f"then {positive} of the positive and {negative} of the negative rows of each group were kept{again}"
    elif after.filtered:
        yield filtered(after.filtered, after.where)


def filtered(rows: int, where: str) -> str:
    """The phrase for rows that were set to 0 for an unknown reason; `where` names their groups."""
    return f"then {counted(rows, 'row')} {where} {verb(rows, 'was', 'were')} set to 0"


def _bounds(low: float, high: float) -> str:
    if low == -high:
        return f"±{high:g}"
    if math.inf in (-low, high):
        return f"at most {high:g}" if low == -math.inf else f"at least {low:g}"
    return f"[{low:g}, {high:g}]"


def _ratio(ratio: float, range_: tuple[float, float]) -> str:
    """A keep ratio, with the range of ratios that give the same if it isn't narrow."""
    share = {0.0: "none", 1.0: "all"}.get(ratio, f"{ratio:g}")
    narrow = range_[1] - range_[0] < _NARROW
    return share if narrow else f"{share} ({range_[0]:g} to {range_[1]:g} do the same)"


def reason(problem: Problem, best: Trial, other: Trial) -> str:
    """Why a rule fits as well as the best one, briefly."""
    reasons = (
        []
        if best.partition is other.partition
        else [f"grouped {other.partition.label}, with the same result"]
    )
    one, two = best.candidate, other.candidate
    if one.plan.entry.target != two.plan.entry.target:
        reasons.append("another way to the same numbers")
        names = [name for name in ("eps", "ddof") if getattr(one, name) != getattr(two, name)]
    else:
        names = [name for name in two.arguments if one.arguments.get(name) != two.arguments[name]]
    reasons += [_WHY.get(name, _other)(problem, best, other) for name in names]
    if other.rows is not None:
        reasons.append(f"compared on {other.rows:,} rows")
    return "; ".join(dict.fromkeys(filter(None, reasons))) or "the same computation"


def apart(best: Trial, others: Sequence[Trial]) -> tuple[str, ...]:
    """What data would distinguish the equally good rules from the best one."""
    result: list[str] = []
    for other in others:
        one, two = best.candidate, other.candidate
        names = [name for name in ("eps", "ddof", "scale") if getattr(one, name) != getattr(two, name)]
        if one.plan.entry.target == two.plan.entry.target:
            names += [name for name in two.arguments if one.arguments.get(name) != two.arguments[name]]
        result += [_DISTINGUISHED_BY[name] for name in names if name in _DISTINGUISHED_BY]
        result += [] if best.partition is other.partition else ["prompts that occur again under another key"]
    return (*dict.fromkeys(result), *(["the configuration of the run"] if others else []))


def _eps(problem: Problem, best: Trial, other: Trial) -> str:
    if other.candidate.eps is None or best.candidate.eps is None:
        return ""
    stds = _live_stds(problem, best)
    effect = (
        abs(other.candidate.eps - best.candidate.eps) / max(float(stds.min()), 1e-300) if len(stds) else 0.0
    )
    if not effect:
        return "nothing is divided: eps and ddof are not determined"
    return f"eps {other.candidate.eps:g} changes less than the log shows"


def _ddof(problem: Problem, best: Trial, other: Trial) -> str:
    del problem
    one, two = best.candidate.ddof, other.candidate.ddof
    return "" if one is None or two is None else f"ddof {two} gives the same"


def _divide(problem: Problem, best: Trial, other: Trial) -> str:
    scale = other.candidate.scale
    if int(problem.grouped(best.partition)["group"].max()) == 0:
        return f"scale {scale}: there is one group"
    stds = _live_stds(problem, best)
    if len(stds) and float(stds.max() - stds.min()) <= 1e-4 * float(stds.max()):
        return f"scale {scale}: all groups have equal std"
    return f"scale {scale} gives the same"


def _missing(problem: Problem, best: Trial, other: Trial) -> str:
    del best, other
    absent = not bool((~problem.columns["rewards"].isfinite()).any())
    return "no row is without a reward" if absent else "their rules for missing rewards agree here"


def _single(problem: Problem, best: Trial, other: Trial) -> str:
    del other
    sizes = torch.bincount(problem.grouped(best.partition)["group"].clamp(min=0))
    return (
        "no group has one row" if int((sizes == 1).sum()) == 0 else "their rules for groups of one agree here"
    )


def _rounding(problem: Problem, best: Trial, other: Trial) -> str:
    del problem, best, other
    return "the same up to rounding"


def _other(problem: Problem, best: Trial, other: Trial) -> str:
    del problem, best, other
    return "the same numbers on this data"


_DISTINGUISHED_BY: Mapping[str, str] = {
    "eps": "groups whose rewards lie closer together, or a log with more digits",
    "batch_eps": "groups whose rewards lie closer together, or a log with more digits",
    "ddof": "groups of another size",
    "scale": "groups of another spread",
    "divide": "groups of another spread",
    "missing": "a row without a reward",
    "skip_unscored": "a row without a reward",
    "single": "a prompt with one row",
    "ragged": "groups of several sizes in one step",
    "clip": "larger advantages",
}
_WHY: Mapping[str, Callable[[Problem, Trial, Trial], str]] = {
    "eps": _eps,
    "batch_eps": _eps,
    "ddof": _ddof,
    "divide": _divide,
    "scale": _divide,
    "missing": _missing,
    "skip_unscored": _missing,
    "single": _single,
    "dtype": _rounding,
    "variance": _rounding,
    "floor": _rounding,
}


def _live_stds(problem: Problem, best: Trial) -> Tensor:
    """The standard deviations of the live groups."""
    part = problem.whole(best.partition)
    return part.groups.stds[part.groups.stds > 0]
