"""`prompts` on Ray gives what it gives on one machine."""

import json
from dataclasses import asdict, replace

import pytest
from distributed import local
from distributed import test_commands as engines

from advcli.common.errors import AdvcliError
from advcli.pipeline.request import Request
from advcli.records.results.prompts import Asked
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("inline_ray")]

NAMED = replace(engines.PLAIN, named=True, ungrouped=True)


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prompts")
    return {
        "steps": engines.written(folder / "steps", engines.rows(), ".parquet"),
        "no step": engines.written(folder / "no step", engines.rows(step=False), ".jsonl"),
    }


@pytest.mark.parametrize("settings", [Settings(), Settings(count="rows"), Settings(rollout_reward="sum")])
def test_both_engines_count_rollouts_alike(tmp_path, settings):
    from advcli.distributed import commands

    paths = []
    for step in (1, 2):
        lines = [
            {
                "prompt": f"p{p}",
                "episode": f"{step}-{p}-{i}",
                "turn": t,
                "step": step,
                "reward": float((p + i + t) % 2),
            }
            for p in range(4)
            for i in range(3)
            for t in range(1 + (p + i) % 3)
        ]
        path = tmp_path / f"{step}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        paths.append(str(path))
    columns = ColumnOptions(named=True, ungrouped=True, rollout="episode", turn="turn")
    request = Request(tuple(paths), settings, columns)
    one, two = (asdict(engine.prompts(request, Asked())) for engine in (local, commands))
    assert one["health"]["rollouts"] == (None if settings.count == "rows" else 24)
    for found in (one, two):
        found["table"] = {key: list(values) for key, values in found["table"].items()}
        found["health"]["sizes"] = sorted(found["health"]["sizes"].items())
        # The place of the first is named on one machine only.
        found["warnings"] = [text.partition(" (first")[0].partition(":")[0] for text in found["warnings"]]
    engines.same_numbers(one, two)


def on_both(inputs, columns, asked):
    """What each engine finds, or what it says is wrong."""
    from advcli.distributed import commands

    found = []
    for engine in (local, commands):
        try:
            found.append(asdict(engine.prompts(Request(tuple(inputs), Settings(), columns), asked)))
        except AdvcliError as error:
            found.append(str(error))
    return found


@pytest.mark.parametrize("name", ["steps", "no step"])
@pytest.mark.parametrize(
    ("columns", "asked"),
    [
        (NAMED, Asked()),
        (NAMED, Asked(pass_at=0.5, sort="-mean", top=5, ks=(1, 3))),
        (replace(NAMED, where=("quality > 0.5",), length="length"), Asked(pass_at=0.5)),
        (replace(NAMED, rewards=(("mask_sum", 1.0),)), Asked()),
        (NAMED, Asked(sort="nothing")),
        (replace(NAMED, prompt=None, n=4), Asked()),
    ],
)
def test_both_engines_agree(dumps, name, columns, asked):
    one, two = on_both(dumps[name], columns, asked)
    if isinstance(one, str) or isinstance(two, str):
        assert one == two
        return
    for found in (one, two):
        found["table"] = {key: list(values) for key, values in found["table"].items()}
        found["health"]["sizes"] = sorted(found["health"]["sizes"].items())
    engines.same_numbers(one, two)
