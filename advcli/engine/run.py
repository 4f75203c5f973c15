"""From rewards and groups to advantages: estimate, keep, compute again."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from advcli.engine import chunked, dispatch, fallbacks, shaped
from advcli.engine.rollouts import REWARDS, Rollouts, by_rollout
from advcli.errors import UsageError
from advcli.estimators.catalog import ESTIMATORS, Estimator
from advcli.filters.catalog import FILTERS
from advcli.filters.keep_ratio import keep_ratio
from advcli.frameworks.catalog import doubts, find
from advcli.frameworks.rule import Rule, Unit
from advcli.records.settings import DEFAULT_ESTIMATOR, AdvantageTable, FilterSpec, LeftOut, Settings
from advcli.registry import load
from advcli.shaping.catalog import SHAPINGS
from advcli.tensors.masks import every, undefined
from advcli.tensors.segments import Segments
from advcli.wording import Remark, either

MISSING = ("null", "zero", "error")
SINGLETON = ("null", "zero", "raw", "error")
COUNT = ("rollouts", "rows")
# The knob of a rule that is applied to the advantage of a rollout when its rows get it.
_STEP_NORM = "step_norm"


@dataclass(frozen=True)
class Plan:
    """Settings that have been checked: everything that can be wrong before any data is seen.

    Attributes:
        settings: what was asked.
        entry: the estimator's row; with `like`, the framework's row in the same form.
        knobs: keyword arguments of the estimator, scale included.
        device: where to compute.
        dtype: what to compute in.
        rule: the framework's row, or None.
        divided: whether the advantage of a rollout is divided by the number of its rows.
    """

    settings: Settings
    entry: Estimator
    knobs: Mapping[str, Any]
    device: torch.device
    dtype: torch.dtype
    rule: Rule | None = None
    divided: bool = False

    @property
    def unit(self) -> Unit:
        """What the statistics count where rows share a rollout: what was asked, else as the framework does."""
        unit = Unit() if self.rule is None else self.rule.unit
        # The tokens of an estimator with an advantage for each are those of one row.
        counts = "rows" if self.entry.level == "token" else self.settings.count
        return replace(unit, counts=counts or unit.counts, reward=self.settings.rollout_reward or unit.reward)

    def scope(self, *, uneven: bool = True) -> str:
        """Which other rows the advantage of a row depends on: "group", "step", "all" or "order".

        Args:
            uneven: whether a step may have groups of several sizes, which some frameworks cut anew.
        """
        if self.rule is None:
            return self.entry.scope_at(self.knobs.get("scale"))
        form = self.rule
        if self.entry.level == "token" and form.per_token is not None:
            form = form.per_token
        return form.scope_at(self.entry.default_scale, uneven=uneven)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is not certain of the version of a framework that was asked for."""
        like = self.settings.like
        if like is None or self.rule is None:
            return ()
        return tuple(doubts(like, self.rule, named=self.settings.estimator is not None))

    def at(self, columns: Mapping[str, Tensor]) -> "Plan":
        """The plan for a data set: the device that is done first, unless one was chosen, and the form of the estimator.

        Where the KL is known for each token, so is the advantage. A framework's rule stays on the CPU: its rounding is that
        of the CPU.

        Raises:
            UsageError: a keep ratio with an advantage per token.
        """
        form = self.entry.per_token
        free = self.settings.device == "auto" and self.rule is None
        blocks = chunked.possible(self, columns)
        plan = replace(self, device=dispatch.quicker(columns, in_blocks=blocks)) if free else self
        if form is not None and any(name in columns for name in self.entry.token_columns):
            knobs = self.knobs
            if self.rule is not None and self.rule.per_token is not None:
                knobs = _per_token(self.rule, self.settings)[1]
            plan = replace(plan, entry=form, knobs=knobs).checked()
        return plan._with_kl(columns)

    def _with_kl(self, columns: Mapping[str, Tensor]) -> "Plan":
        """The plan itself.

        Raises:
            UsageError: a framework takes the KL off token by token, and the data set has one number per row.
        """
        asked = self.rule is not None and "kl" in self.settings.shaping and "token_kl" not in columns
        if asked and (self.entry.level == "token" or "kl" not in (self.entry.shaped or ())):
            raise UsageError(
                f"{self.entry.name} takes the KL off token by token, and there is one number per row",
                hint="--kl-col COL with a list per row, or without --kl-coef",
            )
        return self

    def checked(self) -> "Plan":
        """The plan itself.

        Raises:
            UsageError: the settings do not go with the estimator.
        """
        settings, entry = self.settings, self.entry
        if settings.compute_new_adv and not entry.recompute:
            able = ", ".join(row.name for row in ESTIMATORS if row.recompute)
            raise UsageError(
                f"compute_new_adv is defined for {able} only, not for {entry.name}",
                hint=f"--estimator {able} or --no-compute-new-adv",
                about="compute_new_adv",
            )
        if entry.level == "token" and not settings.keep_pos == settings.keep_neg == 1:
            raise UsageError(
                f"keep ratios are defined for one advantage per row, and {entry.name} gives one per token here",
                hint="without --keep-pos and --keep-neg",
            )
        if entry.level == "token" and settings.filters:
            raise UsageError(
                f"filters are defined for one advantage per row, and {entry.name} gives one per token here",
                hint="without --before and --after",
            )
        for spec in settings.filters:
            row = FILTERS[spec.name]
            if spec.when not in row.when:
                raise UsageError(
                    f"{row.name} looks at the advantage, so it can only come after", hint=f"--after {spec}"
                )
            if spec.column is not None and "rewards" not in row.needs:
                raise UsageError(f"{row.name} looks at no reward, so it has no knob 'column'")
            dispatch.fitted(row.name, row.target, spec.knobs)
        if settings.shaping and "parts" in entry.needs:
            flags = ", ".join(SHAPINGS[name].flag for name in settings.shaping)
            raise UsageError(
                f"{entry.name} takes each reward apart, so their sum cannot be shaped ({flags})",
                hint=f"without {flags}",
            )
        return self

    @classmethod
    def of(cls, settings: Settings) -> "Plan":
        """Check the settings.

        Raises:
            UsageError: an unknown name, a ratio outside [0, 1], or settings that exclude each other.
        """
        _check_words(settings)
        device, dtype = dispatch.pick(settings.device)
        if settings.like is not None:
            rule = find(settings.like, settings.estimator)
            if rule.per_token is not None and settings.knobs.get("gamma", 1) != 1:
                rule = rule.per_token
            entry, knobs = _as_estimator(rule, settings)
            divided = bool(knobs.pop(_STEP_NORM, 0))
            return cls(settings, entry, knobs, device, dtype, rule, divided).checked()
        entry, given = dispatch.form(ESTIMATORS[settings.estimator or DEFAULT_ESTIMATOR], settings.knobs)
        return cls(settings, entry, dispatch.knobs(entry, settings.scale, given), device, dtype).checked()


