"""Chooses the reward columns: a total before its parts, a full column before one that is nearly empty."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from advcli.common.errors import DataError, UsageError
from advcli.common.wording import shortened
from advcli.io.columns import names
from advcli.io.columns.dump import Dump, Kinds, flags, listed, quoted
from advcli.io.formats.catalog import (
    IMAGES,
    OUTCOMES,
    OWN,
    PROMPT_IDS,
    REWARD_LISTS,
    REWARD_TOTALS,
    STEPS,
)
from advcli.records.layout import Derived
from advcli.records.table import ColumnOptions

Rewards = tuple[tuple[str, float], ...]
"""Column and weight of each part."""


def rewards(dump: Dump) -> Rewards:
    """The reward columns of a dump.

    Raises:
        DataError: there is none, or several that differ.
        UsageError: the numbers of weights and parts differ.
    """
    options, kinds = dump.options, dump.kinds
    if options.rewards:
        return options.rewards
    known = next((name for name in dump.form.reward if name in kinds), None)
    if known:
        return ((known, 1.0),)
    if dump.form.parts is not None:
        return _every_number(dump, dump.form.parts)
    parts = [name for name, kind in kinds.items() if kind == "number" and names.is_part(name)]
    parts = [name for name in parts if not dump.evidence.of(name).is_counter]
    if options.parts == "always" and parts:
        return _weighted(parts, (), kinds)
    inner = summed(options)
    total = _total(dump) or (inner and inner.name)
    if total:
        return ((total, 1.0),)
    if len(parts) == 1 or (parts and options.parts):
        _doubt_part(dump, parts)
        return _weighted(parts, (), kinds)
    raise _no_reward(dump, parts)


def _doubt_part(dump: Dump, parts: Sequence[str]) -> None:
    """Say so if the only column that is named like a reward stands beside one that says whether an answer is right."""
    told = [
        name
        for name, kind in dump.kinds.items()
        if kind == "number" and names.says_outcome(name) and name not in parts and may_be_reward(dump, name)
    ]
    if told and len(parts) == 1:
        dump.doubt(
            f"the reward is '{parts[0]}', as no other name says so, and could be {quoted(told)}",
            flags("--reward", [*parts, *told]),
        )


def summed(options: ColumnOptions) -> Derived | None:
    """The sum of the list of turn or token rewards that the user named; None if there is none."""
    of = {options.tokens.get("token_rewards"): "total", options.turn_rewards: "earned"}
    inner = options.turn_rewards or options.tokens.get("token_rewards")
    return Derived(f"{inner}.sum", (inner,), f"advcli.io.formats.derived:{of[inner]}") if inner else None


def unused_rewards(dump: Dump, used: Sequence[str]) -> Iterator[str]:
    """Unused number columns that could be rewards or reward parts."""
    for name, kind in dump.kinds.items():
        column = dump.evidence.of(name)
        if kind != "number" or name in (*used, *OWN, *dump.options.outcomes) or not column.present:
            continue
        if may_be_reward(dump, name):
            yield name


def outcomes(dump: Dump, taken: Sequence[str]) -> tuple[str, ...]:
    """The additional reward columns that the user named, and those that look like one if requested."""
    result = [
        name
        for name, kind in dump.kinds.items()
        if dump.options.find_outcomes and kind == "number"
        if name in (*REWARD_TOTALS, *OUTCOMES) or names.is_part(name) or names.is_total(name)
        if name not in dump.form.no_rewards
    ]
    return tuple(name for name in dict.fromkeys((*dump.options.outcomes, *result)) if name not in taken)


def _no_reward(dump: Dump, parts: Sequence[str]) -> DataError:
    """The error if no column is the reward; `parts` look like its parts."""
    if parts and names.of_several_answers(parts):
        shown = shortened([f"'{name}'" for name in parts], 4)
        return DataError(
            f"{shown} look like the rewards of several answers in one row",
            hint="a row per answer, or one list of rewards per prompt; --reward COL takes one of them alone",
        )
    if parts:
        every = " ".join(f"--reward {shlex.quote(name)}" for name in parts)
        return DataError(
            f"no total reward, and several parts: {', '.join(parts)}; each can be given a weight, COL=WEIGHT",
            hint=every,
        )
    if _is_transposed(dump):
        return DataError(
            "one record with an object of the same keys in each column, as pandas' to_json() writes it",
            hint="df.to_json(path, orient='records', lines=True)",
        )
    if inner := _of_prompts(dump):
        return DataError(
            f"one record with a list in each column ({listed(dump.kinds, 2)}), as if each key were a prompt",
            hint=f"jq -c 'to_entries[] | {{prompt: .key, {inner}: .value}}'",
        )
    name = next((name for name in REWARD_TOTALS if dump.kinds.get(name) == "nested"), None)
    if name and _holds_objects(dump, name):
        return DataError(f"'{name}' holds objects, expected a number per row", hint=_instead(dump))
    if name:
        return DataError(f"'{name}' holds lists, expected a number per row", hint=_of_list(dump, name))
    return DataError(
        f"no reward among the columns {listed(dump.kinds)}; expected one of {', '.join(REWARD_TOTALS)}",
        hint=_instead(dump),
    )


def may_be_reward(dump: Dump, name: str) -> bool:
    """Whether a number column can be a reward: no id, time, average or counter, and no length of whole numbers."""
    column = dump.evidence.of(name)
    measured = names.is_measure(name) and column.is_length
    return not (names.never_reward(name) or measured or column.is_counter)


def _total(dump: Dump) -> str | None:
    """The column with the total reward of a row."""
    kinds, evidence = dump.kinds, dump.evidence
    lists = [name for name in REWARD_LISTS if kinds.get(name) == "number"]
    named = [
        name
        for name, kind in kinds.items()
        if kind == "number" and name not in (*REWARD_TOTALS, *REWARD_LISTS)
        if names.is_total(name) and not evidence.of(name).is_counter
    ]
    usual = [name for name in REWARD_TOTALS if kinds.get(name, "nested") != "nested"]
    candidates = [*usual, *lists, *named]
    filled = {name for name in candidates if not evidence.sparse(name, candidates)}
    ranks = ([name for name in rank if name in filled] for rank in (REWARD_TOTALS, lists, named))
    chosen = dump.one_of(next(filter(None, ranks), []), "reward", "--reward")
    if chosen is None:
        return None
    others = [name for name in candidates if name != chosen and not evidence.same(chosen, name)]
    if others:
        shown = ", ".join(f"'{name}'{_filled(dump, name)}" for name in others)
        dump.doubt(
            f"the reward is '{chosen}'{_filled(dump, chosen)}, and could be {shown}",
            flags("--reward", [chosen, *others]),
        )
    return chosen


def _filled(dump: Dump, name: str) -> str:
    """A note on how many rows have a value in a column; "" if all do."""
    column = dump.evidence.of(name)
    count, rows = len(column.present), len(column.cells)
    return f" (in {count} of {rows} rows)" if count < rows else ""


def _every_number(dump: Dump, but: Sequence[str]) -> Rewards:
    """The rewards of a format in which every number column is a reward, except known others."""
    options, kinds = dump.options, dump.kinds
    single = (options.prompt, options.step, options.length, options.logged)
    others = {
        *but,
        *PROMPT_IDS,
        *STEPS,
        *IMAGES,
        *OWN,
        *options.group_by,
        *single,
        *dict(options.roles).values(),
    }
    result = [name for name, kind in kinds.items() if kind == "number" and name not in others]
    parts = [name for name in result if may_be_reward(dump, name)]
    if not dump.form.summed:
        return _weighted((parts or result)[:1], options.weights, kinds)
    total = next((name for name in REWARD_TOTALS if name in parts), None)
    if total and len(parts) > 1:
        every = " ".join(f"--reward {shlex.quote(name)}" for name in parts)
        rest = [name for name in parts if name != total]
        dump.doubt(
            f"the reward is '{total}' alone, not added to {quoted(rest)}", f"--reward {total} or {every}"
        )
        parts = [total]
    return _weighted(parts or result, options.weights, kinds)


def _weighted(parts: Sequence[str], weights: Sequence[float], kinds: Kinds) -> Rewards:
    if not parts:
        raise DataError(f"no reward among the columns {listed(kinds)}", hint="--reward COL")
    if weights and len(weights) != len(parts):
        raise UsageError(
            f"{len(weights)} reward weights for {len(parts)} reward columns: {', '.join(parts)}",
            hint="--reward COL=WEIGHT",
        )
    return tuple(zip(parts, weights or [1.0] * len(parts), strict=True))


def _instead(dump: Dump) -> str:
    """The options that select a reward: a list of objects with outcomes, a column, or a list of outcomes."""
    for name, kind in dump.kinds.items() if not dump.layout.exploded else ():
        items = [item for cell in dump.evidence.of(name).cells for item in _objects(cell)]
        keys = dict.fromkeys(key for item in items for key in item)
        inner = _named({key: [item.get(key) for item in items] for key in keys})
        if kind == "nested" and inner:
            return f"--explode {shlex.quote(name)} {_flags(inner)}"
    columns = {name: dump.evidence.of(name).cells for name, kind in dump.kinds.items() if kind != "text"}
    result = _named(columns)
    if result or dump.layout.exploded:
        return _flags(result) if result else "--reward COL"
    lists = {name: items for name in dump.kinds if (items := dump.evidence.in_lists(name))}
    answers = {name: items for name, items in lists.items() if not names.is_inner(name)}
    whole = _outcome(answers)
    inner = [name for name in lists if names.is_inner(name)]
    if whole or not inner:
        return f"--explode {shlex.quote(whole)} --reward {shlex.quote(whole)}" if whole else "--reward COL"
    return " or ".join(_of_list(dump, name) for name in inner)


def _of_list(dump: Dump, name: str) -> str:
    """What reads a list of rewards: of the answers, the turns or the tokens of a row, as its name or its length tells."""
    quoted_name = shlex.quote(name)
    if names.of_tokens(name):
        return f"--token-rewards-col {quoted_name}"
    if names.of_turns(name):
        return f"--turn-rewards-col {quoted_name}"
    if dump.evidence.list_sizes(name) <= {1}:
        return f"--explode {quoted_name}"
    return " or ".join(
        f"--{way} {quoted_name}" for way in ("explode", "turn-rewards-col", "token-rewards-col")
    )


def _flags(columns: Sequence[str]) -> str:
    return " ".join(f"--reward {shlex.quote(name)}" for name in columns)


def _holds_objects(dump: Dump, name: str) -> bool:
    """Whether a column holds an object in each row that has a value."""
    cells = dump.evidence.of(name).present
    return bool(cells) and all(isinstance(cell, Mapping) for cell in cells)


def _is_transposed(dump: Dump) -> bool:
    """Whether there is one record in which several columns map row numbers to values."""
    cells = [dump.evidence.of(name).cells for name in dump.kinds if not name.startswith("@")]
    keys = [tuple(cell[0]) for cell in cells if len(cell) == 1 and isinstance(cell[0], Mapping)]
    return len(keys) > 1 and len(keys) == len(cells) and len(set(keys)) == 1


def _of_prompts(dump: Dump) -> str | None:
    """What the lists hold if there is one record and its keys are prompts; None otherwise."""
    cells = [dump.evidence.of(name).cells for name in dump.kinds if not name.startswith("@")]
    lists = [cell[0] for cell in cells if len(cell) == 1 and isinstance(cell[0], list) and cell[0]]
    named = any(names.says_reward(name) or names.says_outcome(name) for name in dump.kinds)
    if len(lists) < 2 or len(lists) < len(cells) or named:
        return None
    items = [item for cell in lists for item in cell]
    if all(isinstance(item, int | float) for item in items):
        return "rewards"
    return "rollouts" if all(isinstance(item, Mapping) for item in items) else None


def _named(columns: Mapping[str, Sequence[Any]]) -> list[str]:
    """The outcome among some columns, or its path in their objects; all paths of an object that has parts only."""
    # A list whose numbers were not sampled has no cells.
    result = _outcome({name: cells for name, cells in columns.items() if cells and not _deep(cells)})
    nested = {name: [cell for cell in cells if cell is not None] for name, cells in columns.items()}
    while not result and nested:
        inner = {
            name: {
                key: [cell.get(key) for cell in cells]
                for key in dict.fromkeys(key for cell in cells for key in cell)
            }
            for name, cells in nested.items()
            if cells and all(isinstance(cell, Mapping) for cell in cells)
        }
        for name, keys in inner.items():
            parts = _parts_of(keys) if names.says_reward(name.rpartition(".")[2]) else []
            if parts:
                return [f"{name}.{key}" for key in parts]
        paths = {f"{name}.{key}": cells for name, keys in inner.items() for key, cells in keys.items()}
        last = {path.rpartition(".")[2]: path for path, cells in paths.items() if not _deep(cells)}
        result = _outcome({name: paths[path] for name, path in last.items()})
        if result:
            return [last[result]]
        nested = {path: [cell for cell in cells if cell is not None] for path, cells in paths.items()}
    return [result] if result else []


def _deep(cells: Sequence[object]) -> bool:
    """Whether any cell is a list or an object."""
    return any(isinstance(cell, Mapping | list) for cell in cells)


def _parts_of(keys: Mapping[str, Sequence[object]]) -> list[str]:
    """The whole in an object of rewards, else all of its parts."""
    numbers = [
        key
        for key, cells in keys.items()
        if any(cell is not None for cell in cells)
        and all(isinstance(cell, int | float | None) for cell in cells)
        if not names.never_reward(key)
    ]
    whole = [key for key in numbers if names.says_whole(key)]
    return whole if len(whole) == 1 else numbers


def nested_name(dump: Dump, name: str) -> str | None:
    """The list column whose objects have the key `name`; None if there is none."""
    for column, kind in dump.kinds.items():
        items = [item for cell in dump.evidence.of(column).cells for item in _objects(cell)]
        if kind == "nested" and any(name in item for item in items):
            return column
    return None


def _objects(cell: object) -> list[Mapping[str, object]]:
    """The objects of a list; empty for a list of messages."""
    items = cell if isinstance(cell, list) else []
    result = [item for item in items if isinstance(item, Mapping) and "role" not in item]
    return result if len(result) == len(items) else []


def _outcome(columns: Mapping[str, Sequence[object]]) -> str | None:
    """The column with the outcome of a row; None if unclear.

    A usual name, else the only column named like a total reward, the only one of true and false, or the
    only one whose name has a word for a reward, a return or correctness.
    """
    usual = [name for name in (*REWARD_TOTALS, *OUTCOMES) if name in columns]
    rest = {
        name: cells
        for name, cells in columns.items()
        if not names.never_reward(name) and all(isinstance(cell, int | float | None) for cell in cells)
    }
    kinds: tuple[Callable[[str], bool], ...] = (
        names.is_total,
        lambda name: set(rest[name]) == {True, False} and all(isinstance(cell, bool) for cell in rest[name]),
        names.says_reward,
        names.says_return,
        lambda name: names.says_outcome(name) and set(rest[name]) <= {0, 1, None},
    )
    result = (list(filter(kind, rest)) for kind in kinds)
    return next((candidates[0] for candidates in (usual[:1], *result) if len(candidates) == 1), None)
