"""Print a report: data on standard output, talk on standard error."""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import typer

from advcli.records import Checked, Inspection, Report

if TYPE_CHECKING:
    from rich.console import Console

_UNBOUNDED = 10_000


def say(text: str, **style: Any) -> None:  # noqa: ANN401  typer's styles
    """A line on standard error; whoever does not read it shall not stop the data."""
    if os.environ.get("NO_COLOR"):
        style = {}
    with suppress(OSError):
        typer.secho(text, err=True, **style)


def notes(report: Report, *, quiet: bool) -> None:
    """What was chosen and what looks wrong, on standard error."""
    if quiet:
        return
    for text in report.notes:
        say(f"advcli: {text}", dim=True)
    for text in report.warnings:
        say(f"advcli: warning: {text}", fg="yellow")


def table(report: Report, *, to_stderr: bool) -> None:
    """The tables, on standard output unless the data go there."""
    from advcli.render.tables import show

    console = _console(to_stderr=to_stderr)
    with console.capture() as captured:
        show(report, console)
    _print(captured.get(), to_stderr=to_stderr)


def inspection(found: Inspection) -> None:
    """An inspection, on standard output."""
    from advcli.render.inspection import show

    console = _console(to_stderr=False)
    with console.capture() as captured:
        show(found, console)
    # Rich fills the last column with spaces.
    text = "\n".join(line.rstrip() for line in captured.get().split("\n"))
    _print(text, to_stderr=False)


def conditions(checked: Sequence[Checked]) -> None:
    """Which conditions of --fail-if held, and which cannot be told."""
    for one in checked:
        name = one.condition.split()[0]
        if one.held:
            say(f"advcli: --fail-if '{one.condition}' held: {name} is {one.value:.6g}", fg="red")
        elif one.value != one.value:
            say(f"advcli: warning: --fail-if '{one.condition}': these data do not define {name}", fg="yellow")


def listing(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A catalog as a table."""
    from rich.table import Table

    table = Table(*header, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    console = _console(to_stderr=False)
    with console.capture() as captured:
        console.print(table)
    _print(captured.get(), to_stderr=False)


def pairs(values: Mapping[str, str]) -> None:
    """One row of a catalog, a line per attribute."""
    width = max(map(len, values))
    for name, value in values.items():
        typer.echo(f"{name:<{width}}  {value}")


def _console(*, to_stderr: bool) -> "Console":
    """A console; without a terminal nobody's width has to be met."""
    from rich.console import Console

    console = Console(stderr=to_stderr)
    return console if console.is_terminal else Console(stderr=to_stderr, width=_UNBOUNDED)


def _print(text: str, *, to_stderr: bool) -> None:
    """Write rendered text; Rich itself would end the program when the reader has left."""
    if not to_stderr:
        sys.stdout.write(text)
        return
    with suppress(OSError):
        sys.stderr.write(text)
