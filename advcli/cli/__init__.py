"""The commands, and the one place where an error becomes an exit code."""

import errno
import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import NoReturn

import typer

from advcli.cli import loading
from advcli.cli.help_text import message
from advcli.cli.lazy import Commands, add_to
from advcli.cli.output import say
from advcli.common.errors import AdvcliError, DataError, Interrupted, UsageError
from advcli.common.wording import one_line, redacted, shown

_DEBUG = "--debug"
_BUG = 70
# Errors of writing to a stream.
_WRITE_ERRORS = (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG, errno.EBADF)

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
    debug: bool = typer.Option(
        False, _DEBUG, help="Print the traceback of an error too. May be anywhere on the command line."
    ),
) -> None:
    del debug  # handled by `main`
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the app; the only place where an exception becomes an exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupted)
    _open_streams()
    arguments = [text for text in sys.argv[1:] if text != _DEBUG]
    try:
        code = app(args=arguments, standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code)
    except SystemExit as stop:
        # Typer turns a closed pipe into exit 1.
        if isinstance(stop.__context__, BrokenPipeError):
            _output_failed(stop.__context__)
        raise
    except (Exception, Interrupted) as error:
        if len(arguments) < len(sys.argv) - 1:
            import traceback

            with suppress(OSError):
                sys.stderr.write(shown(redacted(traceback.format_exc()), keep="\n"))
        _end(error)
    finally:
        if prefetch := sys.modules.get("advcli.io.prefetch"):
            prefetch.stop()


def _end(error: BaseException) -> NoReturn:
    """Print an error as one line and exit with its code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        # A second Ctrl-C during shutdown would print a traceback.
        signal.signal(number, signal.SIG_IGN)
    if isinstance(error, AdvcliError | Interrupted):
        _fail(str(error), error.exit_code)
    if isinstance(error, MemoryError):
        _fail("out of memory", DataError.exit_code)
    if isinstance(error, OSError):
        _system_failed(error)
    # Typer's own errors about the command line.
    if hasattr(error, "format_message"):
        _fail(message(error), UsageError.exit_code)
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    _fail(f"this is a bug in advcli ({one_line(what, 200, str)}); {_DEBUG} shows where", _BUG)


def _system_failed(error: OSError) -> NoReturn:
    """Report an OS error; without a file name, a write error is about standard output."""
    if error.filename is None and error.errno in _WRITE_ERRORS:
        _output_failed(error)
    reason = (error.strerror or str(error)).lower()
    _fail(f"{error.filename}: {reason}" if error.filename is not None else reason, DataError.exit_code)


def _open_streams() -> None:
    """Make both streams usable: closed ones go to /dev/null, and unencodable characters are escaped."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115, PTH123  lives as long as the program
        getattr(sys, name).reconfigure(errors="backslashreplace")


def _output_failed(error: OSError) -> NoReturn:
    """Exit because standard output cannot be written: the reader closed it (`| head`), or the disk is full."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno == errno.EPIPE:
        sys.exit(0)
    _fail(
        f"standard output cannot be written ({(error.strerror or str(error)).lower()})", DataError.exit_code
    )


def _fail(text: str, exit_code: int) -> NoReturn:
    say(f"advcli: {text}", fg="red")
    sys.exit(exit_code)


def _interrupted(signum: int, frame: FrameType | None) -> None:
    del signum, frame
    if not loading.DONE.is_set():
        # Packages may swallow an exception while they are imported; nothing is open yet.
        os.write(2, b"advcli: interrupted\n")
        os._exit(Interrupted.exit_code)
    raise Interrupted("interrupted")
