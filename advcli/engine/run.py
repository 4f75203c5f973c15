"""Rewards and groups → advantages: estimate, filter, recompute."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from advcli.common.registry import load
from advcli.common.wording import Remark
from advcli.engine import chunked, dispatch, fallbacks, shaped, weighing
from advcli.engine.plan import Plan
from advcli.engine.rollouts import Rollouts, by_rollout, divided
from advcli.engine.turns import as_turns
from advcli.filters.catalog import FILTERS
from advcli.filters.keep_ratio import keep_ratio
from advcli.records.settings import AdvantageTable, FilterSpec, LeftOut
from advcli.tensors.masks import every, undefined
from advcli.tensors.segments import Segments


def run(plan: Plan, columns: Mapping[str, Tensor]) -> AdvantageTable:
    """The original and the processed advantages.

    Args:
        plan: what to do.
        columns: "rewards" [N] float (NaN or ±inf where missing), "group" [N] int64 (-1 for rows
            without one), "step" [N] int64, and the columns of `records.roles.ROLES` that the estimator
            needs; on any device. Where rows share a rollout also "rollout" [N] int64 in [0, R),
            numbered in order of first appearance, and optionally "turn" [N] float, the turn number within the rollout.

    Returns:
        Tensors on the CPU, in `plan.dtype`. Where rollouts are counted, each row has the result of its rollout.

    Raises:
        DataError: a missing reward or a singleton, and the rule is "error"; a rollout that the framework rejects.
    """
    plan = plan.at(columns)
    columns = dict(columns)
    rollout = columns.pop("rollout", None)
    if plan.entry.level == "turn":
        return as_turns(
            {name: column.cpu() for name, column in columns.items()},
            None if rollout is None else rollout.cpu(),
            partial(_run, plan),
            entry=plan.entry,
            reward=plan.settings.rollout_reward,
        )
    if plan.divided:
        return _divided(plan, columns, rollout)
    if rollout is not None and plan.unit.counts != "rows":
        # Collapsing and broadcasting need all columns on one device.
        columns = {name: column.cpu() for name, column in columns.items()}
        rollouts = Rollouts.of(rollout.cpu(), columns.get("turn") if plan.unit.by_turn else None)
        if rollouts.several:
            return by_rollout(rollouts, columns, plan.unit, partial(run, plan), who=plan.entry.name)
    if plan.in_ranges(columns):
        return chunked.run(partial(_run, plan), chunked.needed(plan, columns))
    return _run(plan, columns)


def _divided(plan: Plan, columns: dict[str, Tensor], rollout: Tensor | None) -> AdvantageTable:
    """`run` for rules that divide the advantage of a rollout by its rows or tokens."""
    if plan.divided == "tokens":
        dispatch.needed(plan.entry.name, ("lengths",), columns)
    given = columns if rollout is None else {**columns, "rollout": rollout}
    result = run(replace(plan, divided=""), given)
    rollout = torch.arange(len(columns["group"])) if rollout is None else rollout.cpu()
    return divided(result, Rollouts.of(rollout), columns, plan.divided)


def _run(plan: Plan, columns: Mapping[str, Tensor]) -> AdvantageTable:
    """`run` for columns that are processed in one go."""
    moved = {
        name: column.to(plan.device, plan.dtype if column.is_floating_point() else None)
        for name, column in columns.items()
    }
    dispatch.require(plan.entry, moved)
    moved = shaped.added_up(plan, moved)
    raw, moved = moved, shaped.shape(plan, moved)
    if plan.entry.level == "token":
        return _run_tokens(plan, moved, raw)
    # A trainer computes on all rows, missing rewards included; its rule defines their advantage.
    usable = dispatch.usable(plan.entry, moved) if plan.rule is None else moved["group"] >= 0
    valid, before, _ = _leave_out(plan, "before", moved, usable)
    original = dispatch.estimate(plan.entry, moved, valid, **plan.knobs)
    if not plan.entry.alone:
        by_turn = plan.entry.level == "turn"
        original = fallbacks.singletons(original, moved, valid, plan.settings.singleton, by_turn=by_turn)
    if plan.rule is None:
        original = fallbacks.missing_rewards(original, moved["group"], usable, plan.settings.missing)
    original = shaped.after(plan, original, moved)
    original, beyond = fallbacks.bounded(original, moved, valid)
    defined = ~undefined(original)
    kept, after, weights = _leave_out(plan, "after", {**moved, "advantages": original}, defined)
    if not plan.settings.keep_pos == plan.settings.keep_neg == 1:
        kept &= keep_ratio(
            torch.where(kept, original, torch.nan),
            moved["group"].clamp(min=0),
            keep_pos=plan.settings.keep_pos,
            keep_neg=plan.settings.keep_neg,
        )
    stays = (kept | ~defined) & (valid | ~usable)
    # Usually nothing is filtered: share one tensor.
    processed = original if every(stays) else torch.where(stays, original, 0.0)
    warnings = (
        *plan.warnings,
        *_no_history(plan, moved),
        *beyond,
        *shaped.lacking(plan, raw, moved, usable),
        *shaped.spoilt(plan, raw, usable & ~defined),
        *shaped.alive(plan, raw, moved),
    )
    if plan.settings.compute_new_adv:
        processed, more = _recompute(plan, moved, processed, kept, valid)
        processed, beyond = fallbacks.bounded(processed, moved, kept & valid)
        kept = kept & ~undefined(processed) if beyond else kept
        warnings += (*more, *beyond)
    if plan.shapes_tokens:
        return _per_token(plan, moved, AdvantageTable(original, original, kept, warnings))
    result = AdvantageTable(original.cpu(), processed.cpu(), kept.cpu(), warnings, before + after)
    return result if weights is None else weighing.weighted(result, weights, moved["tokens"].cpu())


def _per_token(plan: Plan, columns: Mapping[str, Tensor], result: AdvantageTable) -> AdvantageTable:
    """The advantages broadcast to tokens and shaped token by token."""
    row, counted = dispatch.token_rows(columns)
    tokens = torch.where(counted, result.original[row], torch.nan)
    tokens = shaped.after_tokens(plan, tokens, columns)
    original = dispatch.token_means(tokens, row, counted, len(result.original))
    return AdvantageTable(
        original.cpu(),
        original.cpu(),
        ~original.isnan().cpu(),
        result.warnings,
        tokens=tokens.cpu(),
        token_counts=torch.bincount(row, minlength=len(original)).cpu(),
    )


def _no_history(plan: Plan, columns: Mapping[str, Tensor]) -> tuple[str, ...]:
    """A warning if the estimator tracks prompts over steps, but no prompt occurs in two steps."""
    if plan.scope() != "order" or not {"group", "step"} <= set(plan.entry.needs):
        return ()
    groups, step = Segments.dense(columns["group"]), columns["step"].double()
    if not len(step) or step.min() == step.max() or bool((groups.min(step) != groups.max(step)).any()):
        return ()
    reason = "no prompt occurs in two steps, so there is no history to use"
    return (f"{plan.entry.name}: {reason}; name the prompt alone in --group-by",)


def _leave_out(
    plan: Plan, when: str, columns: Mapping[str, Tensor], rows: Tensor
) -> tuple[Tensor, tuple[LeftOut, ...], Tensor | None]:
    """Apply the filters of one kind.

    Args:
        plan: holds the filters.
        when: "before" or "after".
        columns: what the filters may need; [N] each.
        rows: [N] bool, the rows to filter.

    Returns:
        [N] bool, the kept rows; what each filter dropped; and [T] the product of the filters' token weights, None if no
        filter gives any.

    Raises:
        DataError: a column that a filter needs is missing.
    """
    counts = []
    weights: Tensor | None = None
    for spec in (spec for spec in plan.settings.filters if spec.when == when):
        if FILTERS[spec.name].weighs:
            kept, factors = weighing.weigh(spec, plan.settings.like, columns, rows)
            weights = factors if weights is None else weights * factors
        else:
            kept = _kept(spec, columns, rows)
        counts.append(_counted(spec, columns, rows, kept))
        rows = kept
    return rows.clone(), tuple(counts), weights


def _kept(spec: FilterSpec, columns: Mapping[str, Tensor], rows: Tensor) -> Tensor:
    """[N] bool, the rows that a filter keeps."""
    entry = FILTERS[spec.name]
    given = dict(columns)
    if spec.column is not None:
        given["rewards"] = columns[f"extra {spec.column}"]
    dispatch.needed(entry.name, (name for name in entry.needs if name != "advantages"), given)
    # Rows that lack a value the filter needs are dropped too.
    usable = rows.clone()
    for name in entry.needs:
        usable &= given[name].isfinite()
    kept = torch.zeros_like(rows)
    knobs = dispatch.fitted(entry.name, entry.target, spec.knobs)
    kept[usable] = load(entry.target)(*(given[name][usable] for name in entry.needs), **knobs)
    return kept


def _counted(spec: FilterSpec, columns: Mapping[str, Tensor], rows: Tensor, kept: Tensor) -> LeftOut:
    """How many of `rows` are not in `kept`."""
    dropped = rows & ~kept
    groups = [torch.unique(columns["group"][mask]).numel() for mask in (rows, kept)]
    lengths = columns.get("lengths")
    tokens = None if lengths is None else int(lengths[dropped].nan_to_num(nan=0.0).sum())
    return LeftOut(spec, int(dropped.sum()), groups[0] - groups[1], tokens)


def _run_tokens(plan: Plan, columns: Mapping[str, Tensor], raw: Mapping[str, Tensor]) -> AdvantageTable:
    """`_run` for an estimator with one advantage per token; no row is filtered."""
    valid = _with_tokens(plan, columns)
    original, tokens = dispatch.estimate_tokens(plan.entry, columns, valid, **plan.knobs)
    returns = None
    if plan.rule is not None and plan.rule.returns:
        returns = dispatch.estimate_tokens(plan.entry, columns, valid, returns=True, **plan.knobs)[1].cpu()
    row, counted = dispatch.token_rows(columns)
    estimated = original
    if not plan.entry.alone:
        original = fallbacks.singletons(original, columns, valid, plan.settings.singleton)
    if plan.rule is None:
        original = fallbacks.missing_rewards(original, columns["group"], valid, plan.settings.missing)
    replaced = ~torch.isclose(original, estimated, rtol=0, atol=0, equal_nan=True)
    tokens = torch.where(replaced[row] & counted, original[row], tokens)
    if plan.shapes_tokens:
        tokens = shaped.after_tokens(plan, tokens, columns)
        original = dispatch.token_means(tokens, row, counted, len(original))
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
        returns=returns,
    )


def _with_tokens(plan: Plan, columns: Mapping[str, Tensor]) -> Tensor:
    """[N] bool, the rows whose tokens get an advantage."""
    if plan.rule is None:
        return dispatch.usable(plan.entry, columns)
    return columns["group"] >= 0 if plan.entry.masked else dispatch.tokened(columns)


def _recompute(
    plan: Plan, columns: Mapping[str, Tensor], processed: Tensor, kept: Tensor, valid: Tensor
) -> tuple[Tensor, tuple[str, ...]]:
    """The advantages recomputed on the kept rows alone, and warnings."""
    filtered = any(spec.when == "after" for spec in plan.settings.filters)
    if plan.settings.keep_pos == plan.settings.keep_neg == 1 and not filtered:
        return processed, ("--compute-new-adv has no effect: both keep ratios are 1",)
    recomputed = dispatch.estimate(plan.entry, columns, kept & valid, **plan.knobs)
    recomputed = shaped.after(plan, recomputed, columns)
    group = columns["group"]
    survivors = Segments.of(group[kept & valid], int(group.max()) + 1 if len(group) else 0).size()
    had_rows = Segments.of(group[valid], len(survivors)).size() > 1
    few = int(((survivors < 2) & had_rows).sum())
    text = "Not enough samples to compute std: {}"
    warnings = (Remark(few, "group", text, text),) if few else ()
    return torch.where(recomputed.isnan(), processed, recomputed), warnings
