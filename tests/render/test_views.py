"""Results in a terminal and in a notebook."""

import re
from dataclasses import dataclass
from typing import ClassVar

from rich.console import Console
from rich.table import Table

from advcli.records.results.result import Result
from advcli.render.views import shown


@dataclass(frozen=True, repr=False)
class Empty(Result):
    schema: ClassVar[str] = "advcli/empty/1"


def draw(console):
    console.print("a & b <c>", style="bold", highlight=False)
    console.print(f"{console.width} wide", highlight=False)


RESULT = shown(Empty(), draw, ["columns: x"], ["odd " + "word " * 40])


def test_text_has_no_escapes():
    assert repr(RESULT).splitlines()[:3] == ["a & b <c>", "120 wide", "columns: x"]
    assert "warning: odd word" in repr(RESULT)


def test_html_is_escaped_and_takes_the_colours_of_the_page():
    html = RESULT._repr_html_()
    assert "a &amp; b &lt;c&gt;" in html
    assert html.count("font-weight: 600") == 1
    # No colour of its own but the warning's, which has to be read on white and on black.
    colours = set(re.findall(r"(?<![-\w])(?:color|background): ([^;\"]+)", html))
    assert colours == {"inherit", "transparent", "#b07d00"}
    for line in re.sub(r"<[^>]+>", "", html).splitlines():
        assert len(line) <= 120


def contrast(first, second):
    """Of WCAG 2: 3 is enough for a sign, 4.5 for text."""

    def light(colour):
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    high, low = sorted((light(first), light(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_a_warning_is_read_on_white_and_on_black():
    assert min(contrast("#b07d00", "#ffffff"), contrast("#b07d00", "#111111")) > 3


def test_it_is_drawn_as_wide_as_the_console():
    console = Console(width=60, record=True, color_system=None)
    console.print(RESULT)
    text = console.export_text()
    assert "60 wide" in text
    assert max(map(len, text.splitlines())) <= 60


def test_what_a_dump_says_is_no_order_to_a_terminal():
    def odd(console):
        table = Table("\x1b[31mstep\x07")
        table.add_row("\x9b2J\u202e")
        console.print(table)

    text = repr(shown(Empty(), odd, ["column \x1b[2J"], []))
    assert not set(text) & set("\x1b\x07\x9b\u202e")
    assert r"\x1b[31mstep\x07" in text
    assert r"\x9b2J\u202e" in text
