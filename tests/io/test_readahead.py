"""Items made in a thread: the same ones in the same order, errors at their place, nothing left running."""

import threading
import time

import pytest

from advcli.io.readahead import readahead


def test_the_items_come_in_order_from_another_thread():
    def made():
        for number in range(20):
            yield number, threading.current_thread()

    found = list(readahead(made()))
    assert [number for number, _ in found] == list(range(20))
    assert found[0][1] is threading.current_thread()
    assert {thread.name for _, thread in found[1:]} == {"readahead"}


def test_where_a_thread_does_not_pay_all_are_made_here():
    def made():
        for _ in range(3):
            yield threading.current_thread()

    assert set(readahead(made(), threaded=False)) == {threading.current_thread()}


@pytest.mark.parametrize("items", [[], [1]])
def test_nothing_and_one_item(items):
    assert list(readahead(items)) == items


@pytest.mark.parametrize("place", [0, 1, 5])
def test_an_error_comes_where_the_item_would_have_come(place):
    def made():
        yield from range(place)
        raise ValueError("broken")

    seen = []

    def go():
        for number in readahead(made()):
            seen.append(number)  # noqa: PERF402  what came before the error is kept

    with pytest.raises(ValueError, match="broken"):
        go()
    assert seen == list(range(place))


def test_no_more_than_a_few_are_made_ahead():
    made = []

    def numbers():
        for number in range(100):
            made.append(number)
            yield number

    items = readahead(numbers(), depth=2)
    next(items), next(items)
    time.sleep(0.1)
    assert len(made) <= 5
    assert list(items) == list(range(2, 100))


def test_whoever_leaves_early_ends_the_thread_and_closes_the_source():
    closed = threading.Event()

    def endless():
        try:
            number = 0
            while True:
                yield number
                number += 1
        finally:
            closed.set()

    items = readahead(endless())
    assert [next(items), next(items), next(items)] == [0, 1, 2]
    items.close()
    assert closed.is_set()
    assert all(thread.name != "readahead" for thread in threading.enumerate())
