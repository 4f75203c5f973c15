"""Entry point of `advcli` and `python -m advcli`."""

import atexit
import gc
import os
import sys
import threading
import warnings
from contextlib import suppress


def main() -> None:
    """Import the program and run it. Ctrl-C prints no traceback, not even during the import."""
    # No command uses numpy's BLAS, whose threads spin for a while after the import.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        # Imported modules are not garbage; collecting during the import takes a tenth of its time.
        gc.disable()
        from advcli.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    except ImportError as error:
        # Typer, which prints all other errors, may be missing.
        sys.stderr.write(f"advcli: the package '{error.name}' is needed and not installed\n")
        sys.exit(4)
    if not sys.warnoptions and "--debug" not in sys.argv:
        # Warnings of other packages concern their internals; advcli prints its own warnings about the data.
        warnings.simplefilter("ignore")
    try:
        run()
    except SystemExit as stop:
        _leave(stop)


def _leave(stop: SystemExit) -> None:
    """Exit the program, if possible without teardown.

    Everything is written and closed by now. Tearing down torch and all other modules would take a quarter of a second, so it
    is skipped unless another thread is alive or a profiler or debugger is attached.
    """
    # Since Python 3.12, profilers and debuggers may use sys.monitoring.
    tools = getattr(sys, "monitoring", None)
    watched = sys.gettrace() or sys.getprofile() or (tools and any(map(tools.get_tool, range(6))))
    if watched or threading.active_count() > 1 or not isinstance(stop.code, int | None):
        raise stop
    atexit._run_exitfuncs()  # noqa: SLF001  what the interpreter calls
    for stream in (sys.stdout, sys.stderr):
        # `main` has flushed both and reported errors.
        with suppress(OSError):
            stream.flush()
    os._exit(stop.code or 0)


if __name__ == "__main__":
    main()
