"""What happened step by step, and which step stands out."""

from collections.abc import Sequence

import torch
from torch import Tensor

from advcli.records.inspection import StepFigures
from advcli.records.table import Rows
from advcli.segments import Segments
from advcli.stats.health import dead_groups
from advcli.stats.metrics import step_order

# Iglewicz and Hoaglin, "How to Detect and Handle Outliers" (1993): |z| > 3.5.
OUTLIER = 3.5
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
    here = rows.group >= 0
    groups = Segments.of(rows.group[here], rows.count)
    step_of_group = groups.within(rows.step[here])
    sized = groups.size() > 0
    valid = torch.isfinite(rows.rewards) & here
    scored = Segments.of(rows.group[valid], rows.count)
    able = scored.size() > 1
    dead = dead_groups(rows.rewards[valid], scored)[0]
    size = advantages.double().abs()
    count = len(names)

    def over(mask: Tensor, values: Tensor) -> Tensor:
        return Segments.of(rows.step[mask], count).mean(values[mask])

    alive = Segments.of(step_of_group[able], count).mean((~dead[able]).double())
    defined = ~size.isnan()
    top = Segments.of(rows.step[defined], count).max(size[defined])
    top = torch.where(top.isinf() & (top < 0), torch.nan, top)
    told = torch.isfinite(rows.lengths) if rows.lengths is not None else torch.zeros_like(here)
    lengths = rows.lengths if rows.lengths is not None else torch.zeros_like(rows.rewards)
    columns = {
        "rows": torch.bincount(rows.step, minlength=count),
        "groups": torch.bincount(step_of_group[sized], minlength=count),
        "reward_mean": over(valid, rows.rewards),
        "live": alive,
        "mean_abs_adv": over(defined, size),
        "max_abs_adv": top,
        "length_mean": over(told, lengths),
    }
    there = [code for code in range(count) if columns["rows"][code]]
    order = sorted(there, key=lambda code: step_order(names[code]))
    z = dict(zip(order, robust_z(top[order]).tolist(), strict=True))
    lists = {name: column.tolist() for name, column in columns.items()}
    return tuple(
        StepFigures(
            step=names[code],
            **{name: column[code] for name, column in lists.items()},
            robust_z=z[code],
            outlier=z[code] > OUTLIER,
        )
        for code in order
    )


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
