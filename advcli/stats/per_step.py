"""Statistics of each step, and which steps stand out."""

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
"""The figures by which a step may stand out; |A| alone isn't enough, since it is scaled per group."""
# Smallest scale relative to the median, so that steps with equal values don't make any deviation infinite.
_FLOOR = 0.05
_ENOUGH = 5


def per_step(rows: Rows, advantages: Tensor, names: Sequence[str]) -> tuple[StepFigures, ...]:
    """Describe each step.

    Args:
        rows: the rows of the data set.
        advantages: [N] float, NaN where undefined.
        names: the step of each code.

    Returns:
        One record per step with rows, in ascending order of steps.
    """
    return StepCounts.of(rows, advantages, len(names)).figures(names)


@dataclass(frozen=True)
class StepCounts(Mergeable):
    """Counts for each of S steps, mergeable across parts with whole groups.

    Attributes:
        rows: [S] number of rows.
        groups: [S] number of groups.
        able: [S] groups with two or more valid rows.
        alive: [S] those that are live.
        rewards: [S] sum and number of rewards.
        sizes: [S] sum and number of |A|.
        lengths: [S] sum and number of lengths.
        top: [S] largest |A|; -inf if there is none.
        centred: [S] largest distance of a reward from its group's mean.
        extreme: [S] largest |reward|.
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
        """Count; arguments as in `per_step`, and `count` is S."""
        grouped = rows.group >= 0
        groups = Segments.of(rows.group[grouped], rows.count)
        step_of_group = groups.parent(rows.step[grouped])
        valid = torch.isfinite(rows.rewards) & grouped
        scored = Segments.of(rows.group[valid], rows.count)
        able = scored.size() > 1
        dead = dead_groups(rows.rewards[valid], scored)[0]
        centred = Spread.of(rows.rewards[valid].double(), scored).centred().abs()
        size = advantages.double().abs()
        defined = ~size.isnan()
        has_length = torch.isfinite(rows.lengths) if rows.lengths is not None else torch.zeros_like(grouped)
        lengths = rows.lengths if rows.lengths is not None else torch.zeros_like(rows.rewards)

        def tally(steps: Tensor) -> Tensor:
            return torch.bincount(steps, minlength=count)

        def over(mask: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
            return Segments.of(rows.step[mask], count).sum(values[mask]), tally(rows.step[mask])

        return cls(
            rows=tally(rows.step),
            groups=tally(step_of_group[groups.size() > 0]),
            able=tally(step_of_group[able]),
            alive=tally(step_of_group[able & ~dead]),
            rewards=over(valid, rows.rewards),
            sizes=over(defined, size),
            lengths=over(has_length, lengths),
            top=Segments.of(rows.step[defined], count).max(size[defined]),
            centred=Segments.of(rows.step[valid], count).max(centred),
            extreme=Segments.of(rows.step[valid], count).max(rows.rewards[valid].abs()),
        )

    def figures(self, names: Sequence[str]) -> tuple[StepFigures, ...]:
        """The figures from the counts; `names` is the step of each code."""
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
        codes = torch.nonzero(self.rows).squeeze(1).tolist()
        order = sorted(codes, key=lambda code: step_order(names[code]))
        z = {name: robust_z(columns[name][order]) for name in WATCHED}
        # A mean may stand out in either direction.
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
    """The largest values; NaN for an empty step."""
    return torch.where(values == -torch.inf, torch.nan, values)


def _mean(total: Tensor, count: Tensor) -> Tensor:
    """The mean; NaN for an empty step."""
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
