"""The result of `prompts` as tables."""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from advcli.common.wording import counted, shown
from advcli.records.results.prompts import STATES, Band, Mean, Prompts
from advcli.records.results.result import plain_cell
from advcli.render.bars import spark
from advcli.render.numbers import UNDEFINED, count, share, short, signed
from advcli.render.tables import health_line
from advcli.render.whole import print_line, print_whole, ruled

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

_PROMPT = 16
# A date, as YYYY-MM-DD.
_STEP = 10
_LENGTHS = {
    True: "length: mean {} of a row.",
    False: "right, wrong: mean {} of a right and of a wrong row.",
}
# The wording of a state in the line that counts prompts, if its name does not fit after a number.
_STATE_WORDING: Mapping[str, str] = {"one step": "drawn at one step"}
_TESTED = ("learned", "forgotten", "flat")
# Number of k that fit next to the other figures.
_KS = 3


def show(result: Prompts, console: "Console") -> None:
    """Print the means, how many prompts were learned or forgotten, the bands, and the first prompts."""
    print_line(health_line(result.health), console, "bold")
    for line in (*summary(result), *_left(result)):
        print_line(line, console)
    if result.bands:
        print_whole(_bands(result.bands), console)
        _dim(console, _band_line(result))
    if not result.order:
        return
    print_whole(_trends(result), console)
    _dim(console, "per step: mean reward, ▁ low to █ high, blank if the prompt was not sampled.")
    _dim(console, "change: of the fitted line, from first to last step, with its 95% interval.")
    print_whole(_levels(result), console)
    _dim(console, "mean: of all its rows. live: share of its groups of two or more rows.")
    if result.length_unit is not None:
        _dim(console, _LENGTHS[result.threshold is None].format(result.length_unit))
    if result.threshold is not None:
        _dim(
            console,
            f"a row is right at {result.threshold:g} or more. p@k: pass@k over all rows of the prompt.",
        )


def summary(result: Prompts) -> Iterator[str]:
    """The figures over all prompts, a line each."""
    yield f"mean reward: {short(result.over_rows)} over rows, {_mean(result.over_prompts)} over prompts"
    for k, mean in result.pass_at.items():
        of = f"{counted(mean.count, 'prompt')} with {counted(k, 'row')} or more"
        yield (
            f"pass@{k}: {_mean(mean)} over {of}"
            if mean.count
            else f"pass@{k}: no prompt has {counted(k, 'row')}"
        )
    states = states_line(result.states)
    tested = any(result.states[state] for state in _TESTED)
    rate = f" (false-discovery rate {result.fdr:g})" if tested else ""
    yield f"prompts: {states or 'none with a reward'}{rate}"


def states_line(states: Mapping[str, int]) -> str:
    """The number of prompts in each state; empty if there are none.

    Example:
        >>> states_line({"learned": 2, "flat": 0, "one step": 1})
        '2 learned, 1 drawn at one step'
    """
    return ", ".join(
        f"{states[state]:,} {_STATE_WORDING.get(state, state)}" for state in STATES if states.get(state)
    )


def _left(result: Prompts) -> Iterator[str]:
    """A line about the prompts that are not shown."""
    left = len(result.table["prompt"]) - len(result.order)
    if left and result.order:
        every = counted(len(result.table["prompt"]), "prompt")
        yield f"showing {len(result.order):,} of {every}; --top N or --out FILE for more"


def _dim(console: "Console", line: str) -> None:
    print_line(line, console, "dim")


def _mean(mean: Mean) -> str:
    if math.isnan(mean.low):
        return short(mean.mean)
    return f"{short(mean.mean)} [{short(mean.low)}, {short(mean.high)}]"


def _bands(bands: tuple[Band, ...]) -> "Table":
    total = sum(band.prompts for band in bands)
    shown = [state for state in STATES[:3] if any(band.states[state] for band in bands)]
    table = ruled(["solved"], ["prompts", "share", "rows", "live", *shown])
    for band in bands:
        of_state = [count(band.states[state]) for state in shown]
        part = band.prompts / total if total else math.nan
        table.add_row(
            _range(band), count(band.prompts), share(part), count(band.rows), share(band.live), *of_state
        )
    return table


def _range(band: Band) -> str:
    """Example: "0%", "0 to 25%"."""
    low, high = round(100 * band.low), round(100 * band.high)
    return f"{high}%" if low == high else f"{low} to {high}%"


def _band_line(result: Prompts) -> str:
    if result.threshold is None:
        return "solved: mean reward of the prompt, 0% at the lowest and 100% at the highest reward."
    return f"solved: share of the prompt's rows with a reward of {result.threshold:g} or more, over the run."


def _trends(result: Prompts) -> "Table":
    table = ruled(["prompt", "state", "per step"], ["steps", "first", "last", "change", "95%"])
    ends = _ends(result)
    for position in result.order:
        row = _row(result, position)
        table.add_row(
            _cut(row["prompt"], _PROMPT),
            row["state"] or UNDEFINED,
            spark(result.curves[position], len(result.steps), ends, width=10),
            count(row["steps"]),
            short(row["first_mean"]),
            short(row["last_mean"]),
            signed(row["change"], _two),
            UNDEFINED
            if math.isnan(row["change_low"])
            else f"{_two(row['change_low'])}, {_two(row['change_high'])}",
        )
    return table


def _levels(result: Prompts) -> "Table":
    rates = [f"pass@{k}" for k in list(result.pass_at)[:_KS]]
    lengths = [name for name in ("length", "length_right", "length_wrong") if name in result.table]
    headings: Mapping[str, str] = {"length": "length", "length_right": "right", "length_wrong": "wrong"}
    names = [rate.replace("pass", "p") for rate in rates]
    table = ruled(["prompt"], ["rows", "mean", "live", *names, *(headings[name] for name in lengths), "last"])
    forms: list[tuple[str, Callable[[float | None], str]]] = [("rewarded", count), ("mean", short)]
    forms += [("live_share", share), *((rate, short) for rate in rates), *((name, short) for name in lengths)]
    for position in result.order:
        row = _row(result, position)
        cells = [form(row[name]) for name, form in forms]
        table.add_row(_cut(row["prompt"], _PROMPT), *cells, _cut(row["last_step"] or UNDEFINED, _STEP))
    return table


def _row(result: Prompts, position: int) -> dict[str, Any]:
    return {name: plain_cell(values[position]) for name, values in result.table.items()}


def _ends(result: Prompts) -> tuple[float, float]:
    """The range of the sparklines: the means of the shown prompts, 0 and the threshold; 0 to 1 without any."""
    means = [mean for curve in result.curves.values() for _, mean in curve]
    return (min([0.0, *means]), max([*means, result.threshold or 0.0])) if means else (0.0, 1.0)


def _two(value: float | None) -> str:
    return (
        UNDEFINED
        if value is None or math.isnan(value)
        else f"{value:.2f}"
        if abs(value) < 100
        else short(value)
    )


def _cut(text: str, most: int) -> "Text":
    from rich.text import Text

    line = shown(" ".join(text.split()))
    return Text(line if len(line) <= most else f"{line[: most - 1]}…")
