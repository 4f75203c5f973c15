"""Shapes the rewards before the estimator and the advantages after it, and warns about rewards without an advantage."""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from advcli.common.registry import load
from advcli.common.wording import Remark, either, one_line
from advcli.engine import dispatch
from advcli.engine.plan import Plan
from advcli.records.roles import ROLES
from advcli.records.settings import ShapeSpec
from advcli.shaping import expressions, spec
from advcli.shaping.catalog import SHAPINGS
from advcli.shaping.groups import Groups
from advcli.tensors.masks import finite, some
from advcli.tensors.segments import Segments

# Columns that every row with a reward has.
_ALWAYS = frozenset({"rewards", "group", "step", "parts", "weights", "row", "place", "counted", "token_kl"})

# The knob of rules that drop groups (and singletons) by their standard deviation; below 0 nothing is dropped.
_THRESHOLD = "std_threshold"


def added_up(plan: Plan, columns: dict[str, Tensor]) -> dict[str, Tensor]:
    """The columns in the framework's dtype, with reward parts summed as it sums them; unchanged without a framework."""
    if plan.rule is None:
        return columns
    dtype = torch.float64 if plan.knobs.get("dtype") == "float64" else torch.float32
    if plan.settings.shaping:
        names = ("rewards", "kl", "token_kl")
        columns = columns | {name: columns[name].to(dtype) for name in names if name in columns}
    if not plan.rule.sums or "parts" not in columns or not _several(columns):
        return columns
    parts = columns["parts"].to(dtype)
    weighted = parts * columns["weights"].to(dtype)
    total = weighted.sum(dim=1) if plan.rule.sums == "sum" else weighted.nansum(dim=1)
    present = total.isfinite() & ~parts.isnan().all(dim=1)
    return columns | {"rewards": torch.where(present, total, torch.nan)}


def _several(columns: Mapping[str, Tensor]) -> bool:
    """Whether the reward has several parts, or one with a weight."""
    return columns["parts"].shape[1] > 1 or float(columns["weights"][0]) != 1


def shape(plan: Plan, columns: dict[str, Tensor]) -> dict[str, Tensor]:
    """The columns with shaped rewards.

    Raises:
        DataError: a column that the shaping needs is missing.
    """
    columns = dict(columns)
    steps = plan.settings.shaping
    if "token_kl" in columns:
        # With one advantage per token the KL is subtracted per token, otherwise its sum is subtracted from the reward.
        coef = next((step.knobs["coef"] for step in steps if step.name == "kl"), 0.0)
        if plan.entry.level == "token":
            columns |= {"token_kl": coef * columns["token_kl"], "kl": torch.zeros_like(columns["rewards"])}
        else:
            row, counted = dispatch.token_rows(columns)
            kl = torch.where(counted, columns["token_kl"], 0.0)
            columns["kl"] = Segments.of(row, len(columns["rewards"])).sum(kl)
    for step in steps:
        dispatch.needed(spec.said(step), spec.needs(step), columns)
    for step in _in_order(plan):
        columns["rewards"] = shaped_by(step, columns)
    return columns


def _in_order(plan: Plan) -> list[ShapeSpec]:
    """The steps before the estimator: first the user's in the order given, then the framework's own in its order."""
    steps = [step for step in plan.settings.shaping if not spec.after(step)]
    order = plan.entry.shaped
    if order is None:
        return steps
    by_user = [step for step in steps if not _of_trainer(step)]
    by_framework = [step for step in steps if step not in by_user and step.name in order]
    return [*by_user, *sorted(by_framework, key=lambda step: order.index(step.name))]


def _of_trainer(step: ShapeSpec) -> bool:
    """Whether a step is one of the trainer's own."""
    return not step.expression and SHAPINGS[step.name].of_trainer


def shaped_by(step: ShapeSpec, columns: Mapping[str, Tensor]) -> Tensor:
    """[N] the rewards after one shaping step.

    Args:
        step: the shaping step.
        columns: "rewards", "group", and what else the step needs.
    """
    rewards = columns["rewards"]
    if step.expression:
        wide = _wide(rewards)
        expression = expressions.parse(step.expression)
        extra = {text: _wide(columns[f"extra {text}"]) for text in expression.measures}
        lengths = _wide(columns["lengths"]) if "lengths" in columns else None
        result = expression.value(expressions.Rows(wide, lengths, Groups.of(wide, columns["group"]), extra))
        return torch.where(wide.isfinite(), result, wide).to(rewards.dtype)
    row = SHAPINGS[step.name]
    if row.of_trainer:
        in_dtype: Tensor = load(row.target)(rewards, *(columns[name] for name in row.needs), **step.knobs)
        return in_dtype
    # A user's reward function runs in float64, whatever dtype the trainer uses.
    others = (_wide(columns[name]) for name in row.needs)
    shaped: Tensor = load(row.target)(_wide(rewards), *others, *_inputs(step, columns), **step.knobs)
    return shaped.to(rewards.dtype)


def _inputs(step: ShapeSpec, columns: Mapping[str, Tensor]) -> Iterable[Tensor | None]:
    """The columns that a step's knobs name; None for one that isn't given."""
    for entry in SHAPINGS[step.name].inputs:
        if entry.name in step.columns:
            yield _wide(columns[f"extra {spec.measured(entry, step.columns[entry.name])}"])
        else:
            used = entry.role in columns and not (entry.weight and not step.knobs[entry.weight])
            yield _wide(columns[entry.role]) if used else None


