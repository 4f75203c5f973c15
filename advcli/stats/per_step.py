"""What happened step by step, and which step stands out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from advcli.records.mergeable import Merge, Mergeable
from advcli.records.results.inspection import StepFigures
from advcli.records.table import Rows
from advcli.stats.health import dead_groups
from advcli.stats.metrics import step_order
from advcli.tensors.segments import Segments, Spread

# Iglewicz and Hoaglin, "How to Detect and Handle Outliers" (1993): |z| > 3.5.
OUTLIER = 3.5
WATCHED = ("reward_mean", "max_abs_reward", "max_abs_centred", "max_abs_adv")
"""The figures by which a step may stand out; |A| alone cannot tell, as its scale is that of the group."""
# Without a floor, any difference would be infinitely far from steps that are all the same.
_FLOOR = 0.05
_ENOUGH = 5


def per_step(rows: Rows, advantages: Tensor, names: Sequence[str]) -> tuple[StepFigures, ...]:
    """Describe each step.

    Args:
        rows: the rows of the data set.
        advantages: [N] float, NaN where undefined.
        names: the step of each code.

    Returns:
        One record per step that has rows, in ascending order of steps.
    """
    return StepCounts.of(rows, advantages, len(names)).figures(names)


@dataclass(frozen=True)
class StepCounts(Mergeable):
    """What is counted of each of S steps, such that the counts of two parts with whole groups make those of both.

    Attributes:
        rows: [S] its rows.
        groups: [S] its groups.
        able: [S] groups with two or more valid rows.
        alive: [S] those that are not dead.
        rewards: [S] sum of its rewards, and how many.
        sizes: [S] sum of its |A|, and how many.
        lengths: [S] sum of its lengths, and how many.
        top: [S] its largest |A|; -inf without any.
        centred: [S] its largest distance of a reward from the mean of its group.
        extreme: [S] its largest |reward|.
    """

    rows: Tensor
    groups: Tensor
    able: Tensor
    alive: Tensor
    rewards: tuple[Tensor, Tensor]
    sizes: tuple[Tensor, Tensor]
    lengths: tuple[Tensor, Tensor]
    top: Annotated[Tensor, Merge(torch.maximum)]
    centred: Annotated[Tensor, Merge(torch.maximum)]
    extreme: Annotated[Tensor, Merge(torch.maximum)]

    @classmethod
    def of(cls, rows: Rows, advantages: Tensor, count: int) -> "StepCounts":
        """Count; the arguments are those of `per_step`, and `count` is S."""
        here = rows.group >= 0
        groups = Segments.of(rows.group[here], rows.count)
        step_of_group = groups.parent(rows.step[here])
        valid = torch.isfinite(rows.rewards) & here
        scored = Segments.of(rows.group[valid], rows.count)
        able = scored.size() > 1
        dead = dead_groups(rows.rewards[valid], scored)[0]
        centred = Spread.of(rows.rewards[valid].double(), scored).centred().abs()
        size = advantages.double().abs()
        defined = ~size.isnan()
        has_length = torch.isfinite(rows.lengths) if rows.lengths is not None else torch.zeros_like(here)
        lengths = rows.lengths if rows.lengths is not None else torch.zeros_like(rows.rewards)

        def many(steps: Tensor) -> Tensor:
            return torch.bincount(steps, minlength=count)

        def over(mask: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
            return Segments.of(rows.step[mask], count).sum(values[mask]), many(rows.step[mask])

        return cls(
            rows=many(rows.step),
            groups=many(step_of_group[groups.size() > 0]),
            able=many(step_of_group[able]),
            alive=many(step_of_group[able & ~dead]),
            rewards=over(valid, rows.rewards),
            sizes=over(defined, size),
            lengths=over(has_length, lengths),
            top=Segments.of(rows.step[defined], count).max(size[defined]),
            centred=Segments.of(rows.step[valid], count).max(centred),
            extreme=Segments.of(rows.step[valid], count).max(rows.rewards[valid].abs()),
        )

    def figures(self, names: Sequence[str]) -> tuple[StepFigures, ...]:
        """The figures, once all rows are counted; `names` is the step of each code."""
        columns = {
            "rows": self.rows,
            "groups": self.groups,
            "reward_mean": _mean(*self.rewards),
            "live": _mean(self.alive, self.able),
            "mean_abs_adv": _mean(*self.sizes),
            "max_abs_adv": _largest(self.top),
            "max_abs_centred": _largest(self.centred),
            "max_abs_reward": _largest(self.extreme),
            "length_mean": _mean(*self.lengths),
        }
        there = torch.nonzero(self.rows).squeeze(1).tolist()
        order = sorted(there, key=lambda code: step_order(names[code]))
        z = {name: robust_z(columns[name][order]) for name in WATCHED}
        # A mean may stand out either way.
        z["reward_mean"] = z["reward_mean"].abs()
        above = {name: (values > OUTLIER).tolist() for name, values in z.items()}
        highest = torch.stack(list(z.values())).nan_to_num(nan=-torch.inf).max(dim=0).values
        lists = {name: column.tolist() for name, column in columns.items()}
        return tuple(
            StepFigures(
                step=names[code],
                **{name: column[code] for name, column in lists.items()},
                robust_z=float(highest[position]) if highest[position] > -torch.inf else torch.nan,
                stands_out=tuple(name for name in WATCHED if above[name][position]),
            )
            for position, code in enumerate(order)
        )


def _largest(values: Tensor) -> Tensor:
    """NaN where there is nothing."""
    return torch.where(values == -torch.inf, torch.nan, values)


def _mean(total: Tensor, count: Tensor) -> Tensor:
    """NaN where there is nothing."""
    return total.double() / count.double()


def robust_z(values: Tensor) -> Tensor:
    """Distance of each value from the median, in robust standard deviations.

    z = (x − median) / s, s = 1.4826 × the median distance from the median, or 1.2533 × the mean distance where more
    than half of the values are the same (Iglewicz and Hoaglin); at least 5 % of the median.

    Args:
        values: [S] float64, NaN where undefined.

    Returns:
        [S]; NaN where undefined, everywhere with fewer than five values, or if s is 0.

    Example:
        >>> [round(z, 2) for z in robust_z(torch.tensor([2.0, 2.0, 2.0, 2.0, 3.0])).tolist()]
        [0.0, 0.0, 0.0, 0.0, 3.99]
    """
    known = values[torch.isfinite(values)]
    if known.numel() < _ENOUGH:
        return torch.full_like(values, torch.nan)
    middle = known.quantile(0.5)
    distance = (known - middle).abs()
    deviation = 1.4826 * distance.quantile(0.5)
    if deviation == 0:
        deviation = 1.2533 * distance.mean()
    scale = torch.maximum(deviation, _FLOOR * middle.abs())
    return (values - middle) / scale if scale > 0 else torch.full_like(values, torch.nan)
