"""The rules to try: every rule in the framework catalog, and our own estimators on a grid of knobs."""

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
# The divisors to try with our own estimators; for other options see `options`.
_GRID: Mapping[str, tuple[float, ...]] = {"ddof": (1, 0), "eps": EPS}
# Values of the options `centre` and `divide` → how a formula writes them.
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
# Centring doesn't change the std.
_SAME = {("r_i − mean_g", "group-centred"): "group", ("r_i − mean_B", "batch-centred"): "batch"}
_OURS: Mapping[str, str] = {"grpo": "mean", "rloo": "others"}
# Knobs that change no sign of an advantage in a group with several rewards.
_OF_SIZE = frozenset(
    {"eps", "batch_eps", "ddof", "floor", "dead", "clip", "dtype", "stats", "variance", "single"}
)
# A dtype so coarse that a reward near the mean can round to the mean.
_COARSE = frozenset({"bfloat16"})
# An estimator that doesn't divide has no eps to try.
_UNDIVIDED = ("none", False)


@dataclass(frozen=True, eq=False)
class Candidate:
    """One rule that may have produced the log.

    Attributes:
        plan: how to compute it.
        framework: whose rule it is, or None.
        version: the versions it covers, or None for all.
        estimator: its name there.
        scale: what it divides by, or None if there is no choice.
        ddof: of its variance, or None if it doesn't divide.
        eps: added to its standard deviation, or None if it doesn't divide.
        order: its position in the catalogs; lower is preferred.
        of_batch: whether a row's advantage depends on the other groups of its step.
        arguments: all keyword arguments of the function, defaults included.
        unit: what it counts; None if every rollout is one row.
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
    arguments: Mapping[str, Any]
    unit: Unit | None = None

    @classmethod
    def of(cls, settings: Settings) -> "Candidate":
        """The rule that some settings name, with order 0.

        Raises:
            UsageError: an option of the settings is invalid.
        """
        plan = Plan.of(settings)
        rule, arguments = plan.rule, effective(plan.entry.target, plan.knobs)
        divide = arguments.get("divide", settings.scale if rule is None or rule.level == "turn" else "")
        divides = divide not in _UNDIVIDED
        ddof, eps = (arguments.get(name) if divides else None for name in ("ddof", "eps"))
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
            arguments,
        )

    def with_options(self, options: Mapping[str, float | str]) -> "Candidate":
        """The same rule with some options set.

        Raises:
            UsageError: one is invalid.
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
        """Options that differ from the rule's defaults."""
        rule = self.plan.rule
        usual = rule.options if rule else effective(self.plan.entry.target, {})
        return {name: value for name, value in self.plan.settings.knobs.items() if usual[name] != value}

    @property
    def whose(self) -> tuple[str | None, ...]:
        """Identifies the rule, whatever its options."""
        return (self.framework, self.version, self.estimator, self.scale)

    @cached_property
    def computation(self) -> tuple[object, ...]:
        """Cache key of the computation: candidates with equal keys give the same numbers."""
        settings = self.plan.settings
        rules = ("like", self.plan.rule.sums) if self.plan.rule else (settings.missing, settings.singleton)
        ratios = (settings.keep_pos, settings.keep_neg, settings.compute_new_adv)
        knobs = tuple(sorted(self.plan.knobs.items()))
        return (self.plan.entry.target, knobs, self.plan.divided, rules, ratios, self.unit)

    @cached_property
    def family(self) -> tuple[object, ...]:
        """What is computed, up to rounding and rescaling.

        Candidates of one family agree on which rows of a live group are above the baseline.
        """
        arguments = sorted(self.arguments.items())
        knobs = (item for item in arguments if item[0] not in _OF_SIZE or item[1] in _COARSE)
        return (self.plan.entry.target, tuple(knobs))

    @cached_property
    def sums_steps(self) -> bool:
        """Whether a row's advantage depends on sums over its step, and not only in groups of one."""
        divide, centre = self.arguments.get("divide"), self.arguments.get("centre")
        plain = self.plan.entry.target.endswith((":standardised", ":over_threshold"))
        return self.of_batch and not (plain and "batch" not in f"{divide} {centre}")

    @property
    def formula(self) -> str:
        """The formula, in one line, for its scale and its knobs."""
        ours = _OURS.get(self.estimator) if self.framework is None else None
        centre = _CENTRES.get(ours or self.arguments.get("centre"))
        divide = self.arguments.get("scale") if ours else self.arguments.get("divide")
        if centre is None or divide not in (*_DIVISORS, "none") or self.arguments.get("clip"):
            return self._in_catalog()
        if divide == "none":
            return f"A_i = {centre}"
        divide = _SAME.get((centre, str(divide)), divide)
        centre = f"({centre})" if " " in centre else centre
        by = f"({_DIVISORS[divide]} + {short(self.eps)})" if self.eps else _DIVISORS[divide]
        dead = self.arguments.get("dead", -1)
        none = f", 0 where that is at most {short(dead)}" if dead > 0 else ""
        return f"A_i = {centre} / {by}, ddof {self.ddof}{none}"

    def _in_catalog(self) -> str:
        """The catalog's formula, plus the knobs it doesn't show."""
        formula, options = self.plan.entry.formula, dict(self.options)
        if self.plan.entry.level == "turn" and "gamma" in self.arguments:
            formula += f", γ {short(self.arguments['gamma'])}"
            options.pop("gamma", None)
        if self.framework is not None:
            return formula + (f", here with {pairs(options)[1:]}" if options else "")
        knobs = {name: value for name, value in (("eps", self.eps), ("ddof", self.ddof)) if value is not None}
        return ", ".join([formula, *(f"{name} {short(value)}" for name, value in knobs.items())])

    def fit(self, grouping: str, max_abs_diff: float, share: float, reason: str = "") -> Fit:
        """The record to display."""
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
    """All rules with default options, in order of preference.

    Args:
        singletons: whether some group has one valid row, so that the rules for singletons differ.
        missing: whether some reward is missing, so that the rules for missing rewards differ.
        rollouts: whether some rollout has several rows, so that it matters what a rule counts.
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
    """The value of `--like` for a rule of the catalog.

    Example:
        >>> [like(rule) for rule in RULES if rule.name.startswith("trl:rloo")]
        ['trl@1.6', 'trl@0.22']
    """
    if not rule.versions:
        return rule.framework
    covered = SpecifierSet(rule.versions)
    # The bounds themselves, and the next version after an excluded one.
    ends = [text for part in covered for text in (part.version, f"{part.version}.1")]
    inside = [text for text in (*ends, "0") if covered.contains(text, prereleases=True)]
    named = (f"{rule.framework}@{text}" for text in inside)
    return next(text for text in named if find(text, rule.estimator) is rule)


def _of_frameworks(level: str) -> Iterator[Candidate]:
    for rule in (rule for rule in RULES if rule.level == level):
        for scale in rule.scales or (None,):
            yield Candidate.of(Settings(estimator=rule.estimator, like=like(rule), scale=scale))


def _by_rows(candidate: Candidate) -> Candidate:
    """The rule with every row counted."""
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
    """The scales and divisors to try with an estimator."""
    has = effective(entry.target, {})
    for scale in SCALES if entry.default_scale else (None,):
        # Turns are not compared across a step.
        if (scale, entry.level) == ("batch", "turn"):
            continue
        names = [name for name in _GRID if name in has and scale not in _UNDIVIDED]
        for values in product(*(_GRID[name] for name in names)):
            yield scale, dict(zip(names, values, strict=True))


def effective(target: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """All keyword arguments of a function: the given ones and its defaults."""
    known = parameters(load(target)).items()
    return {name: given.get(name, p.default) for name, p in known if p.kind is p.KEYWORD_ONLY}
