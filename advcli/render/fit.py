"""Tables and lines that fit the width of a terminal: columns closer together, names cut to their ends, or in parts."""

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

# Columns where no terminal says how many there are.
_COLUMNS = 80
_LEAST_TEXT = 8
_ENOUGH_TEXT = 24
_LEAST_NAME = 12
_GAP = "  "


def table_of(header: Row, rows: Sequence[Row], *, left: set[int] | None = None) -> "Table":
    """Columns of text, the first on the left, the others on the right unless they are named."""
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
    """Print a table that is never wrapped or cut; a wide one with less space between its columns."""
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
    """The columns but the first, each with those without a heading that follow it: its bars."""
    result: list[list[Column]] = []
    for column in columns[1:]:
        if str(column.header) or not result:
            result.append([])
        result[-1].append(column)
    return result


def _part(table: "Table", blocks: "Sequence[Sequence[Column]]") -> "Table":
    """The first column of a table, and some of the others."""
    columns = [table.columns[0], *(column for block in blocks for column in block)]
    part = table_of([""] * len(columns), [])
    part.padding = table.padding
    for made, column in zip(part.columns, columns, strict=True):
        made.header, made.justify = column.header, column.justify
    for cells in zip(*(column.cells for column in columns), strict=True):
        part.add_row(*cells)
    return part


def _shorten_names(table: "Table", excess: int) -> None:
    """Cut the names in the first column of a table that is too wide to their ends; the head has them whole."""
    names = list(table.columns[0].cells)
    room = max(_LEAST_NAME, max((len(name.plain) for name in names), default=0) - max(0, excess))  # type: ignore[union-attr]
    for name in names:
        if len(name.plain) > room:  # type: ignore[union-attr]
            name.plain = f"…{name.plain[1 - room :]}"  # type: ignore[union-attr]


def columns_of(console: "Console") -> int:
    """Columns that there are; where no terminal says so, the usual 80."""
    return console.width if console.is_terminal else _COLUMNS


def print_text(text: str, console: "Console", style: str = "") -> None:
    """A line of text, folded at spaces."""
    for line in folded(shown(text), columns_of(console)):
        console.print(line.replace(NO_BREAK, " "), style=style, highlight=False, soft_wrap=True, markup=False)


def print_with_text(header: Row, rows: Sequence[Row], console: "Console") -> None:
    """A table whose last column, a text, is cut to what the others leave of the width."""
    from rich.text import Text

    taken = needed(table_of([*header[:-1], ""], [[*row[:-1], ""] for row in rows]), console)
    if columns_of(console) - taken < _ENOUGH_TEXT:
        # The table will be printed with less space between its columns.
        taken -= len(header) - 1
    width = max(_LEAST_TEXT, columns_of(console) - taken)
    cut = []
    for *cells, last in rows:
        text = Text(shown(last))
        text.truncate(width, overflow="ellipsis")
        cut.append([*cells, text.plain])
    table = table_of(header, cut, left={0, len(header) - 1})
    print_table(table, console, space=False)
