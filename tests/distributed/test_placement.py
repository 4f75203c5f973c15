"""What goes where, and that nothing is lost on the way; no Ray needed."""

from itertools import chain

import numpy as np
import pyarrow as pa
import pytest
from distributed import inline

from advcli.distributed.placement import (
    Partition,
    PartitionPlan,
    joined,
    largest_step,
    spread,
    with_codes_of_all,
)
from advcli.distributed.scan import ScanJob, Summary
from advcli.records.table import Choice, ColumnOptions


def file(
    number: int, key: list[int], step: list[int] | None = None, usable: list[bool] | None = None
) -> pa.Table:
    """Rows of a file: the digests of their prompts, and the steps of that file by their codes."""
    rows = len(key)
    return pa.table(
        {
            "file": pa.array([number] * rows, pa.int32()),
            "row": pa.array(range(rows), pa.int32()),
            "key": pa.array(key, pa.int64()),
            "usable": pa.array(usable or [True] * rows, pa.bool_()),
            "step": pa.array(step or [0] * rows, pa.int32()),
        }
    )


def planned(
    unit: str,
    files: list[pa.Table],
    rows: int,
    *,
    names: list[tuple[str, ...]] | None = None,
    n: int | None = None,
) -> PartitionPlan:
    prompt = () if unit == "position" else ("id",)
    choice = Choice("generic", prompt, "step" if names else None, (("reward", 1.0),))
    summaries = [
        Summary(
            number,
            table.num_rows,
            usable=sum(table["usable"].to_pylist()),
            steps=names[number] if names else (),
            step_rows=tuple(np.bincount(table["step"].to_numpy(), minlength=len(names[number])))
            if names
            else (),
        )
        for number, table in enumerate(files)
    ]
    return PartitionPlan.of(ScanJob((), choice, {}, ColumnOptions(n=n)), summaries, unit, rows)


def spread_out(
    plan: PartitionPlan, files: list[pa.Table]
) -> tuple[PartitionPlan, list[Partition], list[list[tuple]]]:
    """The plan, the partitions, and the (file, row) of each row of each partition."""
    tasks = inline.Tasks()
    plan, partitions = spread(tasks, [tasks.share(table) for table in files], plan, 2)
    tables = tasks.get([place.rows for place in partitions])
    rows = [list(zip(table["file"].to_pylist(), table["row"].to_pylist(), strict=True)) for table in tables]
    every = [(number, row) for number, table in enumerate(files) for row in range(table.num_rows)]
    assert sorted(chain(*rows)) == every, "rows are lost or twice there"
    # In the order of the files, as groups are numbered by their first row.
    assert all(part == sorted(part) for part in rows)
    assert all(
        {number for number, _ in part} <= {*place.files} for part, place in zip(rows, partitions, strict=True)
    )
    return plan, partitions, rows


def keys(count: int, first: int = 0) -> list[int]:
    """Digests of some prompts with two rows each; some are negative, as digests are."""
    digests = np.random.default_rng(5).integers(-(2**62), 2**62, 10_000)
    return np.repeat(digests[first : first + count], 2).tolist()


def test_files_without_a_group_in_common_stay_as_they_are():
    files = [file(0, keys(10)), file(1, keys(10, 10)), file(2, keys(10, 20))]
    plan, _, rows = spread_out(planned("key", files, 20), files)
    assert plan.crossing.tolist() == []
    assert [{number for number, _ in part} for part in rows] == [{0}, {1}, {2}]


def test_only_the_rows_of_groups_in_several_files_move():
    shared = keys(1, 100)
    files = [file(0, keys(10) + shared), file(1, keys(10, 10) + shared[:1]), file(2, keys(10, 20))]
    plan, _, rows = spread_out(planned("key", files, 22), files)
    assert plan.crossing.view(np.int64).tolist() == shared[:1]
    homes = [{number: at for at, part in enumerate(rows) for number, row in part if row < 20}]
    assert homes == [{0: 0, 1: 1, 2: 2}]
    held = [at for at, part in enumerate(rows) for one in part if one in ((0, 20), (0, 21), (1, 20))]
    assert held == [shared[0] % 2**64 % 3] * 3


def test_where_most_groups_lie_in_several_files_each_goes_where_its_digest_says():
    files = [file(0, keys(40)), file(1, keys(40))]
    plan, _, rows = spread_out(planned("key", files, 40), files)
    assert plan.crossing is None
    place = {one: at for at, part in enumerate(rows) for one in part}
    assert all(place[0, row] == place[1, row] for row in range(80))
    assert len(rows) == plan.partitions == 4


