"""A report as Rich tables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

from advcli.common.wording import counted
from advcli.records.results.report import Column, Figures, Health, Report, Shown
from advcli.records.settings import LeftOut
from advcli.render.numbers import count, number, share
from advcli.render.whole import print_line, print_whole, ruled, spread

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# Number of group sizes to list; the rest is summed up.
_SHOWN_SIZES = 5

_FORMS: Mapping[str, Callable[[float | None], str]] = {"count": count, "number": number, "share": share}


def show(report: Report, console: "Console") -> None:
    """Print the group counts and the comparison of the columns.

    Tables are never wrapped or cut: on a narrow console the columns are split over several tables.
    """
    print_line(health_line(report.health), console, "bold")
    print_line(rule_line(report), console, "dim")
    unit = "row" if report.health.rollouts is None else "rollout"
    for part in report.left_out:
        print_line(left_out_line(part, unit), console, "dim")
    original, *others = (column for column in report.columns if column.label not in report.unshown)
    if not others:
        print_whole(_table([original], unit), console)
    for table in spread(others, lambda shown: _table([original, *shown], unit), console):
        print_whole(table, console)


def health_line(health: Health) -> str:
    """Rows, groups, dead groups, singletons and missing rewards, in one line."""
    parts = [counted(health.rows, "row")]
    parts += [] if health.rollouts is None else [counted(health.rollouts, "rollout")]
    parts += [describe_sizes(health.sizes, "row" if health.rollouts is None else "rollout"), _dead(health)]
    if health.singletons:
        parts.append(counted(health.singletons, "singleton"))
    if health.missing:
        causes = ", ".join(f"{rows:,} {cause}" for cause, rows in health.missing_by_cause.items() if rows)
        parts.append(f"{counted(health.missing, 'missing reward')} ({causes})")
    return " · ".join(parts)


def describe_sizes(sizes: Mapping[int, int], noun: str = "row") -> str:
    """The histogram of group sizes in words, from size → number of groups.

    Args:
        sizes: how many groups have each size.
        noun: what a size counts.

    Example:
        >>> describe_sizes({8: 62, 5: 1, 1: 1})
        '64 groups (62 of 8 rows, 1 of 5, 1 of 1)'
        >>> describe_sizes({4: 2})
        '2 groups of 4 rows'
        >>> describe_sizes({})
        '0 groups'
    """
    total = sum(sizes.values())
    if not total:
        return counted(0, "group")
    if len(sizes) == 1:
        return f"{counted(total, 'group')} of {counted(next(iter(sizes)), noun)}"
    shown = [f"{groups:,} of {size:,}" for size, groups in list(sizes.items())[:_SHOWN_SIZES]]
    shown[0] += f" {noun}" if next(iter(sizes)) == 1 else f" {noun}s"
    rest = total - sum(list(sizes.values())[:_SHOWN_SIZES])
    return f"{counted(total, 'group')} ({', '.join(shown)}{f', {rest:,} of other sizes' if rest else ''})"


def rule_line(report: Report) -> str:
    """The rule that computed the advantages, in one line."""
    used = report.settings
    parts = [f"{used['estimator']}: {used['formula']}"]
    if used["like"]:
        parts += [f"as in {used['like']}", *([f"scale {used['scale']}"] if used["scale"] else [])]
    else:
        parts += [f"{name} {value}" for name, value in used["knobs"].items()]
    for shapes in ("reward", "advantage"):
        steps = [step["formula"] for step in used["shaping"].values() if step["shapes"] == shapes]
        parts += [f"{shapes}: {', then '.join(steps)}"] if steps else []
    if used["keep_pos"] != 1 or used["keep_neg"] != 1:
        parts.append(
            f"keep {used['keep_pos']:g} of the positive and {used['keep_neg']:g} of the negative rows"
        )
    return " · ".join(parts)


def left_out_line(part: LeftOut, noun: str = "row") -> str:
    """What a filter dropped, in one line; `noun` is the counted unit.

    Example:
        >>> from advcli.records.settings import FilterSpec, LeftOut
        >>> left_out_line(LeftOut(FilterSpec("before", "dynamic_sampling"), 16, 2, 1200))
        'left out before the statistics by dynamic_sampling: 16 rows, 2 whole groups, 1,200 tokens'
    """
    counts = [counted(part.rows, noun), counted(part.groups, "whole group")]
    counts += [] if part.tokens is None else [counted(part.tokens, "token")]
    return f"left out {part.spec.when} the statistics by {part.spec}: {', '.join(counts)}"


def _dead(health: Health) -> str:
    text = counted(health.dead_groups, "dead group")
    if health.one_reward:
        return f"{text} (one reward in all rows)" if health.dead_groups else text
    between = health.dead_groups - health.dead_max - health.dead_min
    kinds = {"all-max": health.dead_max, "all-min": health.dead_min, "in between": between}
    shown = ", ".join(f"{groups:,} {kind}" for kind, groups in kinds.items() if groups)
    return f"{text} ({shown})" if shown else text


def _table(columns: Sequence[Column], unit: str) -> "Table":
    table = ruled(["advantage"], [column.label for column in columns])
    for section in ("statistics", "tokens", "kept"):
        for shown, values in _values(columns, section):
            if values[0] is not None:
                table.add_row(shown.heading.format(unit=unit), *map(_FORMS[shown.form], values))
        table.add_section()
    for shown, values in _values(columns[1:], "distance"):
        table.add_row(f"{shown.heading} vs original", "", *map(_FORMS[shown.form], values))
    return table


def _values(columns: Sequence[Column], section: str) -> Iterator[tuple[Shown, list[float | None]]]:
    """The figures of a section, as declared in `Figures` and `Column`, with their value in each column."""
    for record in (Figures, Column) if columns else ():
        holders = [column.figures if record is Figures else column for column in columns]
        for field in fields(record):
            for shown in getattr(field.type, "__metadata__", ()):
                if shown.section == section:
                    yield shown, [getattr(holder, field.name) for holder in holders]
