"""Validates the settings: everything that can be wrong before any data is read."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from advcli.common.errors import UsageError
from advcli.common.registry import knobs as registry_knobs
from advcli.common.wording import either
from advcli.engine import dispatch
from advcli.engine.rollouts import REWARDS
from advcli.engine.weighing import Weigher
from advcli.estimators.catalog import ESTIMATORS, Estimator
from advcli.filters.catalog import FILTERS
from advcli.frameworks.rule import Rule, Unit
from advcli.records.settings import DEFAULT_ESTIMATOR, Settings
from advcli.shaping import spec
from advcli.shaping.catalog import SHAPINGS
from advcli.tensors.group_ranges import pays

MISSING = ("null", "zero", "error")
SINGLETON = ("null", "zero", "raw", "error")
COUNT = ("rollouts", "rows")
# Knobs of a rule that divide a rollout's advantage when it is broadcast to its rows, and by what.
_NORMS = {"step_norm": "rows", "token_norm": "tokens"}
# The knob that sets how similar two state texts must be to count as equal.
_SIMILARITY = "similarity"


@dataclass(frozen=True)
class Plan:
    """Validated settings, ready to run.

    Attributes:
        settings: as requested.
        entry: the estimator's row; with `like`, the framework's row in the same form.
        knobs: keyword arguments of the estimator, scale included.
        device: where to compute.
        dtype: the dtype to compute in.
        rule: the framework's row, or None.
        divided: what the advantage of a rollout is divided by: "rows", "tokens" (of the rollout, times the rows of its step)
            or "".
        similarity: the ratio from which two states of a prompt count as equal; 0 for exact equality.
    """

    settings: Settings
    entry: Estimator
    knobs: Mapping[str, Any]
    device: torch.device
    dtype: torch.dtype
    rule: Rule | None = None
    divided: str = ""
    similarity: float = 0.0

    @property
    def shapes_tokens(self) -> bool:
        """Whether any shaping works on the advantages token by token."""
        return any(SHAPINGS[step.name].per_token for step in self.settings.shaping if not step.expression)

    @property
    def recomputes(self) -> bool:
        """Whether the advantage may be recomputed on the kept rows."""
        return self.entry.recompute and not self.shapes_tokens

    @property
    def unit(self) -> Unit:
        """What the statistics count where rows share a rollout: as requested, else as the framework does."""
        unit = Unit() if self.rule is None else self.rule.unit
        if self.entry.level == "turn":
            # A turn-level estimator itself defines what each of its statistics counts.
            return replace(unit, counts="turns")
        # A token-level estimator works on the tokens of each row.
        counts = "rows" if self.entry.level == "token" else self.settings.count
        return replace(unit, counts=counts or unit.counts, reward=self.settings.rollout_reward or unit.reward)

    def scope(self, *, uneven: bool = True) -> str:
        """Which other rows the advantage of a row depends on: "group", "step", "all" or "order".

        Args:
            uneven: whether a step may have groups of different sizes, which some frameworks split again.
        """
        if self.rule is None:
            return self.entry.scope_at(self.knobs.get("scale"))
        form = self.rule
        if self.entry.level == "token" and form.per_token is not None:
            form = form.per_token
        return form.scope_at(self.entry.default_scale, uneven=uneven)

    def reach(self) -> str:
        """Which rows must be in one place to compute the advantage of a row.

        Returns:
            "key" (its group), "merged" (its group, plus sums over its step that can be merged), "step" or "all".
        """
        if any(FILTERS[one.name].whole_steps for one in self.settings.filters):
            return "step"
        scope = self.scope()
        if self.rule is None:
            if scope == "order":
                return "all"
            if self.entry.whole_steps or (self.entry.level == "turn" and scope == "step"):
                return "step"
            return "merged" if scope == "step" else "key"
        # A framework's rule works on the matrix of a step, as the framework does.
        return {"group": "key", "step": "step"}.get(scope, "all")

    def in_ranges(self, columns: Mapping[str, Tensor]) -> bool:
        """Whether to compute in ranges of whole groups: possible, and enough rows to be worthwhile.

        Args:
            columns: as `run` takes them.

        Returns:
            False on any device but the CPU.
        """
        # The last digit of a framework's rule depends on the neighbouring groups.
        if self.rule is not None or self.reach() != "key" or not pays(columns["group"]):
            return False
        rows = len(columns["group"])
        # "error" must report the first bad row of the dataset; columns of tokens can't be split by rows.
        stops = "error" in (self.settings.missing, self.settings.singleton)
        stops |= any(FILTERS[one.name].weighs for one in self.settings.filters)
        has_tokens = any(len(column) != rows for name, column in columns.items() if name != "weights")
        return self.device.type == "cpu" and not (stops or has_tokens)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What is uncertain about the requested version of a framework."""
        like = self.settings.like
        if like is None or self.rule is None:
            return ()
        from advcli.frameworks.catalog import doubts

        return tuple(doubts(like, self.rule, named=self.settings.estimator is not None))

    def at(self, columns: Mapping[str, Tensor]) -> "Plan":
        """The plan for a dataset: the fastest device, unless one was requested, and the variant of the estimator.

        With a KL per token, the advantage is per token too. A framework's rule stays on the CPU, whose rounding it
        reproduces.

        Raises:
            UsageError: a keep ratio with an advantage per token.
        """
        form = self.entry.per_token
        free = self.settings.device == "auto" and self.rule is None and self.entry.level != "turn"
        quick = dispatch.quicker(columns, in_blocks=self.in_ranges(columns)) if free else self.device
        plan = self if quick == self.device else replace(self, device=quick)
        if "turn_rewards" in columns and self.entry.level == "turn":
            _refuse_filters(self.settings, self.entry.name, "turn")
        if form is not None and any(name in columns for name in self.entry.token_columns):
            knobs = self.knobs
            if self.rule is not None and self.rule.per_token is not None:
                knobs = _per_token(self.rule, self.settings)[1]
            plan = replace(plan, entry=form, knobs=knobs).checked()
        return plan._with_kl(columns)  # noqa: SLF001  of the same class

    def on_cpu(self, columns: Mapping[str, Tensor]) -> str | None:
        """Why `--device auto` takes the CPU on a machine with CUDA; None if it does not, or there is no CUDA."""
        if self.settings.device != "auto" or self.device.type != "cpu" or not dispatch.has_cuda():
            return None
        if self.rule is not None:
            return "--like reproduces the rounding of the CPU"
        if self.entry.level == "turn":
            return "turn-level rules run on the CPU only"
        return dispatch.on_cpu(columns, in_blocks=self.in_ranges(columns))

    def _with_kl(self, columns: Mapping[str, Tensor]) -> "Plan":
        """The plan itself, once its KL column is checked.

        Raises:
            UsageError: the framework subtracts the KL token by token, but the dataset has one number per row.
        """
        steps = [step.name for step in self.settings.shaping]
        asked = self.rule is not None and "kl" in steps and "token_kl" not in columns
        if asked and (self.entry.level == "token" or "kl" not in (self.entry.shaped or ())):
            raise UsageError(
                f"{self.entry.name} subtracts the KL token by token, but there is one number per row",
                hint="--kl-col COL with a list per row, or without --kl-coef",
            )
        return self

    def checked(self) -> "Plan":
        """The plan itself, once checked.

        Raises:
            UsageError: the settings don't go with the estimator.
        """
        settings, entry = self.settings, self.entry
        if settings.compute_new_adv and not entry.recompute:
            names = ", ".join(row.name for row in ESTIMATORS if row.recompute)
            raise UsageError(
                f"compute_new_adv is defined for {names} only, not for {entry.name}",
                hint=f"--estimator {names} or --no-compute-new-adv",
                about="compute_new_adv",
            )
        if self.entry.level == "turn" and "count" not in self.knobs and settings.count is not None:
            raise UsageError(f"{entry.name} works on turns, so --count does not apply", hint="no --count")
        if entry.level == "token":
            _refuse_filters(settings, entry.name, "token")
        for one in settings.filters:
            row = FILTERS[one.name]
            if one.when not in row.when:
                does = "weighs" if row.weighs else "uses"
                raise UsageError(
                    f"{row.name} {does} the advantage, so it can only come after the statistics",
                    hint=f"--after {one}",
                )
            if one.column is not None and "rewards" not in row.needs:
                raise UsageError(f"{row.name} does not use the reward, so it has no knob 'column'")
            if row.weighs:
                Weigher.of(one, settings.like)
            else:
                dispatch.fitted(row.name, row.target, one.knobs)
        if settings.shaping and "parts" in entry.needs:
            flags = ", ".join(map(spec.said, settings.shaping))
            raise UsageError(
                f"{entry.name} uses each reward separately, so their sum cannot be shaped ({flags})",
                hint=f"without {flags}",
            )
        self._check_shaped()
        return self

    def _check_shaped(self) -> None:
        """Check the shaping of the advantages.

        Raises:
            UsageError: it doesn't go with the estimator or the filters.
        """
        settings = self.settings
        for step in filter(spec.after, settings.shaping):
            row = SHAPINGS[step.name]
            if self.entry.level == "token" and not row.per_token:
                raise UsageError(
                    f"{row.said} shapes one advantage per row, but {self.entry.name} gives one per token here",
                    hint=f"without {row.said}",
                )
            kept = settings.compute_new_adv or not settings.keep_pos == settings.keep_neg == 1
            if row.per_token and (settings.filters or kept):
                raise UsageError(
                    f"{row.said} gives one advantage per token, but filters and keep ratios need one per row",
                    hint=f"without {row.said}",
                )

    @classmethod
    def of(cls, settings: Settings) -> "Plan":
        """The plan for some settings.

        Raises:
            UsageError: an unknown name, a ratio outside [0, 1], or settings that exclude each other.
        """
        _check_words(settings)
        device, dtype = dispatch.pick(settings.device)
        if settings.like is not None:
            from advcli.frameworks.catalog import find

            rule = find(settings.like, settings.estimator)
            if rule.per_token is not None and _asks_for_tokens(rule, rule.per_token, settings.knobs):
                rule = rule.per_token
            entry, knobs = _as_estimator(rule, settings)
            divided = next((by for norm, by in _NORMS.items() if knobs.pop(norm, 0)), "")
            similarity = knobs.pop(_SIMILARITY, 0.0)
            return cls(settings, entry, knobs, device, dtype, rule, divided, similarity).checked()
        entry, given = dispatch.form(ESTIMATORS[settings.estimator or DEFAULT_ESTIMATOR], settings.knobs)
        similarity = dispatch.options(entry.name, entry.target, {_SIMILARITY: given.pop(_SIMILARITY, 0.0)})[
            _SIMILARITY
        ]
        if similarity and "anchor" not in entry.needs:
            raise UsageError(f"{entry.name} has no knob '{_SIMILARITY}'")
        if "count" in registry_knobs(entry.target) and settings.count:
            given["count"] = settings.count
        knobs = dispatch.knobs(entry, settings.scale, given)
        return cls(settings, entry, knobs, device, dtype, similarity=similarity).checked()


