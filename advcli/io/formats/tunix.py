"""Dumps of tunix."""

import ast
from collections.abc import Mapping

from advcli.io.formats.format import Format
from advcli.records.layout import Derived

ROWS = (
    Format(
        name="tunix",
        requires=("conversation_text", "trajectory_reward", "policy_version", "original_input", "group_id"),
        prompt=("group",),
        reward=("trajectory_reward",),
        derived=(Derived("group", ("group_id", "original_input"), "advcli.io.formats.tunix:group", "text"),),
        files=("trajectory_log_*.csv",),
        summary="tunix trajectory_log_<time>.csv: a trajectory per row",
        source="tunix/utils/trajectory_logger.py",
        switch="a log directory in the metrics options (agentic GRPO)",
        traps=(
            "no step: groups are identified by the group id",
            "the reward is the environment's; that of the trainer's reward functions can differ",
            "rows of training and evaluation are mixed",
        ),
    ),
)


def group(group_id: object, original: object) -> object:
    """The key of a row's group: the group id, which is sometimes only in the original input.

    Args:
        group_id: the column; null if empty.
        original: the input as a Python literal.

    Example:
        >>> group(30, "{}"), group(None, "{'prompts': '2+2?', 'group_id': 31}"), group(None, "2+2?")
        (30, 31, '2+2?')
    """
    if group_id is not None:
        return group_id
    try:
        value = ast.literal_eval(original) if isinstance(original, str) else original
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        value = None
    result = value.get("group_id") if isinstance(value, Mapping) else None
    return original if result is None else result
