"""`prompts`: each prompt over the run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from advcli.dataset.load import DataSet
from advcli.dataset.remarks import notes_of
from advcli.errors import DataError, UsageError
from advcli.pipeline.describe import health_of
from advcli.pipeline.request import Request
from advcli.records.prompts import STATES, Asked, Prompts
from advcli.records.table import Source
from advcli.stats.cells import Floats
from advcli.stats.metrics import step_order
from advcli.stats.prompts import PromptFigures, in_order, mean_of, two_values
from advcli.tensors.masks import finite
from advcli.wording import either

_TEXTS = ("prompt", "state", "last_step")


def prompts(
    request: Request, asked: Asked, *, check: Callable[[Sequence[Source]], None] | None = None
) -> Prompts:
    """Follow each prompt over the run.

    Args:
        request: what to read; its columns name the prompts.
        asked: what is asked of them.
        check: called with the inputs before they are read, to refuse what must not be written.

    Raises:
        DataError: there is no prompt id, or no reward.
        UsageError: there is no such figure.
    """
    with request.opened() as sources:
        if check:
            check(sources)
        data = request.load(sources)
    if not data.table.prompts:
        raise DataError("no prompt id, so no prompt can be followed", hint="--prompt-col COL")
    rewards = data.rows.rewards[(data.rows.group >= 0) & finite(data.rows.rewards)]
    if not len(rewards):
        raise DataError("no row has a reward", hint="--reward COL")
    values = two_values(rewards)
    threshold = asked.pass_at if asked.pass_at is not None else values and values[1]
    names, step = _steps(data)
    found = PromptFigures.of(
        replace(data.rows, step=step),
        torch.from_numpy(data.table.key),
        len(data.table.prompts),
        threshold=threshold,
        fdr=asked.fdr,
    )
    rates = {k: found.pass_at(k) for k in asked.ks} if threshold is not None else {}
    table = _table(data, names, found, rates)
    _refuse(asked.sort, table)
    order = in_order(table, asked.sort, asked.top)
    return Prompts(
        health=health_of(data),
        steps=names,
        threshold=threshold,
        over_rows=float(rewards.double().mean()),
        over_prompts=mean_of(found.cells.mean),
        pass_at={k: mean_of(rate) for k, (rate, _, _) in rates.items()},
        fdr=asked.fdr,
        states=found.states(),
        bands=found.bands(),
        table=table,
        order=order,
        curves={place: found.curve(place) for place in order},
        notes=(*notes_of(data, 0, 0, 0.0, None), *_notes(found, threshold)),
        warnings=(*request.warnings, *data.table.warnings, *data.grouping.warnings),
    )


def _table(
    data: DataSet,
    names: tuple[str, ...],
    found: PromptFigures,
    rates: Mapping[int, tuple[Floats, Floats, Floats]],
) -> dict[str, Any]:
    """Name of a figure → its value for each prompt. A prompt without a reward has no state and no last step."""
    last = found.cells.ends()[1]
    at = np.where(last < 0, -1, found.cells.step[last]) if len(found.cells.step) else last
    table: dict[str, Any] = {
        "prompt": [prompt.name for prompt in data.table.prompts],
        "state": np.array([*STATES, ""], dtype=object)[np.where(last < 0, -1, found.state)],
        **found.figures,
    }
    for k, (rate, low, high) in rates.items():
        table |= {f"pass@{k}": rate, f"pass@{k}_low": low, f"pass@{k}_high": high}
    return {**table, "last_step": np.array([*names, ""], dtype=object)[at]}


def _steps(data: DataSet) -> tuple[tuple[str, ...], torch.Tensor]:
    """The steps in the order of the run, and [N] int64 the place of each row among them."""
    names = data.table.step_names
    if data.table.step is None or not names:
        return ("",), data.rows.step
    order = sorted(range(len(names)), key=lambda code: step_order(names[code]))
    place = np.empty(len(names), dtype=np.int64)
    place[order] = np.arange(len(names))
    return tuple(names[code] for code in order), torch.from_numpy(place)[data.rows.step]


def _refuse(sort: str | None, table: Mapping[str, Any]) -> None:
    known = [name for name in table if name not in _TEXTS]
    if sort is not None and sort.removeprefix("-") not in known:
        raise UsageError(f"--sort {sort}: no such figure", hint=either(known))


def _notes(found: PromptFigures, threshold: float | None) -> Iterator[str]:
    if threshold is None:
        yield "the rewards have more than two values, so no row is right or wrong; --pass-at REWARD for pass@k"
    if found.cells.count and (found.cells.steps <= 1).all():
        yield "every prompt was drawn at one step only, so there is no trend; try --prompt-col COL if the id names a group"
