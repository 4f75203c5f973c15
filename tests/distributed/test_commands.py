"""The commands on Ray give what they give on one machine."""

import json
import math
import random
import re
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import local as one_machine
from packaging.specifiers import SpecifierSet

from advcli.common.errors import DataError
from advcli.estimators.catalog import ESTIMATORS
from advcli.filters.catalog import filter_spec
from advcli.frameworks.catalog import RULES
from advcli.pipeline.compute import Output
from advcli.pipeline.request import Request
from advcli.pipeline.sweep import Grid
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions
from advcli.shaping.spec import specs_of

pytestmark = pytest.mark.ray

FORMATS = Path(__file__).parents[1] / "io" / "data"
TOKENS = {
    name: name
    for name in ("values", "log_probs", "sum_pi_squared", "token_rewards", "teacher_log_probs", "mask")
}


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
                "token_rewards": [round(0.5 + pick.random(), 3) for _ in range(tokens)],
                "teacher_log_probs": [-round(pick.random(), 3) for _ in range(tokens)],
                # Rollouts of two or three turns, under names that nobody finds.
                "talk": f"{number // 2 % 3}" if number % 7 else f"x{number // 14}",
                "nth": number,
                "seen": f"s{number % 2}",
                "whole": float(number // 2 % 3 if number % 7 else number // 14 % 2),
                "fine": float(number % 3 > 0),
                "who": f"a{number % 2}",
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
            path.write_text(
                "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in part), encoding="utf-8"
            )
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
    for name, compute in (("local", one_machine.compute), ("ray", commands.compute)):
        report = compute(
            Request(tuple(inputs), settings, columns), Output(out=f"{tmp_path / name}/", **output)
        )
        found.append((report, tmp_path / name))
    return tuple(found)


def table(path: Path) -> pd.DataFrame:
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pandas()
    raw = path.read_bytes()
    if path.suffix == ".zst":
        with pa.CompressedInputStream(pa.BufferReader(raw), "zstd") as file:
            raw = file.read()
    return pd.DataFrame([json.loads(line) for line in raw.decode().split("\n") if line])


def files_in(folder: Path) -> list[str]:
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in paths if ".advcli" not in path.parts)


def same_files(local: Path, ray: Path, tolerance: float = 1e-12) -> None:
    """The same files, rows in the same order, numbers to 1e-12 of the largest, everything else equal."""
    names = files_in(local)
    assert names == files_in(ray)
    for name in names:
        one, two = table(local / name), table(ray / name)
        assert list(one.columns) == list(two.columns)
        for column in one.columns:
            same_column(one[column].tolist(), two[column].tolist(), tolerance, f"{name}: {column}")


def same_column(one: list, two: list, tolerance: float, where: str) -> None:
    flat_one, flat_two = flat(one), flat(two)
    assert len(flat_one) == len(flat_two), where
    numeric = [isinstance(value, float) for value in flat_one]
    largest = max(
        (abs(v) for v, n in zip(flat_one, numeric, strict=True) if n and math.isfinite(v)), default=1.0
    )
    for a, b, number in zip(flat_one, flat_two, numeric, strict=True):
        if number and isinstance(b, float):
            assert (math.isnan(a) and math.isnan(b)) or a == b or abs(a - b) <= tolerance * max(largest, 1), (
                where
            )
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
    for record in (left, right):
        record["notes"] = [note for note in record["notes"] if not note.startswith("wrote ")]
        record["written"] = [Path(path).name for path in record["written"]]
        # Exact repeats are said where small inputs are read once more, which Ray does not do.
        record["warnings"] = [
            text for text in record["warnings"] if "identical to an earlier one" not in text
        ]
        # Equal dictionaries may have their keys in another order.
        record["health"]["sizes"] = list(record["health"]["sizes"].items())
    same_numbers(left, right)


