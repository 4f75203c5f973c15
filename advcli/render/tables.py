"""A report as Rich tables."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from advcli.records.report import Column, Health, Report
from advcli.records.settings import LeftOut
from advcli.render.numbers import count, number, share
from advcli.render.whole import print_whole, ruled, spread
from advcli.wording import counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# How many group sizes are shown before the rest is summed up.
_SHOWN_SIZES = 5

_Row = tuple[str, Callable[[Column], float | None], Callable[[float | None], str]]

_STATISTICS: Sequence[_Row] = (
    ("count", lambda c: c.figures.count, count),
    ("mean", lambda c: c.figures.mean, number),
    ("std", lambda c: c.figures.std, number),
    ("min", lambda c: c.figures.min, number),
    ("p5", lambda c: c.figures.p5, number),
    ("p25", lambda c: c.figures.p25, number),
    ("median", lambda c: c.figures.median, number),
    ("p75", lambda c: c.figures.p75, number),
    ("p95", lambda c: c.figures.p95, number),
    ("max", lambda c: c.figures.max, number),
    ("mean |A|", lambda c: c.figures.mean_abs, number),
    ("positive", lambda c: c.figures.share_positive, share),
    ("zero", lambda c: c.figures.share_zero, share),
    ("negative", lambda c: c.figures.share_negative, share),
)
_TOKENS: Sequence[_Row] = (
    ("mean over tokens", lambda c: c.figures.token_mean, number),
    ("std over tokens", lambda c: c.figures.token_std, number),
)
_KEPT: Sequence[_Row] = (
    ("kept rows", lambda c: c.kept_rows, count),
    ("kept groups", lambda c: c.kept_groups, count),
    ("groups with < 2 kept", lambda c: c.below_two, count),
    ("dead groups", lambda c: c.dead_groups, count),
    ("phantom advantages", lambda c: c.phantoms, count),
)
_DISTANCE: Sequence[_Row] = (
    ("sign changes", lambda c: c.sign_changes, share),
    ("ratio of mean |A|", lambda c: c.mean_abs_ratio, number),
    ("rank agreement", lambda c: c.rank_agreement, number),
)


def show(report: Report, console: "Console") -> None:
    """Print the health of the groups and the comparison of the columns.

    A table is never wrapped or cut: on a narrow console the columns are spread over several tables.
    """
    console.print(health_line(report.health), style="bold", highlight=False, soft_wrap=True)
    console.print(rule_line(report), style="dim", highlight=False, soft_wrap=True)
    for part in report.left_out:
        console.print(left_out_line(part), style="dim", highlight=False, soft_wrap=True)
    original, *others = (column for column in report.columns if column.label not in report.unshown)
    if not others:
        print_whole(_table([original]), console)
    for table in spread(others, lambda shown: _table([original, *shown]), console):
        print_whole(table, console)


def health_line(health: Health) -> str:
    """Rows, groups, and what carries no signal, in one line."""
    parts = [counted(health.rows, "row"), describe_sizes(health.sizes), _dead(health)]
    if health.singletons:
        parts.append(counted(health.singletons, "singleton"))
    if health.missing:
        causes = ", ".join(f"{many:,} {cause}" for cause, many in health.missing_by_cause.items() if many)
        parts.append(f"{counted(health.missing, 'missing reward')} ({causes})")
    return " · ".join(parts)


def describe_sizes(sizes: Mapping[int, int]) -> str:
    """The histogram of group sizes in words, from size → number of groups.

    Example:
        >>> describe_sizes({8: 62, 5: 1, 1: 1})
        '64 groups (62 of 8 rows, 1 of 5, 1 of 1)'
        >>> describe_sizes({4: 2})
        '2 groups of 4 rows'
        >>> describe_sizes({})
        '0 groups'
    """
    total = sum(sizes.values())
    if not sizes:
        return counted(0, "group")
    if len(sizes) == 1:
        return f"{counted(total, 'group')} of {counted(next(iter(sizes)), 'row')}"
    shown = [f"{many:,} of {size:,}" for size, many in list(sizes.items())[:_SHOWN_SIZES]]
    shown[0] += " row" if next(iter(sizes)) == 1 else " rows"
    rest = total - sum(list(sizes.values())[:_SHOWN_SIZES])
    return f"{counted(total, 'group')} ({', '.join(shown)}{f', {rest:,} of other sizes' if rest else ''})"


def rule_line(report: Report) -> str:
    """The rule that made the numbers, in one line."""
    used = report.settings
    parts = [f"{used['estimator']}: {used['formula']}"]
    if used["like"]:
        parts += [f"as in {used['like']}", *([f"scale {used['scale']}"] if used["scale"] else [])]
    else:
        parts += [f"{name} {value}" for name, value in used["knobs"].items()]
    if used["shaping"]:
        parts.append(f"reward: {', then '.join(step['formula'] for step in used['shaping'].values())}")
    if used["keep_pos"] != 1 or used["keep_neg"] != 1:
        parts.append(
            f"keep {used['keep_pos']:g} of the positive and {used['keep_neg']:g} of the negative rows"
        )
    return " · ".join(parts)


def left_out_line(part: LeftOut) -> str:
    """What a filter left out, in one line.

    Example:
        >>> from advcli.records.settings import FilterSpec, LeftOut
        >>> left_out_line(LeftOut(FilterSpec("before", "dynamic_sampling"), 16, 2, 1200))
        'left out before the statistics by dynamic_sampling: 16 rows, 2 whole groups, 1,200 tokens'
    """
    counts = [counted(part.rows, "row"), counted(part.groups, "whole group")]
    counts += [] if part.tokens is None else [counted(part.tokens, "token")]
    return f"left out {part.spec.when} the statistics by {part.spec}: {', '.join(counts)}"


def _dead(health: Health) -> str:
    text = counted(health.dead_groups, "dead group")
    between = health.dead_groups - health.dead_max - health.dead_min
    kinds = {"all-max": health.dead_max, "all-min": health.dead_min, "in between": between}
    shown = ", ".join(f"{many:,} {kind}" for kind, many in kinds.items() if many)
    return f"{text} ({shown})" if shown else text


def _table(columns: Sequence[Column]) -> "Table":
    table = ruled(["advantage"], [column.label for column in columns])
    has_tokens = columns[0].figures.token_mean is not None
    sections = [_STATISTICS, *([_TOKENS] if has_tokens else []), _KEPT]
    for rows in sections:
        for label, value, text in rows:
            table.add_row(label, *(text(value(column)) for column in columns))
        table.add_section()
    for label, value, text in _DISTANCE if len(columns) > 1 else ():
        table.add_row(f"{label} vs original", "", *(text(value(column)) for column in columns[1:]))
    return table
