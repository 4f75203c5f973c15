"""A function in a process of its own: the same answer, the same error, and no process that is left."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from advcli.errors import DataError
from advcli.io import apart
from advcli.io.apart import Apart, Lost

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*fork:DeprecationWarning"
)  # of Python, for any thread that is there


@pytest.fixture(autouse=True)
def nothing_left():
    """No process and no open file stays."""
    before = set(Path("/proc/self/fd").iterdir())
    yield
    assert not multiprocessing.active_children()
    assert set(Path("/proc/self/fd").iterdir()) <= before


@pytest.mark.parametrize("rows", [0, 5, 1 << 13, 3_000_000])
def test_arrays_come_back_as_they_were(rows):
    expected = {
        "i": np.arange(rows),
        "f": np.linspace(0, 1, rows),
        "b": np.arange(rows) % 3 == 0,
        "text": "x",
    }
    other = Apart(lambda tell: expected)
    assert list(other.told()) == []
    found, other.answer = other.answer, None
    assert found.pop("text") == "x"
    for name, values in found.items():
        assert values.dtype == expected[name].dtype
        np.testing.assert_array_equal(values, expected[name])
        # As after reading here.
        assert values.flags.writeable
    del found, values


def test_it_works_in_another_process_and_tells_in_order():
    other = Apart(lambda tell: (tell(1), tell([2]), os.getpid())[-1])
    assert list(other.told()) == [1, [2]]
    assert other.answer != os.getpid()


def test_an_error_of_ours_comes_back_whole():
    def work(tell):
        raise DataError("f.jsonl:3: no object", hint="another file", about="layout")

    with pytest.raises(DataError) as caught:
        list(Apart(work).told())
    assert vars(caught.value) == {
        "message": "f.jsonl:3: no object",
        "hint": "another file",
        "about": "layout",
    }


@pytest.mark.parametrize(
    "end", [lambda: 1 / 0, lambda: os.kill(os.getpid(), signal.SIGKILL), lambda: os._exit(0)]
)
def test_no_answer_is_said_as_such(capfd, end):
    with pytest.raises(Lost):
        list(Apart(lambda tell: end()).told())
    assert capfd.readouterr() == ("", "")


def test_what_cannot_be_sent_is_no_answer():
    with pytest.raises(Lost):
        list(Apart(lambda tell: threading.Lock()).told())


def test_whoever_leaves_early_ends_it():
    told = Apart(lambda tell: (tell(1), time.sleep(60))).told()
    assert next(told) == 1
    told.close()


def test_it_ends_when_it_is_told():
    other = Apart(lambda tell: (tell(1), time.sleep(60)))
    told = other.told()
    next(told)
    other.stop()
    with pytest.raises(Lost):
        next(told)


ORPHAN = """
import os, sys, time
from advcli.io.apart import Apart

def endless(tell):
    while True:
        tell(os.getpid())
        time.sleep(0.01)

print(next(Apart(endless).told()), flush=True)
os._exit(0)
"""


def test_it_ends_with_whoever_waits():
    """Also where the end runs no code of Python's: a signal, or Ctrl-C while the program is imported."""
    done = subprocess.run(
        [sys.executable, "-c", ORPHAN], capture_output=True, text=True, check=True, timeout=60
    )
    deadline = time.monotonic() + 30
    while Path(f"/proc/{int(done.stdout)}/cmdline").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not Path(f"/proc/{int(done.stdout)}/cmdline").exists()
    assert done.stderr == ""


def test_ctrl_c_is_not_for_it():
    def work(tell):
        os.kill(os.getpid(), signal.SIGINT)
        return "done"

    other = Apart(work)
    list(other.told())
    assert other.answer == "done"


def test_a_signal_that_comes_at_once_is_not_taken_as_here(monkeypatch, capfd):
    """Before the other process has its own way with signals."""
    taken, plain = [], apart._work
    before = signal.signal(signal.SIGINT, lambda *_: (taken.append(1), os.write(2, b"taken\n")))
    monkeypatch.setattr(apart, "_work", lambda *args: (os.kill(os.getpid(), signal.SIGINT), plain(*args)))
    try:
        other = Apart(lambda tell: "done")
        list(other.told())
    finally:
        signal.signal(signal.SIGINT, before)
    assert (other.answer, taken, capfd.readouterr().err) == ("done", [], "")
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_possible_only_where_no_other_thread_is(monkeypatch):
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr(apart.sys, "platform", "linux")
    assert apart.possible()
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    assert not apart.possible()
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr(apart.sys, "platform", "darwin")
    assert not apart.possible()


def test_to_end_it_twice_is_no_error():
    other = Apart(lambda tell: None)
    assert list(other.told()) == []
    other.stop()