OPTIONS = ColumnOptions(
    length="length",
    rewards=(("reward", 1.0), ("quality", 0.5)),
    tokens=TOKENS,
    roles=(("baselines", "baseline"), ("segment", "fine")),
)
PLAIN = ColumnOptions(length="length", roles=(("baselines", "baseline"),))
TURNS = replace(
    PLAIN,
    rollout="talk",
    turn="nth",
    roles=(
        *PLAIN.roles,
        ("anchor", "seen"),
        ("episode", "whole"),
        ("valid", "fine"),
        ("env_step", "nth"),
        ("agent", "who"),
        ("input_tokens", "length"),
        ("macro", "whole"),
        ("segment", "nth"),
    ),
)


def columns_for(row) -> ColumnOptions:
    """What an estimator or a rule reads."""
    if row.level == "turn":
        return TURNS
    if "segment" in row.needs:
        return replace(OPTIONS, rewards=(("reward", 1.0), ("quality", 0.5), ("baseline", 1.0)))
    return OPTIONS if row.level == "token" or "parts" in row.needs else PLAIN


@pytest.mark.usefixtures("inline_ray")
@pytest.mark.parametrize("name", [row.name for row in ESTIMATORS])
@pytest.mark.parametrize("dump", ["no step", "parquet"])
def test_every_estimator(name: str, dump: str, dumps, tmp_path: Path):
    columns = columns_for(ESTIMATORS[name])
    knobs = {"low": -1, "high": 3} if name == "bnpo" else {}
    (one, local), (two, ray) = on_both(dumps[dump], tmp_path, Settings(estimator=name, knobs=knobs), columns)
    same_files(local, ray)
    if ESTIMATORS[name].level == "turn":
        one, two = (replace(report, warnings=_without_sizes(report.warnings)) for report in (one, two))
    same_reports(one, two)


def _without_sizes(warnings: tuple[str, ...]) -> tuple[str, ...]:
    """How many rollouts a group has is not known there where turns are counted."""
    return tuple(text for text in warnings if "the same prompt drawn more than once" not in text)


# Every rule on whole steps; each function once on a dump without steps.
RULED = [(rule, "parquet") for rule in RULES]
RULED += [(rule, "no step") for rule in {rule.target: rule for rule in RULES}.values()]


@pytest.mark.usefixtures("inline_ray")
@pytest.mark.parametrize(
    ("rule", "dump"), RULED, ids=[f"{r.framework}{r.versions}-{r.estimator}-{d}" for r, d in RULED]
)
def test_every_rule_of_a_framework(rule, dump: str, dumps, tmp_path: Path):
    """In float32 a sum depends on what else is summed, in the last digit."""
    version = "" if not rule.versions else f"@{_of(rule.versions)}"
    columns = columns_for(rule)
    settings = Settings(like=rule.framework + version, estimator=rule.estimator)
    (one, local), (two, ray) = on_both(dumps[dump], tmp_path, settings, columns)
    same_files(local, ray, tolerance=2e-6)
    warned = (one.warnings, two.warnings)
    first, second = map(_without_sizes, warned) if rule.level == "turn" else warned
    assert first == second


def _of(versions: str) -> str:
    """A version that a specifier allows."""
    tried = [
        "99",
        "0.22.0",
        "0.17",
        "0.9",
        "0.8",
        "0.7",
        "0.6",
        "0.5",
        "0.4",
        "0.3",
        "0.2",
        "0.1",
        "1.0",
        "1.5",
        "2.0",
        "3.0",
    ]
    return next(version for version in tried if SpecifierSet(versions).contains(version))


@pytest.mark.usefixtures("inline_ray")
@pytest.mark.parametrize("name", sorted(path.name for path in FORMATS.iterdir()))
def test_every_format(name: str, tmp_path: Path):
    settings, columns = Settings(singleton="zero"), ColumnOptions()
    try:
        (one, local), (two, ray) = on_both([str(FORMATS / name)], tmp_path, settings, columns)
    except DataError as error:
        # Samples that are no rollouts are refused in the same words.
        with pytest.raises(DataError, match=re.escape(str(error))):
            one_machine.compute(
                Request((str(FORMATS / name),), settings, columns), Output(out=f"{tmp_path}/x/")
            )
        return
    same_files(local, ray)
    same_reports(one, two)


