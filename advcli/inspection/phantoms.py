"""Phantom advantages: dead groups to which a framework's arithmetic gives a nonzero advantage."""

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
    """The advantages of dead groups under a rule.

    Attributes:
        rule: framework and estimator.
        advantages: [N] float, NaN outside dead groups and where undefined; None if not computed.
        skipped: why it was not computed; "" if it was.
    """

    rule: str
    advantages: Tensor | None
    skipped: str = ""


@dataclass(frozen=True)
class Part:
    """Facts about a data set of which only a part with whole groups is available.

    Attributes:
        once: numbers of rows, and of valid rows, that occur in only one of its groups.
        sizes: numbers of rows that occur in its groups.
        whole_steps: whether its steps are not split.
        uneven: whether its groups have several sizes.
    """

    once: tuple[frozenset[int], frozenset[int]]
    sizes: frozenset[int]
    whole_steps: bool
    uneven: bool


def dead_rows(rewards: Tensor, group: Tensor, count: int) -> Tensor:
    """[N] bool: the rows of dead groups, including those without a reward."""
    valid = rewarded(rewards, group)
    dead = dead_groups(rewards[valid], Segments.of(group[valid], count))[0]
    return (group >= 0) & dead[group.clamp(min=0)] if count else torch.zeros_like(valid)


def arithmetics(
    columns: Mapping[str, Tensor], dead: Tensor, part: Part | None = None
) -> tuple[Arithmetic, ...]:
    """The advantages of dead groups under the first rule of every framework.

    A rule that only uses groups is run on representative dead groups: its result for the k-th of n equal rewards
    does not depend on the group. A rule that uses the batch is run on all rows.

    Args:
        columns: the inputs of estimators, from `DataSet.columns`.
        dead: [N] bool, the rows of dead groups.
        part: facts about the other groups, if the rows are only a part of the data set.
    """
    rows, own = len(dead), columns
    if part is not None:
        columns, dead = _with_twins(columns, dead, part)
    rewards, group = columns["rewards"], columns["group"]
    selected, representative = _representatives(rewards, group, dead)
    dead_at = torch.nonzero(dead & torch.isfinite(rewards)).squeeze(1)
    copied_from = _same_position(group, representative)[dead_at]
    known: dict[tuple[object, ...], Arithmetic] = {}
    result = []
    for framework in frameworks():
        if find(framework).level != "row":
            # Whether a group of turns is dead does not depend on its rewards alone.
            continue
        plan = Plan.of(Settings(like=framework))
        key = (plan.entry.target, *sorted((knob, str(value)) for knob, value in plan.knobs.items()))
        if key not in known and part is not None and _scattered(plan, part):
            known[key] = Arithmetic("", None, "a step is split over several partitions")
        elif key not in known:
            per_group = plan.scope() == "group"
            # Synthetic groups don't belong to any step.
            values, skipped = (
                _computed(plan, columns, selected)
                if per_group
                else _computed(plan, own, torch.ones(rows, dtype=torch.bool))
            )
            if per_group and values is not None:
                values[dead_at] = values[copied_from]
            known[key] = Arithmetic(
                "", None if values is None else values[:rows].masked_fill(~dead[:rows], torch.nan), skipped
            )
        result.append(replace(known[key], rule=plan.entry.name))
    return tuple(result)


def _scattered(plan: Plan, part: Part) -> bool:
    """Whether a rule uses steps that are split."""
    return not part.whole_steps and plan.scope(uneven=part.uneven) != "group"


