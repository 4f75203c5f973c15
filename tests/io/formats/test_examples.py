"""Dumps as their writers lay them out, each with what is in it: `expected.json` was written with the dump, not by advcli."""

import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from advcli.dataset.grouping import group
from advcli.io.inputs import opened
from advcli.io.read import read
from advcli.pipeline.compute import Output, compute
from advcli.pipeline.request import Request
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions

DATA = Path(__file__).parents[1] / "data"
EXAMPLES = {place.parent.name: json.loads(place.read_text()) for place in DATA.glob("*/expected.json")}
# Every row is a group of its own, and that is not said on the command line.
SETTINGS = Settings(singleton="zero")


def loaded(path, **options):
    with opened([str(path)]) as sources:
        return read(sources, ColumnOptions(**options))


def numbered(values):
    codes = {}
    return [codes.setdefault(str(value), len(codes)) for value in values]


def rows_of(table, grouping):
    """The row of each rollout that counts, in the order of the file; rows that are left out belong to no group."""
    rollout = (
        grouping.rollout if getattr(grouping, "rollout", None) is not None else range(len(table.rewards))
    )
    last = {rollout[row]: row for row in np.flatnonzero(grouping.group >= 0)}
    return list(last.values())


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_dump_is_read_without_flags(name):
    expected = EXAMPLES[name]
    table = loaded(DATA / name / expected["input"])
    grouping = group(table, singletons_expected=True)
    assert table.choice.format == expected["format"]
    split = expected["split"] if isinstance(expected["split"], list) else None
    trained = [at for at in range(expected["rollouts"]) if split is None or split[at] == "train"]
    rows = rows_of(table, grouping)
    assert numbered(grouping.group[rows]) == numbered(expected["group_of"][at] for at in trained)
    rewards = [math.nan if expected["rewards"][at] is None else expected["rewards"][at] for at in trained]
    np.testing.assert_allclose(table.rewards[rows], rewards, rtol=1e-7)
    if expected["advantages"]:
        logged = [expected["advantages"][at] for at in trained]
        logged = [math.nan if value is None else value for value in logged]
        np.testing.assert_allclose(table.logged[rows], logged, rtol=1e-5)
    if expected["steps"]:
        steps = [table.step_names[code] for code in table.step[rows]]
        assert steps == [str(expected["steps"][at]) for at in trained]


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_dump_is_annotated(name, tmp_path):
    """Each row comes out once, whatever its file was."""
    place = DATA / name / EXAMPLES[name]["input"]
    compute(Request((str(place),), SETTINGS, ColumnOptions()), Output(f"{tmp_path}/"))
    rows = [row for path in tmp_path.rglob("*.adv.*") for row in written(path)]
    assert len(rows) == len(loaded(place).rewards)
    assert all("adv_original" in row for row in rows)


def written(path):
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    with pa.input_stream(str(path), compression="detect") as file:
        return [json.loads(line) for line in file.read().splitlines()]
