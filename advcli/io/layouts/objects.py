"""Explodes parsed records into rows, for all layouts of dumps.

rows    a record is a row
ones    a record is a row, and every value is in a list of one (NeMo-RL)
lists   a record is a group, a step or a whole file: columns are lists with one value per row (ROLL, ms-swift, atropos)
nested  a record is a prompt with a list of objects, one per row (prime-rl, rllm, ART)
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from advcli.common.errors import DataError
from advcli.io.layouts.paths import ABSENT, find, get, parsed
from advcli.records.layout import Layout

LAYOUTS = ("rows", "ones", "lists", "nested")

# Usual names of columns with one reward per row, of reward keys, and of lists of objects with a reward each.
_REWARD_LISTS = ("rewards", "scores", "reward", "score", "total_rewards", "total_reward", "scalar_rewards")
_REWARD_KEYS = ("reward", "score", "total_reward", "scalar_reward", "rewards", "reward_score")
_OBJECT_LISTS = (
    "rollouts",
    "samples",
    "responses",
    "completions",
    "generations",
    "outputs",
    "candidates",
    "trajectories",
    "traces",
)

Record = Mapping[str, Any]


class LayoutMismatch(ValueError):  # noqa: N818  never leaves the readers, which know file and line
    """A record whose layout differs from the others."""


def length(record: Record, layout: Layout) -> int:
    """The number of rows of a record.

    Raises:
        LayoutMismatch: the record has no such list.
    """
    if layout.name in ("rows", "ones"):
        return 1
    return len(_list(record, layout))


def cells(record: Record, layout: Layout, names: Iterable[str]) -> tuple[int, dict[str, list[Any]]]:
    """Some columns of a record, one value per row.

    Args:
        record: a JSON object.
        layout: how rows are nested in it.
        names: columns or dotted paths.

    Returns:
        The number of rows; column → a value per row, null where missing.

    Raises:
        LayoutMismatch: a list has a different length than the rows, or is not a list.

    Example:
        >>> cells({"p": "a", "rewards": [0, 1]}, Layout("lists", "rewards"), ["p", "rewards"])
        (2, {'p': ['a', 'a'], 'rewards': [0, 1]})
        >>> cells({"p": "a", "s": [{"r": 0}, {"r": 1}]}, Layout("nested", "s", items=("r",)), ["p", "r"])
        (2, {'p': ['a', 'a'], 'r': [0, 1]})
    """
    if layout.name == "nested":
        items = _list(record, layout)
        for position, item in enumerate(items, start=1):
            if not isinstance(item, Mapping):
                raise LayoutMismatch(f"item {position} of '{layout.path}' is no object, expected one per row")
        return len(items), {name: [of_item(item, record, layout, name) for item in items] for name in names}
    rows = length(record, layout)
    return rows, {name: _spread(record, layout, name, rows) for name in names}


def rows(record: Record, layout: Layout) -> list[dict[str, Any]]:
    """The rows of a record, each with every column.

    If a nested object and its record have the same key, the object's keeps the name and the record's becomes `record.KEY`.

    Raises:
        LayoutMismatch: the record has a different layout.
    """
    if layout.name == "rows":
        return [dict(record)]
    if layout.name == "nested":
        outer = {key: value for key, value in record.items() if key != layout.path}
        return [
            {**{outer_name(key, item): value for key, value in outer.items()}, **item}
            for item in _list(record, layout)
            if isinstance(item, Mapping)
        ]
    count = length(record, layout)
    columns = {name: _one_each(record, layout, name, count) for name in record}
    return [{name: values[row] for name, values in columns.items()} for row in range(count)]


def _one_each(record: Record, layout: Layout, name: str, count: int) -> list[Any]:
    """One value per row; a list of another length is repeated in all rows, so that nothing is lost."""
    value = record[name]
    if is_split(record, layout, name, count) and isinstance(value, list) and len(value) == count:
        return value
    return [value] * count


def keys(record: Record, layout: Layout) -> set[str]:
    """The names of the columns of a record's rows."""
    if layout.name != "nested":
        return set(record)
    items = as_list(record.get(layout.path)) or ()
    return set(record).union(*(item for item in items if isinstance(item, Mapping)))


def outer_name(key: str, item: Mapping[str, Any]) -> str:
    """The column name of a record's own key in a row."""
    return f"record.{key}" if key in item else key


def of_item(item: Record, record: Record, layout: Layout, name: str) -> Any:  # noqa: ANN401  any JSON value
    """A value of a row: from its object, else from the record.

    A key that objects have is never looked up in the record, where it may be an average.
    """
    result = find(item, name)
    if result is not ABSENT:
        return result
    if any(name == key or name.startswith(f"{key}.") for key in layout.items):
        return None
    if name.startswith(f"{layout.path}."):
        return get(item, name.removeprefix(f"{layout.path}."))
    return get(record, name.removeprefix("record."))


def is_split(record: Record, layout: Layout, name: str, count: int) -> bool:
    """Whether a column of a record has one value per row; for an unknown column, its length decides."""
    if name in layout.split:
        return record.get(name) is not None
    if name in layout.whole:
        return False
    value = record.get(name)
    return isinstance(value, list) and len(value) == count and not _is_chat(value)


