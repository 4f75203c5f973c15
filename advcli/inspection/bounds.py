"""The conditions of `--fail-if`: NAME OP NUMBER."""

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from advcli.common.errors import UsageError
from advcli.records.results.inspection import Checked, Inspection

_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_FORM = re.compile(r"\s*(\w+)\s*(>=|<=|==|!=|>|<)\s*(\S+)\s*")


def _of_groups(name: str) -> Callable[[Inspection], float]:
    """A count of groups, as a share of those with two or more rewards."""

    def share(inspection: Inspection) -> float:
        signal = inspection.facts.signal
        return _ratio(getattr(signal, name), signal.live_groups + signal.dead_groups)

    return share


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def _length(result: Inspection) -> float:
    return result.facts.length.with_reward if result.facts.length else math.nan


def _conflicts(result: Inspection) -> float:
    return result.facts.parts.conflicts if result.facts.parts else math.nan


FIGURES: Mapping[str, tuple[Callable[[Inspection], float], str]] = {
    "rows": (lambda found: found.facts.rows, "rows"),
    "groups": (lambda found: found.facts.groups, "groups"),
    "steps": (lambda found: found.facts.steps, "steps"),
    "dead": (_of_groups("dead_groups"), "share of the groups with two or more rewards that are dead"),
    "dead_all_max": (_of_groups("dead_groups_all_max"), "the same, dead at the largest reward"),
    "dead_all_min": (_of_groups("dead_groups_all_min"), "the same, dead at the smallest reward"),
    "near_dead": (_of_groups("near_dead_groups"), "share of the same groups that are near-dead"),
    "singletons": (lambda found: found.facts.signal.singletons, "groups with one valid row"),
    "missing": (lambda found: found.facts.signal.missing, "rows without a usable reward"),
    "duplicates": (lambda found: found.files.duplicates, "rows identical to an earlier one"),
    "lint": (lambda found: len(found.files.lint), "lines of lint"),
    "live": (_of_groups("live_groups"), "share of the groups with two or more rewards that are live"),
    "live_rows": (
        lambda found: _ratio(found.facts.signal.live_rows, found.facts.rows),
        "share of the rows that are in live groups",
    ),
    "effective_rows": (
        lambda found: found.facts.effective_rows,
        "number of rows of equal |A| with the same weight as all: (Σ|A|)² / ΣA²",
    ),
    "reward_mean": (lambda found: found.facts.signal.mean, "mean reward"),
    "reward_min": (lambda found: found.facts.signal.min, "smallest reward"),
    "reward_max": (lambda found: found.facts.signal.max, "largest reward"),
    "mean_abs_adv": (lambda found: found.facts.mean_abs_adv, "mean |A|"),
    "max_abs_adv": (lambda found: found.facts.max_abs_adv, "largest |A|"),
    "phantoms": (
        lambda found: max(rule.groups for rule in found.facts.phantoms),
        "groups with a phantom advantage, in the framework with the most",
    ),
    "outlier_steps": (
        lambda found: sum(step.outlier for step in found.facts.per_step),
        "steps whose rewards or advantages stand out",
    ),
    "length_corr": (_length, "correlation of length and reward within groups"),
    "conflicts": (_conflicts, "share of the rows on which rewards disagree"),
}


@dataclass(frozen=True)
class Bound:
    """A condition of `--fail-if`.

    Attributes:
        name: a key of `FIGURES`.
        sign: ">", ">=", "<", "<=", "==" or "!=".
        number: the number to compare with.
    """

    name: str
    sign: str
    number: float

    def __str__(self) -> str:
        """The condition as the user may type it."""
        return f"{self.name} {self.sign} {self.number:g}"

    def check(self, found: Inspection) -> Checked:
        """Evaluate the condition; it is false for an undefined figure."""
        value = float(FIGURES[self.name][0](found))
        return Checked(str(self), value, not math.isnan(value) and _OPERATORS[self.sign](value, self.number))


def bound(text: str) -> Bound:
    """Parse `NAME OP NUMBER`.

    Raises:
        UsageError: an unknown name, or not of this form.

    Example:
        >>> bound("dead > 0.5")
        Bound(name='dead', sign='>', number=0.5)
    """
    form = _FORM.fullmatch(text)
    number = _number(form[3]) if form else math.nan
    if form is None or math.isnan(number):
        raise UsageError(f"--fail-if '{text}': expected NAME OP NUMBER", hint="--fail-if 'dead > 0.5'")
    if form[1] not in FIGURES:
        raise UsageError(f"--fail-if '{text}': no figure '{form[1]}'", hint=", ".join(FIGURES))
    return Bound(form[1], form[2], number)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
