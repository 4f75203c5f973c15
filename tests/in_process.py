"""The program run in the process of the tests, which is many times faster than starting one."""

import contextlib
import io
import os
import signal
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from advcli import cli


class Stream(io.TextIOWrapper):
    """A stream of this process, as the program finds it."""

    def __init__(self):
        super().__init__(io.BytesIO(), encoding="utf-8", errors="backslashreplace", newline="\n")

    def data(self):
        self.flush()
        return self.buffer.getvalue()


@contextlib.contextmanager
def standard_input(text: str | bytes | None) -> Iterator[io.TextIOBase]:
    """A real file, because the program asks the system what kind of file it is: the null device if nothing is piped in."""
    if text is None:
        with Path(os.devnull).open(encoding="utf-8") as file:
            yield file
        return
    with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
        file.buffer.write(text.encode() if isinstance(text, str) else text)
        file.seek(0)
        yield file


@contextlib.contextmanager
def surroundings(args: Sequence[str], stdin: str | bytes | None, env: Mapping[str, str]) -> Iterator[None]:
    """The arguments, the environment and the standard input of the program; afterwards all is as it was."""
    before = sys.argv, sys.stdin, dict(os.environ)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with standard_input(stdin) as file:
        sys.argv, sys.stdin = ["advcli", *args], file
        os.environ.update(env)
        try:
            yield
        finally:
            sys.argv, sys.stdin = before[:2]
            os.environ.clear()
            os.environ.update(before[2])
            for number, handler in handlers.items():
                signal.signal(number, handler)


def run(args, stdin=None, env: Mapping[str, str] | None = None):
    """Run the program: exit code, the bytes of standard output, the text of standard error."""
    out, err = Stream(), Stream()
    with (
        surroundings(args, stdin, env or {}),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=ResourceWarning)
        with pytest.raises(SystemExit) as stop:
            cli.main()
    return stop.value.code or 0, out.data(), err.data().decode("utf-8")


def completed(args, *, cwd: Path, **more) -> SimpleNamespace:
    """What `subprocess.run` gives, with bytes, for the program in a folder."""
    with contextlib.chdir(cwd):
        code, out, err = run([*map(str, args)], **more)
    return SimpleNamespace(returncode=code, stdout=out, stderr=err.encode())
