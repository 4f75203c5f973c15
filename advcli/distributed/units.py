"""What must not be torn apart: the rows of a prompt, of a step, or all of them."""

from collections.abc import Sequence

from advcli.advantages import Plan
from advcli.frameworks.rule import GROUPED
from advcli.records import Choice
from advcli.selection.catalog import FILTERS

# Rules that go through all rows in their order, step after step.
_IN_ORDER = ("advcli.frameworks.arithmetic:running_baseline",)


def unit(plans: Sequence[Plan], choice: Choice, *, largest_step: int, roomy: int) -> str:
    """What has to lie in one place for some plans.

    Args:
        plans: what is computed, each for the columns that there are.
        choice: the columns that are read.
        largest_step: rows of the largest step; 0 without steps.
        roomy: rows that a place can have.

    Returns:
        "key" (the rows of a prompt), "position" (consecutive rows, where there is no prompt), "step" or "all".
    """
    needs = {_needs(plan) for plan in plans}
    steps = largest_step > 0
    parts = "key" if choice.prompt else "position"
    if "all" in needs:
        return "all"
    if steps and not choice.prompt:
        # Rows are cut by position within their step.
        return "step"
    # A step can be one place only if no group lies in two steps.
    whole = steps and choice.step_in_key
    if "step" in needs:
        return "step" if whole else "all"
    if "merged" in needs and whole and largest_step <= roomy:
        # One pass over whole steps, where merging takes one for each sum.
        return "step"
    return parts


def _needs(plan: Plan) -> str:
    """The word "key", "merged" (statistics of steps, which can be merged), "step" or "all"."""
    if any(FILTERS[spec.name].whole_steps for spec in plan.settings.filters):
        return "step"
    if plan.rule is None:
        if plan.entry.whole_steps:
            return "step"
        return "merged" if plan.crosses() else "key"
    if plan.entry.target in _IN_ORDER or plan.knobs.get("ragged") == "cut":
        # Cut by the largest group that there is in any step.
        return "all"
    # A framework's rule goes over the matrix of a step as the framework does.
    return "step" if "step" in plan.entry.needs and not _within_groups(plan) else "key"


def _within_groups(plan: Plan) -> bool:
    words = {str(value) for value in plan.knobs.values()}
    return plan.entry.target == GROUPED["target"] and not any("batch" in word for word in words)