def _check_words(settings: Settings) -> None:
    for name in ("keep_pos", "keep_neg"):
        ratio = getattr(settings, name)
        if not 0 <= ratio <= 1:
            raise UsageError(f"{name} is {ratio:g}, expected a share between 0 and 1", about=name)
    words = {"missing": MISSING, "singleton": SINGLETON, "count": COUNT, "rollout_reward": REWARDS}
    for name, allowed in words.items():
        value = getattr(settings, name)
        if value not in allowed and not (value is None and name in ("count", "rollout_reward")):
            told = name.replace("_", " ")
            raise UsageError(f"unknown {told} rule '{value}'", hint=either(allowed), about=name)


def _as_estimator(rule: Rule, settings: Settings) -> tuple[Estimator, dict[str, Any]]:
    """A framework's row as an estimator's row, with its keyword arguments for the chosen scale.

    Raises:
        UsageError: the settings try to change what the framework fixes.
    """
    fixed = [name for name in ("missing", "singleton") if getattr(settings, name) not in ("null", "error")]
    fixed += ["compute_new_adv"] if settings.compute_new_adv else []
    able = {*rule.shaped, *(rule.per_token.shaped if rule.per_token else ())}
    for shaping in (SHAPINGS[name] for name in settings.shaping if name not in able):
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
    )
    given = {name: value for name, value in settings.knobs.items() if name in rule.options}
    chosen = dispatch.numbers(entry.name, {**rule.options, **given})
    return entry, {**rule.knobs, **(rule.scales[scale] if scale is not None else {}), **chosen}


