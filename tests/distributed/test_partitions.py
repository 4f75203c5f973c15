"""What goes where, and that nothing is lost on the way; no Ray needed."""

import pyarrow as pa

from advcli.distributed import cluster
from advcli.distributed import partitions as places
from advcli.distributed.partitions import PartitionPlan, assign, largest_step
from advcli.distributed.scan import ScanJob, Summary
from advcli.records.table import Choice, ColumnOptions


def view(
    unit: str, *, n: int | None = None, prompt: tuple[str, ...] = ("id",), rows: int = 4
) -> PartitionPlan:
    choice = Choice("generic", prompt, "step", (("reward", 1.0),))
    summaries = [
        Summary(0, 6, usable=5, steps=("a", "b"), step_rows=(2, 4)),
        Summary(1, 4, usable=4, steps=("b", "c"), step_rows=(1, 3)),
    ]
    return PartitionPlan.of(ScanJob((), choice, {}, ColumnOptions(n=n)), summaries, unit, rows)


def block() -> pa.Table:
    """The rows of the two files, the first with a row that is not usable."""
    return pa.table(
        {
            "file": pa.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1], pa.int32()),
            "row": pa.array([0, 1, 2, 3, 4, 5, 0, 1, 2, 3], pa.int64()),
            "key": pa.array([0, 0, 1, 2, 3, 4, 0, 1, 2, 3], pa.int64()),
            "usable": [False, True, True, True, True, True, True, True, True, True],
            "step": pa.array([0, 0, 1, 1, 1, 1, 0, 1, 1, 1], pa.int64()),
        }
    )


def assigned(view: PartitionPlan) -> dict[str, list]:
    """The rows with their places."""
    rows, place = assign(block(), view)
    return {**rows.to_pydict(), "place": place.tolist()}


def test_steps_get_one_number_in_all_files_and_one_place():
    found = assigned(view("step"))
    assert found["step"] == [0, 0, 1, 1, 1, 1, 1, 2, 2, 2]
    place, steps = found["place"][1:], found["step"][1:]
    assert all(len({p for p, s in zip(place, steps, strict=True) if s == step}) == 1 for step in range(3))


def test_rows_of_a_prompt_lie_together():
    found = assigned(view("key"))
    for key in range(5):
        places = {
            p for p, k, u in zip(found["place"], found["key"], found["usable"], strict=True) if k == key and u
        }
        assert len(places) == 1


def test_rows_that_are_cut_by_position_go_on_in_the_next_file():
    found = assigned(view("position", n=2, prompt=()))
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


def test_the_rows_of_a_place_lie_in_the_order_of_the_files():
    rows = pa.table({"file": [1, 0, 1, 0], "row": [0, 7, 1, 2], "reward": [3.0, 2.0, 4.0, 1.0]})
    assert places.pack(0, rows)["reward"].to_pylist() == [1.0, 2.0, 3.0, 4.0]


class Ray:
    """What starts a Ray, as far as it is asked to."""

    def init(self, **given: object) -> None:
        self.given = given


def test_without_an_address_a_ray_of_our_own_is_started_also_where_another_one_runs():
    ray = Ray()
    cluster._start(ray, None)
    # Without the word Ray would connect to a cluster that runs on this machine, and refuse the rest.
    assert ray.given["address"] == "local"
