"""Where the program begins and ends: `advcli` and `python -m advcli`."""

import atexit
import gc
import os
import sys
import threading
import warnings
from contextlib import suppress


def main() -> None:
    """Import the program and run it. Ctrl-C ends it without a word from Python also while it is imported."""
    # No command uses numpy's BLAS, whose threads turn in circles for a while after the import.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        # What is imported stays: looking for garbage meanwhile finds none and takes a tenth of the time.
        gc.disable()
        from advcli.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    except ImportError as error:
        # Typer, which prints all other errors, is not there.
        sys.stderr.write(f"advcli: the package '{error.name}' is needed and not installed\n")
        sys.exit(4)
    if not sys.warnoptions and "--debug" not in sys.argv:
        # Those of other packages are about their own insides; what concerns the data advcli says itself.
        warnings.simplefilter("ignore")
    try:
        run()
    except SystemExit as stop:
        _leave(stop)


def _leave(stop: SystemExit) -> None:
    """End the program.

    All is written and closed by now. To take torch and all other modules apart takes a quarter of a second, which is left out
    where nobody could tell: no other thread is there, and no profiler or debugger.
    """
    # From Python 3.12 on, profilers and debuggers may watch through sys.monitoring.
    tools = getattr(sys, "monitoring", None)
    watched = sys.gettrace() or sys.getprofile() or (tools and any(map(tools.get_tool, range(6))))
    if watched or threading.active_count() > 1 or not isinstance(stop.code, int | None):
        raise stop
    atexit._run_exitfuncs()  # noqa: SLF001  what the interpreter calls
    for stream in (sys.stdout, sys.stderr):
        # `main` has flushed both, and said what went wrong.
        with suppress(OSError):
            stream.flush()
    os._exit(stop.code or 0)


if __name__ == "__main__":
    main()