def test_a_prompt_at_another_step_is_another_group_and_stays_with_its_file():
    names = [("1",), ("2",), ("3",)]
    files = [file(0, keys(10)), file(1, keys(10)), file(2, keys(8, 2))]
    plan, _, rows = spread_out(planned("group", files, 20, names=names), files)
    assert plan.crossing.tolist() == []
    assert [{number for number, _ in part} for part in rows] == [{0}, {1}, {2}]
    # All ten prompts of the first file are drawn again.
    assert plan.reused == 10
    # Whole prompts, as `prompts` wants them.
    plan, _, rows = spread_out(planned("key", files, 20, names=names), files)
    assert plan.crossing is None


def test_a_group_of_one_step_in_two_files_lies_together_and_its_prompt_at_another_step_does_not_move():
    shared = keys(1, 100)
    files = [file(0, keys(10) + shared), file(1, keys(10, 10) + shared), file(2, keys(10, 20) + shared)]
    plan, _, rows = spread_out(planned("group", files, 22, names=[("1",), ("1",), ("2",)]), files)
    assert len(plan.crossing) == 1
    place = {one: at for at, part in enumerate(rows) for one in part}
    assert len({place[0, 20], place[0, 21], place[1, 20], place[1, 21]}) == 1
    assert place[2, 20] == place[2, 21] == 2
    assert plan.reused == 1


def test_steps_get_one_number_in_all_files_and_one_partition():
    files = [
        file(0, [0, 0, 1, 2, 3, 4], [0, 0, 1, 1, 1, 1], [False, True, True, True, True, True]),
        file(1, [0, 1, 2, 3], [0, 1, 1, 1]),
    ]
    plan, _, rows = spread_out(planned("step", files, 5, names=[("a", "b"), ("b", "c")]), files)
    assert with_codes_of_all(joined(0, *files), plan)["step"].to_pylist() == [0, 0, 1, 1, 1, 1, 1, 2, 2, 2]
    place = {one: at for at, part in enumerate(rows) for one in part}
    assert len({place[0, 2], place[0, 3], place[0, 4], place[0, 5], place[1, 0]}) == 1
    assert len({place[1, row] for row in (1, 2, 3)}) == 1


def test_a_step_lies_where_most_of_its_rows_are():
    files = [file(number, keys(10, 10 * number)) for number in range(4)]
    _, _, rows = spread_out(planned("step", files, 40, names=[("a",), ("a",), ("b",), ("b",)]), files)
    assert [{number for number, _ in part} for part in rows] == [{0, 1}, {2, 3}]


def test_rows_that_are_cut_by_position_go_on_in_the_next_file():
    # Nine usable rows in pairs: the third pair has the last usable row of the first file and the first of the second.
    files = [
        file(0, [-1, 0, 1, 2, 3, 4], usable=[False, True, True, True, True, True]),
        file(1, [0, 1, 2, 3]),
    ]
    _, _, rows = spread_out(planned("position", files, 4, n=2), files)
    place = {one: at for at, part in enumerate(rows) for one in part}
    usable = [place[0, row] for row in range(1, 6)] + [place[1, row] for row in range(4)]
    assert all(usable[at] == usable[at + 1] for at in (0, 2, 4, 6))
    assert len(set(usable)) > 1


@pytest.mark.parametrize("n", [2, 5, 7])
def test_groups_by_position_over_several_small_files(n: int):
    files = [file(number, list(range(3))) for number in range(7)]
    _, _, rows = spread_out(planned("position", files, 4, n=n), files)
    place = {one: at for at, part in enumerate(rows) for one in part}
    order = [place[number, row] for number in range(7) for row in range(3)]
    assert all(len(set(order[at : at + n])) == 1 for at in range(0, 21, n))


def test_small_files_are_one_partition_and_a_large_one_is_several():
    files = [file(number, keys(1, number)) for number in range(8)] + [file(8, keys(40, 8))]
    plan, _, rows = spread_out(planned("key", files, 20), files)
    assert plan.home.tolist() == [0] * 8 + [1]
    assert plan.width.tolist() == [1] * 8 + [4]
    assert {number for number, _ in rows[0]} == set(range(8))
    assert all(len(part) % 2 == 0 for part in rows[1:])


def test_all_rows_lie_in_one_partition_where_an_estimator_needs_them_together():
    files = [file(number, keys(10, 10 * number)) for number in range(3)]
    _, _, rows = spread_out(planned("all", files, 20), files)
    assert len(rows) == 1


def test_the_largest_step_is_counted_over_all_files():
    assert (
        largest_step(
            [Summary(0, 6, steps=("a", "b"), step_rows=(2, 4)), Summary(1, 1, steps=("b",), step_rows=(1,))]
        )
        == 5
    )
