"""One record, n rows: what the layouts of dumps have in common once they are read.

rows    a record is a row
ones    a record is a row, and every value stands in a list of one (NeMo-RL)
lists   a record is a group, a step or a whole file: columns are lists with one value per row (ROLL, ms-swift, atropos)
nested  a record is a prompt with a list of objects, one per row (prime-rl, rllm, ART)
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from advcli.common.errors import DataError
from advcli.io.layouts.paths import ABSENT, find, get, parsed
from advcli.records.layout import Layout

LAYOUTS = ("rows", "ones", "lists", "nested")

# Columns with one reward per row, and lists of objects with one reward each, by their usual names.
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
        layout: how rows lie in it.
        names: columns or dotted paths.

    Returns:
        The number of rows; column → a value per row, null where there is none.

    Raises:
        LayoutMismatch: a list has another length than the rows, or is none.

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
    """A record as its rows, every column in each.

    A key that both a nested object and its record have is the object's; the record's becomes `record.KEY`.

    Raises:
        LayoutMismatch: the record is not laid out like that.
    """
    if layout.name == "rows":
        return [dict(record)]
    if layout.name == "nested":
        about = {key: value for key, value in record.items() if key != layout.path}
        return [
            {**{outer_name(key, item): value for key, value in about.items()}, **item}
            for item in _list(record, layout)
            if isinstance(item, Mapping)
        ]
    count = length(record, layout)
    columns = {name: _one_each(record, layout, name, count) for name in record}
    return [{name: values[row] for name, values in columns.items()} for row in range(count)]


def _one_each(record: Record, layout: Layout, name: str, count: int) -> list[Any]:
    """One value per row; a list of another length belongs to all rows, so that nothing of it is lost."""
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
    """The name in a row of a record's own key."""
    return f"record.{key}" if key in item else key


def of_item(item: Record, record: Record, layout: Layout, name: str) -> Any:  # noqa: ANN401  any JSON value
    """A value of a row: the object's own, else its record's.

    A key that objects have is never looked up in the record: an average that stands there is no row's reward.
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
    """Whether a column of a record has one value per row; an unknown column is judged by its length."""
    if name in layout.split:
        return record.get(name) is not None
    if name in layout.whole:
        return False
    value = record.get(name)
    return isinstance(value, list) and len(value) == count and not _is_chat(value)


def laid_out(name: str, path: str, records: Sequence[Record]) -> Layout:
    """The layout of that name, with its columns detected from some records.

    Args:
        name: one of `LAYOUTS`.
        path: the list that has one value or object per row; "" to look for it.
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
    fits = _ones if name == "ones" else _same_length
    split = tuple(key for key in names if key == path or fits(records, key, path))
    return Layout(name, path, split, tuple(key for key in names if key not in split))


def guessed(records: Sequence[Record]) -> Layout:
    """The layout of some records of which nothing is known.

    A record with a number as its reward is a row. Else lists beside a list of rewards, or one list of objects
    with a reward each, tell the layout.
    """
    nested = _objects(records, strict=True)
    if nested:
        return laid_out("nested", nested, records)
    anchor = _anchor(records)
    if any(_is_number(record.get(key)) for record in records for key in _REWARD_KEYS if key != anchor):
        return Layout()
    if anchor:
        alone = all(len(record[anchor]) == 1 for record in records if isinstance(record.get(anchor), list))
        layout = laid_out("ones" if alone else "lists", anchor, records)
        return layout if len(layout.split) > 1 or not alone else Layout()
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
    """A list, also one in a string of JSON; None for anything else."""
    if isinstance(value, str):
        value = parsed(value)
    return value if isinstance(value, list) else None


def _spread(record: Record, layout: Layout, name: str, count: int) -> list[Any]:
    """One value per row of a column or path."""
    if layout.name == "rows":
        return [get(record, name)]
    root = next((key for key in (name, name.split(".")[0]) if key in record), None)
    if root is None or not is_split(record, layout, root, count):
        return [get(record, name)] * count
    values = record[root]
    if not isinstance(values, list) or len(values) != count:
        have = f"{len(values)} values" if isinstance(values, list) else "no list"
        beside = f", '{layout.path}' has {count}" if layout.name == "lists" else ""
        raise LayoutMismatch(f"'{root}' has {have}{beside}, expected one value per row")
    rest = name[len(root) + 1 :]
    return [get(value, rest) for value in values] if rest else list(values)


def _same_length(records: Sequence[Record], key: str, path: str) -> bool:
    """Whether a column is a list as long as that of the rewards, wherever both are there."""
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
    """A list of messages is one value, however long it is."""
    return any(isinstance(item, Mapping) and "role" in item for item in value)


def _anchor(records: Sequence[Record]) -> str:
    """The column that is a list of rewards in most records that have it; the scan names those in which it is not."""
    for name in _REWARD_LISTS:
        values = [record[name] for record in records if record.get(name) is not None]
        if _most(isinstance(value, list) and all(map(_is_reward, value)) for value in values):
            return name
    return ""


def _objects(records: Sequence[Record], *, strict: bool) -> str:
    """The column that is a list of objects with a reward each; by a usual name only, if `strict`."""
    names = dict.fromkeys(key for record in records for key in record)
    result = [name for name in names if _has_rewards(records, name, strict=strict)]
    known = [name for name in _OBJECT_LISTS if name in result]
    if known or strict:
        return known[0] if known else ""
    return result[0] if len(result) == 1 else ""


def _has_rewards(records: Sequence[Record], name: str, *, strict: bool) -> bool:
    """Whether a column is a list of objects with a reward; under a usual name, one reward among them will do."""
    lists = [record[name] for record in records if record.get(name) is not None]
    if not _most(isinstance(value, list) for value in lists):
        return False
    items = [item for value in lists if isinstance(value, list) for item in value]
    objects = [item for item in items if isinstance(item, Mapping) and "role" not in item]
    rewarded = [item for item in objects if any(key in item for key in _REWARD_KEYS)]
    enough = bool(rewarded) if strict and name in _OBJECT_LISTS else len(rewarded) == len(items) > 0
    return enough and _most(isinstance(item, Mapping) and "role" not in item for item in items)


def _most(tests: Iterable[bool]) -> bool:
    """Whether more than half of some tests hold; of two halves, the first test decides."""
    result = list(tests)
    return sum(result) * 2 > len(result) - (bool(result) and result[0])


def _is_reward(value: object) -> bool:
    return value is None or isinstance(value, int | float)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)
