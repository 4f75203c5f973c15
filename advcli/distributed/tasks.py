"""Functions that run on the workers of a cluster: Ray places them, tries them again, and keeps what they give.

Rows that have to move from some workers to others are moved by Ray Data.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

ObjectRef: TypeAlias = Any
"""Something that lies in the memory of a worker; here is only its name."""

Assign: TypeAlias = Callable[..., tuple[pa.Table, NDArray[np.int64]]]
"""Gives a table and, for each row of it, the number of the table where it goes."""

_TO = "to"
_PIECES = 10_000
"""Pieces, of one table for another, beyond which they are merged on the way."""
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
        found = self._of(function).remote(*given)
        self._begun.append(found)
        return found

    def split(self, many: int, function: Callable[..., Sequence[Any]], *given: object) -> list[ObjectRef]:
        """Map a function with several results; each result is a separate object."""
        if many == 1:
            return [self.run(_only, function, *given)]
        found: list[ObjectRef] = self._of(function).options(num_returns=many).remote(*given)
        self._begun += found
        return found

    def shuffle(
        self, tables: Sequence[ObjectRef], many: int, assign: Assign, pack: Callable[..., Any], *given: object
    ) -> list[ObjectRef]:
        """Move the rows of some tables to others: Ray Data sorts them by the number of the other table.

        Args:
            tables: the tables, one of which has a row.
            many: how many others there are.
            assign: runs where a table lies.
            pack: runs where the rows of another table came together, in any order: its number and its rows → what is kept.
            given: what `assign` takes beside the table.
        """
        ways = self._ray.data.context.ShuffleStrategy
        # Rows are sorted in tasks; Ray's default way to move them starts processes of its own each time.
        self._ray.data.DataContext.get_current().shuffle_strategy = (
            ways.SORT_SHUFFLE_PUSH_BASED if len(tables) * many > _PIECES else ways.SORT_SHUFFLE_PULL_BASED
        )
        rows = self._ray.data.from_arrow_refs(list(tables)).map_batches(
            _numbered,
            batch_format="pyarrow",
            batch_size=None,
            zero_copy_batch=True,
            num_cpus=1,
            fn_args=(assign, given),
        )
        moved = rows.sort(_TO, boundaries=list(range(1, many))) if many > 1 else rows.repartition(1)
        blocks = moved.to_arrow_refs()
        counts = self.get([self.run(_rows, block) for block in blocks])
        # A block without rows has lost its columns.
        like = blocks[int(np.argmax(counts))]
        return [self.run(_packed, pack, number, block, like) for number, block in enumerate(blocks)]

    def get(self, kept: Sequence[ObjectRef]) -> list[Any]:
        """Bring things here.

        Raises:
            Exception: what a function raised, or Ray's word for what became of it.
        """
        found: list[Any] = self._ray.get(list(kept))
        return found

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
            many = len(self._begun)
            return list(self._ray.wait(self._begun, num_returns=many, timeout=seconds, fetch_local=False)[1])
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


def _numbered(table: pa.Table, assign: Assign, given: Sequence[object]) -> pa.Table:
    import ray

    here = [ray.get(one) if isinstance(one, ray.ObjectRef) else one for one in given]
    found, number = assign(table, *here)
    return found.append_column(_TO, pa.array(number))


def _rows(block: pa.Table) -> int:
    return int(block.num_rows)


def _packed(pack: Callable[..., Any], number: int, block: pa.Table, like: pa.Table) -> Any:  # noqa: ANN401  what it gives
    table = block if block.num_rows else like.slice(0, 0)
    return pack(number, table.drop_columns([_TO]))
