"""How much of a log speaks for a rule, and whether that is enough to name it."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from advcli.masks import chosen
from advcli.matching.logged import Stored
from advcli.matching.problem import Problem
from advcli.matching.sample import Slice
from advcli.matching.trials import Trial, judge
from advcli.segments import Segments
from advcli.words import counted, verb

# Share of |A| that a row may be off and still say something, and chance at which an agreement says nothing.
_VAGUE, _CHANCE = 0.1, 0.05
# Digits after the point, as shares of the peak, that make groups different.
_APART = 3


@dataclass(frozen=True)
class Evidence:
    """What speaks for a rule.

    Attributes:
        rows: rows that say something: their group's rewards differ, or the rule gives them a number all the same.
        compared: rows that were compared.
        groups: groups with such rows.
        live: groups whose rewards differ.
        patterns: groups that are different, as the |A| of their rows are; at most as many as there are different |A|.
        chance: how likely one more pattern agrees by chance.
    """

    rows: int
    compared: int
    groups: int
    live: int
    patterns: int
    chance: float

    @property
    def words(self) -> str:
        """Who speaks, in words.

        Example:
            >>> Evidence(12, 20, 3, 4, 2, 1e-5).words
            '12 of 20 rows (60.0%) and 3 of 4 live groups speak for it'
        """
        share = 100 * self.rows / max(self.compared, 1)
        return (
            f"{self.rows:,} of {counted(self.compared, 'row')} ({share:.1f}%) and {self.groups:,} of "
            f"{counted(self.live, 'live group')} speak for it"
        )


def evidence(problem: Problem, trial: Trial) -> Evidence:
    """What speaks for a rule that was run on all rows.

    Args:
        problem: what was searched for.
        trial: the rule.
    """
    part = problem.whole(trial.partition)
    compared, predicted = part.compared(), trial.predicted
    values, index = part.given.values, chosen(part.columns["group"], compared)
    live = chosen(part.groups.std, compared) > 0
    says = live if predicted is None else live | (chosen(predicted, compared) != 0) & _reaches_dead(trial)
    room = part.given.exact + part.allowed(trial.candidate.eps)[0]
    # A row at 0 says something where another of its group is not.
    segments = Segments.dense(index)
    largest = segments.rows(segments.max(values.abs()))
    says &= room <= _VAGUE * largest
    speaking = Segments.dense(index[says])
    return Evidence(
        rows=int(says.sum()),
        compared=len(values),
        groups=speaking.count if bool(says.any()) else 0,
        live=len(index[live].unique()),
        patterns=_patterns(values[says], speaking, problem.logged.peak) if bool(says.any()) else 0,
        chance=_chance(part, trial, values[says]),
    )


def doubt(problem: Problem, trial: Trial, free: int = 0) -> str:
    """Why a rule cannot be named although every row fits; "" if it can.

    Args:
        problem: what was searched for.
        trial: the rule that fits.
        free: numbers that were fitted to the log.
    """
    found = evidence(problem, trial)
    if not found.rows:
        return "no row says anything: the groups have equal rewards, or so small a spread that rounding hides it"
    kinds = counted(found.patterns, "kind")
    if found.patterns <= free:
        return (
            f"{counted(free, 'number')} {verb(free, 'was', 'were')} fitted and the live groups are of {kinds} only: "
            "other rules fit as well with other numbers"
        )
    if found.chance ** (found.patterns - free) > _CHANCE:
        return f"the log has {problem.logged.stored.words} and live groups of {kinds} only: it may fit by chance"
    return ""


def _reaches_dead(trial: Trial) -> bool:
    """Whether a rule gives groups of equal rewards an advantage by what it is, and not by rounding."""
    return trial.candidate.scale != "group"


def _patterns(values: Tensor, segments: Segments, peak: float) -> int:
    """How many groups are different, whatever the signs."""
    size = (values / peak).abs()
    figures = [segments.size().to(size.dtype), segments.max(size), segments.mean(size), segments.mean(size**2)]
    groups = torch.stack(figures, dim=1).round(decimals=_APART).unique(dim=0)
    return min(len(groups), len(size[size > 0].round(decimals=_APART).unique()))


def _chance(part: Slice, trial: Trial, values: Tensor) -> float:
    """Share of |A| within which a row agrees; next to nothing where it agrees to the last digit of float32."""
    if not part.logged.coarse or trial.predicted is None or not len(values):
        return 0.0
    bare = part.against(replace(part.logged, stored=Stored()), part.blur)
    if judge(trial.candidate, trial.partition, bare, trial.predicted).explained:
        return 0.0
    size = values.abs()
    typical = size[size > 0].median()
    return min(1.0, float(2 * part.logged.stored.room(typical) / typical))
