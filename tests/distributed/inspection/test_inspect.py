"""`inspect` on Ray gives what it gives on one machine: figures, lists, lint, errors."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch
from distributed import local
from distributed import test_commands as engines

from advcli.common.errors import AdvcliError
from advcli.inspection.details import Wanted
from advcli.pipeline.request import Request
from advcli.records.results.inspection import Inspection
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("inline_ray")]

PLAIN = replace(engines.PLAIN, find_outcomes=True)
TWO = replace(engines.PLAIN, rewards=(("reward", 1.0), ("quality", 0.5)))
BY = replace(engines.PLAIN, by="length", outcomes=("quality",))


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    folder = tmp_path_factory.mktemp("inspected")
    return {
        "steps": engines.written(folder / "steps", engines.rows(), ".parquet"),
        "no step": engines.written(folder / "no step", engines.rows(step=False), ".jsonl"),
    }


def on_both(inputs: list[str], settings: Settings, columns: ColumnOptions, wanted: Wanted) -> list:
    """What each engine finds, or what it says is wrong."""
    from advcli.distributed import commands

    found = []
    for engine in (local, commands):
        try:
            found.append(engine.inspect(Request(tuple(inputs), settings, columns), wanted))
        except AdvcliError as error:
            found.append(str(error))
    return found


def same(one: Inspection, two: Inspection) -> None:
    left, right = asdict(one), asdict(two)
    for record in (left, right):
        # Equal dictionaries may have their keys in another order.
        record["facts"]["sizes"] = list(record["facts"]["sizes"].items())
        record["split"] = list(record["split"].items())
        # Rows of dead groups are read back on one machine only.
        del record["causes"]
    engines.same_numbers(left, right)


WANTED = {
    "figures": (PLAIN, Wanted()),
    "parts, largest and smallest": (TWO, Wanted(top=3, bottom=2)),
    "split, a group by its key": (BY, Wanted(group="p3")),
    "a group by its number, the first": (PLAIN, Wanted(group="#0")),
    "a group by its number": (PLAIN, Wanted(group="#29", top=2)),
    "a step": (PLAIN, Wanted(step="1")),
    "a step's largest": (PLAIN, Wanted(step="2", top=4)),
    "a group of a step": (PLAIN, Wanted(step="1", group="p12")),
    "cut by n": (replace(PLAIN, n=4), Wanted(top=4)),
    "grouped across steps": (replace(PLAIN, group_by=("prompt_id",)), Wanted(bottom=4)),
    "no such group": (PLAIN, Wanted(group="nope")),
    "no such number": (PLAIN, Wanted(group="#9999")),
    "no such step": (PLAIN, Wanted(step="77")),
}


@pytest.mark.parametrize("name", WANTED)
@pytest.mark.parametrize("dump", ["steps", "no step"])
@pytest.mark.parametrize("together", [True, False])
def test_every_figure_and_list(name: str, dump: str, together: bool, dumps, monkeypatch):
    """Where no place has whole steps, the one rule of trainers that looks at them is not tried, which is said."""
    from advcli.distributed.inspection import inspect

    if not together:
        monkeypatch.setattr(inspect, "_MAX_SINGLE", 0)
    columns, wanted = WANTED[name]
    one, two = on_both(dumps[dump], Settings(scale="batch" if name == "cut by n" else None), columns, wanted)
    if isinstance(one, str) or isinstance(two, str):
        assert one == two
        return
    scattered = "a step is split over several partitions"
    skipped = {rule.rule for rule in two.facts.phantoms if rule.skipped == scattered}
    assert skipped <= {"slime:grpo", "verl-recipe:spo"}
    assert not (together and skipped)
    same(without(one, skipped), without(two, skipped))


def without(found: Inspection, rules: set[str]) -> Inspection:
    def rest(facts):
        return replace(facts, phantoms=tuple(rule for rule in facts.phantoms if rule.rule not in rules))

    split = {value: rest(facts) for value, facts in found.split.items()}
    return replace(found, facts=rest(found.facts), split=split)


@pytest.mark.parametrize("name", sorted(path.name for path in engines.FORMATS.iterdir()))
def test_every_format(name: str):
    columns = ColumnOptions(find_outcomes=True)
    inputs = [str(engines.FORMATS / name)]
    one, two = on_both(inputs, Settings(singleton="zero"), columns, Wanted(top=2))
    if isinstance(one, str) or isinstance(two, str):
        assert one == two
    else:
        same(one, two)


def odd_reward(size: int) -> float:
    """A reward of which torch gives so many another standard deviation alone than beside another group."""
    for number in range(1, 200):
        alone, beside = (torch.full((rows, size), number / 17) for rows in (1, 2))
        off = alone[0, 0] != alone.mean(dim=1)[0]
        if off and alone.std(dim=1)[0] != beside.std(dim=1)[0]:
            return number / 17
    raise AssertionError("torch rounds otherwise by now")


@pytest.mark.parametrize("size", [3, 5, 6, 7])
def test_rounding_is_that_of_a_group_among_others(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Two dead groups of one size: where one of them is the only one in its place, it has a twin there."""
    from advcli.distributed.inspection import inspect

    monkeypatch.setattr(inspect, "_MAX_SINGLE", 0)
    found = [
        {"prompt_id": f"dead {key}", "reward": odd_reward(size)} for key in range(2) for _ in range(size)
    ]
    found += [{"prompt_id": f"live {key % 8}", "reward": key} for key in range(16)]
    inputs = engines.written(tmp_path / "in", found, ".jsonl")
    one, two = on_both(inputs, Settings(), ColumnOptions(), Wanted())
    # NeMo-RL multiplies a matrix by each group: how that rounds hangs on where in memory the group lies.
    # slime and SPO look at whole steps, and here no place has one.
    rest = {"slime:grpo", "nemo-rl:grpo", "verl-recipe:spo"}
    same(without(one, rest), without(two, rest))
    assert any(rule.groups == 2 for rule in one.facts.phantoms)


def test_repeated_rows_are_found_in_whatever_file(tmp_path: Path):
    rows = engines.rows(60)
    inputs = engines.written(tmp_path / "in", [*rows, *rows[:7]], ".jsonl")
    one, two = on_both(inputs, Settings(), PLAIN, Wanted())
    assert one.files.duplicates == two.files.duplicates == 7


def test_more_different_values_than_a_sketch_keeps(tmp_path: Path):
    from advcli.distributed import sketches

    path = tmp_path / "many.jsonl"
    path.write_text(
        "".join(json.dumps({"prompt_id": f"p{n // 8}", "reward": n / 7}) + "\n" for n in range(40_000))
    )
    one, two = on_both([str(path)], Settings(), ColumnOptions(), Wanted())
    (note,) = two.notes
    assert note.startswith("distinct values are counted by a sketch (theta): off by at most 1.8%")
    assert one.facts.signal.distinct == 40_000
    assert two.facts.signal.distinct == pytest.approx(40_000, rel=0.025)
    # Within 2^14 it counts exactly.
    import numpy as np

    assert sketches.count(
        [sketches.different(np.arange(9000.0)), sketches.different(np.arange(5000.0, 12_000))]
    ) == (
        12_000,
        0.0,
    )
