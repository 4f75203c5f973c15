"""Which other rows the advantage of a row depends on: what must be computed in one place."""

from typing import TYPE_CHECKING

from advcli.errors import UsageError
from advcli.estimators.catalog import ESTIMATORS
from advcli.filters.catalog import FILTERS
from advcli.frameworks.catalog import find
from advcli.records.settings import DEFAULT_ESTIMATOR

if TYPE_CHECKING:
    from advcli.engine.run import Plan
    from advcli.records.settings import Settings


def compares_groups(settings: "Settings") -> bool:
    """Whether an estimator compares the rows of a group, so that a dump without groups tells it nothing.

    An estimator that does not exist does: what is wrong with it is said elsewhere.
    """
    try:
        if settings.like is None:
            return not ESTIMATORS[settings.estimator or DEFAULT_ESTIMATOR].alone
        rule = find(settings.like, settings.estimator)
    except UsageError:
        return True
    return "group" in rule.needs and not rule.takes_any_row


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
