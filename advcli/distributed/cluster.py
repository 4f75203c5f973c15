"""Connects to a Ray cluster, or starts and stops a local one."""

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

# Ray settings that must be set before the import: no telemetry, no changed virtual environment.
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_SCHEDULER_EVENTS": "0",
    # By default a worker that is idle for a second is killed, and another one is started for the next pass.
    "RAY_idle_worker_killing_time_threshold_ms": "600000",
    # Workers of a local Ray keep freed memory for the next task; getting it from the system takes a third of their time.
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(512 << 20),
    "MALLOC_TOP_PAD_": str(64 << 20),
}
_CPUS, _OBJECT_STORE = "ADVCLI_RAY_CPUS", "ADVCLI_RAY_OBJECT_STORE"
# Where a cluster keeps what outlives its head node. A command's own Ray has nothing to keep, and would wait for the storage.
_STORAGE = "RAY_REDIS_ADDRESS"
_LAST_PORT = 65535
# Ray creates its sockets there, and socket paths must be short.
_TEMPORARY = "/tmp"
_TERMINATED = 128 + signal.SIGTERM
_ATTEMPTS, _PAUSE = 20, 0.1
_CONNECT_TIMEOUT = 10
"""Timeout in seconds for connecting to a cluster."""


@contextmanager
def running(address: str | None) -> Iterator[Tasks]:
    """Connect to a Ray cluster, or start a local one, for the duration of a command.

    Args:
        address: the address of a running cluster ("auto", "host:6379"); None to start a local one. If this process is
            already connected to Ray, that connection is used and left open.

    Yields:
        The cluster.

    Raises:
        MissingPackage: Ray is not installed.
        UsageError: there is no cluster at the address.
        DataError: a worker died after all retries, or ran out of memory.
    """
    ray = require()
    if ray.is_initialized():
        tasks = Tasks(ray)
        try:
            with _wrapping_errors(ray):
                yield tasks
        except BaseException:
            tasks.stop()
            raise
        return
    with _stopped_by_sigterm(), nullcontext() if address else _folder() as folder:
        try:
            _start(ray, address, folder)
            for name in ("ray", "ray._private"):
                # Silence Ray: advcli reports errors itself.
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
            with _wrapping_errors(ray):
                yield Tasks(ray)
        finally:
            ray.shutdown()


def workers() -> int:
    """The number of tasks that run concurrently."""
    import ray

    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def memory_per_worker() -> int:
    """The memory in bytes per concurrent task, according to Ray."""
    import ray

    return int(ray.cluster_resources().get("memory", 2 << 30) / workers())


def require() -> Any:  # noqa: ANN401  a module
    """Import Ray.

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
        with redirect_stdout(None), _keep_signal_handlers():
            if address is not None:
                # Ray itself uses RAY_ADDRESS for "auto".
                target = (os.environ.get("RAY_ADDRESS") or address) if address == "auto" else address
                address = address if target == address else f"{address} (RAY_ADDRESS={target})"
                _check_connection(target, address)
                ray.init(address=target, **quiet)
                return
            # Without "local", Ray would connect to a cluster running on this machine.
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
        # Ray handles SIGTERM itself while it starts.
        raise SystemExit(_TERMINATED if stop.code == signal.SIGTERM else stop.code) from None
    except UsageError:
        raise
    except Exception as error:
        # Ray raises various errors for a full disk, a port in use or a cluster of another version.
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
    """A folder for a local Ray's logs, sockets and spilled objects, removed afterwards.

    Raises:
        DataError: it cannot be created.
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
        # Ray's processes may still write until the last one has ended.
        for _ in range(_ATTEMPTS):
            shutil.rmtree(folder, ignore_errors=True)
            if not Path(folder).exists():
                break
            time.sleep(_PAUSE)


@contextmanager
def _stopped_by_sigterm() -> Iterator[None]:
    """Make SIGTERM exit the program like Ctrl-C, so that Ray is stopped and partial files are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _keep_signal_handlers() -> Iterator[None]:
    """Restore the program's signal handlers, because Ray installs its own, which exit with another code."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in before.items():
                signal.signal(number, handler)


def _check_connection(address: str, shown: str) -> None:
    """Test the connection first, because Ray would retry for minutes, print messages and end the process.

    Args:
        address: the address to connect to.
        shown: its name in messages.

    Raises:
        OSError: the connection fails.
        UsageError: it is not an address.
    """
    if address in ("auto", "local"):
        return
    scheme, _, rest = address.rpartition("://")
    host, _, port = rest.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) <= _LAST_PORT:
        if scheme:
            # Ray knows further schemes.
            return
        raise UsageError(
            f"--ray-address '{shown}': expected auto or HOST:PORT",
            hint="the address that 'ray start' printed",
        )
    socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_TIMEOUT).close()


@contextmanager
def _wrapping_errors(ray: Any) -> Iterator[None]:  # noqa: ANN401  a module
    """Convert Ray's errors to a one-line DataError; an AdvcliError raised by a worker is raised unchanged."""
    try:
        yield
    except AdvcliError as error:
        raise _unwrapped(error) from None
    except ray.exceptions.RayError as error:
        own = _wrapped_error(error)
        if own is not None:
            raise own from None
        raise _failed(ray, error) from error


def _unwrapped(error: AdvcliError) -> AdvcliError:
    """The original error, which Ray wraps in a derived class."""
    return _wrapped_error(error) or error


def _wrapped_error(error: BaseException) -> AdvcliError | None:
    """The AdvcliError that Ray wraps; None if it is another error."""
    seen: set[int] = set()
    queue: list[BaseException | None] = [error]
    while queue:
        current = queue.pop(0)
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, AdvcliError) and not hasattr(current, "cause"):
            return current
        queue += [getattr(current, "cause", None), current.__cause__, current.__context__]
    return None


def _failed(ray: Any, error: BaseException) -> DataError:  # noqa: ANN401  a module
    lost = ray.exceptions
    kinds = {
        lost.OutOfMemoryError: "a worker ran out of memory, and so did its retries",
        lost.WorkerCrashedError: "a worker died, and so did its retries",
        lost.NodeDiedError: "a node was lost",
        lost.ObjectLostError: "a node was lost with its data",
        lost.OutOfDiskError: "the disk for spilled objects is full",
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