def _refuse_filters(settings: Settings, name: str, per: str) -> None:
    """Reject filters and keep ratios where a row has several advantages.

    Raises:
        UsageError: one is set.
    """
    given = {
        "keep ratios": ("--keep-pos and --keep-neg", not settings.keep_pos == settings.keep_neg == 1),
        "filters": ("--before and --after", bool(settings.filters)),
    }
    for what, (flags, is_set) in given.items():
        if is_set:
            raise UsageError(
                f"{what} need one advantage per row, but {name} gives one per {per} here",
                hint=f"without {flags}",
            )


def _check_words(settings: Settings) -> None:
    for name in ("keep_pos", "keep_neg"):
        ratio = getattr(settings, name)
        if not 0 <= ratio <= 1:
            raise UsageError(f"{name} is {ratio:g}, expected a share between 0 and 1", about=name)
    words = {"missing": MISSING, "singleton": SINGLETON, "count": COUNT, "rollout_reward": REWARDS}
    for name, allowed in words.items():
        value = getattr(settings, name)
        if value not in allowed and not (value is None and name in ("count", "rollout_reward")):
            label = name.replace("_", " ")
            raise UsageError(f"unknown {label} rule '{value}'", hint=either(allowed), about=name)


def _asks_for_tokens(rule: Rule, per_token: Rule, knobs: Mapping[str, float | str]) -> bool:
    """Whether a knob that only the per-token variant has differs from its default."""
    own = {name: usual for name, usual in per_token.options.items() if name not in rule.options}
    return any(knobs.get(name, usual) != usual for name, usual in own.items())


