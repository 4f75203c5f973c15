"""Rows that move from some workers to others, on a real Ray."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from advcli.distributed.placement import joined, move
from advcli.distributed.tasks import Tasks

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("on_ray")]


def cut(table: pa.Table, targets: Sequence[int], factor: int) -> list[pa.Table]:
    to = table["to"].to_numpy() * factor
    return [table.filter(pa.array(to == number)) for number in targets]


@pytest.mark.parametrize("many", [1, 3, 8])
def test_every_row_moves_to_its_table_and_none_is_lost(many: int):
    import ray

    pick, cluster = np.random.default_rng(many), Tasks(ray)
    # One table has no rows; with eight others, every second of them gets none.
    tables = [
        pa.table({"to": pick.integers(0, max(1, many // 2), rows), "row": np.arange(rows) + 100 * number})
        for number, rows in enumerate((5, 0, 11, 7, 3))
    ]
    factor = 2 if many > 2 else 1
    kept = [cluster.share(table) for table in tables]
    pieces = move(cluster, kept, [range(many)] * 5, cut, cluster.share(factor))
    found = cluster.get([cluster.run(joined, number, *pieces[number]) for number in range(many)])
    whole = pa.concat_tables(tables).to_pydict()
    for number, one in enumerate(found):
        wanted = [row for row, to in zip(whole["row"], whole["to"], strict=True) if to * factor == number]
        assert one["row"].to_pylist() == wanted


def test_a_table_with_one_target_is_not_cut():
    import ray

    cluster = Tasks(ray)
    kept = cluster.share(pa.table({"row": [1, 2]}))
    assert move(cluster, [kept], [[7]], cut) == {7: [kept]}
