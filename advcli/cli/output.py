"""Prints results to stdout and messages to stderr."""

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
# Moves the cursor to the top left and clears the terminal.
_CLEAR = "\x1b[H\x1b[2J\x1b[3J"
# Minimum width of the value next to a label.
_MIN_WIDTH = 20
# Unused, but Rich accepts a width only together with a height.
_LINES = 25
# Seconds before progress is shown.
_PROGRESS_AFTER = 1.0
_FREE: Mapping[str, int | None] = MappingProxyType({})


def say(text: str, **style: Any) -> None:  # noqa: ANN401  typer's styles
    """Print a line to stderr; a closed stderr must not stop the command."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        style = {}
    with suppress(OSError):
        text = "\n".join(_folded(shown(redacted(text))))
        # Without a style, secho would still write a reset sequence.
        typer.echo(typer.style(text, **style) if style else text, err=True)


def _folded(text: str, *, to_stderr: bool = True) -> list[str]:
    """The text wrapped to the terminal; if the stream is not a terminal, one line, so that it can be searched."""
    from advcli.render.whole import folded

    stream, descriptor = (sys.stderr, 2) if to_stderr else (sys.stdout, 1)
    return folded(text, _columns(descriptor)) if stream.isatty() else [text]


def notes(report: "Report | Sweep | Match | Between | Prompts | Selection | Verify", *, quiet: bool) -> None:
    """Print the notes and warnings of a result to stderr."""
    remarks(report.notes, quiet=quiet)
    for text in () if quiet else report.warnings:
        say(f"advcli: warning: {text}", fg="yellow")


def remarks(notes: Sequence[str], *, quiet: bool) -> None:
    """Print notes to stderr."""
    for text in () if quiet else notes:
        say(f"advcli: {text}", dim=True)


def table(report: "Report", *, to_stderr: bool) -> None:
    """Print the tables to stdout, or to stderr if the rows go to stdout."""
    from advcli.render.tables import show

    drawn(lambda console: show(report, console), to_stderr=to_stderr)


def drawn(draw: "Callable[[Console], None]", *, to_stderr: bool = False, over: bool = False) -> None:
    """Print the output of `draw`; with `over`, clear the screen first and cut the output to its height."""
    console = _console(to_stderr=to_stderr)
    with console.capture() as captured:
        draw(console)
    # Rich pads the last column with spaces.
    lines = [line.rstrip(" ") for line in captured.get().split("\n")]
    if over:
        height = shutil.get_terminal_size().lines - 1
        excess = len(lines) - height
        lines = [*lines[: height - 1], f"… {excess + 1} more lines", ""] if excess > 0 else lines
        _print(_CLEAR, to_stderr=to_stderr)
    text = "\n".join(lines)
    _print(text, to_stderr=to_stderr)


def conditions(checked: "Sequence[Checked]") -> None:
    """Print which conditions of --fail-if are true, and which are undefined."""
    for check in checked:
        name = check.condition.split()[0]
        if check.held:
            say(f"advcli: --fail-if '{check.condition}' is true: {name} is {check.value:.6g}", fg="red")
        elif check.value != check.value:
            say(f"advcli: warning: --fail-if '{check.condition}': {name} is undefined here", fg="yellow")


def progress_messages(*, quiet: bool) -> Callable[[str], None]:
    """A function that prints progress messages to a terminal, once the work takes longer than a second."""
    start = time.monotonic()

    def tell(text: str) -> None:
        if not quiet and sys.stderr.isatty() and time.monotonic() - start > _PROGRESS_AFTER:
            say(f"advcli: {text}", dim=True)

    return tell


@contextmanager
def progress(what: str, unit: str = "", *, quiet: bool = False) -> "Iterator[Callable[..., None] | None]":
    """Show a progress bar on stderr if it is a terminal and the work takes longer than a second.

    Args:
        what: the description of the work.
        unit: the unit of the rate shown; "" for no rate.
        quiet: show none.

    Yields:
        A function to call with the number of items done, the total (None if unknown), and optionally a new
        description; None if stderr is not a terminal.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    start = time.monotonic()
    bars: list[Progress] = []

    def advance(done: int, total: int | None, doing: str = what) -> None:
        if not bars:
            if time.monotonic() - start < _PROGRESS_AFTER:
                return
            # A bar starts a thread, which short commands should not pay for.
            bars.append(_bar(unit))
            bars[0].start()
            bars[0].add_task(doing, total=None)
        bar = bars[0]
        if bar.tasks[0].description != doing:
            bar.reset(bar.task_ids[0], description=doing)
        bar.update(bar.task_ids[0], completed=done, total=total)

    try:
        yield advance
    finally:
        for bar in bars:
            bar.stop()


def _bar(unit: str) -> "Progress":
    from rich.progress import Progress, ProgressColumn, Task
    from rich.text import Text

    class Rate(ProgressColumn):
        """Items per second."""

        def render(self, task: Task) -> Text:
            return Text(f"{task.speed or 0:,.0f} {unit}/s" if unit else "")

    columns = [*Progress.get_default_columns(), Rate()]
    return Progress(*columns, console=_console(to_stderr=True), transient=True)


def listing(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, widths: Mapping[str, int | None] = _FREE
) -> None:
    """Print a catalog as a table.

    Args:
        header: the titles of the columns.
        rows: a cell per column.
        widths: title → maximum width of the column in a terminal; None for a column that is never wrapped because
            users copy its values.
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
    """Print lines below a table."""
    if lines:
        typer.echo("")
    for line in lines:
        for part in _folded(line, to_stderr=False):
            typer.echo(part)


def pairs(values: Mapping[str, str]) -> None:
    """Print a catalog entry, one line per attribute."""
    from advcli.render.whole import folded

    width = max(map(len, values))
    for name, value in values.items():
        room = max(_columns(1) - width - 2, _MIN_WIDTH)
        lines = folded(value, room) if sys.stdout.isatty() else [value]
        for label, line in zip_longest([name], lines, fillvalue=""):
            typer.echo(f"{label:<{width}}  {line}")


def _console(*, to_stderr: bool) -> "Console":
    """A console that prints text literally: no markup, emoji names or control sequences.

    Without a terminal its width is unlimited.
    """
    from advcli.render.clean import clean

    console = clean(stderr=to_stderr)
    if console.is_terminal:
        # Rich assumes 80 columns for a dumb terminal.
        size: dict[str, Any] = {"width": _columns(2 if to_stderr else 1), "height": _LINES}
    else:
        size = {"width": _UNBOUNDED}
    return clean(stderr=to_stderr, **size)


def _columns(descriptor: int) -> int:
    """The width of the terminal: COLUMNS if set, else as the terminal reports it."""
    with suppress(OSError, ValueError):
        width = int(os.environ.get("COLUMNS") or os.get_terminal_size(descriptor).columns)
        # A terminal without a size reports 0.
        return width if width > 0 else 80
    return 80


def _print(text: str, *, to_stderr: bool) -> None:
    """Write rendered text; Rich itself would exit the program on a closed pipe."""
    if not to_stderr:
        sys.stdout.write(text)
        return
    with suppress(OSError):
        sys.stderr.write(text)