@pytest.mark.usefixtures("inline_ray")
@pytest.mark.parametrize(
    ("settings", "columns"),
    [
        pytest.param(Settings(keep_pos=0.5, keep_neg=0.3, compute_new_adv=True), PLAIN, id="recomputed"),
        pytest.param(
            Settings(scale="batch", keep_pos=0.5, compute_new_adv=True), PLAIN, id="recomputed, batch"
        ),
        pytest.param(Settings(missing="zero", singleton="raw"), PLAIN, id="rules"),
        pytest.param(Settings(), ColumnOptions(n=4), id="cut by n"),
        pytest.param(Settings(), ColumnOptions(group_by=("prompt_id",)), id="grouped across steps"),
        pytest.param(
            Settings(scale="batch"), ColumnOptions(group_by=("prompt_id",)), id="grouped across steps, batch"
        ),
        pytest.param(
            Settings(estimator="shrinkage"), ColumnOptions(group_by=("prompt_id",)), id="across steps, whole"
        ),
        pytest.param(
            Settings(shaping=specs_of({"overlong": {"max": 4, "buffer": 2}})),
            PLAIN,
            id="shaped",
        ),
        pytest.param(
            Settings(shaping=specs_of({"kl": {"coef": 0.1}})),
            replace(PLAIN, roles=(*PLAIN.roles, ("kl", "kl"))),
            id="kl",
        ),
        *(
            pytest.param(Settings(filters=(filter_spec(when, text),)), PLAIN, id=text)
            for when, text in [
                ("before", "dynamic_sampling"),
                ("before", "truncated:max=4"),
                ("before", "gfpo:k=3"),
                ("before", "pods:m=3"),
                ("before", "ragen:p=0.7"),
                ("after", "cppo:keep=0.5"),
                ("after", "cppo:keep=0.5,over=group"),
            ]
        ),
    ],
)
@pytest.mark.parametrize("dump", ["no step", "jsonl"])
def test_every_kind_of_setting(settings: Settings, columns: ColumnOptions, dump: str, dumps, tmp_path: Path):
    (one, local), (two, ray) = on_both(dumps[dump], tmp_path, settings, columns)
    same_files(local, ray)
    same_reports(one, two)


@pytest.mark.usefixtures("inline_ray")
@pytest.mark.parametrize("step", [True, False])
@pytest.mark.parametrize("scale", ["group", "batch"])
def test_rows_that_are_cut_by_position(step: bool, scale: str, tmp_path: Path):
    found = [{key: value for key, value in row.items() if key != "prompt_id"} for row in rows(step=step)]
    names = written(tmp_path / "in", found, ".jsonl")
    (one, local), (two, ray) = on_both(names, tmp_path, Settings(scale=scale), ColumnOptions(n=7))
    same_files(local, ray)
    same_reports(one, two)


@pytest.mark.usefixtures("inline_ray")
def test_metrics(dumps, tmp_path: Path):
    for dump in ("jsonl", "no step"):
        files = [tmp_path / f"{dump}-{engine}.jsonl" for engine in ("local", "ray")]
        from advcli.distributed import commands

        request = Request(tuple(dumps[dump]), Settings(keep_pos=0.5), PLAIN)
        one_machine.compute(request, Output(out=f"{tmp_path}/{dump}-a/", metrics=files[0]))
        commands.compute(request, Output(out=f"{tmp_path}/{dump}-b/", metrics=files[1]))
        one, two = ([json.loads(line) for line in file.read_text().splitlines()] for file in files)
        same_numbers(one, two)


