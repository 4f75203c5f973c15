"""A Ray to run on: that of an address, or a local one that is started and stopped."""

import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import Any

from advcli.common.errors import AdvcliError, DataError, MissingPackage, UsageError
from advcli.common.wording import reason
from advcli.distributed.tasks import Tasks

# What Ray asks for before it is imported: no telemetry, no changed virtual environment.
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_SCHEDULER_EVENTS": "0",
    # A worker that is idle for a second would be ended, and another one started for the next pass.
    "RAY_idle_worker_killing_time_threshold_ms": "600000",
    # Workers of a local Ray keep freed memory for their next task; to get it from the system takes a third of their time.
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(512 << 20),
    "MALLOC_TOP_PAD_": str(64 << 20),
}
_CPUS, _OBJECT_STORE = "ADVCLI_RAY_CPUS", "ADVCLI_RAY_OBJECT_STORE"
# Where a cluster keeps what outlives its head node. The Ray of one command has nothing to keep, and would wait for it.
_STORAGE = "RAY_REDIS_ADDRESS"
_LAST_PORT = 65535
# Ray makes files there for its sockets, whose names must be short.
_TEMPORARY = "/tmp"
_TERMINATED = 128 + signal.SIGTERM
_TRIES, _PAUSE = 20, 0.1
_PATIENCE = 10
"""Seconds until a cluster that does not answer is said to be none."""


@contextmanager
def running(address: str | None) -> Iterator[Tasks]:
    """Connect to Ray, or start one, for the time of a command.

    Args:
        address: of a running cluster ("auto", "host:6379"); None to start a local one. A Ray that
            this process is connected to already is used, and left as it is.

    Yields:
        What runs functions there.

    Raises:
        MissingPackage: Ray is not installed.
        UsageError: there is no cluster at the address.
        DataError: a worker died more often than Ray tries again, or ran out of memory.
    """
    ray = require()
    if ray.is_initialized():
        tasks = Tasks(ray)
        try:
            with _explained(ray):
                yield tasks
        except BaseException:
            tasks.stop()
            raise
        return
    with _stopped_by_sigterm(), nullcontext() if address else _folder() as folder:
        try:
            _start(ray, address, folder)
            for name in ("ray", "ray._private"):
                # advcli reports what matters.
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
            with _explained(ray):
                yield Tasks(ray)
        finally:
            ray.shutdown()


def workers() -> int:
    """How many tasks run at a time."""
    import ray

    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def memory_per_worker() -> int:
    """Bytes of memory that a task can have, of those that Ray counts."""
    import ray

    return int(ray.cluster_resources().get("memory", 2 << 30) / workers())


def require() -> Any:  # noqa: ANN401  a module
    """Ray.

    Raises:
        MissingPackage: it is not installed.
    """
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        import ray

        _has_sketches()
    except ImportError as error:
        package = (error.name or "ray").partition(".")[0]
        raise MissingPackage(
            f"--engine ray needs the package '{package}', which is not installed",
            hint="pip install 'advcli[ray]'",
        ) from error
    except ValueError as error:
        # Ray reads its numbers from the environment while it is imported.
        why = f"{reason(error)}; is a variable RAY_… set wrongly?"
        raise DataError(f"Ray cannot be imported ({why})", hint="--engine local") from error
    return ray


def _has_sketches() -> None:
    import datasketches  # noqa: F401


def _start(ray: Any, address: str | None, folder: str | None) -> None:  # noqa: ANN401  a module
    quiet = {"logging_level": logging.CRITICAL, "log_to_driver": False}
    cpus, store = _number(_CPUS), _number(_OBJECT_STORE)
    try:
        with redirect_stdout(None), _own_signals():
            if address is not None:
                # Ray, too, reads RAY_ADDRESS as what "auto" stands for.
                named = (os.environ.get("RAY_ADDRESS") or address) if address == "auto" else address
                address = address if named == address else f"{address} (RAY_ADDRESS={named})"
                _answers(named, address)
                ray.init(address=named, **quiet)
                return
            # "local": without it Ray would look for a cluster that runs on this machine.
            with _without(_STORAGE):
                ray.init(
                    address="local",
                    include_dashboard=False,
                    num_cpus=cpus or os.cpu_count() or 1,
                    object_store_memory=store,
                    _temp_dir=folder,
                    **quiet,
                )
    except SystemExit as stop:
        # Ray's own answer to SIGTERM, while it starts.
        raise SystemExit(_TERMINATED if stop.code == signal.SIGTERM else stop.code) from None
    except UsageError:
        raise
    except Exception as error:
        # Ray has errors of its own for a full disk, a port that is taken, a cluster of another version.
        why = reason(error).partition(". ")[0]
        if address is None:
            raise DataError(f"a local Ray cannot be started ({why})", hint="--engine local") from error
        raise UsageError(
            f"--ray-address {address}: cannot be reached ({why})", hint="the address that 'ray start' printed"
        ) from error


