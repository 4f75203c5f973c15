"""What must stay in one partition: the rows of a prompt, of a step, or all of them."""

from collections.abc import Sequence

from advcli.distributed.placement import by_step
from advcli.engine.plan import Plan
from advcli.records.table import Choice


def unit(plans: Sequence[Plan], choice: Choice, *, largest_step: int, roomy: int) -> str:
    """What has to lie in one place for some plans.

    Args:
        plans: what is computed, each for the columns that there are.
        choice: the columns that are read.
        largest_step: rows of the largest step; 0 without steps.
        roomy: rows that a place can have.

    Returns:
        "group", "key" (the rows of a prompt, of any step), "position" (consecutive rows, where there is no prompt), "step" or "all".
    """
    needs = {plan.reach() for plan in plans}
    steps = largest_step > 0
    parts = "group" if by_step(choice) else "key" if choice.prompt else "position"
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