@pytest.mark.usefixtures("inline_ray")
@pytest.mark.parametrize("dump", ["no step", "jsonl"])
def test_compare(dump: str, dumps):
    from advcli.distributed import commands

    settings = Settings(keep_pos=0.5, keep_neg=0.4, filters=(filter_spec("before", "truncated:max=5"),))
    request = Request(tuple(dumps[dump]), settings, PLAIN)
    versus = {"rloo": Settings(estimator="rloo"), "whitened": Settings(estimator="batch_norm")}
    one, two = (engine.compare(request, versus) for engine in (one_machine, commands))
    assert [column.label for column in two.columns] == [
        "original",
        "kept",
        "kept + recomputed",
        "rloo",
        "whitened",
    ]
    same_reports(one, two)


@pytest.mark.usefixtures("inline_ray")
@pytest.mark.parametrize("dump", ["no step", "jsonl"])
def test_sweep(dump: str, dumps):
    from advcli.distributed import commands

    request = Request(tuple(dumps[dump]), Settings(), PLAIN)
    grid = Grid(estimators=("grpo", "rloo", "gpg"), scales=("group", "batch"), keep_pos=(1.0, 0.5))
    one, two = (engine.sweep(request, grid) for engine in (one_machine, commands))
    assert [point.settings for point in one.points] == [point.settings for point in two.points]
    for left, right in zip(one.points, two.points, strict=True):
        same_numbers(left.figures(), right.figures())
    assert one.warnings == two.warnings
    assert one.notes[0] == two.notes[0]


@pytest.mark.usefixtures("inline_ray")
def test_a_prompt_with_a_third_of_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It lies in one place, however large; the worker that holds it is said to hold more than its share."""
    from advcli.distributed import cluster

    found = rows(step=False)
    for row in found[:80]:
        row["prompt_id"] = "everybody's"
    names = written(tmp_path / "in", found, ".jsonl")
    request = Request(tuple(names), Settings(scale="batch"), ColumnOptions())
    (one, local), (two, ray) = on_both(names, tmp_path, request.settings, request.columns)
    same_files(local, ray)
    assert two.warnings == one.warnings
    # Room for 66 rows: places of 16, but for this prompt.
    monkeypatch.setattr(cluster, "memory_per_worker", lambda: 40_000)
    from advcli.distributed import commands

    small = commands.compute(request, Output(out=f"{tmp_path}/small/"))
    same_files(local, tmp_path / "small")
    held = [text for text in small.warnings if text not in one.warnings]
    assert len(held) == 1
    assert re.fullmatch(
        r"a worker held \d+ rows, as the rows of a prompt cannot be split: about 0.0 GB where its share is 0.0 GB",
        held[0],
    )


@pytest.mark.usefixtures("inline_ray")
def test_what_is_skipped_in_several_files_is_said_once(tmp_path: Path):
    from advcli.distributed import commands

    padded = [
        [("g_0_0", 1.0), ("g_1_0", 0.0), (f"pad{'0' * 32}_0_0", 0.0)],
        [("h_0_0", 1.0), ("h_1_0", 0.5), (f"pad{'1' * 32}_0_0", 0.0), (f"pad{'2' * 32}_0_0", 0.0)],
    ]
    for number, part in enumerate(padded):
        lines = [
            json.dumps({"uid": uid, "input": "q", "output": "a", "score": score, "step": 1})
            for uid, score in part
        ]
        (tmp_path / f"{number}.jsonl").write_text("\n".join([*lines, '{"broken', ""]))
    request = Request(
        (str(tmp_path / "0.jsonl"), str(tmp_path / "1.jsonl")),
        Settings(),
        ColumnOptions(format="verl-v1"),
        skip_bad_rows=True,
    )
    one, two = (engine.compare(request) for engine in (one_machine, commands))
    assert any("3 rows are no rollout" in text for text in two.warnings)
    assert any(text.startswith("2 bad rows skipped (first: ") for text in two.warnings)
    assert one.warnings == two.warnings
