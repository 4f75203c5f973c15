"""Logs of inspect_ai: archives with and without zstd, cut off, and documents."""

import json
import math
import zipfile

import numpy as np
import pyarrow as pa
import pytest

from advcli.common.errors import DataError
from advcli.io.formats.inspect_ai import rewards
from advcli.io.inputs import opened
from advcli.io.read import read
from advcli.records.table import ColumnOptions


def loaded(path, **options):
    with opened([str(path)]) as sources:
        return read(sources, ColumnOptions(**options))


def sample(name, epoch, *values, error=None):
    scores = {f"scorer{place}": {"value": value, "answer": ""} for place, value in enumerate(values)}
    return {"id": name, "epoch": epoch, "input": "q", "target": "t", "scores": scores, "error": error}


def archive(path, **entries):
    with zipfile.ZipFile(path, "w") as file:
        for name, value in entries.items():
            file.writestr(name, json.dumps(value))
    return path


SAMPLES = [
    sample("a", 1, "C"),
    sample("b", 1, "I"),
    sample("a", 2, "P"),
    sample("b", 2, "C", error={"message": "x"}),
]
EXPECTED = [1.0, 0.0, 0.5, math.nan]


def test_an_archive_whose_entries_are_not_zstd(tmp_path):
    table = loaded(archive(tmp_path / "x.eval", **{"header.json": {}, "summaries.json": SAMPLES}))
    assert table.choice.format == "inspect-ai"
    np.testing.assert_array_equal(table.rewards, EXPECTED)
    assert table.key.tolist() == [0, 1, 0, 1]


def test_a_log_that_was_cut_off(tmp_path):
    parts = {f"_journal/summaries/{place}.json": SAMPLES[2 * place - 2 : 2 * place] for place in (2, 1)}
    parts |= {"_journal/summaries/10.json": [sample("c", 1, 1.0)], "_journal/start.json": {}}
    table = loaded(archive(tmp_path / "x.eval", **parts))
    np.testing.assert_array_equal(table.rewards, [*EXPECTED, 1.0])
    assert "was cut off" in table.warnings[0]


def test_a_document(tmp_path):
    path = tmp_path / "2026-11-20T10-00-00+00-00_sums_abc.json"
    log = {"version": 2, "status": "success", "eval": {"task": "sums"}, "samples": SAMPLES}
    path.write_text(json.dumps(log, indent=2))
    for place in (path, tmp_path):
        table = loaded(place)
        assert table.choice.format == "inspect-ai"
        np.testing.assert_array_equal(table.rewards, EXPECTED)


def test_of_several_scorers_the_first_is_read_and_it_is_said(tmp_path):
    rows = [sample("a", 1, "C", 0.25), sample("a", 2, "I", 0.5)]
    path = archive(tmp_path / "x.eval", **{"header.json": {}, "summaries.json": rows})
    table = loaded(path)
    assert table.rewards.tolist() == [1.0, 0.0]
    assert "2 scorers and no total: reward/scorer0 is read; try --reward reward/scorer1" in table.warnings[0]
    assert loaded(path, rewards=(("reward/scorer1", 1.0),)).rewards.tolist() == [0.25, 0.5]


@pytest.mark.parametrize("entries", [{"header.json": {}, "summaries.json": []}, {"_journal/start.json": {}}])
def test_no_sample_was_finished(tmp_path, entries):
    with pytest.raises(DataError, match="without a finished sample"):
        loaded(archive(tmp_path / "x.eval", **entries))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("C", 1),
        ("N", 0),
        ("P", 0.5),
        (True, 1),
        (0.25, 0.25),
        ("0.75", 0.75),
        ("good", None),
        ([1, 2], None),
        (None, None),
    ],
)
def test_the_value_of_a_score(value, expected):
    assert rewards({"scores": {"s": {"value": value}}}) == {"reward/s": expected}


def test_zstd_entries_are_read_where_python_cannot(tmp_path):
    """An archive as inspect_ai writes it: method 93."""
    packed = archive(tmp_path / "x.eval", **{"header.json": {}})
    with zipfile.ZipFile(packed, "a") as file:
        data = pa.compress(json.dumps(SAMPLES).encode(), "zstd", asbytes=True)
        file.writestr("summaries.json", data)
    raw = packed.read_bytes()
    at = raw.index(b"summaries.json")
    central = raw.rindex(b"summaries.json")
    patched = bytearray(raw)
    patched[at - 30 + 8 : at - 30 + 10] = patched[central - 46 + 10 : central - 46 + 12] = b"\x5d\x00"
    packed.write_bytes(patched)
    np.testing.assert_array_equal(loaded(packed).rewards, EXPECTED)
