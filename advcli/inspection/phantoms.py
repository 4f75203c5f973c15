"""Dead groups to which a framework's arithmetic gives an advantage."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from advcli.advantages import Plan, run
from advcli.errors import AdvcliError
from advcli.frameworks.catalog import frameworks
from advcli.records import Phantoms, Settings
from advcli.segments import Segments
from advcli.stats.health import dead_groups

# Functions that look at nothing but the group of a row, unless a knob sends them to the batch.
_PER_GROUP = ("standardised", "leave_one_out")


@dataclass(frozen=True)
class Arithmetic:
    """What one rule gives to the rows of dead groups.

    Attributes:
        rule: framework and estimator.
        advantages: [N] float, NaN outside dead groups and where undefined; None if it was not computed.
        skipped: why not.
    """

    rule: str
    advantages: Tensor | None
    skipped: str = ""


def dead_rows(rewards: Tensor, group: Tensor, count: int) -> Tensor:
    """[N] bool: the rows of dead groups, those without a reward included."""
    valid = torch.isfinite(rewards) & (group >= 0)
    dead = dead_groups(rewards[valid], Segments.of(group[valid], count))[0]
    return (group >= 0) & dead[group.clamp(min=0)] if count else torch.zeros_like(valid)


def arithmetics(columns: Mapping[str, Tensor], dead: Tensor) -> tuple[Arithmetic, ...]:
    """What the first rule of every framework gives to dead groups.

    A rule that looks at groups only is run on the rows of dead groups alone; one that looks at the batch on all.

    Args:
        columns: what an estimator may need, as `DataSet.columns` gives it.
        dead: [N] bool, the rows of dead groups.
    """
    known: dict[tuple[object, ...], Arithmetic] = {}
    found = []
    for framework in frameworks():
        plan = Plan.of(Settings(like=framework))
        name = plan.entry.name
        key = (plan.entry.target, *sorted((knob, str(value)) for knob, value in plan.knobs.items()))
        if key not in known:
            known[key] = _computed(name, plan, columns, dead)
        found.append(Arithmetic(name, known[key].advantages, known[key].skipped))
    return tuple(found)


def _computed(name: str, plan: Plan, columns: Mapping[str, Tensor], dead: Tensor) -> Arithmetic:
    per_group = plan.entry.target.rpartition(":")[2] in _PER_GROUP and not any(
        str(value).startswith("batch") for value in plan.knobs.values()
    )
    rows = dead if per_group else torch.ones_like(dead)
    # Without columns of tokens, so that every rule gives one advantage per row.
    wanted = {"rewards", "group", "step", *plan.entry.needs}
    absent = sorted(wanted - set(columns))
    if absent:
        return Arithmetic(name, None, f"needs {', '.join(absent)}")
    given = {name: columns[name][rows] if len(columns[name]) == len(rows) else columns[name] for name in wanted}
    out = torch.full(dead.shape, torch.nan, dtype=torch.float64)
    if not rows.any():
        return Arithmetic(name, out)
    try:
        out[rows] = run(plan, given).original.double()
    except AdvcliError as error:
        return Arithmetic(name, None, error.message)
    return Arithmetic(name, torch.where(dead, out, torch.nan))


def counted(arithmetic: Arithmetic, rows: Tensor, group: Tensor) -> Phantoms:
    """Count the phantom advantages of some rows.

    Args:
        arithmetic: what a rule gives to the rows of dead groups.
        rows: [N] bool, the rows to look at.
        group: [N] int64, the group of each row.
    """
    if arithmetic.advantages is None:
        return Phantoms(arithmetic.rule, 0, 0, 0.0, arithmetic.skipped)
    size = torch.where(rows, arithmetic.advantages.abs(), torch.nan).nan_to_num(nan=0.0, posinf=torch.inf)
    hit = size > 0
    return Phantoms(
        arithmetic.rule,
        groups=torch.unique(group[hit]).numel(),
        rows=int(hit.sum()),
        max_abs_adv=float(size.max()) if size.numel() else 0.0,
    )
