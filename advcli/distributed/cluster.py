"""A Ray to run on: that of an address, or a local one that is started and stopped."""

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

from advcli.common.errors import AdvcliError, DataError, MissingPackage, UsageError
from advcli.common.wording import reason
from advcli.distributed.tasks import Tasks

# What Ray asks for before it is imported: no telemetry, no bars, no changed virtual environment.
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
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
_OBJECT_STORE = "ADVCLI_RAY_OBJECT_STORE"
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
    ours = not ray.is_initialized()
    if ours:
        _start(ray, address)
    _quiet(ray)
    tasks = Tasks(ray)
    try:
        with _explained(ray):
            yield tasks
    except BaseException:
        if not ours:
            tasks.stop()
        raise
    finally:
        if ours:
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
        import ray.data

        _has_sketches()
    except ImportError as error:
        package = (error.name or "ray").partition(".")[0]
        raise MissingPackage(
            f"--engine ray needs the package '{package}', which is not installed",
            hint="pip install 'advcli[ray]'",
        ) from error
    return ray


def _has_sketches() -> None:
    import datasketches  # noqa: F401


def _start(ray: Any, address: str | None) -> None:  # noqa: ANN401  a module
    quiet = {"logging_level": logging.CRITICAL, "log_to_driver": False}
    try:
        with redirect_stdout(None), _own_signals():
            if address is not None:
                _answers(address)
                ray.init(address=address, **quiet)
                return
            store = os.environ.get(_OBJECT_STORE)
            # "local": without it Ray would look for a cluster that runs on this machine.
            ray.init(
                address="local",
                include_dashboard=False,
                num_cpus=int(os.environ.get("ADVCLI_RAY_CPUS", os.cpu_count() or 1)),
                object_store_memory=int(store) if store else None,
                **quiet,
            )
    except Exception as error:
        # Ray has errors of its own for a full disk, a port that is taken, a cluster of another version.
        why = reason(error).partition(". ")[0]
        if address is None:
            raise DataError(f"a local Ray cannot be started ({why})", hint="--engine local") from error
        raise UsageError(
            f"--ray-address {address}: cannot be reached ({why})", hint="the address that 'ray start' printed"
        ) from error


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


def _answers(address: str) -> None:
    """Ask for a connection first: Ray itself would try for minutes, and talk meanwhile.

    Raises:
        OSError: nobody is there.
    """
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if port.isdecimal():
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()


def _quiet(ray: Any) -> None:  # noqa: ANN401  a module
    """Silence Ray on standard error: advcli reports what matters."""
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    for name in ("ray", "ray.data", "ray._private", "ray.train"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


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
