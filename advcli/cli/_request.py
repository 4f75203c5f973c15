"""From the flags of a command to the request that the pipeline takes."""

import os
import stat
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from advcli.cli._options import Shared, choice, reward_weight
from advcli.errors import UsageError
from advcli.records import ColumnOptions

if TYPE_CHECKING:
    from advcli.pipeline import Request

_SETTINGS = (
    "estimator",
    "scale",
    "keep_pos",
    "keep_neg",
    "compute_new_adv",
    "missing",
    "singleton",
    "device",
    "like",
)


def build(inputs: Sequence[str], shared: Shared) -> "Request":
    """Put preset, configuration and flags together.

    Args:
        inputs: where the rows are.
        shared: the flags.
    """
    from advcli.pipeline import Request
    from advcli.settings.resolve import resolve

    skip = choice("--on-bad-row", shared.on_bad_row, ("error", "skip")) == "skip"
    settings, columns, warnings, origin = resolve(
        {name: getattr(shared, name) for name in _SETTINGS},
        _columns(shared),
        preset=shared.preset,
        config_file=shared.config,
        pairs=shared.set_ or (),
    )
    return Request(tuple(inputs), settings, columns, skip, warnings, origin)


def piped() -> bool:
    """Whether something was piped or redirected into standard input; a terminal or /dev/null is nothing."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError, AttributeError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def _names(flag: str, text: str | None) -> tuple[str, ...]:
    """Column names with commas between them."""
    if text is None:
        return ()
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise UsageError(f"{flag} '{text}' names no column", hint=f"{flag} A,B")
    return names


def _columns(shared: Shared) -> ColumnOptions:
    return ColumnOptions(
        format=shared.format_,
        prompt=shared.prompt_col,
        group_by=_names("--group-by", shared.group_by),
        step=shared.step_col,
        rewards=tuple(reward_weight(text) for text in shared.reward or ()),
        length=shared.length_col,
        baseline=shared.baseline_col,
        n=shared.n,
        layout=shared.layout,
        explode=_names("--explode", shared.explode),
        dedup=shared.dedup,
    )
