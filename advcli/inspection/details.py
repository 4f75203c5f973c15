"""Single groups and rows, with their texts read back from the files."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from advcli.dataset import DataSet
from advcli.errors import UsageError
from advcli.io.lookup import read_back, rows_with_key
from advcli.records.inspection import Detail
from advcli.records.table import Source
from advcli.segments import Segments
from advcli.words import either

# Where a response is usually written; else the longest text of the row is shown.
RESPONSES = (
    "response",
    "completion",
    "output",
    "output_response",
    "responses",
    "completions",
    "answer",
    "text",
    "messages",
    "messages_and_choices",
    "conversations",
    "turns",
    "nodes",
    "content",
)
# Where the text lies in an object of a chat.
_SAID = ("content", "text", "message", "output", "value")
_SHOWN = 100


@dataclass(frozen=True)
class Wanted:
    """Which groups and rows the user wants to see.

    Attributes:
        step: the groups of this step.
        group: the rows of the groups with this key, or "#NUMBER".
        top: so many rows with the largest |A|.
        bottom: so many rows with the smallest |A|.
    """

    step: str | None = None
    group: str | None = None
    top: int = 0
    bottom: int = 0


def details(
    wanted: Wanted, data: DataSet, advantages: Tensor, sources: Sequence[Source]
) -> tuple[Detail, ...]:
    """Read back what the user wants to see.

    Args:
        wanted: which groups and rows; with a step, only those of that step.
        data: the data set.
        advantages: [N] float, NaN where undefined.
        sources: its files.

    Raises:
        UsageError: there is no such step or group.
    """
    view = _View(data, advantages, sources)
    rows = data.rows.group >= 0
    at = ""
    if wanted.step is not None:
        rows = rows & _of_step(data, wanted.step)
        at = f" of step {wanted.step}"
    found = []
    if wanted.group is not None:
        rows = rows & _of_group(data, sources, wanted.group, rows)
        if not (wanted.top or wanted.bottom):
            places = torch.nonzero(rows).squeeze(1)
            found.append(view.rows(f"rows of group {wanted.group}{at}", places))
    elif wanted.step is not None and not (wanted.top or wanted.bottom):
        found.append(view.groups(f"groups{at}, largest |A| first", rows))
    size = advantages.double().abs()
    places = torch.nonzero(rows & ~size.isnan()).squeeze(1)
    for many, word, descending in ((wanted.top, "largest", True), (wanted.bottom, "smallest", False)):
        if many:
            order = places[torch.argsort(size[places], descending=descending, stable=True)]
            found.append(view.rows(f"rows{at} with the {word} |A|", order[:many]))
    return tuple(found)


def _of_step(data: DataSet, step: str) -> Tensor:
    names = data.table.step_names
    if data.table.step is None:
        raise UsageError(f"--step {step}: the dump has no step column", hint="--step-col COL")
    if step not in names:
        near = names if len(names) <= 10 else (*names[:9], "...")
        raise UsageError(f"no step '{step}'", hint=either(near))
    return data.rows.step == names.index(step)


def _of_group(data: DataSet, sources: Sequence[Source], key: str, rows: Tensor) -> Tensor:
    """[N] bool: the rows of the groups that the key names, of those that there are."""
    group = data.rows.group
    number = key.removeprefix("#")
    if key.startswith("#") and number.isdecimal():
        found = group == int(number)
    else:
        numbers = torch.unique(
            group[torch.tensor(rows_with_key(sources, data.table, key), dtype=torch.int64)]
        )
        found = torch.isin(group, numbers) & (group >= 0)
    if not (found & rows).any():
        raise UsageError(
            f"no group '{key}'",
            hint=f"the whole text of {' + '.join(data.grouping.columns) or 'its key'}, or '#0' to '#{data.rows.count - 1}'",
        )
    return found


@dataclass(frozen=True)
class _View:
    data: DataSet
    advantages: Tensor
    sources: Sequence[Source]

    def rows(self, title: str, places: Tensor) -> Detail:
        """The rows at these positions."""
        shown = places[:_SHOWN].tolist()
        texts = read_back(self.sources, self.data.table, shown)
        return Detail(
            title, "rows", tuple(self._row(row, texts[row]) for row in shown), left=len(places) - len(shown)
        )

    def _row(self, row: int, columns: Mapping[str, Any]) -> Mapping[str, Any]:
        table, rows = self.data.table, self.data.rows
        line: dict[str, Any] = {"place": table.place(row), "group": int(rows.group[row])}
        if table.step is not None:
            line["step"] = table.step_names[table.step[row]]
        line["reward"] = float(rows.rewards[row])
        if table.parts is not None:
            line |= {
                "parts": {
                    name: float(table.parts[row, place])
                    for place, (name, _) in enumerate(table.choice.rewards)
                }
            }
        line["advantage"] = float(self.advantages[row])
        if rows.lengths is not None:
            line["length"] = float(rows.lengths[row])
        return line | {"text": response(columns, table.choice.prompt)}

    def groups(self, title: str, mask: Tensor) -> Detail:
        """The groups of these rows."""
        rows, size = self.data.rows, self.advantages.double().abs().nan_to_num(nan=-1.0, posinf=torch.inf)
        here = Segments.of(rows.group[mask], rows.count)
        valid = mask & torch.isfinite(rows.rewards)
        scored = Segments.of(rows.group[valid], rows.count)
        values = rows.rewards[valid]
        columns = {
            "rows": here.size(),
            "valid": scored.size(),
            "reward_min": scored.min(values),
            "reward_mean": scored.mean(values),
            "reward_max": scored.max(values),
            "max_abs_adv": here.max(size[mask]),
            "first": here.within(torch.nonzero(mask).squeeze(1)),
        }
        there = torch.nonzero(columns["rows"] > 0).squeeze(1)
        order = there[torch.argsort(columns["max_abs_adv"][there], descending=True, stable=True)]
        shown = order[:_SHOWN]
        picked = {name: column[shown].tolist() for name, column in columns.items()}
        texts = read_back(self.sources, self.data.table, picked["first"])
        lines = [
            self._group(number, {name: column[place] for name, column in picked.items()}, texts)
            for place, number in enumerate(shown.tolist())
        ]
        return Detail(title, "groups", tuple(lines), left=len(order) - len(shown))

    def _group(
        self, number: int, line: dict[str, Any], texts: Mapping[int, Mapping[str, Any]]
    ) -> Mapping[str, Any]:
        columns = texts[line.pop("first")]
        undefined = line["max_abs_adv"] < 0
        return {
            "group": number,
            **line,
            "max_abs_adv": torch.nan if undefined else line["max_abs_adv"],
            "dead": line["valid"] > 1 and line["reward_min"] == line["reward_max"],
            "prompt": prompt(columns, self.data.table.choice.prompt),
        }


def response(columns: Mapping[str, Any], prompt: Collection[str]) -> str:
    """The text of a row that the policy wrote, as far as one can tell.

    Example:
        >>> response({"uid": "a", "completion": [{"role": "assistant", "content": "42"}]}, ["uid"])
        '42'
        >>> response({"nodes": [{"message": {"role": "assistant", "content": [{"text": "43"}]}}]}, [])
        '43'
    """
    said = next(filter(None, (_said(columns.get(name)) for name in RESPONSES if name not in prompt)), "")
    texts = [value for name, value in columns.items() if isinstance(value, str) and name not in prompt]
    return said or max(texts, key=len, default="")


def prompt(columns: Mapping[str, Any], names: Sequence[str]) -> str:
    """The text of the columns that identify a prompt.

    Example:
        >>> prompt({"uid": 7, "prompt": [{"role": "user", "content": "6 × 7?"}]}, ["uid", "prompt"])
        '7 + 6 × 7?'
    """
    return " + ".join(_text(columns.get(name)) for name in names)


def _said(value: object) -> str:
    """What was said last: the text itself, or the last one in a chat; "" where there is none."""
    if isinstance(value, list):
        return next(filter(None, map(_said, reversed(value))), "")
    if isinstance(value, Mapping):
        return next(filter(None, (_said(value.get(name)) for name in _SAID)), "")
    return value if isinstance(value, str) else ""


def _text(value: object) -> str:
    """A cell as text; of a chat, what was said last."""
    said = _said(value)
    return said or ("" if value is None else str(value))
