"""`prompts`: each prompt over the run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from advcli.common.errors import DataError, UsageError
from advcli.common.wording import either
from advcli.dataset.load import DataSet, counted_once
from advcli.dataset.remarks import notes_of, unit_alone
from advcli.frameworks.rule import Unit
from advcli.io.formats.derived import CHARACTERS
from advcli.pipeline.describe import health_of
from advcli.pipeline.request import Request
from advcli.records.results.prompts import STATES, Asked, Prompts
from advcli.records.results.report import Health
from advcli.records.table import Source
from advcli.stats.metrics import step_order
from advcli.stats.prompts import PromptCounts, PromptFigures, in_order, mean_of, two_values
from advcli.stats.summaries.cells import Floats
from advcli.tensors.codes import first_rows, numbered
from advcli.tensors.masks import finite

_TEXTS = ("prompt", "state", "last_step")


def prompts(
    request: Request, asked: Asked, *, check: Callable[[Sequence[Source]], None] | None = None
) -> Prompts:
    """Follow each prompt over the run.

    Args:
        request: what to read; its columns name the prompts.
        asked: the options.
        check: called with the inputs before they are read, to refuse an output that would overwrite them.

    Raises:
        DataError: there is no prompt id, or no reward.
        UsageError: there is no such figure.
    """
    with request.opened() as sources:
        if check:
            check(sources)
        data = request.load(sources)
    unit = request.plan().unit
    return replace(
        over_run(data, asked, unit),
        warnings=(
            *request.warnings,
            *data.table.warnings,
            *data.grouping.warnings,
            *unit_alone(data, unit),
        ),
    )


def over_run(every: DataSet, asked: Asked, unit: Unit) -> Prompts:
    """The prompts of a data set over the run; without warnings.

    Args:
        every: the data set, read with the names of its prompts.
        asked: the options.
        unit: what is counted if several rows make one rollout.

    Raises:
        DataError: there is no prompt id, or no reward.
        UsageError: there is no such figure.
    """
    data = counted_once(every, unit)
    if not data.table.prompts:
        raise DataError("no prompt id, so no prompt can be followed", hint="--prompt-col COL")
    rewards = data.rows.rewards[(data.rows.group >= 0) & finite(data.rows.rewards)]
    if not len(rewards):
        raise DataError("no row has a reward", hint="--reward COL")
    values = two_values(rewards)
    threshold = threshold_of(asked, values)
    names, step = _steps(data)
    prompts, key = _named(data)
    counts = PromptCounts.of(
        replace(data.rows, step=step), torch.from_numpy(key), len(prompts), threshold=threshold
    )
    run = Run(
        health=health_of(every, None if data is every else every.per_rollout(unit.reward)),
        prompts=prompts,
        steps=names,
        values=values,
        over_rows=float(rewards.double().mean()),
        length=data.table.choice.length,
    )
    result = figured(counts, run, asked)
    return replace(result, notes=(*notes_of(every, 0, 0, 0.0, None), *result.notes))


def _named(data: DataSet) -> tuple[list[str], NDArray[np.int64]]:
    """The prompts with rows, in order of first appearance, and [N] the prompt of each row, -1 without one."""
    key, names = data.table.key, [prompt.name for prompt in data.table.prompts]
    has_prompt = key >= 0
    if has_prompt.all():
        return names, key
    codes = numbered(key[has_prompt])
    result = np.full(len(key), -1, dtype=np.int64)
    result[has_prompt] = codes
    return [names[code] for code in key[has_prompt][first_rows(codes)].tolist()], result


def threshold_of(asked: Asked, values: tuple[float, float] | None) -> float | None:
    """The lowest reward of a right row; None if rows are not right or wrong."""
    return asked.pass_at if asked.pass_at is not None else values and values[1]


@dataclass(frozen=True)
class Run:
    """Properties of a run that are not counted per prompt.

    Attributes:
        health: counts of its groups.
        prompts: names, in the order of the counts.
        steps: the steps in order.
        values: the two distinct rewards, or None.
        over_rows: mean reward of all rows.
        length: the column of lengths, or None.
    """

    health: Health
    prompts: Sequence[str]
    steps: tuple[str, ...]
    values: tuple[float, float] | None
    over_rows: float
    length: str | None


def figured(counts: PromptCounts, run: Run, asked: Asked) -> Prompts:
    """The result, once all rows are counted; its notes are only about the figures.

    Raises:
        UsageError: there is no such figure to sort by.
    """
    threshold = threshold_of(asked, run.values)
    result = PromptFigures.of(counts, run.values, fdr=asked.fdr)
    rates = {k: result.pass_at(k) for k in asked.ks} if threshold is not None else {}
    table = _table(run, result, rates)
    _refuse(asked.sort, table)
    order = in_order(table, asked.sort, asked.top)
    return Prompts(
        health=run.health,
        steps=run.steps,
        threshold=threshold,
        over_rows=run.over_rows,
        over_prompts=mean_of(result.cells.mean),
        pass_at={k: mean_of(rate) for k, (rate, _, _) in rates.items()},
        fdr=asked.fdr,
        states=result.states(),
        bands=result.bands(),
        table=table,
        order=order,
        curves={position: result.curve(position) for position in order},
        length_unit=_unit(run.length),
        notes=tuple(_notes(result, threshold)),
    )


def _unit(column: str | None) -> str | None:
    """The unit of the lengths; None without lengths."""
    return column and ("characters" if column.startswith(CHARACTERS) else "tokens")


def _table(
    run: Run,
    result: PromptFigures,
    rates: Mapping[int, tuple[Floats, Floats, Floats]],
) -> dict[str, Any]:
    """Name of a figure → its value for each prompt. A prompt without a reward has no state and no last step."""
    last = result.cells.ends()[1]
    at = np.where(last < 0, -1, result.cells.step[last]) if len(result.cells.step) else last
    table: dict[str, Any] = {
        "prompt": run.prompts,
        "state": np.array([*STATES, ""], dtype=object)[np.where(last < 0, -1, result.state)],
        **result.figures,
    }
    for k, (rate, low, high) in rates.items():
        table |= {f"pass@{k}": rate, f"pass@{k}_low": low, f"pass@{k}_high": high}
    return {**table, "last_step": np.array([*run.steps, ""], dtype=object)[at]}


def _steps(data: DataSet) -> tuple[tuple[str, ...], torch.Tensor]:
    """The steps in the order of the run, and [N] int64 the index of each row's step."""
    names = data.table.step_names
    if data.table.step is None or not names:
        return ("",), data.rows.step
    # --where may drop all rows of a step.
    used = np.unique(data.table.step[data.grouping.group >= 0])
    order = sorted(used.tolist(), key=lambda code: step_order(names[code]))
    position = np.zeros(len(names), dtype=np.int64)
    position[order] = np.arange(len(order))
    return tuple(names[code] for code in order), torch.from_numpy(position)[data.rows.step]


def _refuse(sort: str | None, table: Mapping[str, Any]) -> None:
    known = [name for name in table if name not in _TEXTS]
    if sort is not None and sort.removeprefix("-") not in known:
        raise UsageError(f"--sort {sort}: no such figure", hint=either(known))


def _notes(result: PromptFigures, threshold: float | None) -> Iterator[str]:
    if threshold is None:
        yield "the rewards have more than two values, so no row is right or wrong; --pass-at REWARD for pass@k"
    if result.cells.count and (result.cells.steps <= 1).all():
        yield "every prompt occurs at one step only, so there is no trend; try --prompt-col COL if the id names a group"
