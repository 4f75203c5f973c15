"""Dead groups to which a framework's arithmetic gives an advantage."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from advcli.common.errors import AdvcliError
from advcli.engine.plan import Plan
from advcli.engine.run import run
from advcli.frameworks.catalog import find, frameworks
from advcli.records.results.inspection import Phantoms
from advcli.records.settings import Settings
from advcli.stats.health import dead_groups
from advcli.tensors.masks import rewarded
from advcli.tensors.segments import Segments


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


@dataclass(frozen=True)
class Part:
    """What has to be known of a data set of which only some whole groups are here.

    Attributes:
        once: numbers of rows, and of valid rows, that only one of its groups has.
        sizes: numbers of rows that its groups have.
        whole_steps: whether its steps are whole.
        uneven: whether its groups are of several sizes.
    """

    once: tuple[frozenset[int], frozenset[int]]
    sizes: frozenset[int]
    whole_steps: bool
    uneven: bool


def dead_rows(rewards: Tensor, group: Tensor, count: int) -> Tensor:
    """[N] bool: the rows of dead groups, those without a reward included."""
    valid = rewarded(rewards, group)
    dead = dead_groups(rewards[valid], Segments.of(group[valid], count))[0]
    return (group >= 0) & dead[group.clamp(min=0)] if count else torch.zeros_like(valid)


def arithmetics(
    columns: Mapping[str, Tensor], dead: Tensor, part: Part | None = None
) -> tuple[Arithmetic, ...]:
    """What the first rule of every framework gives to dead groups.

    A rule that looks at groups only is run on some of the dead groups: what it gives to the k-th of n equal rewards
    does not depend on which group they are of. One that looks at the batch is run on all rows.

    Args:
        columns: what an estimator may need, as `DataSet.columns` gives it.
        dead: [N] bool, the rows of dead groups.
        part: what has to be known of the other groups, where these are not all.
    """
    rows, own = len(dead), columns
    if part is not None:
        columns, dead = _with_twins(columns, dead, part)
    rewards, group = columns["rewards"], columns["group"]
    standing, stands_for = _representatives(rewards, group, dead)
    here = torch.nonzero(dead & torch.isfinite(rewards)).squeeze(1)
    told_by = _same_position(group, stands_for)[here]
    known: dict[tuple[object, ...], Arithmetic] = {}
    result = []
    for framework in frameworks():
        if find(framework).level != "row":
            # A group of turns is not dead by its rewards alone.
            continue
        plan = Plan.of(Settings(like=framework))
        key = (plan.entry.target, *sorted((knob, str(value)) for knob, value in plan.knobs.items()))
        if key not in known and part is not None and _scattered(plan, part):
            known[key] = Arithmetic("", None, "a step is split over several partitions")
        elif key not in known:
            per_group = plan.scope() == "group"
            # What is made up is no part of a step.
            got, skipped = (
                _computed(plan, columns, standing)
                if per_group
                else _computed(plan, own, torch.ones(rows, dtype=torch.bool))
            )
            if per_group and got is not None:
                got[here] = got[told_by]
            known[key] = Arithmetic(
                "", None if got is None else got[:rows].masked_fill(~dead[:rows], torch.nan), skipped
            )
        result.append(replace(known[key], rule=plan.entry.name))
    return tuple(result)


def _scattered(plan: Plan, part: Part) -> bool:
    """Whether a rule looks at steps that are not whole."""
    return not part.whole_steps and plan.scope(uneven=part.uneven) != "group"


def _with_twins(
    columns: Mapping[str, Tensor], dead: Tensor, part: Part
) -> tuple[Mapping[str, Tensor], Tensor]:
    """The same rows, with those groups twice that are the only ones of their size here, but not in the data set.

    See `_two_of_each_size`: a group alone gets other numbers than beside another one, and groups of one size than
    beside others. So groups of a size that is not here are made up, of copies of a row.
    """
    rewards, group = columns["rewards"], columns["group"]
    count = int(group.max()) + 1 if len(group) else 0
    masks = (group >= 0, rewarded(rewards, group))
    sizes = [Segments.of(group[mask], count).size() for mask in masks]
    lonely = torch.zeros(count, dtype=torch.bool)
    for size, once in zip(sizes, part.once, strict=True):
        of_size = torch.bincount(size)[size] if count else size
        known = torch.isin(size, torch.tensor(sorted(once), dtype=size.dtype))
        lonely |= (of_size == 1) & ~known & (sizes[0] > 1) & (size > 1)
    if not count:
        return columns, dead
    twins = torch.nonzero((group >= 0) & lonely[group.clamp(min=0)]).squeeze(1)
    absent = sorted(size for size in part.sizes - set(sizes[0].tolist()) if size <= len(dead))
    made_up = torch.tensor([size for size in absent for _ in range(1 if size in part.once[0] else 2)])
    row = torch.nonzero(masks[1] if masks[1].any() else masks[0])[0]
    added = torch.cat([twins, row.expand(int(made_up.sum()))])
    new = torch.arange(len(made_up)).repeat_interleave(made_up.long()) + 2 * count
    longer = {
        name: torch.cat([column, column[added]]) if len(column) == len(dead) else column
        for name, column in columns.items()
    }
    group = torch.cat([group, group[twins] + count, new])
    # Without a gap, as groups are numbered.
    there = group >= 0
    group[there] = torch.unique(group[there], return_inverse=True)[1]
    longer["group"] = group
    return longer, torch.cat([dead, dead[twins], torch.zeros(len(new), dtype=torch.bool)])


def _representatives(rewards: Tensor, group: Tensor, dead: Tensor) -> tuple[Tensor, Tensor]:
    """One dead group for each reward and size; a group with a missing reward stands for itself.

    Returns:
        [N] bool, the rows to compute: of the groups that stand for others, and of some beside them; [G] int64, which
        group each group is told by.
    """
    count = int(group.max()) + 1 if len(group) else 0
    there, valid = group >= 0, rewarded(rewards, group)
    rows, scored = (Segments.of(group[mask], count).size() for mask in (there, valid))
    stands_for = torch.arange(count)
    level = Segments.of(group[dead & valid], count).max(rewards[dead & valid])
    whole = torch.nonzero((level > -torch.inf) & (rows == scored)).squeeze(1)
    code = torch.unique(level[whole], return_inverse=True)[1] * (int(rows.max()) + 1 if count else 1)
    kind = torch.unique(code + rows[whole], return_inverse=True)[1]
    first = Segments.of(kind).parent(whole)
    stands_for[whole] = first[kind]
    wanted = _two_of_each_size(rows, scored)
    wanted[torch.unique(stands_for[group[dead]])] = True
    return there & wanted[group.clamp(min=0)] if count else there, stands_for


def _same_position(group: Tensor, stands_for: Tensor) -> Tensor:
    """[N] int64, for each row of a group the row at its position in the group that stands for its own.

    NeMo-RL's products round differently from row to row of a group of equal rewards, so no row tells for another.
    """
    order = torch.argsort(group, stable=True)
    order = order[group[order] >= 0]
    sorted_groups = Segments.of(group[order], len(stands_for))
    size = sorted_groups.size()
    start = torch.cumsum(size, dim=0) - size
    told_by = torch.arange(len(group))
    told_by[order] = order[start[stands_for[group[order]]] + sorted_groups.position()]
    return told_by


def _two_of_each_size(rows: Tensor, valid: Tensor) -> Tensor:
    """[G] bool: groups that let every size appear twice, if it does at all.

    torch sums a matrix with one row in another order than a matrix with several, and so do the trainers, so a
    group gets the same number only beside another group of its size, with or without its missing rows.
    """
    chosen = torch.zeros_like(rows, dtype=torch.bool)
    for size in (rows, valid):
        able = torch.nonzero((rows > 1) & (size > 1)).squeeze(1)
        order = able[torch.argsort(size[able], stable=True)]
        ascending = size[order]
        third = torch.zeros_like(ascending, dtype=torch.bool)
        third[2:] = ascending[2:] == ascending[:-2]
        chosen[order[~third]] = True
    return chosen


def _computed(plan: Plan, columns: Mapping[str, Tensor], rows: Tensor) -> tuple[Tensor | None, str]:
    """[N] float64 what the plan gives to some of the rows, NaN on the others; or None and why not."""
    # Without columns of tokens, so that every rule gives one advantage per row.
    wanted = {"rewards", "group", "step", *plan.entry.needs}
    absent = sorted(wanted - set(columns))
    if absent:
        return None, f"needs {', '.join(absent)}"
    out = torch.full(rows.shape, torch.nan, dtype=torch.float64)
    if not rows.any():
        return out, ""
    given = {
        name: columns[name][rows] if len(columns[name]) == len(rows) else columns[name] for name in wanted
    }
    try:
        out[rows] = run(plan, given).original.double()
    except AdvcliError as error:
        return None, error.message
    return out, ""


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


def together(one: Phantoms, two: Phantoms) -> Phantoms:
    """What `counted` gives for two parts with whole groups together; skipped if it was skipped in either."""
    skipped = one.skipped or two.skipped
    if skipped:
        return Phantoms(one.rule, 0, 0, 0.0, skipped)
    return Phantoms(
        one.rule, one.groups + two.groups, one.rows + two.rows, max(one.max_abs_adv, two.max_abs_adv)
    )
