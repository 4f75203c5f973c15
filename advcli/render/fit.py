"""Fits tables and lines into the terminal: with narrower gaps, shortened names, or several tables."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from advcli.common.wording import shown
from advcli.render.whole import folded, needed, print_whole, spread

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Column, Table

Row = Sequence[str]
"""The cells of a row, or the headings of all columns."""

NO_BREAK = "\xa0"
"""A space at which a line is not folded."""

# Width without a terminal.
_COLUMNS = 80
_MIN_TEXT = 8
_ENOUGH_TEXT = 24
_MIN_NAME = 12
_GAP = "  "


def table_of(header: Row, rows: Sequence[Row], *, left: set[int] | None = None) -> "Table":
    """A table of text; the first column and those in `left` are left-aligned, the others right-aligned."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, len(_GAP), 0, 0), header_style="bold")
    for position, name in enumerate(header):
        on_left = position == 0 or position in (left or ())
        table.add_column(Text(shown(name)), justify="left" if on_left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(shown(cell)) for cell in row))
    return table


def print_table(table: "Table", console: "Console", *, space: bool = True) -> None:
    """Print a table without wrapping or cutting it; a wide one gets narrower gaps."""
    if space:
        console.print()
    if needed(table, console) > columns_of(console):
        table.padding = (0, 1, 0, 0)
    if space and console.is_terminal:
        _shorten_names(table, needed(table, console) - console.width)
    if not console.is_terminal:
        print_whole(table, console)
        return
    for part in spread(_blocks(table.columns), partial(_part, table), console):
        print_whole(part, console)


def _blocks(columns: "Sequence[Column]") -> list[list["Column"]]:
    """The columns except the first, each together with the following columns without a heading (its bars)."""
    result: list[list[Column]] = []
    for column in columns[1:]:
        if str(column.header) or not result:
            result.append([])
        result[-1].append(column)
    return result


def _part(table: "Table", blocks: "Sequence[Sequence[Column]]") -> "Table":
    """A table with the first column and the given blocks of columns."""
    columns = [table.columns[0], *(column for block in blocks for column in block)]
    part = table_of([""] * len(columns), [])
    part.padding = table.padding
    for copied, column in zip(part.columns, columns, strict=True):
        copied.header, copied.justify = column.header, column.justify
    for cells in zip(*(column.cells for column in columns), strict=True):
        part.add_row(*cells)
    return part


def _shorten_names(table: "Table", excess: int) -> None:
    """Shorten the names in the first column of a table that is too wide to their ends; the header line has them in full."""
    names = list(table.columns[0].cells)
    room = max(_MIN_NAME, max((len(name.plain) for name in names), default=0) - max(0, excess))  # type: ignore[union-attr]
    for name in names:
        if len(name.plain) > room:  # type: ignore[union-attr]
            name.plain = f"…{name.plain[1 - room :]}"  # type: ignore[union-attr]


def columns_of(console: "Console") -> int:
    """The width of the terminal, or 80 without one."""
    return console.width if console.is_terminal else _COLUMNS


def print_text(text: str, console: "Console", style: str = "") -> None:
    """Print a line of text, folded at spaces."""
    for line in folded(shown(text), columns_of(console)):
        console.print(line.replace(NO_BREAK, " "), style=style, highlight=False, soft_wrap=True, markup=False)


def print_with_text(header: Row, rows: Sequence[Row], console: "Console") -> None:
    """Print a table whose last column, a text, is truncated to the remaining width."""
    from rich.text import Text

    used = needed(table_of([*header[:-1], ""], [[*row[:-1], ""] for row in rows]), console)
    if columns_of(console) - used < _ENOUGH_TEXT:
        # The table will be printed with narrower gaps.
        used -= len(header) - 1
    width = max(_MIN_TEXT, columns_of(console) - used)
    cut = []
    for *cells, last in rows:
        text = Text(shown(last))
        text.truncate(width, overflow="ellipsis")
        cut.append([*cells, text.plain])
    table = table_of(header, cut, left={0, len(header) - 1})
    print_table(table, console, space=False)
