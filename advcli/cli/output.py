"""Print a report: data on standard output, talk on standard error."""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import typer

from advcli.common.wording import redacted, shown

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from advcli.records.results.between import Between
    from advcli.records.results.inspection import Checked
    from advcli.records.results.match import Match
    from advcli.records.results.prompts import Prompts
    from advcli.records.results.report import Report
    from advcli.records.results.select import Selection
    from advcli.records.results.sweep import Sweep
    from advcli.records.results.verify import Verify

_UNBOUNDED = 10_000
# To the upper left corner of a terminal, and clear it.
_CLEARED = "\x1b[H\x1b[2J\x1b[3J"
# A value beside its label gets this many columns at least.
_LEAST = 20
# Nothing asks how high the terminal is, but Rich believes a width only beside a height.
_LINES = 25
# Seconds after which it is said how far a work is.
_PATIENCE = 1.0
_FREE: Mapping[str, int | None] = MappingProxyType({})


def say(text: str, **style: Any) -> None:  # noqa: ANN401  typer's styles
    """Print a line on standard error; a closed stderr must not stop the data."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        style = {}
    with suppress(OSError):
        text = "\n".join(_folded(shown(redacted(text))))
        # Without a style, secho would still write the escape that ends one.
        typer.echo(typer.style(text, **style) if style else text, err=True)


def _folded(text: str, *, to_stderr: bool = True) -> list[str]:
    """A line, wrapped at a terminal; otherwise one line, so that it can be searched."""
    from advcli.render.whole import folded

    stream, descriptor = (sys.stderr, 2) if to_stderr else (sys.stdout, 1)
    return folded(text, _columns(descriptor)) if stream.isatty() else [text]


def notes(report: "Report | Sweep | Match | Between | Prompts | Selection | Verify", *, quiet: bool) -> None:
    """What was chosen and what looks wrong, on standard error."""
    remarks(report.notes, quiet=quiet)
    for text in () if quiet else report.warnings:
        say(f"advcli: warning: {text}", fg="yellow")


def remarks(notes: Sequence[str], *, quiet: bool) -> None:
    """What is worth knowing, on standard error."""
    for text in () if quiet else notes:
        say(f"advcli: {text}", dim=True)


def table(report: "Report", *, to_stderr: bool) -> None:
    """The tables, on standard output unless the data go there."""
    from advcli.render.tables import show

    drawn(lambda console: show(report, console), to_stderr=to_stderr)


def drawn(draw: "Callable[[Console], None]", *, to_stderr: bool = False, over: bool = False) -> None:
    """Whatever `draw` prints on a console; `over`: on an empty screen, as many lines as it has."""
    console = _console(to_stderr=to_stderr)
    with console.capture() as captured:
        draw(console)
    # Rich fills the last column with spaces.
    lines = [line.rstrip(" ") for line in captured.get().split("\n")]
    if over:
        high = shutil.get_terminal_size().lines - 1
        left = len(lines) - high
        lines = [*lines[: high - 1], f"… {left + 1} more lines", ""] if left > 0 else lines
        _print(_CLEARED, to_stderr=to_stderr)
    text = "\n".join(lines)
    _print(text, to_stderr=to_stderr)


def conditions(checked: "Sequence[Checked]") -> None:
    """Which conditions of --fail-if held, and which are undefined."""
    for one in checked:
        name = one.condition.split()[0]
        if one.held:
            say(f"advcli: --fail-if '{one.condition}' is true: {name} is {one.value:.6g}", fg="red")
        elif one.value != one.value:
            say(f"advcli: warning: --fail-if '{one.condition}': {name} is undefined here", fg="yellow")


def patiently(*, quiet: bool) -> Callable[[str], None]:
    """What says at a terminal how far a search is, once it takes longer than a moment."""
    start = time.monotonic()

    def tell(text: str) -> None:
        if not quiet and sys.stderr.isatty() and time.monotonic() - start > _PATIENCE:
            say(f"advcli: {text}", dim=True)

    return tell


@contextmanager
def progress(what: str, unit: str = "") -> "Iterator[Callable[..., None] | None]":
    """A progress bar on standard error while it is a terminal, shown once the work takes longer than a second.

    Args:
        what: what is being done.
        unit: what is counted: how many a second are said; "" to leave that out.

    Yields:
        What to call with the number of things that are done, of all (None if nobody knows), and what is being done if
        that is something else now.
    """
    if not sys.stderr.isatty():
        yield None
        return
    begun = time.monotonic()
    shown: list[Progress] = []

    def advance(done: int, total: int | None, doing: str = what) -> None:
        if not shown:
            if time.monotonic() - begun < _PATIENCE:
                return
            # Not before: a bar has a thread of its own, and other commands are over by now.
            shown.append(_bar(unit))
            shown[0].start()
            shown[0].add_task(doing, total=None)
        bar = shown[0]
        if bar.tasks[0].description != doing:
            bar.reset(bar.task_ids[0], description=doing)
        bar.update(bar.task_ids[0], completed=done, total=total)

    try:
        yield advance
    finally:
        for bar in shown:
            bar.stop()


def _bar(unit: str) -> "Progress":
    from rich.progress import Progress, ProgressColumn, Task
    from rich.text import Text

    class Rate(ProgressColumn):
        """How many a second."""

        def render(self, task: Task) -> Text:
            return Text(f"{task.speed or 0:,.0f} {unit}/s" if unit else "")

    columns = [*Progress.get_default_columns(), Rate()]
    return Progress(*columns, console=_console(to_stderr=True), transient=True)


def listing(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, widths: Mapping[str, int | None] = _FREE
) -> None:
    """A catalog as a table.

    Args:
        header: the titles of the columns.
        rows: a cell per column.
        widths: title → how wide a column may be at a terminal; None for one that is never wrapped, as the user types
            what is in it.
    """
    from rich.table import Column, Table

    console = _console(to_stderr=False)
    columns = [
        Column(
            title,
            no_wrap=title in widths and widths[title] is None,
            max_width=widths.get(title) if console.is_terminal else None,
        )
        for title in header
    ]
    table = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    drawn(lambda console: console.print(table))


def below(lines: Sequence[str]) -> None:
    """Lines under a table."""
    if lines:
        typer.echo("")
    for line in lines:
        for part in _folded(line, to_stderr=False):
            typer.echo(part)


def pairs(values: Mapping[str, str]) -> None:
    """One row of a catalog, a line per attribute."""
    from advcli.render.whole import folded

    width = max(map(len, values))
    for name, value in values.items():
        room = max(_columns(1) - width - 2, _LEAST)
        lines = folded(value, room) if sys.stdout.isatty() else [value]
        for label, line in zip_longest([name], lines, fillvalue=""):
            typer.echo(f"{label:<{width}}  {line}")


def _console(*, to_stderr: bool) -> "Console":
    """A console that shows every text as it is: nothing in it is markup, an emoji's name or an order to a terminal.

    Without a terminal nobody's width has to be met.
    """
    from advcli.render.clean import clean

    console = clean(stderr=to_stderr)
    if console.is_terminal:
        # Rich takes every dumb terminal for 80 columns wide.
        size: dict[str, Any] = {"width": _columns(2 if to_stderr else 1), "height": _LINES}
    else:
        size = {"width": _UNBOUNDED}
    return clean(stderr=to_stderr, **size)


def _columns(descriptor: int) -> int:
    """How wide the terminal is, as the user says it in COLUMNS or else as it says itself."""
    with suppress(OSError, ValueError):
        width = int(os.environ.get("COLUMNS") or os.get_terminal_size(descriptor).columns)
        # A terminal that nobody gave a size says 0.
        return width if width > 0 else 80
    return 80


def _print(text: str, *, to_stderr: bool) -> None:
    """Write rendered text; Rich itself would end the program when the reader has left."""
    if not to_stderr:
        sys.stdout.write(text)
        return
    with suppress(OSError):
        sys.stderr.write(text)