def _as_estimator(rule: Rule, settings: Settings) -> tuple[Estimator, dict[str, Any]]:
    """A framework's rule as an `Estimator`, with its keyword arguments for the chosen scale.

    Raises:
        UsageError: the settings change something the framework fixes.
    """
    fixed = [name for name in ("missing", "singleton") if getattr(settings, name) not in ("null", "error")]
    fixed += ["compute_new_adv"] if settings.compute_new_adv else []
    shapings = {*rule.shaped, *(rule.per_token.shaped if rule.per_token else ())}
    asked = [SHAPINGS[step.name] for step in settings.shaping if not step.expression]
    for shaping in (row for row in asked if row.of_trainer and row.name not in shapings):
        raise UsageError(
            f"{shaping.flag} is not part of {rule.framework}'s {rule.estimator}",
            hint=f"without {shaping.flag}, or without --like",
        )
    options = {**rule.options, **(rule.per_token.options if rule.per_token else {})}
    fixed += [name for name in settings.knobs if name not in options]
    if fixed:
        raise UsageError(
            f"--like {settings.like} fixes the rules, so {', '.join(fixed)} cannot be set",
            hint=f"without --like, or one of {either(list(options))}" if options else "without --like",
        )
    scale = settings.scale if settings.scale is not None else next(iter(rule.scales), None)
    if scale is not None and scale not in rule.scales:
        has = f"it has {', '.join(rule.scales)}" if rule.scales else "it has none to choose"
        raise UsageError(f"{rule.framework}'s {rule.estimator} has no scale '{scale}'; {has}")
    entry = Estimator(
        name=f"{rule.framework}:{rule.estimator}",
        target=rule.target,
        needs=rule.needs,
        formula=rule.formula,
        summary=f"{rule.estimator} of {rule.framework} {rule.versions}".strip(),
        source=rule.source,
        default_scale=scale,
        alone=True,
        level=rule.level,
        per_token=_per_token(rule, settings)[0] if rule.per_token else None,
        token_columns=rule.token_columns,
        shaped=rule.shaped,
        masked=rule.masked,
        biased=rule.biased,
    )
    given = {name: value for name, value in settings.knobs.items() if name in rule.options}
    given |= {"count": settings.count} if settings.count and "count" in rule.options else {}
    chosen = dispatch.options(entry.name, rule.target, {**rule.options, **given})
    return entry, {**rule.knobs, **(rule.scales[scale] if scale is not None else {}), **chosen}


def _per_token(rule: Rule, settings: Settings) -> tuple[Estimator, dict[str, Any]]:
    """The per-token variant of a framework's rule; it may have no scales."""
    assert rule.per_token is not None
    scale = settings.scale if settings.scale in rule.per_token.scales else None
    return _as_estimator(rule.per_token, replace(settings, scale=scale))
