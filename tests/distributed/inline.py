"""As much of a cluster as the commands use, in this process: what is computed, without what computes it.

Everything is pickled on its way, as between machines, and every function runs where nothing of the others is.
"""

import pickle
from collections.abc import Callable, Sequence
from contextlib import contextmanager


class Tasks:
    """Runs at once what a cluster would run some time."""

    def share(self, value: object) -> bytes:
        return pickle.dumps(value)

    def run(self, function: Callable, *given: object) -> bytes:
        return pickle.dumps(self._found(function, given))

    def split(self, many: int, function: Callable, *given: object) -> list[bytes]:
        found = self._found(function, given)
        assert len(found) == many
        return [pickle.dumps(one) for one in found]

    def get(self, kept: Sequence[bytes]) -> list:
        return [pickle.loads(one) for one in kept]

    def stop(self) -> None:
        """Nothing is running."""

    @staticmethod
    def _found(function: Callable, given: Sequence[object]) -> object:
        # A function of a module: workers import it.
        function = pickle.loads(pickle.dumps(function))
        return function(*(pickle.loads(one) if isinstance(one, bytes) else one for one in given))


@contextmanager
def running(address: str | None):
    yield Tasks()
