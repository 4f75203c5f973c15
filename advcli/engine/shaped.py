"""The reward as the estimator shall see it, and which rows have one and no advantage."""

from collections.abc import Mapping

import torch
from torch import Tensor

from advcli.engine import dispatch
from advcli.engine.plan import Plan
from advcli.estimators.catalog import COLUMNS
from advcli.registry import load
from advcli.shaping.catalog import SHAPINGS
from advcli.tensors.masks import finite
from advcli.tensors.segments import Segments
from advcli.wording import Remark, either

# Columns that every row with a reward has.
_ALWAYS = ("rewards", "group", "step", "parts", "weights", "row", "place", "counted", "token_kl")

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
    if "token_kl" in columns:
        # One advantage per token: the KL is taken off token by token. One per row: all of it off the reward.
        coef = plan.settings.shaping.get("kl", {}).get("coef", 0.0)
        if plan.entry.level == "token":
            columns |= {"token_kl": coef * columns["token_kl"], "kl": torch.zeros_like(columns["rewards"])}
        else:
            row, counted = dispatch.token_rows(columns)
            kl = torch.where(counted, columns["token_kl"], 0.0)
            columns["kl"] = Segments.of(row, len(columns["rewards"])).sum(kl)
    shapings = SHAPINGS if plan.entry.shaped is None else [SHAPINGS[name] for name in plan.entry.shaped]
    for shaping in shapings:
        if shaping.name in plan.settings.shaping:
            dispatch.needed(shaping.flag, shaping.needs, columns)
            others = (columns[name] for name in shaping.needs)
            knobs = plan.settings.shaping[shaping.name]
            columns["rewards"] = load(shaping.target)(columns["rewards"], *others, **knobs)
    return columns


def lacking(
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


def spoilt(plan: Plan, columns: Mapping[str, Tensor], undefined: Tensor) -> tuple[str, ...]:
    """Warnings about rows that have a reward and no advantage: the framework gives NaN to more than rows without one, or drops groups."""
    if plan.rule is None:
        return ()
    rule = plan.rule.per_token if plan.entry.level == "token" and plan.rule.per_token else plan.rule
    rows = columns["group"] >= 0
    absent = ~finite(columns["rewards"]) & rows
    undefined = undefined & ~absent
    hit = _reached(rule.spoils, columns, absent, rows) if rule.spoils else torch.zeros_like(rows)
    why = f"a reward and no advantage: in {rule.framework} a row without a reward makes {rule.spoils} NaN"
    dropped = f"a reward and no advantage: {rule.framework} drops their groups here"
    drops = plan.knobs.get(_THRESHOLD, -1) >= 0
    counts = ((int((undefined & hit).sum()), why), (int((undefined & ~hit).sum()) * drops, dropped))
    return tuple(
        Remark(many, "row", f"{{}} has {said}", f"{{}} have {said}") for many, said in counts if many
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
