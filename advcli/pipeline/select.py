"""`select`: rows, pairs and prompts for the next training step."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from advcli.common.errors import DataError
from advcli.dataset.load import DataSet, counted_once
from advcli.dataset.remarks import notes_of, unit_alone
from advcli.inspection.examples import Example, chat, example, written
from advcli.io.lookup import read_back
from advcli.pipeline.request import Request
from advcli.records.results.select import Selection, Wanted
from advcli.records.table import Source
from advcli.stats.prompts import on_scale, two_values
from advcli.stats.select import Floats, Ints, best, live_chance, pairs

# Tolerance for the rounding error of solved shares at the ends of the band.
_ROUNDING = 1e-9


def select(
    request: Request, wanted: Wanted, *, check: Callable[[Sequence[Source]], None] | None = None
) -> Selection:
    """Select rows, pairs or prompts; the same input gives the same selection.

    Args:
        request: what to read.
        wanted: what to select.
        check: called with the inputs before they are read, to refuse an output that would overwrite them.

    Returns:
        The selection; it never contains rows without a reward, a prompt or a response.

    Raises:
        DataError: there is no prompt id, no column with the text, or nothing to select.
    """
    with request.opened() as sources:
        if check:
            check(sources)
        every, unit = request.load(sources), request.plan().unit
        data = counted_once(every, unit)
        rewards, prompt = _columns(data, request)
        texts = _Texts(data, sources, wanted)
        values = two_values(torch.from_numpy(rewards[~np.isnan(rewards)]))
        if wanted.least is None and values:
            wanted = replace(wanted, least=values[1])
        _refuse_one_value(wanted, rewards)
        records = _KINDS[wanted.kind](data, rewards, prompt, wanted, texts)
    rewarded = prompt[~np.isnan(rewards)]
    used = np.unique(prompt[texts.used])
    if not records:
        raise DataError(f"nothing to select: {_NOTHING[wanted.kind](wanted)}", hint=_hint(wanted))
    return Selection(
        records=tuple(records),
        prompts=len(np.unique(rewarded)),
        used=len(used),
        empty=int(texts.empty.sum()),
        notes=(*notes_of(every, 0, 0, 0.0, None), *_notes(wanted)),
        warnings=(
            *request.warnings,
            *data.table.warnings,
            *data.grouping.warnings,
            *unit_alone(every, unit),
        ),
    )


def _refuse_one_value(wanted: Wanted, rewards: Floats) -> None:
    """An error where prompts are asked for by how far they are solved, and nothing tells."""
    low, high = np.nanmin(rewards), np.nanmax(rewards)
    if wanted.kind == "prompts" and wanted.least is None and low == high:
        raise DataError(
            f"every reward is {low:g}, so no prompt is solved more than another",
            hint="--min REWARD, the lowest reward of a right row",
        )


def _no_row(wanted: Wanted) -> str:
    if wanted.least is None:
        return "no row with a reward has a prompt and a response"
    return f"no row with a prompt and a response has a reward of {wanted.least:g} or more"


def _no_pair(wanted: Wanted) -> str:
    by = f"by {wanted.margin:g} or more" if wanted.margin else "at all"
    return f"no prompt has two responses whose rewards differ {by}"


def _no_prompt(wanted: Wanted) -> str:
    low, high = wanted.band
    return (
        "no prompt has a text" if (low, high) == (0.0, 1.0) else f"no prompt is in the band {low:g}:{high:g}"
    )


_NOTHING: Mapping[str, Callable[[Wanted], str]] = {"sft": _no_row, "dpo": _no_pair, "prompts": _no_prompt}


def _hint(wanted: Wanted) -> str | None:
    """The option that would select more; None if no option limits the selection."""
    if wanted.kind == "sft" and wanted.least is not None:
        return f"--min below {wanted.least:g}"
    if wanted.kind == "dpo" and wanted.margin:
        return f"--margin below {wanted.margin:g}"
    return "a wider --band" if wanted.kind == "prompts" and wanted.band != (0.0, 1.0) else None


def _columns(data: DataSet, request: Request) -> tuple[Floats, Ints]:
    """[N] the rewards, NaN for rows that must not be selected, and [N] the prompt of each row."""
    table = data.table
    if not table.choice.prompt and request.columns.n is None:
        raise DataError("no prompt id, so rows cannot be compared", hint="--prompt-col COL")
    prompt = table.key if table.choice.prompt else data.grouping.group
    usable = np.isfinite(table.rewards) & (prompt >= 0) & (data.grouping.group >= 0)
    if not usable.any():
        raise DataError("no row has a reward", hint="--reward COL")
    return np.where(usable, table.rewards, np.nan), np.where(usable, prompt, -1)


class _Texts:
    """The examples of rows, read back from the files on demand."""

    def __init__(self, data: DataSet, sources: Sequence[Source], wanted: Wanted) -> None:
        self._data, self._sources, self._wanted = data, sources, wanted
        self._known: dict[int, Example | None] = {}
        self.empty = np.zeros(len(data.table.rewards), dtype=bool)
        self.used: list[int] = []
        self._style = wanted.style

    def settle(self, pick: Callable[[], tuple[Ints, ...]]) -> tuple[Ints, ...]:
        """Repeat the pick until every picked row has a text; rows without one are marked in `empty`."""
        while True:
            picked = pick()
            new = {*np.concatenate(picked).tolist()} - self._known.keys()
            self._read(new)
            without = [row for row in new if self._known[row] is None]
            self.empty[without] = True
            if not without:
                self.used = np.concatenate(picked).tolist()
                # A column has one type, so a single chat among texts makes all of them chats.
                examples = (self._known[row] for row in self.used)
                has_chat = any(item and item.is_chat for item in examples)
                self._style = self._style or ("chat" if has_chat else "text")
                return picked

    def _read(self, rows: set[int]) -> None:
        wanted, table = self._wanted, self._data.table
        for row, columns in read_back(self._sources, table, rows).items() if rows else ():
            self._known[row] = example(
                columns, table.place(row), wanted.prompt, wanted.response, alone=wanted.kind == "prompts"
            )

    def of(self, row: int) -> Example:
        """The example of a picked row."""
        known = self._known[row]
        if known is None:
            raise KeyError(row)
        return written(known, self._style or "text")

    def origin(self, row: int, prefix: str = "") -> dict[str, Any]:
        """The file, line and reward of a row."""
        name, _, line = self._data.table.place(row).rpartition(":")
        result = {"source": name, "line": int(line), "reward": float(self._data.table.rewards[row])}
        return {f"{prefix}{key}": value for key, value in result.items()}


def _sft(
    data: DataSet, rewards: Floats, prompt: Ints, wanted: Wanted, texts: _Texts
) -> list[Mapping[str, Any]]:
    (rows,) = texts.settle(lambda: (best(np.where(texts.empty, np.nan, rewards), prompt, wanted.least),))
    records: list[Mapping[str, Any]] = []
    for row in rows.tolist():
        picked = texts.of(row)
        content = {"prompt": picked.prompt, "completion": picked.response}
        if wanted.style == "messages":
            content = {"messages": [*chat(picked.prompt, "user"), *chat(picked.response, "assistant")]}
        records.append({**content, **texts.origin(row)})
    return records


def _dpo(
    data: DataSet, rewards: Floats, prompt: Ints, wanted: Wanted, texts: _Texts
) -> list[Mapping[str, Any]]:
    def pick() -> tuple[Ints, ...]:
        return pairs(np.where(texts.empty, np.nan, rewards), prompt, margin=wanted.margin, every=wanted.every)

    high, low = texts.settle(pick)
    records: list[Mapping[str, Any]] = []
    for first, second in zip(high.tolist(), low.tolist(), strict=True):
        chosen, rejected = texts.of(first), texts.of(second)
        content: dict[str, Any] = {
            "prompt": chosen.prompt,
            "chosen": chosen.response,
            "rejected": rejected.response,
        }
        if wanted.style == "messages":
            content = _messages(chosen, rejected)
        records.append({**content, **texts.origin(first, "chosen_"), **texts.origin(second, "rejected_")})
    return records


def _messages(chosen: Example, rejected: Example) -> dict[str, Any]:
    """A pair in ms-swift's format."""
    prompt = chat(chosen.prompt, "user")
    messages = [*prompt, *chat(chosen.response, "assistant")]
    return {"messages": messages, "rejected_messages": [*prompt, *chat(rejected.response, "assistant")]}


