"""How much evidence a log gives for a rule, and whether that is enough to name it."""

from dataclasses import replace

import torch
from torch import Tensor

from advcli.common.wording import counted, verb
from advcli.matching.logged import Stored
from advcli.matching.problem import Problem
from advcli.matching.sample import Slice
from advcli.matching.trials import Trial, judge
from advcli.records.results.match import Evidence
from advcli.tensors.masks import chosen
from advcli.tensors.segments import Segments

# Largest uncertainty (as a share of |A|) at which a row is evidence, and largest probability of a chance match.
_VAGUE, _CHANCE = 0.1, 0.05
# Decimals, relative to the peak, to which groups are compared for being different.
_DECIMALS = 3


def evidence(problem: Problem, trial: Trial) -> Evidence:
    """The evidence for a rule that was run on all rows.

    Args:
        problem: the search problem.
        trial: the rule.
    """
    part = problem.whole(trial.partition)
    compared, predicted = part.compared(), trial.predicted
    values, index = part.given.values, chosen(part.columns["group"], compared)
    live = chosen(part.groups.std, compared) > 0
    informative = (
        live if predicted is None else live | (chosen(predicted, compared) != 0) & _reaches_dead(trial)
    )
    exact = _to_the_last_digit(part, trial)
    # A 0 is evidence if another row of its group isn't 0.
    segments = Segments.dense(index)
    largest = segments.rows(segments.max(values.abs()))
    precision = problem.logged.unit * largest if exact else part.given.exact
    informative &= precision + part.allowed(trial.candidate.eps)[0] <= _VAGUE * largest
    informative_groups, parts = (
        Segments.dense(index[informative]),
        chosen(part.columns["parts"], compared)[informative],
    )
    return Evidence(
        rows=int(informative.sum()),
        compared=len(values),
        groups=informative_groups.count if bool(informative.any()) else 0,
        live=len(index[live].unique()),
        patterns=_patterns(values[informative], informative_groups, problem.logged.peak, parts)
        if bool(informative.any())
        else 0,
        chance=0.0 if exact else _chance(part, values[informative]),
    )


def doubt(problem: Problem, trial: Trial, free: int = 0, *, spare: int = 0) -> str:
    """Why a rule cannot be named although every row fits; "" if it can.

    Args:
        problem: the search problem.
        trial: the rule that fits.
        free: how many numbers were fitted to the log.
        spare: how many kinds of groups are required beyond one more than `free`, if any number was fitted.
    """
    result = evidence(problem, trial)
    if not result.rows:
        why = "the groups have equal rewards, or so small a spread that rounding hides it"
        if result.live and problem.logged.coarse:
            why = f"the log has {problem.logged.stored.words} only"
        return f"no row distinguishes rules: {why}"
    kinds = counted(result.patterns, "kind")
    if result.patterns <= free + spare * bool(free):
        return (
            f"{counted(free, 'number')} {verb(free, 'was', 'were')} fitted and the live groups are of {kinds} only: "
            "other rules fit as well with other numbers"
        )
    # Of options that were fitted, an eps may be among them.
    batches = _batches(problem, trial) if free and spare else 0
    if 0 < batches <= free:
        return (
            f"{counted(free, 'number')} {verb(free, 'was', 'were')} fitted and every row of a step is divided by one "
            f"number, in {counted(batches, 'step')} only: any factor fits as well"
        )
    if result.chance ** (result.patterns - free) > _CHANCE:
        return (
            f"the log has {problem.logged.stored.words} and live groups of {kinds} only: it may fit by chance"
        )
    return ""


def _batches(problem: Problem, trial: Trial) -> int:
    """How many steps there are, where a rule divides all rows of one by the same std + an eps that was set; else 0."""
    plan = trial.candidate.plan
    if plan.scope(uneven=False) == "group" or "eps" not in plan.settings.knobs:
        return 0
    part = problem.whole(trial.partition)
    return len(chosen(part.columns["step"], part.compared()).unique())


def _reaches_dead(trial: Trial) -> bool:
    """Whether a rule by design, not through rounding, gives groups of equal rewards an advantage."""
    return trial.candidate.scale != "group"


def _patterns(values: Tensor, segments: Segments, peak: float, parts: Tensor) -> int:
    """How many distinct groups there are, ignoring signs; with reward parts, how many distinct rows."""
    size = (values / peak).abs()
    figures = [
        segments.size().to(size.dtype),
        segments.max(size),
        segments.mean(size),
        segments.mean(size**2),
    ]
    if parts.shape[1] > 1:
        # Each distinct row is an equation for the weights.
        centred = [
            part - segments.rows(segments.mean(part)) for part in parts.nan_to_num(nan=0.0).unbind(dim=1)
        ]
        rows = torch.stack([*centred, values / peak], dim=1) * values.sign()[:, None]
        return len(rows[size > 0].round(decimals=_DECIMALS).unique(dim=0))
    groups = len(torch.stack(figures, dim=1).round(decimals=_DECIMALS).unique(dim=0))
    return min(groups, len(size[size > 0].round(decimals=_DECIMALS).unique()))


def _to_the_last_digit(part: Slice, trial: Trial) -> bool:
    """Whether a rule fits to float32 precision, even if the log has fewer digits."""
    if not part.logged.coarse or trial.predicted is None:
        return not part.logged.coarse
    bare = part.against(replace(part.logged, stored=Stored()), part.blur)
    return judge(trial.candidate, trial.partition, bare, trial.predicted).explained


def _chance(part: Slice, values: Tensor) -> float:
    """The probability that a row agrees by chance: the width of its tolerance, relative to |A|."""
    size = values.abs()
    if not bool((size > 0).any()):
        return 1.0
    typical = size[size > 0].median()
    return min(1.0, float(2 * part.logged.stored.room(typical) / typical))
