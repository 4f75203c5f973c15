"""A function in a process of its own, for what would wait for Python's lock in a thread.

The process is a copy of this one (`fork`), so nothing has to be started or sent there. What it gives comes back without a copy here:
numpy's arrays lie in memory that both processes see.
"""

import gc
import mmap
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Generator
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any, Generic, TypeVar

import numpy as np

from advcli.errors import AdvcliError
from advcli.io import growing

T = TypeVar("T")

# Bytes of an array from which on it is not sent with the rest.
_LARGE = 1 << 16
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Lost(Exception):  # noqa: N818  it leads to another way, no user meets it
    """The process ended without an answer."""


def possible() -> bool:
    """Whether a copy of this process can be made: on Linux, while no other thread may hold what the copy would wait for."""
    return sys.platform == "linux" and threading.active_count() == 1


class Apart(Generic[T]):
    """Calls a function in a process of its own.

    Args:
        work: called with what takes any object to the other side; its answer and its errors come back pickled.

    Raises:
        OSError: the system makes no more processes.

    Example:
        >>> def work(tell):
        ...     tell("half")
        ...     return np.arange(3)
        >>> other = Apart(work)
        >>> list(other.told()), other.answer
        (['half'], array([0, 1, 2]))
    """

    answer: T

    def __init__(self, work: Callable[[Callable[[Any], None]], T]) -> None:
        self._ending, self._ended = threading.Lock(), False
        context = multiprocessing.get_context("fork")
        self._here, there = context.Pipe()
        self._process = context.Process(target=_work, args=(work, self._here, there), daemon=True)
        # Until the copy knows better, it would take a signal as this one does.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        there.close()

    def stop(self) -> None:
        """End the process, whatever it does: `told` ends with it."""
        with self._ending:
            if not self._ended:
                self._process.kill()

    def told(self) -> Generator[Any]:
        """What it tells on the way; once that is all, the answer is there. Whoever leaves early ends the process.

        Raises:
            AdvcliError: the function did.
            Lost: the function raised anything else, or the process was ended by somebody.
        """
        try:
            while True:
                kind, what = self._here.recv()
                if kind == "told":
                    yield what
                elif kind == "failed":
                    raise what
                else:
                    packed, sizes = what
                    self.answer = _received(packed, sizes, self._here)
                    return
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise Lost from error
        finally:
            # Another thread may want to end it meanwhile.
            with self._ending:
                self._process.kill()
                self._process.join()
                self._process.close()
                self._ended = True
            self._here.close()


def _work(work: Callable[[Callable[[Any], None]], object], here: Connection, there: Connection) -> None:
    """What the other process does. Nothing that goes wrong is said from there."""
    # Ctrl-C is for whoever waits, and he ends this process too.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    # Its own copy would keep the pipe open after whoever waits is gone.
    here.close()
    gc.freeze()
    gc.enable()
    growing.share()
    try:
        _send(work(lambda what: there.send(("told", what))), there)
    except AdvcliError as error:
        there.send(("failed", error))
    except Exception:
        os._exit(1)


def _send(answer: object, there: Connection) -> None:
    large: list[pickle.PickleBuffer] = []

    def keep(buffer: pickle.PickleBuffer) -> bool:
        if buffer.raw().nbytes < _LARGE:
            return True
        large.append(buffer)
        return False

    packed = pickle.dumps(answer, protocol=5, buffer_callback=keep)
    del answer
    there.send(("done", (packed, [buffer.raw().nbytes for buffer in large])))
    while large:
        # One after the other, and each goes as soon as it is written: so that not all are there twice.
        values = large.pop(0).raw()
        handle = growing.handle(values)
        if handle is None:
            column = growing.Growing()
            column.append(np.frombuffer(values, dtype=np.uint8))
            handle = growing.handle(column.whole().data)
        assert handle is not None
        reduction.send_handle(there, handle, None)
        os.close(handle)


def _received(packed: bytes, sizes: list[int], here: Connection) -> Any:  # noqa: ANN401  whatever was sent
    buffers = []
    for size in sizes:
        handle = reduction.recv_handle(here)
        buffers.append(mmap.mmap(handle, size))
        os.close(handle)
    return pickle.loads(packed, buffers=buffers)
