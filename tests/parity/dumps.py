"""`python -m tests.parity.dumps FOLDER`: every dump below FOLDER that has an `expected.json` beside it, read without flags.

`expected.json` says where the dump is (`input`, relative to it) and what is in it: `format`, `rows`, `rollouts`, `groups`,
and per row `group_of` (any names; which rows share one counts), `rewards`, `advantages` (logged), `steps` and `split`,
each a list or null where the dump has none. Lists may have one entry per rollout instead of one per row. Rows of
evaluation that the dump tells apart may be left out.

Prints what differs for each dump; the last line is `agree K of M`, and the exit status is 1 if a dump differs.
"""

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from advcli.common.errors import AdvcliError
from advcli.dataset.load import DataSet
from advcli.pipeline.request import Request
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions

TOLERANCE = 2e-6


@dataclass(frozen=True)
class Found:
    """What was read, an entry per row that belongs to a group."""

    format: str
    group: list[int]
    rollout: list[int]
    parts: tuple[str, ...]
    columns: Mapping[str, list[Any] | None]


def found(data: DataSet) -> Found:
    """What a data set holds."""
    table = data.table
    there = [row for row, code in enumerate(data.grouping.group.tolist()) if code >= 0]
    rollout = data.grouping.rollout
    steps = None if table.step is None else [table.step_names[table.step[row]] for row in there]
    return Found(
        table.choice.format,
        [int(data.grouping.group[row]) for row in there],
        list(range(len(there))) if rollout is None else [int(rollout[row]) for row in there],
        tuple(name for name, _ in table.choice.rewards),
        {
            "rewards": [float(table.rewards[row]) for row in there],
            "advantages": None if table.logged is None else [float(table.logged[row]) for row in there],
            "steps": steps,
        },
    )


def wrong(expected: Mapping[str, Any], read: Found) -> Iterator[str]:
    """What differs."""
    if expected.get("format") and expected["format"] != read.format:
        yield f"format {read.format}, expected {expected['format']}"
    rows, rollouts = len(read.group), len(set(read.rollout))
    kept = _kept(expected, rows)
    whole = kept is None
    if whole and expected.get("rows") not in (None, rows):
        yield f"{rows} rows, expected {expected['rows']}"
    if whole and expected.get("rollouts") not in (None, rollouts):
        yield f"{rollouts} rollouts, expected {expected['rollouts']}"
    if expected.get("parts") is not None and sorted(expected["parts"]) != sorted(read.parts):
        yield f"reward {' + '.join(read.parts)}, expected {' + '.join(expected['parts'])}"
    lists = {
        name: _entries(expected.get(name), kept) for name in ("group_of", "rewards", "advantages", "steps")
    }
    groups = lists["group_of"]
    if groups is None:
        return
    chosen = _one_each(read.rollout) if len(groups) == rollouts != rows else list(range(rows))
    if len(groups) != len(chosen):
        yield f"{len(chosen)} entries, expected {len(groups)}"
        return
    given = [read.group[row] for row in chosen]
    if _numbered(given) != _numbered(groups):
        yield f"groups {_numbered(given)}, expected {_numbered(groups)}"
    for name in ("rewards", "advantages", "steps"):
        column = read.columns[name]
        mine = None if column is None else [column[row] for row in chosen]
        said = _differs(name, lists[name], mine)
        if said:
            yield said


def _kept(expected: Mapping[str, Any], rows: int) -> list[int] | None:
    """The entries that are read where rows of evaluation are left out; None where all are."""
    split = expected.get("split")
    train = [at for at, one in enumerate(split) if one != "eval"] if isinstance(split, list) else []
    return train if train and rows == len(train) != expected.get("rows") else None


def _entries(column: Sequence[Any] | None, kept: Sequence[int] | None) -> list[Any] | None:
    if column is None:
        return None
    return list(column) if kept is None else [column[at] for at in kept]


def _one_each(rollout: Sequence[int]) -> list[int]:
    """The last row of each rollout, in the order in which rollouts begin."""
    last = {code: row for row, code in enumerate(rollout)}
    return [last[code] for code in dict.fromkeys(rollout)]


def _numbered(values: Sequence[Any]) -> list[int]:
    """Values as numbers in order of first appearance."""
    codes: dict[str, int] = {}
    return [codes.setdefault(json.dumps(value, sort_keys=True, default=str), len(codes)) for value in values]


def _differs(name: str, theirs: Sequence[Any] | None, mine: Sequence[Any] | None) -> str | None:
    if theirs is None or mine is None:
        there = mine is not None and any(not _same(value, None) for value in mine)
        if theirs is None:
            # A dump without a step may be read with that of its name.
            return f"{name} where none was expected" if there and name != "steps" else None
        return None if all(value is None for value in theirs) else f"no {name}"
    for at, (a, b) in enumerate(zip(theirs, mine, strict=True)):
        if not _same(a, b):
            return f"{name}: entry {at + 1} is {b}, expected {a}"
    return None


def _same(a: Any, b: Any) -> bool:
    """Equal as numbers where both are some, else as text; null and NaN are one."""
    a, b = (None if isinstance(value, float) and math.isnan(value) else value for value in (a, b))
    if a is None or b is None:
        return a is b
    try:
        return abs(float(a) - float(b)) <= TOLERANCE * max(1.0, abs(float(a)))
    except (TypeError, ValueError):
        return str(a) == str(b)


def check(place: Path) -> list[str]:
    """What differs in the dump that an expected.json is about."""
    expected = json.loads(place.read_text(encoding="utf-8"))
    # A dump whose groups have one row each is fine here.
    request = Request((str(place.parent / expected["input"]),), Settings(singleton="zero"), ColumnOptions())
    try:
        with request.opened() as sources:
            return list(wrong(expected, found(request.load(sources))))
    except AdvcliError as error:
        return [error.message.replace(f"{place.parent}/", "")]
    except Exception as error:  # a fault of one dump must not hide the others
        return [f"{type(error).__name__}: {error}"]


def main(folders: Sequence[str]) -> int:
    """Check every dump below some folders; 0 if all agree."""
    places = sorted(path for folder in folders for path in Path(folder).rglob("expected.json"))
    if not places:
        sys.stderr.write(
            "usage: python -m tests.parity.dumps FOLDER (with an expected.json beside each dump)\n"
        )
        return 2
    agree = 0
    for place in places:
        said = check(place)
        agree += not said
        sys.stdout.write(f"{place.parent}: {'; '.join(said) or 'agrees'}\n")
    sys.stdout.write(f"agree {agree} of {len(places)}\n")
    return 0 if agree == len(places) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
