"""Mutated dumps: whatever is done to a file, the outcome is a result or an error of ours.

The samples of all formats and the odd inputs are the seeds. ADVCLI_FUZZ=20000 tries that many mutations of each kind.
"""

import json
import os
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from mutations import ODD_VALUES, bent, mutated

from advcli.common.errors import AdvcliError
from advcli.pipeline.compute import Output, compute
from advcli.pipeline.request import Request
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions

HERE = Path(__file__).parent
EXAMPLES = int(os.environ.get("ADVCLI_FUZZ", "150"))
QUICK = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize="ADVCLI_FUZZ" not in os.environ,
    database=None,
)


def seeds(*suffixes):
    files = sorted(
        path for folder in ("data", "odd") for path in (HERE / folder).rglob("*") if path.is_file()
    )
    return [path for path in files if path.suffix in suffixes and path.stat().st_size < 40_000]


TEXTS, BYTES = seeds(".jsonl", ".json"), seeds(".jsonl", ".json", ".gz", ".zst", ".parquet")


def outcome(data: bytes, suffix: str, *, options: ColumnOptions, same_layout: bool) -> str:
    """Run the whole of compute on some bytes: "read", or the words of our error; anything else is raised."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"step_3{suffix}"
        path.write_bytes(data)
        request = Request((str(path),), Settings(singleton="zero"), options, skip_bad_rows=options.dedup)
        try:
            compute(request, Output(f"{folder}/out/", same_layout=same_layout))
        except AdvcliError as error:
            # Whole or not at all.
            assert not list(Path(folder).rglob("*.part"))
            return str(error)
        return "read"


chances = st.randoms(use_true_random=False)


def how(chance: random.Random) -> dict[str, object]:
    options = ColumnOptions(dedup=chance.random() < 0.3, n=chance.choice([None, None, 2]))
    return {"options": options, "same_layout": chance.random() < 0.3}


@QUICK
@given(st.sampled_from(BYTES), chances)
def test_mutated_bytes(path, chance):
    data = mutated(path.read_bytes(), chance)
    assert outcome(data, path.suffix, **how(chance))


@QUICK
@given(st.sampled_from(TEXTS), chances)
def test_bent_records(path, chance):
    try:
        text = path.read_text(encoding="utf-8")
        records = (
            [json.loads(text)] if path.suffix == ".json" else [json.loads(line) for line in text.splitlines()]
        )
    except (ValueError, RecursionError):
        return
    for _ in range(chance.randint(1, 3)):
        if records:
            place = chance.randrange(len(records))
            records[place] = bent(records[place], chance)
    shown = [json.dumps(record).encode("utf-8", "surrogatepass") for record in records]
    assert outcome(b"\n".join(shown), path.suffix, **how(chance))


keys = st.sampled_from(
    [
        "reward",
        "rewards",
        "prompt",
        "prompt_id",
        "step",
        "rollouts",
        "traces",
        "group",
        "input",
        "output",
        "score",
        "uid",
    ]
)
trees = st.recursive(
    st.sampled_from(ODD_VALUES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
)


@QUICK
@given(st.lists(st.dictionaries(keys, trees, min_size=1, max_size=6), min_size=1, max_size=4), chances)
@example([{"group": {"id": 1}, "traces": [None]}], random.Random(0))
def test_records_that_nobody_wrote(records, chance):
    data = "\n".join(json.dumps(record) for record in records).encode("utf-8", "surrogatepass")
    assert outcome(data, ".jsonl", **how(chance))


@pytest.mark.parametrize("path", BYTES[::7], ids=lambda path: path.name)
def test_every_prefix_of_a_file(path):
    """A writer that stops anywhere leaves a file that is read or refused."""
    data = path.read_bytes()
    for end in range(0, len(data), max(1, len(data) // 12)):
        assert outcome(data[:end], path.suffix, options=ColumnOptions(), same_layout=False)
