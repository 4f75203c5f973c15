"""The commands on Ray give what they give on one machine."""

import json
import math
import random
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from advcli import pipeline
from advcli.estimators.catalog import ESTIMATORS
from advcli.pipeline import Grid, Output, Request
from advcli.records import ColumnOptions, FilterSpec, Settings

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("on_ray")]

FORMATS = Path(__file__).parents[1] / "io" / "data"
TOKENS = {"values": "values", "log_probs": "log_probs", "sum_pi_squared": "sum_pi_squared", "mask": "mask"}


def rows(many: int = 240, *, step: bool = True, seed: int = 3) -> list[dict]:
    """Rows of groups of uneven sizes, shuffled, with everything that an estimator may need."""
    pick = random.Random(seed)
    found = []
    for number in range(many):
        key = number // 6 if number % 7 else 3
        tokens = pick.randint(1, 5)
        reward = float(key % 5 == 0) if key % 4 == 0 else round(pick.random(), 3)
        found.append(
            {
                "prompt_id": f"p{key % 30}",
                "reward": None if number == 17 else reward,
                "quality": round(pick.random(), 3),
                "length": tokens,
                "baseline": round(pick.random(), 3),
                "kl": round(pick.random() / 10, 4),
                "response": f"text {number} \u2028 é",
                "values": [round(pick.random(), 3) for _ in range(tokens)],
                "log_probs": [-round(pick.random(), 3) for _ in range(tokens)],
                "sum_pi_squared": [round(pick.random(), 3) for _ in range(tokens)],
                "mask": [1] * (tokens - 1) + [pick.randint(0, 1) if tokens > 1 else 1],
            }
            | ({"step": key // 10} if step else {})
        )
    pick.shuffle(found)
    return found


def written(folder: Path, found: list[dict], suffix: str) -> list[str]:
    """The rows in three files of uneven sizes, the second one with a single row."""
    folder.mkdir(exist_ok=True)
    edges = (0, len(found) // 3, len(found) // 3 + 1, len(found))
    names = []
    for number in range(3):
        part = found[edges[number] : edges[number + 1]]
        path = folder / f"part-{number}{suffix}"
        if suffix == ".parquet":
            pd.DataFrame(part).to_parquet(path, row_group_size=50)
        else:
            path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in part), encoding="utf-8")
        names.append(str(path))
    return names


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    folder = tmp_path_factory.mktemp("dumps")
    return {
        "parquet": written(folder / "parquet", rows(), ".parquet"),
        "jsonl": written(folder / "jsonl", rows(), ".jsonl"),
        "no step": written(folder / "no step", rows(step=False), ".jsonl"),
    }


def on_both(inputs: list[str], tmp_path: Path, settings: Settings, columns: ColumnOptions, **output) -> tuple:
    """The report and the folder of each engine."""
    from advcli.distributed import commands

    found = []
    for name, compute in (("local", pipeline.compute), ("ray", commands.compute)):
        report = compute(Request(tuple(inputs), settings, columns), Output(out=f"{tmp_path / name}/", **output))
        found.append((report, tmp_path / name))
    return tuple(found)


def table(path: Path) -> pd.DataFrame:
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pandas()
    return pd.DataFrame([json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line])


def same_files(local: Path, ray: Path, tolerance: float = 1e-12) -> None:
    """The same files, rows in the same order, numbers to 1e-12 of the largest, everything else equal."""
    names = sorted(path.name for path in local.iterdir())
    assert names == sorted(path.name for path in ray.iterdir() if path.name != ".advcli")
    for name in names:
        one, two = table(local / name), table(ray / name)
        assert list(one.columns) == list(two.columns)
        for column in one.columns:
            same_column(one[column].tolist(), two[column].tolist(), tolerance, f"{name}: {column}")


def same_column(one: list, two: list, tolerance: float, where: str) -> None:
    flat_one, flat_two = flat(one), flat(two)
    assert len(flat_one) == len(flat_two), where
    numeric = [isinstance(value, float) for value in flat_one]
    largest = max((abs(v) for v, n in zip(flat_one, numeric, strict=True) if n and math.isfinite(v)), default=1.0)
    for a, b, number in zip(flat_one, flat_two, numeric, strict=True):
        if number and isinstance(b, float):
            assert (math.isnan(a) and math.isnan(b)) or a == b or abs(a - b) <= tolerance * max(largest, 1), where
        else:
            assert a == b, where


def flat(values: list) -> list:
    found = []
    for value in values:
        inner = value.tolist() if isinstance(value, np.ndarray) else value
        found += [len(inner), *inner] if isinstance(inner, list) else [inner]
    return found


def same_numbers(one: object, two: object, where: str = "") -> None:
    """Two records, their numbers to 1e-9 of each other."""
    if isinstance(one, dict):
        assert isinstance(two, dict)
        assert one.keys() == two.keys(), where
        for key, value in one.items():
            same_numbers(value, two[key], f"{where}.{key}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(two), where
        for number, value in enumerate(one):
            same_numbers(value, two[number], f"{where}[{number}]")
    elif isinstance(one, float):
        assert (math.isnan(one) and math.isnan(two)) or one == pytest.approx(two, rel=1e-9, abs=1e-12), where
    else:
        assert one == two, where


def same_reports(one: object, two: object) -> None:
    left, right = asdict(one), asdict(two)
    drop = ("notes",)
    for record in (left, right):
        record["columns"] = [dict(column) for column in record["columns"]]
        for name in drop:
            record.pop(name)
        record["health"]["sizes"] = dict(sorted(record["health"]["sizes"].items()))
    same_numbers(left, right)


OPTIONS = ColumnOptions(
    length="length",
    baseline="baseline",
    rewards=(("reward", 1.0), ("quality", 0.5)),
    tokens=TOKENS,
)
PLAIN = ColumnOptions(length="length", baseline="baseline")


@pytest.mark.parametrize("name", [row.name for row in ESTIMATORS])
@pytest.mark.parametrize("dump", ["no step", "parquet"])
def test_every_estimator(name: str, dump: str, dumps, tmp_path: Path):
    columns = OPTIONS if ESTIMATORS[name].level == "token" or "parts" in ESTIMATORS[name].needs else PLAIN
    knobs = {"low": -1, "high": 3} if name == "bnpo" else {}
    (one, local), (two, ray) = on_both(dumps[dump], tmp_path, Settings(estimator=name, knobs=knobs), columns)
    same_files(local, ray)
    same_reports(one, two)
