"""Rows that move from some workers to others, on a real Ray."""

import numpy as np
import pyarrow as pa
import pytest

from advcli.distributed import tasks
from advcli.distributed.tasks import Tasks

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("on_ray")]


def by_number(table: pa.Table, factor: int) -> tuple[pa.Table, np.ndarray]:
    return table.drop_columns(["unused"]), table["to whom"].to_numpy() * factor


def packed(number: int, table: pa.Table) -> dict[str, list]:
    return {"number": number, **table.to_pydict()}


@pytest.mark.parametrize(("many", "pieces"), [(1, 10_000), (3, 10_000), (8, 10_000), (8, 10)])
def test_every_row_moves_to_its_table_and_none_is_lost(many: int, pieces: int, monkeypatch):
    import ray

    monkeypatch.setattr(tasks, "_PIECES", pieces)

    pick, cluster = np.random.default_rng(many), Tasks(ray)
    # One table has no rows; with eight others, every second of them gets none.
    tables = [
        pa.table(
            {
                "to whom": pick.integers(0, max(1, many // 2), rows),
                "row": np.arange(rows) + 100 * number,
                "unused": np.zeros(rows),
            }
        )
        for number, rows in enumerate((5, 0, 11, 7, 3))
    ]
    factor = 2 if many > 2 else 1
    kept = [cluster.share(table) for table in tables]
    found = cluster.get(cluster.shuffle(kept, many, by_number, packed, cluster.share(factor)))
    assert [one["number"] for one in found] == list(range(many))
    whole = pa.concat_tables(tables).to_pydict()
    for number, one in enumerate(found):
        assert set(one) == {"number", "to whom", "row"}
        expected = [
            row for row, to in zip(whole["row"], whole["to whom"], strict=True) if to * factor == number
        ]
        assert sorted(one["row"]) == sorted(expected)
