"""Runs functions on the workers of a cluster: Ray schedules and retries them, and stores their results."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

ObjectRef: TypeAlias = Any
"""A reference to an object in the memory of a worker."""

_CANCEL_SECONDS, _GRACE_SECONDS = 60, 2
"""Seconds to wait for cancelled tasks, and before that for tasks to end by themselves, after one has failed."""


class Tasks:
    """The interface to a cluster.

    Args:
        ray: the module.
    """

    def __init__(self, ray: Any) -> None:  # noqa: ANN401  a module
        self._ray = ray
        self._remote: dict[Callable[..., Any], Any] = {}
        self._started: list[ObjectRef] = []

    def share(self, value: object) -> ObjectRef:
        """Put an object into the object store once, for many tasks."""
        return self._ray.put(value)

    def run(self, function: Callable[..., Any], *given: object) -> ObjectRef:
        """Run a function on a worker; object references are resolved there."""
        result = self._remote_function(function).remote(*given)
        self._started.append(result)
        return result

    def split(self, count: int, function: Callable[..., Sequence[Any]], *given: object) -> list[ObjectRef]:
        """Map a function with several results; each result is a separate object."""
        if count == 1:
            return [self.run(_single_result, function, *given)]
        result: list[ObjectRef] = self._remote_function(function).options(num_returns=count).remote(*given)
        self._started += result
        return result

    def get(self, references: Sequence[ObjectRef]) -> list[Any]:
        """Fetch objects to the driver.

        Raises:
            Exception: the exception of a function, or Ray's error.
        """
        result: list[Any] = self._ray.get(list(references))
        return result

    def stop(self) -> None:
        """Cancel the running tasks, and wait until they have ended."""
        # Let tasks that are about to end do so: Ray 2.60 crashes the driver if a task is cancelled as its result arrives.
        for task in self._running(_GRACE_SECONDS):
            with suppress(Exception):
                self._ray.cancel(task, recursive=True)
        self._running(_CANCEL_SECONDS)

    def _running(self, seconds: float) -> list[ObjectRef]:
        """The tasks that are still running after some time."""
        try:
            count = len(self._started)
            return list(
                self._ray.wait(self._started, num_returns=count, timeout=seconds, fetch_local=False)[1]
            )
        except Exception:
            # Without tasks, or without Ray, there is nothing to wait for.
            return []

    def _remote_function(self, function: Callable[..., Any]) -> Any:  # noqa: ANN401  Ray's class
        if function not in self._remote:
            self._remote[function] = self._ray.remote(num_cpus=1)(function)
        return self._remote[function]


def _single_result(function: Callable[..., Sequence[Any]], *given: object) -> Any:  # noqa: ANN401  what it gives
    (one,) = function(*given)
    return one
