"""The commands, and the one place where an error becomes an exit code."""

import os
import signal
import sys
from types import FrameType

import typer

from advcli.cli import compare, compute, estimators, formats
from advcli.errors import AdvcliError, Interrupted

app = typer.Typer(
    name="advcli",
    help="Recompute the advantages of an RL run from the dump its trainer wrote.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("compute")(compute.command)
app.command("compare")(compare.command)
app.command("estimators")(estimators.command)
app.command("formats")(formats.command)


def _version(*, wanted: bool) -> None:
    from advcli import __version__

    if wanted:
        typer.echo(f"advcli {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False,
        "--version",
        help="Print the version and exit.",
        callback=lambda value: _version(wanted=value),
        is_eager=True,
    ),
) -> None:
    pass


def main() -> None:
    """Run the app; the only place where an AdvcliError becomes an exit code."""
    signal.signal(signal.SIGINT, _interrupted)
    for stream in (sys.stdout, sys.stderr):
        # A file name or an id that the terminal cannot show must not end the run.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        app()
    except BrokenPipeError:
        _leave_quietly()
    except AdvcliError as error:
        typer.secho(f"advcli: {error}", err=True, fg="red")
        sys.exit(error.exit_code)


def _interrupted(signum: int, frame: FrameType | None) -> None:
    del signum, frame
    raise Interrupted("interrupted")


def _leave_quietly() -> None:
    """The reader of our output has seen enough (`| head`): that is no error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)
