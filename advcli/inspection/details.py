"""Single groups and rows, with their texts read back from the files."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from advcli.common.errors import UsageError
from advcli.common.wording import either
from advcli.dataset.load import DataSet
from advcli.inspection.examples import PROMPTS
from advcli.io.formats.catalog import CHATS, RESPONSES
from advcli.io.lookup import Row, read_back, rows_with_key
from advcli.records.results.inspection import Detail
from advcli.records.table import Choice, Source
from advcli.tensors.segments import Segments, Spread

# Usual names of response columns; without one, the longest text of the row is shown.
_TEXTS_OF_ROWS = (*RESPONSES, "answer", "text", *CHATS, "turns", "nodes", "content")
# Usual keys of the text in a chat message.
_MESSAGE_TEXTS = ("content", "text", "message", "output", "value")
_SHOWN = 100


@dataclass(frozen=True)
class Wanted:
    """The groups and rows to show.

    Attributes:
        step: the groups of this step.
        group: the rows of the groups with this key, or "#NUMBER".
        top: number of rows with the largest |A|.
        bottom: number of rows with the smallest |A|.
    """

    step: str | None = None
    group: str | None = None
    top: int = 0
    bottom: int = 0


@dataclass(frozen=True)
class Asked:
    """A requested list of groups or rows.

    Attributes:
        title: its heading.
        kind: "groups" or "rows".
        order: "file", "largest" |A| first or "smallest" |A| first.
        many: the number of lines; None for all.
    """

    title: str
    kind: str
    order: str
    many: int | None = None


@dataclass(frozen=True)
class Entry:
    """A line of a list.

    Attributes:
        rank: its sort key, lowest first.
        row: the row whose texts are shown.
        group: the number of its group.
        figures: its figures, with a placeholder for the number of the group.
    """

    rank: tuple[float, int]
    row: int
    group: int
    figures: Mapping[str, Any]


@dataclass(frozen=True)
class Listed:
    """The first lines of a list.

    Attributes:
        entries: the lines to show, in order.
        total: the number of all lines.
    """

    entries: tuple[Entry, ...]
    total: int

    def __add__(self, other: "Listed") -> "Listed":
        entries = sorted((*self.entries, *other.entries), key=lambda entry: entry.rank)
        return Listed(tuple(entries[:_SHOWN]), self.total + other.total)

    def detail(
        self, asked: Asked, numbers: Mapping[int, int], texts: Mapping[int, Mapping[str, str]]
    ) -> Detail:
        """The list as a record.

        Args:
            asked: the request.
            numbers: the number of each group → its number among all groups.
            texts: row → its texts, from `texts_of`.
        """
        count = self.total if asked.many is None else min(self.total, asked.many)
        shown = self.entries[:count]
        text = _TEXTS[asked.kind]
        lines = (
            {**entry.figures, "group": numbers[entry.group], text: texts[entry.row][text]} for entry in shown
        )
        return Detail(asked.title, asked.kind, tuple(lines), left=count - len(shown))


def asked(wanted: Wanted) -> tuple[Asked, ...]:
    """The requested lists."""
    result = []
    at = "" if wanted.step is None else f" of step {wanted.step}"
    if not (wanted.top or wanted.bottom):
        if wanted.group is not None:
            result.append(Asked(f"rows of group {wanted.group}{at}", "rows", "file"))
        elif wanted.step is not None:
            result.append(Asked(f"groups{at}, largest |r − group mean| first", "groups", "largest"))
    for count, word in ((wanted.top, "largest"), (wanted.bottom, "smallest")):
        if count:
            result.append(Asked(f"rows{at} with the {word} |A|", "rows", word, count))
    return tuple(result)


def details(
    wanted: Wanted, data: DataSet, advantages: Tensor, sources: Sequence[Source]
) -> tuple[Detail, ...]:
    """The requested lists of groups and rows, with texts read back from the files.

    Args:
        wanted: the groups and rows to show; with a step, only those of that step.
        data: the data set.
        advantages: [N] float, NaN where undefined.
        sources: its files.

    Raises:
        UsageError: there is no such step or group.
    """
    rows = data.rows.group >= 0
    if wanted.step is not None:
        rows = rows & (data.rows.step == step_code(wanted.step, data.table.choice, data.table.step_names))
    if wanted.group is not None:
        rows = rows & _of_group(data, sources, wanted.group, rows)
    lists = asked(wanted)
    result = [listed(request, data, advantages, rows) for request in lists]
    shown = {entry.row for part in result for entry in part.entries}
    read = read_back(sources, data.table, shown) if shown else {}
    texts = {row: texts_of(columns, data.table.choice.prompt) for row, columns in read.items()}
    numbers = {entry.group: entry.group for part in result for entry in part.entries}
    return tuple(part.detail(request, numbers, texts) for request, part in zip(lists, result, strict=True))


def step_code(step: str, choice: Choice, names: Sequence[str]) -> int:
    """The code of a step.

    Raises:
        UsageError: there is no such step, or no step column.
    """
    if choice.step is None:
        raise UsageError(f"--step {step}: the dump has no step column", hint="--step-col COL")
    if step not in names:
        near = names if len(names) <= 10 else (*names[:9], "...")
        raise UsageError(f"no step '{step}'", hint=either(near))
    return list(names).index(step)


def _of_group(data: DataSet, sources: Sequence[Source], key: str, rows: Tensor) -> Tensor:
    """[N] bool: the rows of the groups with this key or number."""
    group = data.rows.group
    number = group_number(key)
    if number is not None:
        # Clamped, because a tensor cannot be compared with arbitrarily large numbers.
        result = group == min(number, len(group))
    else:
        numbers = torch.unique(
            group[torch.tensor(rows_with_key(sources, data.table, key), dtype=torch.int64)]
        )
        result = torch.isin(group, numbers) & (group >= 0)
    if not (result & rows).any():
        raise no_group(key, data.grouping.columns, data.rows.count)
    return result


def group_number(key: str) -> int | None:
    """The number in "#NUMBER"; None for the text of a key."""
    number = key.removeprefix("#")
    return int(number) if key.startswith("#") and number.isdecimal() else None


def no_group(key: str, columns: Sequence[str], count: int) -> UsageError:
    """The error for a key without a group."""
    named = " + ".join(columns) or "its key"
    return UsageError(f"no group '{key}'", hint=f"the whole text of {named}, or '#0' to '#{count - 1}'")


def listed(asked: Asked, data: DataSet, advantages: Tensor, mask: Tensor) -> Listed:
    """The first lines of a requested list.

    Args:
        asked: the request.
        data: the rows.
        advantages: [N] float, NaN where undefined.
        mask: [N] bool, the rows to choose from.
    """
    if asked.kind == "groups":
        return _groups(data, advantages, mask)
    size = advantages.double().abs()
    if asked.order == "file":
        places = torch.nonzero(mask).squeeze(1)
        ranks = torch.zeros_like(size)
    else:
        places = torch.nonzero(mask & ~size.isnan()).squeeze(1)
        ranks = -size if asked.order == "largest" else size
        places = places[torch.argsort(ranks[places], stable=True)]
    shown = places[:_SHOWN].tolist()
    entries = tuple(
        Entry((float(ranks[row]), row), row, int(data.rows.group[row]), _row(data, advantages, row))
        for row in shown
    )
    return Listed(entries, len(places))


def _row(data: DataSet, advantages: Tensor, row: int) -> Mapping[str, Any]:
    table, rows = data.table, data.rows
    line: dict[str, Any] = {"place": table.place(row), "group": -1}
    if table.step is not None:
        line["step"] = table.step_names[table.step[row]]
    line["reward"] = float(rows.rewards[row])
    if table.parts is not None:
        line |= {
            "parts": {
                name: float(table.parts[row, position])
                for position, (name, _) in enumerate(table.choice.rewards)
            }
        }
    line["advantage"] = float(advantages[row])
    if rows.lengths is not None:
        line["length"] = float(rows.lengths[row])
    return line


def _groups(data: DataSet, advantages: Tensor, mask: Tensor) -> Listed:
    """The groups of the rows, largest distance of a reward from its group's mean first.

    A scaled |A| is no useful order: it is at most (n − 1) / √n in any group of n rows.
    """
    rows, size = data.rows, advantages.double().abs().nan_to_num(nan=-1.0, posinf=torch.inf)
    segments = Segments.of(rows.group[mask], rows.count)
    valid = mask & torch.isfinite(rows.rewards)
    scored = Segments.of(rows.group[valid], rows.count)
    values = rows.rewards[valid]
    columns = {
        "rows": segments.size(),
        "valid": scored.size(),
        "reward_min": scored.min(values),
        "reward_mean": scored.mean(values),
        "reward_max": scored.max(values),
        "max_abs_centred": scored.max(Spread.of(values.double(), scored).centred().abs()),
        "max_abs_adv": segments.max(size[mask]),
        "first": segments.parent(torch.nonzero(mask).squeeze(1)),
    }
    nonempty = torch.nonzero(columns["rows"] > 0).squeeze(1)
    rank = columns["max_abs_centred"].clamp(min=-1.0)
    order = nonempty[torch.argsort(rank[nonempty], descending=True, stable=True)]
    shown = order[:_SHOWN]
    cells = {name: column[shown].tolist() for name, column in columns.items()}
    lines = ({name: column[position] for name, column in cells.items()} for position in range(len(shown)))
    return Listed(tuple(map(_group, shown.tolist(), lines)), len(order))


def _group(number: int, line: dict[str, Any]) -> Entry:
    row, size, spread = line.pop("first"), line["max_abs_adv"], max(-1.0, line["max_abs_centred"])
    figures = {
        "group": -1,
        **line,
        "max_abs_centred": torch.nan if spread < 0 else spread,
        "max_abs_adv": torch.nan if size < 0 else size,
        "dead": line["valid"] > 1 and line["reward_min"] == line["reward_max"],
    }
    return Entry((-spread, row), row, number, figures)


def response(columns: Mapping[str, Any], prompt: Collection[str]) -> str:
    """The response of a row: a column with a usual name, else its longest text.

    Example:
        >>> response({"uid": "a", "completion": [{"role": "assistant", "content": "42"}]}, ["uid"])
        '42'
        >>> response({"nodes": [{"message": {"role": "assistant", "content": [{"text": "43"}]}}]}, [])
        '43'
    """
    text = answer(columns, prompt)
    texts = [value for name, value in columns.items() if isinstance(value, str) and name not in prompt]
    return text or max(texts, key=len, default="")


def answer(columns: Mapping[str, Any], prompt: Collection[str]) -> str:
    """The text of a row in a column with a usual name for responses; "" without one."""
    texts = (_last_message(columns.get(name)) for name in _TEXTS_OF_ROWS if name not in prompt)
    return next(filter(None, texts), "")


def prompt(columns: Mapping[str, Any], names: Sequence[str]) -> str:
    """The text of the columns that identify a prompt.

    Example:
        >>> prompt({"uid": 7, "prompt": [{"role": "user", "content": "6 × 7?"}]}, ["uid", "prompt"])
        '7 + 6 × 7?'
    """
    return " + ".join(_text(columns.get(name)) for name in names)


def question(columns: Mapping[str, Any], names: Sequence[str]) -> str:
    """The key of a prompt, and its text if that is in another column with a usual name.

    Example:
        >>> question({"uid": 7, "prompt": [{"role": "user", "content": "6 × 7?"}]}, ["uid"])
        '7 · 6 × 7?'
    """
    texts = (_last_message(columns.get(name)) for name in PROMPTS if name not in names)
    text = next(filter(None, texts), "")
    return " · ".join(filter(None, (prompt(columns, names), text)))


_TEXTS: Mapping[str, str] = {"rows": "text", "groups": "prompt"}


def texts_of(columns: Row, names: Sequence[str]) -> dict[str, str]:
    """The response and the prompt of a row; `names` are the columns that identify a prompt."""
    return {"text": response(columns, names), "prompt": prompt(columns, names)}


def _last_message(value: object) -> str:
    """The text itself, or the last message of a chat; "" without one."""
    if isinstance(value, list):
        return next(filter(None, map(_last_message, reversed(value))), "")
    if isinstance(value, Mapping):
        return next(filter(None, (_last_message(value.get(name)) for name in _MESSAGE_TEXTS)), "")
    return value if isinstance(value, str) else ""


def _text(value: object) -> str:
    """A cell as text; for a chat, the last message."""
    message = _last_message(value)
    return message or ("" if value is None else str(value))
