"""The reward as the estimator sees it, the advantage as it is shaped after, and which rows have a reward and no advantage."""

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

# The knob of the rules that drop a group by its standard deviation, and groups of one with it; below 0 none is.
_THRESHOLD = "std_threshold"


def added_up(plan: Plan, columns: dict[str, Tensor]) -> dict[str, Tensor]:
    """The columns in the dtype of the framework, its rewards added up as it does; as they are without a framework."""
    if plan.rule is None:
        return columns
    wide = torch.float64 if plan.knobs.get("dtype") == "float64" else torch.float32
    if plan.settings.shaping:
        names = ("rewards", "kl", "token_kl")
        columns = columns | {name: columns[name].to(wide) for name in names if name in columns}
    if not plan.rule.sums or "parts" not in columns or not _several(columns):
        return columns
    parts = columns["parts"].to(wide)
    weighted = parts * columns["weights"].to(wide)
    total = weighted.sum(dim=1) if plan.rule.sums == "sum" else weighted.nansum(dim=1)
    there = total.isfinite() & ~parts.isnan().all(dim=1)
    return columns | {"rewards": torch.where(there, total, torch.nan)}


def _several(columns: Mapping[str, Tensor]) -> bool:
    """Whether the reward is made of several, or of one with a weight."""
    return columns["parts"].shape[1] > 1 or float(columns["weights"][0]) != 1


def shape(plan: Plan, columns: dict[str, Tensor]) -> dict[str, Tensor]:
    """The columns with the rewards as the estimator shall see them.

    Raises:
        DataError: a column that the shaping needs is not there.
    """
    columns = dict(columns)
    steps = plan.settings.shaping
    if "token_kl" in columns:
        # One advantage per token: the KL is taken off token by token. One per row: all of it off the reward.
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
    """The steps before the estimator: as they were asked for, but for those that are steps of the framework, in its order."""
    steps = [step for step in plan.settings.shaping if not spec.after(step)]
    order = plan.entry.shaped
    if order is None:
        return steps
    of_anyone = [step for step in steps if not _of_trainer(step)]
    own = [step for step in steps if step not in of_anyone and step.name in order]
    return [*of_anyone, *sorted(own, key=lambda step: order.index(step.name))]


def _of_trainer(step: ShapeSpec) -> bool:
    """Whether a step is one of the trainer's own."""
    return not step.expression and SHAPINGS[step.name].of_trainer


