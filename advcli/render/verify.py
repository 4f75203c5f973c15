"""The result of `verify` as tables."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from advcli.common.wording import counted, shown
from advcli.records.results.verify import Confusion, Rate, SameAnswer, Verify
from advcli.render.numbers import UNDEFINED, count, share, short
from advcli.render.whole import print_whole, ruled

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

_NAME = 24
_ROWS = 20


def show(result: Verify, console: "Console") -> None:
    """Print how well A and B agree, where they disagree, and signs of a wrong verifier."""
    for line in summary(result):
        console.print(line, highlight=False, soft_wrap=True)
    for name, parts in result.by.items():
        if parts:
            print_whole(_confusions(name, parts[:_ROWS]), console)
    if any(result.by.values()):
        _dim(console, "rows that both call right, only A, only B, neither; κ: agreement beyond chance.")
    if result.same_answer:
        print_whole(_answers(result.same_answer), console)
        _dim(console, "A calls all wrong, yet most rows agree: a wrong reference or a hard prompt.")


def summary(result: Verify) -> Iterator[str]:
    """The figures over all rows, a line each."""
    least_a, least_b = result.thresholds
    places = [f" of {name}" for name in result.inputs] or ["", ""]
    yield f"A: '{result.a}'{places[0]}, right at {least_a:g} or more"
    every = result.every
    if every and least_b is not None and result.false_negative and result.false_positive:
        yield f"B: '{result.b}'{places[1]}, right at {least_b:g} or more"
        if result.paired_by is not None:
            alone = f"{result.only_a:,} only in A, {result.only_b:,} only in B"
            yield f"rows are paired by {result.paired_by}; {alone}"
        agreed = (every.both + every.neither) / every.rows
        yield f"agreement: {share(agreed)} of {counted(every.rows, 'row')}, κ {_kappa(every.kappa)}"
        yield (
            f"both right {every.both:,}, only A {every.only_a:,}, only B {every.only_b:,}, neither {every.neither:,}"
        )
        if result.icc is not None and not math.isnan(result.icc.share):
            yield f"rewards: intraclass correlation {_kappa(result.icc)}"
        yield f"of what B calls right, A calls wrong: {_rate(result.false_negative)}"
        yield f"of what B calls wrong, A calls right: {_rate(result.false_positive)}"
        yield f"rows on the other side of their group's mean: {count(result.sign_changes)}"
        live = ", ".join(f"{total:,} {name}" for name, total in result.live.items())
        yield f"live groups: {live}"
    if not math.isnan(result.noise.share):
        yield f"noise that would explain A's live groups: {_rate(result.noise)} of verdicts"
    same = f"{result.same_answers:,} with the same answer in most rows"
    yield f"all wrong by A: {counted(result.all_wrong, 'group')}, {same}"


def _dim(console: "Console", line: str) -> None:
    console.print(line, style="dim", highlight=False, soft_wrap=True)


def _rate(rate: Rate) -> str:
    if math.isnan(rate.share):
        return UNDEFINED
    return f"{share(rate.share)} [{share(rate.low)}, {share(rate.high)}]"


def _kappa(kappa: Rate) -> str:
    if math.isnan(kappa.low):
        return short(kappa.share)
    return f"{short(kappa.share)} [{short(kappa.low)}, {short(kappa.high)}]"


def _confusions(name: str, parts: Sequence[Confusion]) -> "Table":
    table = ruled([name], ["rows", "both", "only A", "only B", "neither", "κ"])
    for part in parts:
        counts = (part.rows, part.both, part.only_a, part.only_b, part.neither)
        table.add_row(_cut(part.name), *map(count, counts), short(part.kappa.share))
    return table


def _answers(groups: Sequence[SameAnswer]) -> "Table":
    table = ruled(["prompt", "answer"], ["step", "share", "rows"])
    for group in groups:
        table.add_row(
            _cut(group.prompt), _cut(group.answer), group.step, share(group.share), count(group.rows)
        )
    return table


def _cut(text: str) -> "Text":
    from rich.text import Text

    line = shown(" ".join(text.split()))
    return Text(line if len(line) <= _NAME else f"{line[: _NAME - 1]}…")