def laid_out(name: str, path: str, records: Sequence[Record]) -> Layout:
    """The layout with this name; its columns are detected from some records.

    Args:
        name: one of `LAYOUTS`.
        path: the list with one value or object per row; "" to detect it.
        records: the first records.

    Raises:
        DataError: the records have no such list.
    """
    if name == "rows":
        return Layout()
    if name == "nested":
        path = path or _objects(records, strict=False)
        if not path:
            raise DataError(
                "no column is a list of objects, expected one for the layout 'nested'", hint="--explode COL"
            )
        items = dict.fromkeys(
            key
            for record in records
            for item in as_list(record.get(path)) or ()
            if isinstance(item, Mapping)
            for key in item
        )
        return Layout("nested", path, items=tuple(items))
    path = path or _anchor(records)
    if not path:
        raise DataError(
            f"no column of rewards is a list, expected one for the layout '{name}'",
            hint="--explode COL with the list of rewards",
        )
    names = dict.fromkeys(key for record in records for key in record)
    matches = _ones if name == "ones" else _same_length
    split = tuple(key for key in names if key == path or matches(records, key, path))
    return Layout(name, path, split, tuple(key for key in names if key not in split))


def guessed(records: Sequence[Record]) -> Layout:
    """The layout of records in an unknown format.

    A record with a number as its reward is a row. Otherwise, lists next to a list of rewards, or one list of objects
    with a reward each, determine the layout.
    """
    nested = _objects(records, strict=True)
    if nested:
        return laid_out("nested", nested, records)
    anchor = _anchor(records)
    if any(_is_number(record.get(key)) for record in records for key in _REWARD_KEYS if key != anchor):
        return Layout()
    if anchor:
        single = all(len(record[anchor]) == 1 for record in records if isinstance(record.get(anchor), list))
        layout = laid_out("ones" if single else "lists", anchor, records)
        return layout if len(layout.split) > 1 or not single else Layout()
    nested = _objects(records, strict=False)
    return laid_out("nested", nested, records) if nested else Layout()


def _list(record: Record, layout: Layout) -> list[Any]:
    value = as_list(record.get(layout.path))
    if value is None:
        kind = "missing" if record.get(layout.path) is None else "no list"
        raise LayoutMismatch(
            f"'{layout.path}' is {kind}, expected a list with one {_ENTRY[layout.name]} per row"
        )
    return value


_ENTRY = {"lists": "value", "nested": "object"}


def as_list(value: object) -> list[Any] | None:
    """A list, including one stored as a JSON string; None for anything else."""
    if isinstance(value, str):
        value = parsed(value)
    return value if isinstance(value, list) else None


def _spread(record: Record, layout: Layout, name: str, count: int) -> list[Any]:
    """The value of a column or path for each row."""
    if layout.name == "rows":
        return [get(record, name)]
    root = next((key for key in (name, name.split(".")[0]) if key in record), None)
    if root is None or not is_split(record, layout, root, count):
        return [get(record, name)] * count
    values = record[root]
    if not isinstance(values, list) or len(values) != count:
        actual = f"{len(values)} values" if isinstance(values, list) else "no list"
        expected = f", '{layout.path}' has {count}" if layout.name == "lists" else ""
        raise LayoutMismatch(f"'{root}' has {actual}{expected}, expected one value per row")
    rest = name[len(root) + 1 :]
    return [get(value, rest) for value in values] if rest else list(values)


def _same_length(records: Sequence[Record], key: str, path: str) -> bool:
    """Whether a column is a list as long as the list of rewards, wherever both are present."""
    pairs = [
        (record[key], record[path])
        for record in records
        if record.get(key) is not None and isinstance(record.get(path), list)
    ]
    return bool(pairs) and all(
        isinstance(value, list) and len(value) == len(rewards) and not _is_chat(value)
        for value, rewards in pairs
    )


def _ones(records: Sequence[Record], key: str, path: str) -> bool:
    """Whether a column is a list of one in most records."""
    del path
    values = [record[key] for record in records if record.get(key) is not None]
    return _most(isinstance(value, list) and len(value) == 1 and not _is_chat(value) for value in values)


def _is_chat(value: Sequence[Any]) -> bool:
    """Whether a list is a chat, which is one value regardless of its length."""
    return any(isinstance(item, Mapping) and "role" in item for item in value)


def _anchor(records: Sequence[Record]) -> str:
    """The column that is a list of rewards in most records that have it; the scan reports the others."""
    for name in _REWARD_LISTS:
        values = [record[name] for record in records if record.get(name) is not None]
        if _most(isinstance(value, list) and all(map(_is_reward, value)) for value in values):
            return name
    return ""


def _objects(records: Sequence[Record], *, strict: bool) -> str:
    """The column that is a list of objects with a reward each; if `strict`, only one with a usual name."""
    names = dict.fromkeys(key for record in records for key in record)
    result = [name for name in names if _has_rewards(records, name, strict=strict)]
    known = [name for name in _OBJECT_LISTS if name in result]
    if known or strict:
        return known[0] if known else ""
    return result[0] if len(result) == 1 else ""


def _has_rewards(records: Sequence[Record], name: str, *, strict: bool) -> bool:
    """Whether a column is a list of objects with a reward each; with a usual name, one reward is enough if `strict`."""
    lists = [record[name] for record in records if record.get(name) is not None]
    if not _most(isinstance(value, list) for value in lists):
        return False
    items = [item for value in lists if isinstance(value, list) for item in value]
    objects = [item for item in items if isinstance(item, Mapping) and "role" not in item]
    rewarded = [item for item in objects if any(key in item for key in _REWARD_KEYS)]
    has_rewards = bool(rewarded) if strict and name in _OBJECT_LISTS else len(rewarded) == len(items) > 0
    return has_rewards and _most(isinstance(item, Mapping) and "role" not in item for item in items)


def _most(tests: Iterable[bool]) -> bool:
    """Whether more than half of the tests hold; the first test breaks a tie."""
    result = list(tests)
    return sum(result) * 2 > len(result) - (bool(result) and result[0])


def _is_reward(value: object) -> bool:
    return value is None or isinstance(value, int | float)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)
