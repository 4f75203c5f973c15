"""The commands, and the one place where an error becomes an exit code."""

import os
import signal
import sys
from collections.abc import Callable
from functools import wraps
from types import FrameType
from typing import NoReturn

import typer

from advcli.cli import compare, compute, estimators, formats, frameworks
from advcli.errors import AdvcliError, Interrupted, UsageError

app = typer.Typer(
    name="advcli",
    help="Recompute the advantages of an RL run from the dump its trainer wrote.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _until_the_reader_leaves(command: Callable[..., None]) -> Callable[..., None]:
    """A reader that has seen enough (`| head`) ends the command, and that is no error."""

    @wraps(command)
    def run(**values: object) -> None:
        try:
            command(**values)
            sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    return run


for _name, _command in {
    "compute": compute.command,
    "compare": compare.command,
    "estimators": estimators.command,
    "formats": formats.command,
    "frameworks": frameworks.command,
}.items():
    app.command(_name)(_until_the_reader_leaves(_command))


def _version(*, wanted: bool) -> None:
    from advcli import __version__

    if wanted:
        typer.echo(f"advcli {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: bool = typer.Option(
        False,
        "--version",
        help="Print the version and exit.",
        callback=lambda value: _version(wanted=value),
        is_eager=True,
    ),
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the app; the only place where an AdvcliError becomes an exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupted)
    for stream in (sys.stdout, sys.stderr):
        # A file name or an id that the terminal cannot show must not end the run.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        sys.exit(app(standalone_mode=False))
    except AdvcliError as error:
        _fail(str(error), error.exit_code)
    except Exception as error:
        # Typer's own errors about the command line; anything else is a bug and keeps its traceback.
        say = getattr(error, "format_message", None)
        if say is None:
            raise
        _fail(" ".join(say().split()).rstrip("."), UsageError.exit_code)


def _fail(message: str, exit_code: int) -> NoReturn:
    typer.secho(f"advcli: {message}", err=True, fg="red")
    sys.exit(exit_code)


def _interrupted(signum: int, frame: FrameType | None) -> None:
    del signum, frame
    raise Interrupted("interrupted")