def _per_token(rule: Rule, settings: Settings) -> tuple[Estimator, dict[str, Any]]:
    """The form of a framework's row with an advantage per token; it may have no scale to choose."""
    assert rule.per_token is not None
    scale = settings.scale if settings.scale in rule.per_token.scales else None
    return _as_estimator(rule.per_token, replace(settings, scale=scale))


def run(plan: Plan, columns: Mapping[str, Tensor]) -> AdvantageTable:
    """Compute the original and the processed advantage.

    Args:
        plan: what to do.
        columns: "rewards" [N] float (NaN or ±inf where missing), "group" [N] int64 (-1 for rows that
            belong nowhere), "step" [N] int64, and what else the estimator needs of
            `estimators.catalog.COLUMNS`; on any device. Where rows share a rollout also "rollout" [N] int64 in [0, R),
            numbered in order of first appearance, and perhaps "turn" [N] float, which numbers the rows of each.

    Returns:
        Tensors on the CPU, in `plan.dtype`. Where rollouts are counted, each row has what its rollout got.

    Raises:
        DataError: a missing reward or a singleton, and the rule is "error"; a rollout that the framework refuses.
    """
    plan = plan.at(columns)
    columns = dict(columns)
    rollout = columns.pop("rollout", None)
    if rollout is not None and plan.unit.counts != "rows":
        # Rows are taken and put back where all columns lie together.
        columns = {name: column.cpu() for name, column in columns.items()}
        rollouts = Rollouts.of(rollout.cpu(), columns.get("turn") if plan.unit.by_turn else None)
        if rollouts.several:
            return by_rollout(
                rollouts, columns, plan.unit, partial(run, plan), who=plan.entry.name, divided=plan.divided
            )
    if chunked.possible(plan, columns):
        return chunked.run(partial(_run, plan), chunked.needed(plan, columns))
    return _run(plan, columns)


def _run(plan: Plan, columns: Mapping[str, Tensor]) -> AdvantageTable:
    """The same for columns that are looked at as a whole."""
    moved = {name: column.to(plan.device) for name, column in columns.items()}
    moved |= {name: column.to(plan.dtype) for name, column in moved.items() if column.is_floating_point()}
    dispatch.require(plan.entry, moved)
    moved = shaped.added_up(plan, moved)
    raw, moved = moved, shaped.shape(plan, moved)
    if plan.entry.level == "token":
        return _run_tokens(plan, moved, raw)
    # A trainer computes on all rows, missing ones included: its rule says what becomes of them.
    usable = dispatch.usable(plan.entry, moved) if plan.rule is None else moved["group"] >= 0
    valid, before = _leave_out(plan, "before", moved, usable)
    original = dispatch.estimate(plan.entry, moved, valid, **plan.knobs)
    if not plan.entry.alone:
        original = fallbacks.singletons(original, moved, valid, plan.settings.singleton)
    if plan.rule is None:
        original = fallbacks.missing_rewards(original, moved["group"], usable, plan.settings.missing)
    original, beyond = fallbacks.bounded(original, moved, valid)
    defined = ~undefined(original)
    kept, after = _leave_out(plan, "after", {**moved, "advantages": original}, defined)
    if not plan.settings.keep_pos == plan.settings.keep_neg == 1:
        kept &= keep_ratio(
            torch.where(kept, original, torch.nan),
            moved["group"].clamp(min=0),
            keep_pos=plan.settings.keep_pos,
            keep_neg=plan.settings.keep_neg,
        )
    stays = (kept | ~defined) & (valid | ~usable)
    # Mostly nothing is left out: then both are one column.
    processed = original if every(stays) else torch.where(stays, original, 0.0)
    warnings = (
        *plan.warnings,
        *beyond,
        *shaped.lacking(plan, raw, moved, usable),
        *shaped.spoilt(plan, raw, usable & original.isnan()),
    )
    if plan.settings.compute_new_adv:
        processed, more = _recompute(plan, moved, processed, kept, valid)
        processed, beyond = fallbacks.bounded(processed, moved, kept & valid)
        kept = kept & ~undefined(processed) if beyond else kept
        warnings += (*more, *beyond)
    return AdvantageTable(original.cpu(), processed.cpu(), kept.cpu(), warnings, before + after)


