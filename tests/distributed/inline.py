"""As much of Ray Data as the commands use, in this process: what is computed, without what computes it.

Blocks are cut where Ray might cut them: whatever relies on a block being a whole is found out here.
"""

from collections.abc import Callable, Iterable
from contextlib import contextmanager

import numpy as np
import pyarrow as pa

CUT = 37


class Dataset:
    """Some blocks."""

    def __init__(self, blocks: Iterable[pa.Table]) -> None:
        self.blocks = [part for block in blocks for part in _cut(block)]

    def map_batches(
        self,
        function: Callable,
        *,
        batch_size: int | None,
        batch_format: str,
        fn_kwargs: dict | None = None,
        num_cpus: float = 1,
    ) -> "Dataset":
        assert batch_format == "pyarrow"
        found = []
        for block in self.blocks:
            size = batch_size or max(1, block.num_rows)
            for start in range(0, max(block.num_rows, 1), size):
                made = function(block.slice(start, size), **(fn_kwargs or {}))
                found += [made] if isinstance(made, pa.Table) else list(made)
        return Dataset(found)

    def groupby(self, name: str, num_partitions: int) -> "Grouped":
        return Grouped(pa.concat_tables([block for block in self.blocks if block.num_rows]), name)

    def materialize(self) -> "Dataset":
        return self

    def take_all(self) -> list[dict]:
        return [row for block in self.blocks for row in block.to_pylist()]


class Grouped:
    """Rows by a column."""

    def __init__(self, table: pa.Table, name: str) -> None:
        self.table, self.name = table, name

    def map_groups(
        self, function: Callable, *, batch_format: str, fn_kwargs: dict, num_cpus: float
    ) -> Dataset:
        values = self.table[self.name].to_numpy()
        # In no order at all, as after a shuffle.
        order = np.random.default_rng(7).permutation(len(values))
        shuffled = self.table.take(pa.array(order))
        values = values[order]
        return Dataset(
            function(shuffled.filter(pa.array(values == value)), **fn_kwargs)
            for value in dict.fromkeys(values.tolist())
        )


class Data:
    """The module `ray.data`."""

    @staticmethod
    def from_items(items: list, override_num_blocks: int | None = None) -> Dataset:
        return Dataset(pa.table({"item": [item]}) for item in items)


@contextmanager
def running(address: str | None):
    yield Data


def _cut(block: pa.Table) -> list[pa.Table]:
    return [block.slice(start, CUT) for start in range(0, block.num_rows, CUT)] or [block]