def _wide(values: Tensor) -> Tensor:
    """Floats as float64, if the device supports it."""
    return values.double() if values.is_floating_point() and values.device.type != "mps" else values


def after(plan: Plan, advantages: Tensor, columns: Mapping[str, Tensor]) -> Tensor:
    """[N] the advantages after the steps that shape them row by row.

    Args:
        plan: what to do.
        advantages: [N] float, NaN where undefined.
        columns: as passed to the estimator.
    """
    for step in plan.settings.shaping:
        if spec.after(step) and not SHAPINGS[step.name].per_token:
            row = SHAPINGS[step.name]
            others = (_wide(columns[name]) for name in row.needs)
            result = load(row.target)(_wide(advantages), *others, *_inputs(step, columns), **step.knobs)
            advantages = result.to(advantages.dtype)
    return advantages


def after_tokens(plan: Plan, tokens: Tensor, columns: Mapping[str, Tensor]) -> Tensor:
    """[T] the advantages of tokens after the steps that shape them token by token; NaN for masked tokens.

    Args:
        plan: what to do.
        tokens: [T] float, NaN where undefined.
        columns: as passed to the estimator.
    """
    for step in plan.settings.shaping:
        if not step.expression and SHAPINGS[step.name].per_token:
            row = SHAPINGS[step.name]
            tokens = load(row.target)(tokens, *(columns[name] for name in row.needs), **step.knobs)
    return tokens


def alive(plan: Plan, raw: Mapping[str, Tensor], shaped: Mapping[str, Tensor]) -> tuple[str, ...]:
    """A remark about groups whose rewards differ only after shaping, although every statistic counts them as dead."""
    if raw["rewards"] is shaped["rewards"]:
        return ()
    used = finite(raw["rewards"]) & finite(shaped["rewards"]) & (raw["group"] >= 0)
    if not bool(used.any()):
        return ()
    segments = Segments.dense(raw["group"][used])
    before, after_ = (
        segments.max(values[used]) - segments.min(values[used])
        for values in (raw["rewards"], shaped["rewards"])
    )
    count = int(((before == 0) & (after_ > 0)).sum())
    if not count or all(map(_of_trainer, plan.settings.shaping)):
        return ()
    text = "counted as dead but live after reward shaping"
    return (Remark(count, "group", f"{{}} is {text}", f"{{}} are {text}"),)


def lacking(
    plan: Plan, raw: Mapping[str, Tensor], shaped: Mapping[str, Tensor], usable: Tensor
) -> tuple[str, ...]:
    """A warning about rows that have a reward but lack something else the estimator needs; no statistic shows why."""
    steps = plan.settings.shaping
    if not steps and "parts" not in plan.entry.needs and _ALWAYS.issuperset(plan.entry.needs):
        return ()
    needs = [name for step in steps for name in spec.needs(step)]
    names = [name for name in (*plan.entry.needs, *needs) if name not in _ALWAYS]
    measured = spec.measures(steps)
    if not (names or measured) and raw["rewards"] is shaped["rewards"]:
        # Nothing else is needed.
        return ()
    rewarded = finite(raw["rewards"]) & (raw["group"] >= 0)
    count = int((rewarded & (~usable | ~torch.isfinite(shaped["rewards"]))).sum())
    if not count:
        return ()
    columns = [ROLES[name].what for name in dict.fromkeys(names)]
    what = either([*columns, *(one_line(text, 40, str) for text in measured)]) or "what is needed"
    one, more = (
        f"{{}} {verb} {what}: no advantage" for verb in ("has a reward but lacks", "have a reward but lack")
    )
    return (Remark(count, "row", one, more),)


def spoilt(plan: Plan, columns: Mapping[str, Tensor], undefined: Tensor) -> tuple[str, ...]:
    """Warnings about rows with a reward but no advantage, because the framework gives them NaN or drops their group."""
    if plan.rule is None:
        return ()
    rule = plan.rule.per_token if plan.entry.level == "token" and plan.rule.per_token else plan.rule
    if not some(undefined):
        return ()
    rows = columns["group"] >= 0
    absent = ~finite(columns["rewards"]) & rows
    undefined = undefined & ~absent
    affected = _affected(rule.spoils, columns, absent, rows) if rule.spoils else torch.zeros_like(rows)
    why = f"a reward but no advantage: in {rule.framework} a row without a reward makes {rule.spoils} NaN"
    dropped = f"a reward but no advantage: {rule.framework} drops their groups here"
    drops = plan.knobs.get(_THRESHOLD, -1) >= 0
    counts = ((int((undefined & affected).sum()), why), (int((undefined & ~affected).sum()) * drops, dropped))
    return tuple(
        Remark(count, "row", f"{{}} has {text}", f"{{}} have {text}") for count, text in counts if count
    )


def _affected(what: str, columns: Mapping[str, Tensor], absent: Tensor, rows: Tensor) -> Tensor:
    """[N] bool, the rows affected by a row without a reward: those of its group, of its step, or all."""
    of = {"its group": columns["group"], "its batch": columns["step"]}.get(what)
    if of is None:
        return torch.full_like(rows, bool(absent.any()))
    affected = torch.zeros_like(rows)
    segments = Segments.dense(of[rows])
    affected[rows] = segments.rows(segments.max(absent[rows].double())) > 0
    return affected
