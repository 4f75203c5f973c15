"""`prompts` on Ray gives what it gives on one machine."""

from dataclasses import asdict, replace

import pytest
from distributed import local
from distributed import test_commands as engines

from advcli.common.errors import AdvcliError
from advcli.pipeline.request import Request
from advcli.records.results.prompts import Asked
from advcli.records.settings import Settings

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("inline_ray")]

NAMED = replace(engines.PLAIN, named=True, ungrouped=True)


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prompts")
    return {
        "steps": engines.written(folder / "steps", engines.rows(), ".parquet"),
        "no step": engines.written(folder / "no step", engines.rows(step=False), ".jsonl"),
    }


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
