"""Readahead: a thread produces the next item while the current one is used.

Arrow, numpy and the operating system release the GIL, so a reading and a writing thread use two cores.
"""

from collections.abc import Generator, Iterable, Iterator
from queue import Full, Queue
from threading import Event, Thread
from typing import TypeVar

T = TypeVar("T")

# Seconds between checks of a full queue for whether the reader has stopped.
_POLL_SECONDS = 0.05


def readahead(items: Iterable[T], depth: int = 1, *, threaded: bool = True) -> Generator[T]:
    """The items in order, produced in a thread, except the first: it is often the only one.

    Close the generator to stop early; the thread is a daemon and ends with the program.

    Args:
        items: an iterable that only this thread uses; it is closed when the thread ends.
        depth: how many finished items may be queued.
        threaded: False if there is too little to do for a thread; the caller's thread produces all items then.

    Raises:
        BaseException: the error raised while producing an item, in that item's place.

    Example:
        >>> list(readahead(range(5)))
        [0, 1, 2, 3, 4]
    """
    source = iter(items)
    for item in source:
        yield item
        if threaded:
            break
    else:
        return
    results: Queue[tuple[list[T], BaseException | None]] = Queue(depth)
    stopped = Event()
    thread = Thread(target=_produce, args=(source, results, stopped), name="readahead", daemon=True)
    thread.start()
    try:
        while True:
            result, error = results.get()
            if error is not None:
                raise error
            if not result:
                return
            yield result[0]
    finally:
        stopped.set()
        thread.join()


def _produce(
    source: Iterator[T], results: "Queue[tuple[list[T], BaseException | None]]", stopped: Event
) -> None:
    """Put each item into the queue, then an empty list or the error; stop as soon as the reader has stopped."""
    try:
        for item in source:
            if not _put(results, ([item], None), stopped):
                return
    except BaseException as error:
        _put(results, ([], error), stopped)
    else:
        _put(results, ([], None), stopped)
    finally:
        close = getattr(source, "close", None)
        if close is not None:
            close()


def _put(results: "Queue[T]", item: T, stopped: Event) -> bool:
    while not stopped.is_set():
        try:
            results.put(item, timeout=_POLL_SECONDS)
        except Full:
            continue
        return True
    return False
