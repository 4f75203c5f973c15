"""Prints tables without cutting anything, on consoles of any width."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Column, Table

_UNBOUNDED = 10_000
# Minimum width of a folded column; narrower text is unreadable.
_MIN_FOLDED = 16
Item = TypeVar("Item")


def ruled(left: Sequence[str], right: Sequence[str]) -> "Table":
    """An empty table with a rule under its headings and no wrapping: left-aligned text, then right-aligned numbers."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for side, headings in (("left", left), ("right", right)):
        for heading in headings:
            table.add_column(heading, justify=side, no_wrap=True)  # type: ignore[arg-type]
    return table


def print_whole(table: "Table", console: "Console") -> None:
    """Print a table without cutting anything.

    In a terminal that is too narrow, the first column is folded if there is enough room for it; else the table is split
    into several, each with the first column.
    """
    width = needed(table, console)
    if not console.is_terminal or width <= console.width:
        console.print(_Wide(table, width), crop=False)
        return
    first, *others = table.columns
    room = console.width - width + console.measure(_of(table, [first])).maximum
    if room >= _MIN_FOLDED or not others:
        first.no_wrap = False
        folded = console.measure(table, options=console.options.update(width=_UNBOUNDED)).minimum
        console.print(_Wide(table, max(folded, console.width)), crop=False)
        return
    for part in spread(others, lambda shown: _of(table, [first, *shown]), console):
        console.print(_Wide(part, needed(part, console)), crop=False)


def _of(table: "Table", columns: "Sequence[Column]") -> "Table":
    """A copy of the table with only these columns."""
    part = copy(table)
    part.columns = [replace(column, _index=position) for position, column in enumerate(columns)]
    return part


@dataclass(frozen=True)
class _Wide:
    """A table rendered at a width that may exceed the console's."""

    table: "Table"
    width: int

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        yield from console.render(self.table, options.update(width=self.width, max_width=self.width))


def print_line(text: str, console: "Console", style: str | None = None) -> None:
    """Print a sentence; in a terminal it is folded at spaces."""
    lines = folded(text, console.width) if console.is_terminal else [text]
    for line in lines:
        console.print(line, style=style, highlight=False, soft_wrap=True, markup=False)


def folded(text: str, width: int) -> list[str]:
    """Fold a sentence into lines of a maximum width, indented from the second line on; long words are not broken.

    Example:
        >>> folded("one two three", 8)
        ['one two', '  three']
    """
    return wrap(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False) or [""]


def spread(
    items: Sequence[Item], table_of: Callable[[Sequence[Item]], "Table"], console: "Console"
) -> Iterator["Table"]:
    """Split items over as many tables as the console needs, at least one item in each.

    Args:
        items: the sources of the columns.
        table_of: makes a table from some of the items.
        console: the console that prints them.
    """
    rest = list(items)
    while rest:
        shown = len(rest)
        while shown > 1 and needed(table_of(rest[:shown]), console) > console.width:
            shown -= 1
        yield table_of(rest[:shown])
        rest = rest[shown:]


def needed(table: "Table", console: "Console") -> int:
    """The natural width of a table."""
    return console.measure(table, options=console.options.update(width=_UNBOUNDED)).maximum