def shaped_by(step: ShapeSpec, columns: Mapping[str, Tensor]) -> Tensor:
    """[N] the rewards after one step.

    Args:
        step: what to do.
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
        own: Tensor = load(row.target)(rewards, *(columns[name] for name in row.needs), **step.knobs)
        return own
    # A function of the user's own runs in Python's numbers, whatever the trainer computes in.
    others = (_wide(columns[name]) for name in row.needs)
    shaped: Tensor = load(row.target)(_wide(rewards), *others, *_inputs(step, columns), **step.knobs)
    return shaped.to(rewards.dtype)


def _inputs(step: ShapeSpec, columns: Mapping[str, Tensor]) -> Iterable[Tensor | None]:
    """The columns that the knobs of a step name; None for one that is not given."""
    for one in SHAPINGS[step.name].inputs:
        if one.name in step.columns:
            yield _wide(columns[f"extra {spec.measured(one, step.columns[one.name])}"])
        else:
            there = one.role in columns and not (one.weight and not step.knobs[one.weight])
            yield _wide(columns[one.role]) if there else None


def _wide(values: Tensor) -> Tensor:
    """Floats as float64, where the device has it."""
    return values.double() if values.is_floating_point() and values.device.type != "mps" else values


def after(plan: Plan, advantages: Tensor, columns: Mapping[str, Tensor]) -> Tensor:
    """[N] the advantages after the steps that shape them row by row.

    Args:
        plan: what to do.
        advantages: [N] float, NaN where undefined.
        columns: as the estimator had them.
    """
    for step in plan.settings.shaping:
        if spec.after(step) and not SHAPINGS[step.name].per_token:
            row = SHAPINGS[step.name]
            others = (_wide(columns[name]) for name in row.needs)
            result = load(row.target)(_wide(advantages), *others, *_inputs(step, columns), **step.knobs)
            advantages = result.to(advantages.dtype)
    return advantages


def after_tokens(plan: Plan, tokens: Tensor, columns: Mapping[str, Tensor]) -> Tensor:
    """[T] the advantages of tokens after the steps that shape them token by token; NaN where a token does not count.

    Args:
        plan: what to do.
        tokens: [T] float, NaN where undefined.
        columns: as the estimator had them.
    """
    for step in plan.settings.shaping:
        if not step.expression and SHAPINGS[step.name].per_token:
            row = SHAPINGS[step.name]
            tokens = load(row.target)(tokens, *(columns[name] for name in row.needs), **step.knobs)
    return tokens


def alive(plan: Plan, raw: Mapping[str, Tensor], shaped: Mapping[str, Tensor]) -> tuple[str, ...]:
    """A word about groups whose rewards are equal in the dump and differ once they are shaped: every figure calls them dead."""
    if raw["rewards"] is shaped["rewards"]:
        return ()
    used = finite(raw["rewards"]) & finite(shaped["rewards"]) & (raw["group"] >= 0)
    if not bool(used.any()):
        return ()
    segments = Segments.dense(raw["group"][used])
    before, behind = (
        segments.max(values[used]) - segments.min(values[used])
        for values in (raw["rewards"], shaped["rewards"])
    )
    count = int(((before == 0) & (behind > 0)).sum())
    if not count or all(map(_of_trainer, plan.settings.shaping)):
        return ()
    rest = "counted as dead, and alive once the rewards are shaped"
    return (Remark(count, "group", f"{{}} is {rest}", f"{{}} are {rest}"),)


def lacking(
    plan: Plan, raw: Mapping[str, Tensor], shaped: Mapping[str, Tensor], usable: Tensor
) -> tuple[str, ...]:
    """A warning about rows that have a reward, and nothing else that is needed: no statistic shows why."""
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
    said = f"a reward but not {what}: no advantage"
    return (Remark(count, "row", f"{{}} has {said}", f"{{}} have {said}"),)


def spoilt(plan: Plan, columns: Mapping[str, Tensor], undefined: Tensor) -> tuple[str, ...]:
    """Warnings about rows with a reward and without an advantage, where the framework gives them NaN or drops groups."""
    if plan.rule is None:
        return ()
    rule = plan.rule.per_token if plan.entry.level == "token" and plan.rule.per_token else plan.rule
    if not some(undefined):
        return ()
    rows = columns["group"] >= 0
    absent = ~finite(columns["rewards"]) & rows
    undefined = undefined & ~absent
    hit = _reached(rule.spoils, columns, absent, rows) if rule.spoils else torch.zeros_like(rows)
    why = f"a reward and no advantage: in {rule.framework} a row without a reward makes {rule.spoils} NaN"
    dropped = f"a reward and no advantage: {rule.framework} drops their groups here"
    drops = plan.knobs.get(_THRESHOLD, -1) >= 0
    counts = ((int((undefined & hit).sum()), why), (int((undefined & ~hit).sum()) * drops, dropped))
    return tuple(
        Remark(count, "row", f"{{}} has {said}", f"{{}} have {said}") for count, said in counts if count
    )


def _reached(what: str, columns: Mapping[str, Tensor], absent: Tensor, rows: Tensor) -> Tensor:
    """[N] bool, the rows that a row without a reward reaches: those of its group, of its step, or all."""
    of = {"its group": columns["group"], "its batch": columns["step"]}.get(what)
    if of is None:
        return torch.full_like(rows, bool(absent.any()))
    hit = torch.zeros_like(rows)
    segments = Segments.dense(of[rows])
    hit[rows] = segments.rows(segments.max(absent[rows].double())) > 0
    return hit
