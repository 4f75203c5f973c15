"""Rollouts of several rows on Ray: the figures, the files and the words of one machine."""

import json
import random
from dataclasses import asdict, replace

import pytest
from distributed import local
from distributed import test_commands as engines

from advcli.inspection.details import Wanted
from advcli.pipeline.compute import Output
from advcli.pipeline.request import Request
from advcli.pipeline.sweep import Grid
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("inline_ray")]

VERL = ColumnOptions()
NAMED = ColumnOptions(rollout="episode", turn="turn")
SETTINGS = {
    "rollouts": Settings(),
    "rows": Settings(count="rows"),
    "sum": Settings(rollout_reward="sum", scale="batch"),
    "verl": Settings(like="verl", keep_pos=0.5),
    "verl's rloo": Settings("rloo", like="verl"),
}


def sessions(step):
    """A file of verl v1: sessions of one to four outputs, whose earlier ones have another score."""
    draw = random.Random(step)
    return [
        {
            "input": f"p{prompt}",
            "output": f"{prompt} {session} {index}",
            "gts": "",
            "score": float(draw.randrange(3)) if index == last else -1.0,
            "step": step,
            "uid": f"{prompt:032x}_{session}_{index}",
            "response_length": draw.randint(1, 9),
        }
        for prompt in range(5)
        for session in range(4)
        for last in [draw.randrange(4)]
        for index in range(last + 1)
    ]


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rollouts")
    for step in (1, 2, 3):
        lines = [json.dumps(row) + "\n" for row in sessions(step)]
        (folder / f"{step}.jsonl").write_text("".join(lines))
    return [str(path) for path in sorted(folder.glob("*.jsonl"))]


def both(name, *arguments):
    from advcli.distributed import commands

    return [getattr(engine, name)(*arguments) for engine in (local, commands)]


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_compare_and_sweep(dumps, settings):
    request = Request(tuple(dumps), settings, VERL)
    one, two = both("compare", request, {"rloo": Settings("rloo", count=settings.count)})
    for report in (one, two):
        assert report.health.rollouts == (None if settings.count == "rows" or "rloo" in str(settings) else 60)
    # The place of the first row of those that differ is not known there.
    engines.same_numbers(*(asdict(replace(report, warnings=(), notes=())) for report in (one, two)))
    one, two = both("sweep", request, Grid(keep_neg=(1.0, 0.5)))
    engines.same_numbers(*(asdict(replace(found, warnings=(), notes=())) for found in (one, two)))


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_inspect(dumps, settings):
    settings = replace(settings, keep_pos=1.0)
    one, two = both("inspect", Request(tuple(dumps), settings, replace(VERL, find_outcomes=True)), Wanted())
    assert one.turns.rollouts == 60
    records = []
    for found in (one, two):
        record = asdict(replace(found, notes=(), files=replace(found.files, lint=())))
        record["facts"]["sizes"] = list(record["facts"]["sizes"].items())
        records.append(record)
    engines.same_numbers(*records)


def test_compute(dumps, tmp_path):
    found = []
    for name in ("local", "ray"):
        from advcli.distributed import commands

        (tmp_path / name).mkdir()
        engine = local if name == "local" else commands
        engine.compute(
            Request(tuple(dumps), Settings(like="verl"), VERL),
            Output(out=f"{tmp_path / name}/", prefix="adv_"),
        )
        files = sorted((tmp_path / name).glob("*.jsonl"))
        lines = [line for path in files for line in path.read_text().splitlines()]
        found.append([json.loads(line) for line in lines])
    assert found[0] == found[1]
    assert max(row["adv_rollout"] for row in found[0]) == 59


def test_a_rollout_id_by_its_name_alone_is_not_taken(tmp_path):
    rows = [
        {"prompt_id": prompt, "episode": episode, "turn": turn, "reward": float(episode)}
        for prompt in "ab"
        for episode in (0, 1)
        for turn in range(1 + episode)
    ]
    path = tmp_path / "1.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    one, two = both("compare", Request((str(path),), Settings(), ColumnOptions()))
    assert (one.health.rollouts, two.health.rollouts) == (4, None)
    assert any("--rollout-col episode" in text for text in two.warnings)
    one, two = both("compare", Request((str(path),), Settings(), NAMED))
    assert (one.health.rollouts, two.health.rollouts) == (4, 4)
