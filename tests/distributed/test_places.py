"""What goes where, and that nothing is lost on the way; no Ray needed."""

import numpy as np
import pyarrow as pa
import pytest

from advcli.distributed.narrow import Job, Summary
from advcli.distributed.places import View, assign, largest_step, pack, unpack
from advcli.records.table import Choice, ColumnOptions


def view(unit: str, *, n: int | None = None, prompt: tuple[str, ...] = ("id",), rows: int = 4) -> View:
    choice = Choice("generic", prompt, "step", (("reward", 1.0),))
    summaries = [
        Summary(0, 6, usable=5, steps=("a", "b"), step_rows=(2, 4)),
        Summary(1, 4, usable=4, steps=("b", "c"), step_rows=(1, 3)),
    ]
    return View.of(Job((), choice, {}, ColumnOptions(n=n)), summaries, unit, rows)


def block() -> pa.Table:
    """The rows of the two files, the first with a row that is not usable and one that holds its summary."""
    return pa.table(
        {
            "file": pa.array([None, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1], pa.int32()),
            "row": pa.array([None, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3], pa.int64()),
            "key": pa.array([None, 0, 0, 1, 2, 3, 4, 0, 1, 2, 3], pa.int64()),
            "usable": [None, False, True, True, True, True, True, True, True, True, True],
            "step": pa.array([None, 0, 0, 1, 1, 1, 1, 0, 1, 1, 1], pa.int64()),
            "about": pa.array([b"x"] + [None] * 10, pa.binary()),
        }
    )


def test_steps_get_one_number_in_all_files_and_one_place():
    found = assign(block(), view("step"))
    assert found["step"].to_pylist() == [0, 0, 1, 1, 1, 1, 1, 2, 2, 2]
    place = found["place"].to_pylist()[1:]
    steps = found["step"].to_pylist()[1:]
    assert all(len({p for p, s in zip(place, steps, strict=True) if s == step}) == 1 for step in range(3))


def test_rows_of_a_prompt_lie_together():
    found = assign(block(), view("key")).to_pydict()
    for key in range(5):
        places = {
            p for p, k, u in zip(found["place"], found["key"], found["usable"], strict=True) if k == key and u
        }
        assert len(places) == 1


def test_rows_that_are_cut_by_position_go_on_in_the_next_file():
    found = assign(block(), view("position", n=2, prompt=())).to_pydict()
    usable = [place for place, there in zip(found["place"], found["usable"], strict=True) if there]
    # Nine usable rows in pairs: the fifth pair begins with the first row of the second file's last.
    assert usable == [0, 0, 1, 1, 2, 2, 0, 0, 1]


def test_the_largest_step_is_counted_over_all_files():
    assert (
        largest_step(
            [Summary(0, 6, steps=("a", "b"), step_rows=(2, 4)), Summary(1, 1, steps=("b",), step_rows=(1,))]
        )
        == 5
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_place_is_one_row_in_the_order_of_the_files(seed: int):
    rows = pa.table(
        {
            "place": np.full(6, 7),
            "file": pa.array([0, 0, 1, 1, 1, 2], pa.int32()),
            "row": [0, 1, 0, 1, 2, 0],
            "tokens x": pa.array([[1.0], [], [2.0, 3.0], [4.0], [5.0], [6.0]], pa.large_list(pa.float64())),
        }
    )
    shuffled = rows.take(pa.array(np.random.default_rng(seed).permutation(6)))
    packed = pack(shuffled, "place")
    assert packed.num_rows == 1
    assert packed["place"].to_pylist() == [7]
    columns = unpack(packed)
    assert columns["file"].to_pylist() == [0, 0, 1, 1, 1, 2]
    assert columns["row"].to_pylist() == [0, 1, 0, 1, 2, 0]
    assert columns["tokens x"].to_pylist() == [[1.0], [], [2.0, 3.0], [4.0], [5.0], [6.0]]