def _leave_out(
    plan: Plan, when: str, columns: Mapping[str, Tensor], rows: Tensor
) -> tuple[Tensor, tuple[LeftOut, ...]]:
    """Apply the filters of one kind.

    Args:
        plan: holds the filters.
        when: "before" or "after".
        columns: what the filters may need; [N] each.
        rows: [N] bool, the rows that there are.

    Returns:
        [N] bool, the rows that are left, and what each filter left out.

    Raises:
        DataError: a column that a filter needs is not there.
    """
    counts = []
    for spec in (spec for spec in plan.settings.filters if spec.when == when):
        entry = FILTERS[spec.name]
        given = dict(columns)
        if spec.column is not None:
            given["rewards"] = columns[f"extra {spec.column}"]
        dispatch.needed(entry.name, (name for name in entry.needs if name != "advantages"), given)
        # A row of which a filter cannot see what it looks at is left out too.
        seen = rows.clone()
        for name in entry.needs:
            seen &= given[name].isfinite()
        left = torch.zeros_like(rows)
        knobs = dispatch.fitted(entry.name, entry.target, spec.knobs)
        left[seen] = load(entry.target)(*(given[name][seen] for name in entry.needs), **knobs)
        counts.append(_counted(spec, columns, rows, left))
        rows = left
    return rows.clone(), tuple(counts)


def _counted(spec: FilterSpec, columns: Mapping[str, Tensor], rows: Tensor, left: Tensor) -> LeftOut:
    """How much of `rows` is not in `left`."""
    gone = rows & ~left
    groups = [torch.unique(columns["group"][mask]).numel() for mask in (rows, left)]
    lengths = columns.get("lengths")
    tokens = None if lengths is None else int(lengths[gone].nan_to_num(nan=0.0).sum())
    return LeftOut(spec, int(gone.sum()), groups[0] - groups[1], tokens)


def _run_tokens(plan: Plan, columns: Mapping[str, Tensor], raw: Mapping[str, Tensor]) -> AdvantageTable:
    """The same for an estimator that gives one advantage per token; no row is filtered."""
    valid = dispatch.usable(plan.entry, columns) if plan.rule is None else dispatch.tokened(columns)
    original, tokens = dispatch.estimate_tokens(plan.entry, columns, valid, **plan.knobs)
    row, counted = dispatch.token_rows(columns)
    estimated = original
    if not plan.entry.alone:
        original = fallbacks.singletons(original, columns, valid, plan.settings.singleton)
    if plan.rule is None:
        original = fallbacks.missing_rewards(original, columns["group"], valid, plan.settings.missing)
    ruled = ~torch.isclose(original, estimated, rtol=0, atol=0, equal_nan=True)
    tokens = torch.where(ruled[row] & counted, original[row], tokens)
    original, beyond = fallbacks.bounded(original, columns, valid)
    tokens = torch.where(torch.isinf(tokens), torch.nan, tokens)
    counts = torch.bincount(row, minlength=len(original))
    return AdvantageTable(
        original.cpu(),
        original.cpu(),
        ~original.isnan().cpu(),
        (
            *plan.warnings,
            *beyond,
            *shaped.lacking(plan, raw, columns, valid),
            *shaped.spoilt(plan, raw, valid & original.isnan()),
        ),
        tokens=tokens.cpu(),
        token_counts=counts.cpu(),
    )


def _recompute(
    plan: Plan, columns: Mapping[str, Tensor], processed: Tensor, kept: Tensor, valid: Tensor
) -> tuple[Tensor, tuple[str, ...]]:
    """The advantage of the kept rows, computed on the kept rows alone."""
    later = any(spec.when == "after" for spec in plan.settings.filters)
    if plan.settings.keep_pos == plan.settings.keep_neg == 1 and not later:
        return processed, ("--compute-new-adv has no effect: both keep ratios are 1",)
    again = dispatch.estimate(plan.entry, columns, kept & valid, **plan.knobs)
    group = columns["group"]
    survivors = Segments.of(group[kept & valid], int(group.max()) + 1 if len(group) else 0).size()
    had_rows = Segments.of(group[valid], len(survivors)).size() > 1
    few = int(((survivors < 2) & had_rows).sum())
    said = "Not enough samples to compute std: {}"
    warnings = (Remark(few, "group", said, said),) if few else ()
    return torch.where(again.isnan(), processed, again), warnings
