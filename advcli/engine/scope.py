"""Which other rows the advantage of a row depends on: what must be computed in one place."""

from typing import TYPE_CHECKING

from advcli.filters.catalog import FILTERS
from advcli.frameworks.rule import GROUPED

if TYPE_CHECKING:
    from advcli.engine.run import Plan

# Rules that go through all rows in their order, step after step.
_IN_ORDER = ("advcli.frameworks.arithmetic:running_baseline",)


def crosses(plan: "Plan") -> bool:
    """Whether a plan asks for statistics of a step."""
    return "step" in plan.entry.needs and plan.knobs.get("scale") not in ("group", "none")


def reach(plan: "Plan") -> str:
    """How far the rows reach that the advantage of a row depends on.

    Returns:
        "key" (the rows of its group), "merged" (its group, and sums over its step, which can be merged), "step" or "all".
    """
    if any(FILTERS[spec.name].whole_steps for spec in plan.settings.filters):
        return "step"
    if plan.rule is None:
        if plan.entry.whole_steps:
            return "step"
        return "merged" if crosses(plan) else "key"
    if plan.entry.target in _IN_ORDER or plan.knobs.get("ragged") == "cut":
        # Cut by the largest group that there is in any step.
        return "all"
    # A framework's rule goes over the matrix of a step as the framework does.
    return "step" if "step" in plan.entry.needs and not _within_groups(plan) else "key"


def _within_groups(plan: "Plan") -> bool:
    words = {str(value) for value in plan.knobs.values()}
    return plan.entry.target == GROUPED["target"] and not any("batch" in word for word in words)
