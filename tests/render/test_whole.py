"""Tables of every width on consoles of every width."""

import io

import pytest
from rich.console import Console
from rich.table import Table

from advcli.render.whole import print_whole, ruled, spread


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


def ruled_table(*rows):
    table = ruled(["name"], ["first figure", "second figure", "third figure"])
    for row in rows:
        table.add_row(*row)
    return table


def at_terminal(table, width):
    screen = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    print_whole(table, screen)
    return [line.rstrip() for line in screen.file.getvalue().splitlines() if line.strip()]


def test_a_first_column_that_would_vanish_stays_and_the_rest_is_split():
    lines = at_terminal(ruled_table(("step 7", "1", "2", "3"), ("step 8", "4", "5", "6")), 44)
    assert max(map(len, lines)) <= 44
    assert [line.split() for line in lines if "─" not in line] == [
        ["name", "first", "figure", "second", "figure"],
        ["step", "7", "1", "2"],
        ["step", "8", "4", "5"],
        ["name", "third", "figure"],
        ["step", "7", "3"],
        ["step", "8", "6"],
    ]


def test_a_long_first_column_is_folded():
    lines = at_terminal(ruled_table(("a name of many words that goes on and on", "1", "2", "3")), 70)
    assert max(map(len, lines)) <= 70
    assert sum("figure" in line for line in lines) == 1
