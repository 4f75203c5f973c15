"""The program run in the process of the tests, which is many times faster than one of its own."""

import contextlib
import io
import signal
import sys
import warnings

import pytest

from advcli import cli


class Stream(io.TextIOWrapper):
    """A stream of this process, as the program finds it."""

    def __init__(self):
        super().__init__(io.BytesIO(), encoding="utf-8", errors="backslashreplace", newline="\n")

    def text(self):
        self.flush()
        return self.buffer.getvalue()


def run(args):
    """Run the program in this process: exit code, and what went to standard output and standard error."""
    out, err = Stream(), Stream()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    argv, sys.argv = sys.argv, ["advcli", *args]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", category=ResourceWarning)
            with pytest.raises(SystemExit) as stop:
                cli.main()
        return stop.value.code or 0, out.text(), err.text().decode("utf-8")
    finally:
        sys.argv = argv
        for number, handler in handlers.items():
            signal.signal(number, handler)
