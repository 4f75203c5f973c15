"""Logs of inspect_ai: `.eval` archives and `.json` documents, an epoch of a sample per row."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from advcli.common.errors import DataError
from advcli.io.formats.format import Contents, Format, Opener

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo

_HERE = "advcli.io.formats.inspect_ai"
_PREFIX = "reward/"
_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_ZSTD = 93
# Bytes of the fixed part of a zip entry's local header.
_LOCAL_HEADER = 30

ROWS = (
    Format(
        name="inspect-ai",
        requires=("id", "epoch", "input", "target", "scores"),
        prompt=("@file+id",),
        reward=("reward",),
        length=False,
        files=("*.eval",),
        opener=Opener(r"PK\x03\x04", f"{_HERE}:archive"),
        summary="inspect_ai <date>_<task>_<id>.eval: a sample's epoch per row",
        source="inspect_ai/log/_recorders/eval.py, json.py",
        switch="on by default: logs/",
        traps=(
            "the letters C, P, I and N count 1, 0.5, 0 and 0; each scorer is a reward of its own, reward/<scorer>",
            "several scorers have no total: the first one is read (--reward reward/<scorer> for another)",
            "a sample with an error has no score: missing",
        ),
    ),
    Format(
        name="inspect-ai-json",
        requires=(),
        files=("[0-9][0-9][0-9][0-9]-*T*_*.json",),
        opener=Opener(
            r"\s*\{\s*\"version\"\s*:\s*\d+\s*,\s*\"status\"\s*:\s*\"\w+\"\s*,\s*\"eval\"\s*:",
            f"{_HERE}:document",
        ),
        summary="inspect_ai <date>_<task>_<id>.json: one document",
        source="inspect_ai/log/_recorders/json.py",
        switch="--log-format json",
    ),
)


def archive(path: Path, name: str) -> Contents | None:
    """The samples of a log in a zip archive, from its summaries; None if the archive is something else.

    Raises:
        DataError: no sample was finished.
    """
    from zipfile import ZipFile

    with ZipFile(path) as file:
        members = {member.filename: member for member in file.infolist()}
        if not members.keys() & {"header.json", "_journal/start.json"}:
            return None
        parts = sorted(member for member in members if member.startswith("_journal/summaries/"))
        parts.sort(key=lambda member: (len(member), member))
        samples: list[dict[str, Any]] = []
        for member in ["summaries.json"] if "summaries.json" in members else parts:
            samples += json.loads(_read(path, file, members[member]))
    cut = (
        () if "header.json" in members else (f"{name} was cut off: the samples that were finished are read",)
    )
    return _contents(samples, name, cut)


def document(path: Path, name: str) -> Contents | None:
    """The samples of a log that is one JSON document; None if it is something else.

    Raises:
        DataError: it holds no samples.
    """
    log = json.loads(path.read_bytes())
    samples = log.get("samples") if isinstance(log, dict) and "eval" in log else None
    return _contents(samples or [], name, ()) if isinstance(samples, list | None) and "eval" in log else None


def _contents(samples: list[dict[str, Any]], name: str, remarks: tuple[str, ...]) -> Contents:
    if not samples:
        raise DataError(f"{name}: a log of inspect_ai without a finished sample")
    rows = [{**sample, **rewards(sample)} for sample in samples]
    scorers = list(dict.fromkeys(key for row in rows for key in row if key.startswith(_PREFIX)))
    if len(scorers) > 1:
        others = " or ".join(f"--reward {scorer}" for scorer in scorers[1:])
        remarks = (
            *remarks,
            f"the log has {len(scorers)} scorers and no total: {scorers[0]} is read; try {others}",
        )
    return Contents(
        ({**row, "reward": row.get(scorers[0]) if scorers else None} for row in rows), remarks=remarks
    )


def rewards(sample: Mapping[str, Any]) -> dict[str, float | None]:
    """A number for each scorer of a sample, null if the sample failed.

    Example:
        >>> rewards({"scores": {"match": {"value": "C"}, "parts": {"value": {"a": 0.5}}}, "error": None})
        {'reward/match': 1.0, 'reward/parts/a': 0.5}
    """
    scores = sample.get("scores")
    result: dict[str, float | None] = {}
    for scorer, score in scores.items() if isinstance(scores, Mapping) else ():
        value = score.get("value") if isinstance(score, Mapping) else score
        values = value.items() if isinstance(value, Mapping) else ((None, value),)
        for key, part in values:
            name = _PREFIX + (scorer if key is None else f"{scorer}/{key}")
            result[name] = None if sample.get("error") else _number(part)
    return result


def _number(value: object) -> float | None:
    if isinstance(value, str):
        value = _LETTERS.get(value, value)
    try:
        return float(value) if isinstance(value, str | int | float) else None
    except ValueError:
        return None


def _read(path: Path, file: "ZipFile", member: "ZipInfo") -> bytes:
    """An entry, including one compressed with zstd, which zipfile supports only from Python 3.14 on."""
    if member.compress_type != _ZSTD:
        return file.read(member)
    import pyarrow as pa

    with path.open("rb") as raw:
        raw.seek(member.header_offset)
        header = raw.read(_LOCAL_HEADER)
        raw.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), 1)
        compressed = raw.read(member.compress_size)
    result: bytes = pa.CompressedInputStream(pa.BufferReader(compressed), "zstd").read()
    return result
