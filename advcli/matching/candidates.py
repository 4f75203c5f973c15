"""The rules that are tried: every row of the catalog of frameworks, and our own estimators on a grid of knobs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import product
from typing import Any

from packaging.specifiers import SpecifierSet

from advcli.common.registry import load, parameters
from advcli.common.wording import pairs, short
from advcli.engine.plan import Plan
from advcli.estimators.catalog import ESTIMATORS, SCALES, Estimator
from advcli.frameworks.catalog import RULES, find
from advcli.frameworks.rule import Rule, Unit
from advcli.records.results.match import Fit
from advcli.records.settings import Settings

EPS = (0.0, 1e-9, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3)
# The divisors that an estimator of the catalog is tried with at once; for other options see `options`.
_GRID: Mapping[str, tuple[float, ...]] = {"ddof": (1, 0), "eps": EPS}
# What is centred and what it is divided by, as the functions name it, in a formula.
_CENTRES: Mapping[object, str] = {
    "raw": "r_i",
    "batch": "r_i − mean_B",
    **dict.fromkeys(("mean", "mean-running"), "r_i − mean_g"),
    **dict.fromkeys(("others", "others-scaled", "others-sum", "others-running"), "r_i − mean_{j≠i} r_j"),
}
_DIVISORS: Mapping[object, str] = {
    "group": "std_g",
    "batch": "std_B",
    "group-centred": "std_g of that",
    "batch-centred": "std_B of that",
}
# What is centred already has the same std.
_SAME = {("r_i − mean_g", "group-centred"): "group", ("r_i − mean_B", "batch-centred"): "batch"}
_OURS: Mapping[str, str] = {"grpo": "mean", "rloo": "others"}
# Knobs that change no sign of an advantage in a group of several rows with rewards.
_OF_SIZE = frozenset(
    {"eps", "batch_eps", "ddof", "floor", "dead", "clip", "dtype", "stats", "variance", "single"}
)
# A dtype with so few digits that a reward beside the mean can become the mean.
_COARSE = frozenset({"bfloat16"})
# An estimator has no eps to try where it does not divide.
_UNDIVIDED = ("none", False)


@dataclass(frozen=True, eq=False)
class Candidate:
    """One rule that may have made the log.

    Attributes:
        plan: how to compute it.
        framework: whose rule it is, or None.
        version: the versions that it covers, or None for all.
        estimator: its name there.
        scale: what it divides by, or None where there is no choice.
        ddof: of its variance, or None where it does not divide.
        eps: added to its standard deviation, or None where it does not divide.
        order: its place in the catalogs; the lower, the sooner it is believed.
        of_batch: whether a row's advantage hangs on the other groups of its step.
        told: everything that the function is told, defaults included.
        unit: what it counts; None where every rollout is one row.
    """

    plan: Plan
    framework: str | None
    version: str | None
    estimator: str
    scale: str | None
    ddof: int | None
    eps: float | None
    order: int
    of_batch: bool
    told: Mapping[str, Any]
    unit: Unit | None = None

    @classmethod
    def of(cls, settings: Settings) -> "Candidate":
        """The rule that some settings name, behind all others in order.

        Raises:
            UsageError: an option of the settings does not fit.
        """
        plan = Plan.of(settings)
        rule, told = plan.rule, effective(plan.entry.target, plan.knobs)
        divide = told.get("divide", settings.scale if rule is None or rule.level == "turn" else "")
        divides = divide not in _UNDIVIDED
        ddof, eps = (told.get(name) if divides else None for name in ("ddof", "eps"))
        return cls(
            plan,
            rule.framework if rule else None,
            (rule.versions if rule else "") or None,
            rule.estimator if rule else plan.entry.name,
            settings.scale or (None if divides or rule is None or rule.level == "turn" else "none"),
            ddof,
            eps,
            0,
            plan.scope(uneven=False) == "step",
            told,
        )

    def with_options(self, options: Mapping[str, float | str]) -> "Candidate":
        """The same rule with some options set.

        Raises:
            UsageError: one does not fit.
        """
        settings = self.plan.settings
        other = Candidate.of(replace(settings, knobs={**settings.knobs, **options}))
        return replace(other, order=self.order, unit=self.unit)

    @cached_property
    def bare(self) -> "Candidate":
        """The same rule with its options as they are by default."""
        other = Candidate.of(replace(self.plan.settings, knobs={}))
        return replace(other, order=self.order, unit=self.unit)

    @cached_property
    def unfilled(self) -> "Candidate":
        """The same rule where groups of one, and rows without a reward, get nothing; itself if that is so, or not ours to say."""
        settings = self.plan.settings
        if self.plan.rule is not None or self.plan.entry.level != "row":
            return self
        if settings.missing == settings.singleton == "null":
            return self
        bare = replace(settings, missing="null", singleton="null")
        return replace(self, plan=replace(self.plan, settings=bare))

    @property
    def options(self) -> Mapping[str, float | str]:
        """Options that are set to something else than the rule's defaults."""
        rule = self.plan.rule
        usual = rule.options if rule else effective(self.plan.entry.target, {})
        return {name: value for name, value in self.plan.settings.knobs.items() if usual[name] != value}

    @property
    def whose(self) -> tuple[str | None, ...]:
        """Whose rule it is, whatever its options."""
        return (self.framework, self.version, self.estimator, self.scale)

    @cached_property
    def work(self) -> tuple[object, ...]:
        """What is computed: candidates with the same work give the same numbers."""
        settings = self.plan.settings
        rules = ("like", self.plan.rule.sums) if self.plan.rule else (settings.missing, settings.singleton)
        ratios = (settings.keep_pos, settings.keep_neg, settings.compute_new_adv)
        knobs = tuple(sorted(self.plan.knobs.items()))
        return (self.plan.entry.target, knobs, self.plan.divided, rules, ratios, self.unit)

    @cached_property
    def kin(self) -> tuple[object, ...]:
        """What is computed but for rounding, and for what makes advantages larger or smaller in the same way.

        Candidates of one kin agree on which rows of a live group are above the baseline.
        """
        told = sorted(self.told.items())
        knobs = (item for item in told if item[0] not in _OF_SIZE or item[1] in _COARSE)
        return (self.plan.entry.target, tuple(knobs))

    @cached_property
    def sums_steps(self) -> bool:
        """Whether a row's advantage hangs on sums over its step, and not for groups of one only."""
        divide, centre = self.told.get("divide"), self.told.get("centre")
        plain = self.plan.entry.target.endswith((":standardised", ":over_threshold"))
        return self.of_batch and not (plain and "batch" not in f"{divide} {centre}")

    @property
    def formula(self) -> str:
        """What it computes, in one line, for its scale and its knobs."""
        ours = _OURS.get(self.estimator) if self.framework is None else None
        centre = _CENTRES.get(ours or self.told.get("centre"))
        divide = self.told.get("scale") if ours else self.told.get("divide")
        if centre is None or divide not in (*_DIVISORS, "none") or self.told.get("clip"):
            return self._in_catalog()
        if divide == "none":
            return f"A_i = {centre}"
        divide = _SAME.get((centre, str(divide)), divide)
        centre = f"({centre})" if " " in centre else centre
        by = f"({_DIVISORS[divide]} + {short(self.eps)})" if self.eps else _DIVISORS[divide]
        dead = self.told.get("dead", -1)
        none = f", 0 where that is at most {short(dead)}" if dead > 0 else ""
        return f"A_i = {centre} / {by}, ddof {self.ddof}{none}"

    def _in_catalog(self) -> str:
        """The formula of the catalog, with the knobs that it does not show."""
        formula, options = self.plan.entry.formula, dict(self.options)
        if self.plan.entry.level == "turn" and "gamma" in self.told:
            formula += f", γ {short(self.told['gamma'])}"
            options.pop("gamma", None)
        if self.framework is not None:
            return formula + (f", here with {pairs(options)[1:]}" if options else "")
        knobs = {name: value for name, value in (("eps", self.eps), ("ddof", self.ddof)) if value is not None}
        return ", ".join([formula, *(f"{name} {short(value)}" for name, value in knobs.items())])

    def fit(self, grouping: str, max_abs_diff: float, share: float, reason: str = "") -> Fit:
        """What is shown of it."""
        return Fit(
            self.framework,
            self.version,
            self.estimator,
            self.scale,
            self.ddof,
            self.eps,
            grouping,
            max_abs_diff,
            share,
            reason,
            self.options,
        )


