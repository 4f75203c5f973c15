"""Functions that run on the workers of a cluster: Ray places them, tries them again, and keeps what they give."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

ObjectRef: TypeAlias = Any
"""Something that lies in the memory of a worker; here is only its name."""

_PATIENCE, _GRACE = 60, 2
"""Seconds that tasks have to stop once one of them has failed, and in which they are not called off."""


class Tasks:
    """A cluster, as far as the commands use it.

    Args:
        ray: the module.
    """

    def __init__(self, ray: Any) -> None:  # noqa: ANN401  a module
        self._ray = ray
        self._remote: dict[Callable[..., Any], Any] = {}
        self._begun: list[ObjectRef] = []

    def share(self, value: object) -> ObjectRef:
        """Send something to the workers once, for many tasks."""
        return self._ray.put(value)

    def run(self, function: Callable[..., Any], *given: object) -> ObjectRef:
        """Let a worker run a function; what is kept with a worker is handed to it, not brought here."""
        result = self._of(function).remote(*given)
        self._begun.append(result)
        return result

    def split(self, many: int, function: Callable[..., Sequence[Any]], *given: object) -> list[ObjectRef]:
        """Map a function with several results; each result is a separate object."""
        if many == 1:
            return [self.run(_only, function, *given)]
        result: list[ObjectRef] = self._of(function).options(num_returns=many).remote(*given)
        self._begun += result
        return result

    def get(self, kept: Sequence[ObjectRef]) -> list[Any]:
        """Bring things here.

        Raises:
            Exception: what a function raised, or Ray's word for what became of it.
        """
        result: list[Any] = self._ray.get(list(kept))
        return result

    def stop(self) -> None:
        """End what runs, and wait until it has ended."""
        # What is about to end may end: Ray 2.60 takes the driver down where a task is called off as its answer comes.
        for one in self._running(_GRACE):
            with suppress(Exception):
                self._ray.cancel(one, recursive=True)
        self._running(_PATIENCE)

    def _running(self, seconds: float) -> list[ObjectRef]:
        """What has not ended after some time."""
        try:
            count = len(self._begun)
            return list(self._ray.wait(self._begun, num_returns=count, timeout=seconds, fetch_local=False)[1])
        except Exception:
            # Without any task, or without Ray, there is nothing to wait for.
            return []

    def _of(self, function: Callable[..., Any]) -> Any:  # noqa: ANN401  Ray's class
        if function not in self._remote:
            self._remote[function] = self._ray.remote(num_cpus=1)(function)
        return self._remote[function]


def _only(function: Callable[..., Sequence[Any]], *given: object) -> Any:  # noqa: ANN401  what it gives
    (one,) = function(*given)
    return one