def _with_twins(
    columns: Mapping[str, Tensor], dead: Tensor, part: Part
) -> tuple[Mapping[str, Tensor], Tensor]:
    """The rows, plus copies of groups that are the only ones of their size in this part, but not in the data set.

    See `_two_of_each_size`: the numbers of a group depend on whether there is another group of its size, and other
    sizes. So groups of sizes that are missing here are synthesized from copies of a row.
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
    synthetic = torch.tensor([size for size in absent for _ in range(1 if size in part.once[0] else 2)])
    row = torch.nonzero(masks[1] if masks[1].any() else masks[0])[0]
    added = torch.cat([twins, row.expand(int(synthetic.sum()))])
    new = torch.arange(len(synthetic)).repeat_interleave(synthetic.long()) + 2 * count
    extended = {
        name: torch.cat([column, column[added]]) if len(column) == len(dead) else column
        for name, column in columns.items()
    }
    group = torch.cat([group, group[twins] + count, new])
    # Renumbered without gaps.
    grouped = group >= 0
    group[grouped] = torch.unique(group[grouped], return_inverse=True)[1]
    extended["group"] = group
    return extended, torch.cat([dead, dead[twins], torch.zeros(len(new), dtype=torch.bool)])


def _representatives(rewards: Tensor, group: Tensor, dead: Tensor) -> tuple[Tensor, Tensor]:
    """Choose one dead group for each reward and size; a group with a missing reward represents itself.

    Returns:
        [N] bool, the rows to compute: those of the representatives, and of some groups next to them; [G] int64, the
        representative of each group.
    """
    count = int(group.max()) + 1 if len(group) else 0
    grouped, valid = group >= 0, rewarded(rewards, group)
    rows, scored = (Segments.of(group[mask], count).size() for mask in (grouped, valid))
    representative = torch.arange(count)
    level = Segments.of(group[dead & valid], count).max(rewards[dead & valid])
    whole = torch.nonzero((level > -torch.inf) & (rows == scored)).squeeze(1)
    code = torch.unique(level[whole], return_inverse=True)[1] * (int(rows.max()) + 1 if count else 1)
    kind = torch.unique(code + rows[whole], return_inverse=True)[1]
    first = Segments.of(kind).parent(whole)
    representative[whole] = first[kind]
    wanted = _two_of_each_size(rows, scored)
    wanted[torch.unique(representative[group[dead]])] = True
    return grouped & wanted[group.clamp(min=0)] if count else grouped, representative


def _same_position(group: Tensor, representative: Tensor) -> Tensor:
    """[N] int64, for each row the row at the same position in the representative of its group.

    Positions matter: NeMo-RL's products round differently from row to row, even in a group of equal rewards.
    """
    order = torch.argsort(group, stable=True)
    order = order[group[order] >= 0]
    sorted_groups = Segments.of(group[order], len(representative))
    size = sorted_groups.size()
    start = torch.cumsum(size, dim=0) - size
    result = torch.arange(len(group))
    result[order] = order[start[representative[group[order]]] + sorted_groups.position()]
    return result


def _two_of_each_size(rows: Tensor, valid: Tensor) -> Tensor:
    """[G] bool: two groups of each size, or one if there is only one.

    torch sums a one-row matrix in another order than a matrix with several rows, and so do trainers, so a
    group gets the same numbers only next to another group of its size, with or without its missing rows.
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
    """[N] float64 the plan's advantages of the selected rows, NaN for the others; or None and the reason."""
    # Token columns are left out, so that every rule gives one advantage per row.
    wanted = {"rewards", "group", "step", *plan.entry.needs}
    absent = sorted(wanted - set(columns))
    if absent:
        return None, f"needs {', '.join(absent)}"
    out = torch.full(rows.shape, torch.nan, dtype=torch.float64)
    if not rows.any():
        return out, ""
    inputs = {
        name: columns[name][rows] if len(columns[name]) == len(rows) else columns[name] for name in wanted
    }
    try:
        out[rows] = run(plan, inputs).original.double()
    except AdvcliError as error:
        return None, error.message
    return out, ""


def counted(arithmetic: Arithmetic, rows: Tensor, group: Tensor) -> Phantoms:
    """Count phantom advantages.

    Args:
        arithmetic: the advantages of dead groups under a rule.
        rows: [N] bool, the rows to check.
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
    """Merge the counts of two parts with whole groups; skipped if it was skipped in either."""
    skipped = one.skipped or two.skipped
    if skipped:
        return Phantoms(one.rule, 0, 0, 0.0, skipped)
    return Phantoms(
        one.rule, one.groups + two.groups, one.rows + two.rows, max(one.max_abs_adv, two.max_abs_adv)
    )