@cache
def candidates(*, singletons: bool, missing: bool, rollouts: bool = False) -> Sequence[Candidate]:
    """Everything that is tried first, in the order in which it is believed: options as a rule has them by default.

    Args:
        singletons: whether some group has one valid row, so that the rule for them shows.
        missing: whether some reward is missing, so that the rule for them shows.
        rollouts: whether some rollout has several rows, so that what a rule counts shows.
    """
    result = [*_of_frameworks("row"), *_of_catalog("row", singletons=singletons, missing=missing)]
    if rollouts:
        by_rows = [_by_rows(candidate) for candidate in result if candidate.framework is None]
        result += [*by_rows, *_of_frameworks("turn"), *_of_catalog("turn", singletons=False, missing=False)]
    return tuple(
        replace(candidate, order=position, unit=candidate.plan.unit if rollouts else None)
        for position, candidate in enumerate(result)
    )


def like(rule: Rule) -> str:
    """How `--like` names the row of the catalog.

    Example:
        >>> [like(rule) for rule in RULES if rule.name.startswith("trl:rloo")]
        ['trl@1.6', 'trl@0.22']
    """
    if not rule.versions:
        return rule.framework
    covered = SpecifierSet(rule.versions)
    # The bounds themselves, and what comes right after one that is excluded.
    ends = [text for part in covered for text in (part.version, f"{part.version}.1")]
    inside = [text for text in (*ends, "0") if covered.contains(text, prereleases=True)]
    named = (f"{rule.framework}@{text}" for text in inside)
    return next(text for text in named if find(text, rule.estimator) is rule)


