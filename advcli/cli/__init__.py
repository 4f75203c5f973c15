"""The commands, and the one place where an error becomes an exit code."""

import errno
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

import typer

from advcli.cli import _loading
from advcli.cli._commands import Commands, add_to
from advcli.cli._help import message
from advcli.cli._show import say
from advcli.errors import AdvcliError, DataError, Interrupted, UsageError

app = typer.Typer(
    name="advcli",
    cls=Commands,
    help="Recompute the advantages of an RL run from the dump its trainer wrote.",
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


add_to(app)


def _version(*, wanted: bool) -> None:
    from advcli.records.version import __version__

    if wanted:
        typer.echo(f"advcli {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: bool = typer.Option(
        False,
        "--version",
        "-V",
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
    _open_streams()
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code)
    except (AdvcliError, Interrupted) as error:
        _fail(str(error), error.exit_code)
    except OSError as error:
        if error.filename is not None:
            raise
        _output_failed(error)
    except SystemExit as stop:
        # Typer turns a closed pipe into exit 1.
        if isinstance(stop.__context__, BrokenPipeError):
            _output_failed(stop.__context__)
        raise
    except Exception as error:
        # Typer's own errors about the command line; anything else is a bug and keeps its traceback.
        if not hasattr(error, "format_message"):
            raise
        _fail(message(error), UsageError.exit_code)
    finally:
        if ahead := sys.modules.get("advcli.io.prefetch"):
            ahead.stop()


def _open_streams() -> None:
    """Make both streams usable: closed ones lead nowhere, and odd characters are no error."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115, PTH123  lives as long as the program
        getattr(sys, name).reconfigure(errors="backslashreplace")


def _output_failed(error: OSError) -> NoReturn:
    """Standard output cannot be written: its reader has seen enough (`| head`), or the disk is full."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno == errno.EPIPE:
        sys.exit(0)
    _fail(
        f"standard output cannot be written ({(error.strerror or str(error)).lower()})", DataError.exit_code
    )


def _fail(message: str, exit_code: int) -> NoReturn:
    say(f"advcli: {message}", fg="red")
    sys.exit(exit_code)


def _interrupted(signum: int, frame: FrameType | None) -> None:
    del signum, frame
    if not _loading.DONE.is_set():
        # Packages that are being imported turn an exception into their own; nothing is open yet.
        os.write(2, b"advcli: interrupted\n")
        os._exit(Interrupted.exit_code)
    raise Interrupted("interrupted")
