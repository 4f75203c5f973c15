"""Which other rows the advantage of a row depends on: what must be computed in one place."""

from typing import TYPE_CHECKING

from advcli.filters.catalog import FILTERS

if TYPE_CHECKING:
    from advcli.engine.run import Plan


def crosses(plan: "Plan") -> bool:
    """Whether a plan asks for statistics of a step."""
    return plan.scope() == "step"


def reach(plan: "Plan") -> str:
    """How far the rows reach that the advantage of a row depends on.

    Returns:
        "key" (the rows of its group), "merged" (its group, and sums over its step, which can be merged), "step" or "all".
    """
    if any(FILTERS[spec.name].whole_steps for spec in plan.settings.filters):
        return "step"
    scope = plan.scope()
    if plan.rule is None:
        if plan.entry.whole_steps:
            return "step"
        return "merged" if scope == "step" else "key"
    # A framework's rule goes over the matrix of a step as the framework does.
    return {"group": "key", "step": "step"}.get(scope, "all")
