"""Readahead: a thread makes the next item while the last one is used.

Arrow, numpy and the operating system work without Python's lock, so a thread that reads and one that writes take two cores.
"""

from collections.abc import Generator, Iterable, Iterator
from queue import Full, Queue
from threading import Event, Thread
from typing import TypeVar

T = TypeVar("T")

# Seconds after which a full queue is looked at again: has the reader left?
_PATIENCE = 0.05


def beside(items: Iterable[T], depth: int = 1, *, apart: bool = True) -> Generator[T]:
    """The items in order, made in a thread; the first is made by the caller, as it is often the only one.

    Whoever may leave early closes what this gives; the end of the program ends the thread too.

    Args:
        items: what is made. It has to be closed with the thread, so nobody else may hold it.
        depth: how many may wait to be used.
        apart: whether there is enough to do for a thread; else all are made here.

    Raises:
        BaseException: what making an item raised, where the item would have come.

    Example:
        >>> list(beside(range(5)))
        [0, 1, 2, 3, 4]
    """
    source = iter(items)
    for item in source:
        yield item
        if apart:
            break
    else:
        return
    made: Queue[tuple[list[T], BaseException | None]] = Queue(depth)
    left = Event()
    thread = Thread(target=_make, args=(source, made, left), name="beside", daemon=True)
    thread.start()
    try:
        while True:
            result, error = made.get()
            if error is not None:
                raise error
            if not result:
                return
            yield result[0]
    finally:
        left.set()
        thread.join()


def _make(source: Iterator[T], made: "Queue[tuple[list[T], BaseException | None]]", left: Event) -> None:
    """Put each item into the queue, then an empty one or the error; stop as soon as the reader has left."""
    try:
        for item in source:
            if not _put(made, ([item], None), left):
                return
    except BaseException as error:
        _put(made, ([], error), left)
    else:
        _put(made, ([], None), left)
    finally:
        close = getattr(source, "close", None)
        if close is not None:
            close()


def _put(made: "Queue[T]", what: T, left: Event) -> bool:
    while not left.is_set():
        try:
            made.put(what, timeout=_PATIENCE)
        except Full:
            continue
        return True
    return False
