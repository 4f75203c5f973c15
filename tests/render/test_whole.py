"""Tables of every width on consoles of every width."""

import io

import pytest
from rich.console import Console
from rich.table import Table

from advcli.render.whole import print_whole, spread


def table_of(headings):
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in headings:
        table.add_column(heading, no_wrap=True)
    table.add_row(*headings)
    return table


def console(width):
    return Console(file=io.StringIO(), width=width)


@pytest.mark.parametrize(("width", "tables"), [(100, 1), (11, 1), (10, 2), (7, 2), (6, 3), (3, 3), (1, 3)])
def test_as_few_tables_as_the_width_allows(width, tables):
    # Three columns of three characters with a space between: 11 for all, 7 for two.
    found = list(spread(["aaa", "bbb", "ccc"], table_of, console(width)))
    assert len(found) == tables
    assert [column.header for table in found for column in table.columns] == ["aaa", "bbb", "ccc"]


def test_nothing_makes_no_table():
    assert list(spread([], table_of, console(80))) == []


@pytest.mark.parametrize("width", [1, 5, 80])
def test_a_table_is_printed_whole_and_the_width_stays(width):
    screen = console(width)
    print_whole(table_of(["a long heading", "another one"]), screen)
    assert screen.file.getvalue().splitlines() == ["a long heading another one"] * 2
    assert screen.width == width
