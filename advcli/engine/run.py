"""From rewards and groups to advantages: estimate, keep, compute again."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from advcli.engine import chunked, dispatch, fallbacks
from advcli.errors import UsageError
from advcli.estimators.catalog import COLUMNS, ESTIMATORS, Estimator
from advcli.filters.catalog import FILTERS
from advcli.filters.keep_ratio import keep_ratio
from advcli.frameworks.catalog import find
from advcli.frameworks.rule import Rule
from advcli.records.settings import DEFAULT_ESTIMATOR, AdvantageTable, FilterSpec, LeftOut, Settings
from advcli.registry import load
from advcli.shaping.catalog import SHAPINGS
from advcli.tensors.masks import every, finite, undefined
from advcli.tensors.segments import Segments
from advcli.wording import Remark, either

# Columns that every row with a reward has.
_ALWAYS = ("rewards", "group", "step", "parts", "weights", "row", "place", "token_kl")
MISSING = ("null", "zero", "error")
SINGLETON = ("null", "zero", "raw", "error")


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
    """

    settings: Settings
    entry: Estimator
    knobs: Mapping[str, Any]
    device: torch.device
    dtype: torch.dtype
    rule: Rule | None = None

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
        if form is None or not any(name in columns for name in self.entry.token_columns):
            return plan
        knobs = self.knobs
        if self.rule is not None and self.rule.per_token is not None:
            knobs = _per_token(self.rule, self.settings)[1]
        return replace(plan, entry=form, knobs=knobs).checked()

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
            return cls(settings, entry, knobs, device, dtype, rule).checked()
        entry, given = dispatch.form(ESTIMATORS[settings.estimator or DEFAULT_ESTIMATOR], settings.knobs)
        return cls(settings, entry, dispatch.knobs(entry, settings.scale, given), device, dtype).checked()


def _check_words(settings: Settings) -> None:
    for name in ("keep_pos", "keep_neg"):
        ratio = getattr(settings, name)
        if not 0 <= ratio <= 1:
            raise UsageError(f"{name} is {ratio:g}, expected a share between 0 and 1", about=name)
    for name, allowed in (("missing", MISSING), ("singleton", SINGLETON)):
        value = getattr(settings, name)
        if value not in allowed:
            raise UsageError(f"unknown {name} rule '{value}'", hint=either(allowed), about=name)


def _as_estimator(rule: Rule, settings: Settings) -> tuple[Estimator, dict[str, Any]]:
    """A framework's row as an estimator's row, with its keyword arguments for the chosen scale.

    Raises:
        UsageError: the settings try to change what the framework fixes.
    """
    fixed = [name for name in ("missing", "singleton") if getattr(settings, name) not in ("null", "error")]
    fixed += ["compute_new_adv"] if settings.compute_new_adv else []
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
            `estimators.catalog.COLUMNS`; on any device.

    Returns:
        Tensors on the CPU, in `plan.dtype`.

    Raises:
        DataError: a missing reward or a singleton, and the rule is "error".
    """
    plan = plan.at(columns)
    if chunked.possible(plan, columns):
        return chunked.run(partial(_run, plan), chunked.needed(plan, columns))
    return _run(plan, columns)


def _run(plan: Plan, columns: Mapping[str, Tensor]) -> AdvantageTable:
    """The same for columns that are looked at as a whole."""
    moved = {name: column.to(plan.device) for name, column in columns.items()}
    moved |= {name: column.to(plan.dtype) for name, column in moved.items() if column.is_floating_point()}
    dispatch.require(plan.entry, moved)
    raw, moved = moved, _shaped(plan, moved)
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
    warnings = (*beyond, *_lacking(plan, raw, moved, usable))
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


def _lacking(
    plan: Plan, raw: Mapping[str, Tensor], shaped: Mapping[str, Tensor], usable: Tensor
) -> tuple[str, ...]:
    """A warning about rows that have a reward, and nothing else that is needed: no statistic shows why."""
    needs = [name for row in SHAPINGS if row.name in plan.settings.shaping for name in row.needs]
    names = [name for name in (*plan.entry.needs, *needs) if name not in _ALWAYS]
    if not names and "parts" not in plan.entry.needs and raw["rewards"] is shaped["rewards"]:
        # Nothing else is needed.
        return ()
    rewarded = finite(raw["rewards"]) & (raw["group"] >= 0)
    if "parts" in plan.entry.needs:
        rewarded &= torch.isfinite(raw["parts"]).all(dim=1)
    many = int((rewarded & (~usable | ~torch.isfinite(shaped["rewards"]))).sum())
    if not many:
        return ()
    what = either([COLUMNS[name].what for name in dict.fromkeys(names)]) or "what is needed"
    said = f"a reward and no usable value of {what}: no advantage"
    return (Remark(many, "row", f"{{}} has {said}", f"{{}} have {said}"),)


def _run_tokens(plan: Plan, columns: Mapping[str, Tensor], raw: Mapping[str, Tensor]) -> AdvantageTable:
    """The same for an estimator that gives one advantage per token; no row is filtered."""
    valid = dispatch.usable(plan.entry, columns)
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
        (*beyond, *_lacking(plan, raw, columns, valid)),
        tokens=tokens.cpu(),
        token_counts=counts.cpu(),
    )


def _shaped(plan: Plan, columns: dict[str, Tensor]) -> dict[str, Tensor]:
    """The columns with the rewards as the estimator shall see them.

    Raises:
        DataError: a column that the shaping needs is not there.
    """
    columns = dict(columns)
    if "token_kl" in columns:
        # One advantage per token: the KL is taken off token by token. One per row: all of it off the reward.
        coef = plan.settings.shaping.get("kl", {}).get("coef", 0.0)
        if plan.entry.level == "token":
            columns |= {"token_kl": coef * columns["token_kl"], "kl": torch.zeros_like(columns["rewards"])}
        else:
            row, counted = dispatch.token_rows(columns)
            kl = torch.where(counted, columns["token_kl"], 0.0)
            columns["kl"] = Segments.of(row, len(columns["rewards"])).sum(kl)
    for shaping in SHAPINGS:
        if shaping.name in plan.settings.shaping:
            dispatch.needed(shaping.flag, shaping.needs, columns)
            others = (columns[name] for name in shaping.needs)
            knobs = plan.settings.shaping[shaping.name]
            columns["rewards"] = load(shaping.target)(columns["rewards"], *others, **knobs)
    return columns


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