def _prompts(
    data: DataSet, rewards: Floats, prompt: Ints, wanted: Wanted, texts: _Texts
) -> list[Mapping[str, Any]]:
    rewarded = ~np.isnan(rewards)
    count = int(prompt.max(initial=-1)) + 1
    size = int(np.bincount(np.bincount(data.grouping.group[rewarded])).argmax()) if rewarded.any() else 0
    chance = live_chance(rewards[rewarded], prompt[rewarded], count, max(size, 2))
    solved = _solved(rewards[rewarded], prompt[rewarded], count, wanted.least)
    within = (solved >= wanted.band[0] - _ROUNDING) & (solved <= wanted.band[1] + _ROUNDING)
    kept = np.append(within, False)

    def pick() -> tuple[Ints, ...]:
        # Every row of a prompt has its text, so take the first that is not empty.
        rows = best(np.where(texts.empty | ~kept[prompt] | ~rewarded, np.nan, 0.0), prompt)
        if wanted.top is not None:
            rows = rows[np.argsort(-chance[prompt[rows]], kind="stable")][: wanted.top]
        return (rows,)

    (rows,) = texts.settle(pick)
    records: list[Mapping[str, Any]] = []
    for row in rows.tolist():
        origin = texts.origin(row)
        del origin["reward"]
        text, code = texts.of(row).prompt, prompt[row]
        content = {"messages": text} if wanted.style == "messages" else {"prompt": text}
        figures = {"solved": float(solved[code]), "live_chance": float(chance[code])}
        records.append({**content, **figures, **origin})
    return records


def _solved(rewards: Floats, prompt: Ints, count: int, least: float | None) -> Floats:
    """[P] the share of right rows, or without a threshold the mean reward scaled to [0, 1] over all rewards."""
    values = (rewards >= (least or 0.0)).astype(np.float64)
    if least is None:
        values = on_scale(rewards, rewards.min(initial=np.inf), rewards.max(initial=-np.inf))
    with np.errstate(invalid="ignore"):
        result: Floats = np.bincount(prompt, values, count) / np.bincount(prompt, minlength=count)
    return result


_KINDS: Mapping[str, Callable[..., list[Mapping[str, Any]]]] = {"sft": _sft, "dpo": _dpo, "prompts": _prompts}


def _notes(wanted: Wanted) -> Iterator[str]:
    if wanted.kind == "sft" and wanted.least is not None:
        yield f"only rows with a reward of {wanted.least:g} or more are selected (--min)"