def _of_frameworks(level: str) -> Iterator[Candidate]:
    for rule in (rule for rule in RULES if rule.level == level):
        for scale in rule.scales or (None,):
            yield Candidate.of(Settings(estimator=rule.estimator, like=like(rule), scale=scale))


def _by_rows(candidate: Candidate) -> Candidate:
    """The same rule, where every row counts."""
    plan = candidate.plan
    return replace(candidate, plan=replace(plan, settings=replace(plan.settings, count="rows")))


def _of_catalog(level: str, *, singletons: bool, missing: bool) -> Iterator[Candidate]:
    rules = product(
        ("null", "zero") if missing else ("null",), ("null", "zero", "raw") if singletons else ("null",)
    )
    for (miss, alone), entry in product(rules, (row for row in ESTIMATORS if row.level == level)):
        if alone != "null" and entry.alone:
            continue
        for scale, knobs in _variants(entry):
            yield Candidate.of(Settings(entry.name, scale, knobs, missing=miss, singleton=alone))


def _variants(entry: Estimator) -> Iterator[tuple[str | None, dict[str, float]]]:
    """The scales, and the divisors, that an estimator is tried with."""
    has = effective(entry.target, {})
    for scale in SCALES if entry.default_scale else (None,):
        # The turns of a step are not compared.
        if (scale, entry.level) == ("batch", "turn"):
            continue
        names = [name for name in _GRID if name in has and scale not in _UNDIVIDED]
        for values in product(*(_GRID[name] for name in names)):
            yield scale, dict(zip(names, values, strict=True))


def effective(target: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """All keyword arguments of a function: those that were given, and its defaults."""
    known = parameters(load(target)).items()
    return {name: given.get(name, p.default) for name, p in known if p.kind is p.KEYWORD_ONLY}