def _number(variable: str) -> int | None:
    """A whole number of the environment; None where the variable is not set, or empty.

    Raises:
        UsageError: it is something else.
    """
    text = os.environ.get(variable)
    if not text:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"{variable} is '{text}', expected a whole number of 1 or more")
    return int(text)


@contextmanager
def _without(variable: str) -> Iterator[None]:
    """Take a variable out of the environment for a while."""
    before = os.environ.pop(variable, None)
    try:
        yield
    finally:
        if before is not None:
            os.environ[variable] = before


@contextmanager
def _folder() -> Iterator[str]:
    """Where a local Ray puts its logs and sockets, and objects that do not fit into memory; removed afterwards.

    Raises:
        DataError: it cannot be made.
    """
    parent = os.environ.get("RAY_TMPDIR", _TEMPORARY)
    try:
        folder = tempfile.mkdtemp(prefix="advcli-", dir=parent)
    except OSError as error:
        why = f"{parent}: {error.strerror}"
        raise DataError(f"a local Ray cannot be started ({why})", hint="RAY_TMPDIR=DIR") from error
    try:
        yield folder
    finally:
        # Ray's processes write until the last of them has ended.
        for _ in range(_TRIES):
            shutil.rmtree(folder, ignore_errors=True)
            if not Path(folder).exists():
                break
            time.sleep(_PAUSE)


@contextmanager
def _stopped_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end the program as Ctrl-C does, so that Ray is stopped and what is half written is removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep the program's way to end: Ray puts its own in place, which exits with another code."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in before.items():
                signal.signal(number, handler)


def _answers(address: str, said: str) -> None:
    """Ask for a connection first: Ray itself would try for minutes, talk meanwhile, and end the process.

    Args:
        address: what was asked for.
        said: how to name it.

    Raises:
        OSError: nobody is there.
        UsageError: it is no address.
    """
    if address in ("auto", "local"):
        return
    scheme, _, rest = address.rpartition("://")
    host, _, port = rest.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) <= _LAST_PORT:
        if scheme:
            # Ray knows what else may stand there.
            return
        raise UsageError(
            f"--ray-address '{said}': expected auto or HOST:PORT", hint="the address that 'ray start' printed"
        )
    socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()


@contextmanager
def _explained(ray: Any) -> Iterator[None]:  # noqa: ANN401  a module
    """Turn what Ray raises into one line; an error that a worker raised for the user comes out as it is."""
    try:
        yield
    except AdvcliError as error:
        raise _plain(error) from None
    except ray.exceptions.RayError as error:
        own = _own(error)
        if own is not None:
            raise own from None
        raise _failed(ray, error) from error


def _plain(error: AdvcliError) -> AdvcliError:
    """The error itself; Ray hands it on as a class of its own."""
    return _own(error) or error


def _own(error: BaseException) -> AdvcliError | None:
    """The error of ours that Ray wraps, if it is one."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop(0)
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, AdvcliError) and not hasattr(one, "cause"):
            return one
        waiting += [getattr(one, "cause", None), one.__cause__, one.__context__]
    return None


def _failed(ray: Any, error: BaseException) -> DataError:  # noqa: ANN401  a module
    lost = ray.exceptions
    kinds = {
        lost.OutOfMemoryError: "a worker ran out of memory, and so did the tries after it",
        lost.WorkerCrashedError: "a worker died, and so did its retries",
        lost.NodeDiedError: "a node was lost",
        lost.ObjectLostError: "a node was lost with its data",
        lost.OutOfDiskError: "the disk for what does not fit into memory is full",
    }
    what = next((text for kind, text in kinds.items() if _has(error, kind)), None)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    what = what or f"Ray stopped ({lines[-1] if lines else type(error).__name__})"
    return DataError(f"--engine ray: {what}", hint="the same command with --resume: files that are done stay")


def _has(error: BaseException | None, kind: type[BaseException]) -> bool:
    while error is not None:
        if isinstance(error, kind) or isinstance(getattr(error, "cause", None), kind):
            return True
        error = error.__cause__
    return False
