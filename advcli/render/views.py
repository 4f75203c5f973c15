"""Views of results: in a terminal as the command prints them, in a notebook as HTML."""

import html
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from advcli.records.results.result import Result
from advcli.render.clean import clean

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.segment import Segment
    from rich.style import Style
    from rich.text import Text

Draw = Callable[["Console"], None]
ResultT = TypeVar("ResultT", bound=Result)

_WIDTH = 120
# Colours come from the notebook's theme, except one that is readable on both light and dark ground.
_PRE = (
    "font-family: ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; font-size: 12px; line-height: 1.35; "
    "color: inherit; background: transparent; overflow-x: auto; white-space: pre; margin: 0"
)
_STYLES = {"bold": "font-weight: 600", "dim": "opacity: 0.65", "color(3)": "color: #b07d00"}


@dataclass(frozen=True)
class Tables:
    """A result as the tables that its command prints, with notes and warnings below.

    Attributes:
        draw: prints the tables on a console.
        notes: what was chosen, one line each.
        warnings: what looks wrong, one line each.
    """

    draw: Draw
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()

    @property
    def rich(self) -> "RenderableType":
        """A Rich renderable, drawn at the width of the console."""
        return _OnConsole(self)

    def text(self) -> str:
        """The tables without colours."""
        return _printed(self, _console(color=False)).plain

    def html(self) -> str:
        """The tables as one HTML element; text has the notebook's colour, light or dark."""
        from rich.text import Text

        console = _console(color=True)
        parts = Text("\n").join(_printed(self, console).wrap(console, _WIDTH)).render(console)
        return f'<pre style="{_PRE}">{"".join(map(_span, parts))}</pre>'

    def print(self, console: "Console") -> None:
        """Print the tables, the notes and the warnings."""
        self.draw(console)
        for text, style in (*((note, "dim") for note in self.notes), *((w, "yellow") for w in self.warnings)):
            shown = f"warning: {text}" if style == "yellow" else text
            console.print(shown, style=style, highlight=False, soft_wrap=True, markup=False)


@dataclass(frozen=True)
class _OnConsole:
    view: Tables

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        yield _printed(self.view, _console(color=bool(console.color_system), width=options.max_width))


def _console(*, color: bool, width: int = _WIDTH) -> "Console":
    """A console that records instead of printing."""
    # Without colours it is not a terminal, so lines are not shortened to its width.
    return clean(
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        legacy_windows=False,
        file=io.StringIO(),
    )


def shown(result: ResultT, draw: Draw, notes: Sequence[str] = (), warnings: Sequence[str] = ()) -> ResultT:
    """Attach a view to a result, and return it.

    Args:
        result: the result.
        draw: prints its tables on a console.
        notes: what was chosen, one line each.
        warnings: what looks wrong, one line each.
    """
    result.drawn_by(Tables(draw, notes, warnings))
    return result


def _printed(view: Tables, console: "Console") -> "Text":
    """The printed text with its styles."""
    from rich.text import Text

    with console.capture() as captured:
        view.print(console)
    # Rich pads the last column with spaces.
    lines = (line.rstrip(" ") for line in captured.get().strip("\n").split("\n"))
    return Text("\n").join(map(Text.from_ansi, lines))


def _span(part: "Segment") -> str:
    text = html.escape(part.text)
    css = _css(part.style)
    return f'<span style="{css}">{text}</span>' if css and part.text.strip() else text


def _css(style: "Style | None") -> str:
    if style is None:
        return ""
    names = (
        "bold" if style.bold else "",
        "dim" if style.dim else "",
        f"color({style.color.number})" if style.color else "",
    )
    return "; ".join(_STYLES[name] for name in names if name in _STYLES)
