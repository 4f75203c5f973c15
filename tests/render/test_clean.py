"""A text is printed as it is, and nothing in it is an order to a terminal."""

import io

import pytest
from rich.table import Table

from advcli.render.clean import clean

ODD = "\x1b]0;x\x07\x9b2J\n\u202e"
SPELLED = r"\x1b]0;x\x07\x9b2J\n\u202e"


@pytest.mark.parametrize("place", ["heading", "cell", "line"])
def test_whatever_is_printed(place):
    out = io.StringIO()
    console = clean(file=out, width=80)
    table = Table(ODD if place == "heading" else "name", "b")
    table.add_row(ODD if place == "cell" else "x", "[bold]:smile:[/]")
    console.print(ODD if place == "line" else table)
    assert SPELLED in out.getvalue()
    assert not set(out.getvalue()) & set("\x1b\x07\x9b\u202e")
    assert place == "line" or "[bold]:smile:[/]" in out.getvalue()


def test_the_largest_width_is_the_consoles():
    assert clean(width=33).width == 33
