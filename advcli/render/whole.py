"""Tables that are never wrapped or cut, however narrow the console is."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_UNBOUNDED = 10_000
Item = TypeVar("Item")


def ruled(left: Sequence[str], right: Sequence[str]) -> "Table":
    """An empty table with a rule under its headings and nothing that wraps: texts on the left, numbers on the right."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for side, headings in (("left", left), ("right", right)):
        for heading in headings:
            table.add_column(heading, justify=side, no_wrap=True)  # type: ignore[arg-type]
    return table


def print_whole(table: "Table", console: "Console") -> None:
    """Print a table in its full width; one that is wider than the console is left to the terminal, which wraps."""
    width = console.width
    console.width = max(width, needed(table, console))
    console.print(table, crop=False)
    console.width = width


def spread(
    items: Sequence[Item], table_of: Callable[[Sequence[Item]], "Table"], console: "Console"
) -> Iterator["Table"]:
    """As many tables as the console needs to show every item whole, at least one item in each.

    Args:
        items: what the columns of the tables are made of.
        table_of: makes the table of some of them.
        console: where they are printed.
    """
    rest = list(items)
    while rest:
        shown = len(rest)
        while shown > 1 and needed(table_of(rest[:shown]), console) > console.width:
            shown -= 1
        yield table_of(rest[:shown])
        rest = rest[shown:]


def needed(table: "Table", console: "Console") -> int:
    """Width of a table that is not squeezed."""
    return console.measure(table, options=console.options.update(width=_UNBOUNDED)).maximum
