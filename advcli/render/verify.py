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


def show(found: Verify, console: "Console") -> None:
    """Print how well A and B agree, where they disagree, and signs of a wrong verifier."""
    for line in summary(found):
        console.print(line, highlight=False, soft_wrap=True)
    for name, parts in found.by.items():
        if parts:
            print_whole(_confusions(name, parts[:_ROWS]), console)
    if any(found.by.values()):
        _dim(console, "rows that both call right, only A, only B, neither; κ: agreement beyond chance.")
    if found.same_answer:
        print_whole(_answers(found.same_answer), console)
        _dim(console, "A calls all wrong, yet most give the same answer: a wrong reference or a hard prompt.")


def summary(found: Verify) -> Iterator[str]:
    """The figures over all rows, a line each."""
    least_a, least_b = found.thresholds
    places = [f" of {name}" for name in found.inputs] or ["", ""]
    yield f"A: '{found.a}'{places[0]}, right at {least_a:g} or more"
    every = found.every
    if every and least_b is not None and found.false_negative and found.false_positive:
        yield f"B: '{found.b}'{places[1]}, right at {least_b:g} or more"
        if found.paired_by is not None:
            alone = f"{found.only_a:,} only in A, {found.only_b:,} only in B"
            yield f"rows are paired by {found.paired_by}; {alone}"
        agreed = (every.both + every.neither) / every.rows
        yield f"agreement: {share(agreed)} of {counted(every.rows, 'row')}, κ {_kappa(every.kappa)}"
        yield (
            f"both right {every.both:,}, only A {every.only_a:,}, only B {every.only_b:,}, neither {every.neither:,}"
        )
        if found.icc is not None and not math.isnan(found.icc.share):
            yield f"rewards: intraclass correlation {_kappa(found.icc)}"
        yield f"of what B calls right, A calls wrong: {_rate(found.false_negative)}"
        yield f"of what B calls wrong, A calls right: {_rate(found.false_positive)}"
        yield f"rows on the other side of their group's mean: {count(found.sign_changes)}"
        live = ", ".join(f"{many:,} {name}" for name, many in found.live.items())
        yield f"live groups: {live}"
    yield f"noise that would explain A's live groups: {_rate(found.noise)} of verdicts"
    same = f"{found.same_answers:,} with the same answer in most rows"
    yield f"all wrong by A: {counted(found.all_wrong, 'group')}, {same}"


def _dim(console: "Console", line: str) -> None:
    console.print(line, style="dim", highlight=False, soft_wrap=True)


def _rate(one: Rate) -> str:
    if math.isnan(one.share):
        return UNDEFINED
    return f"{share(one.share)} [{share(one.low)}, {share(one.high)}]"


def _kappa(one: Rate) -> str:
    if math.isnan(one.low):
        return short(one.share)
    return f"{short(one.share)} [{short(one.low)}, {short(one.high)}]"


def _confusions(name: str, parts: Sequence[Confusion]) -> "Table":
    table = ruled([name], ["rows", "both", "only A", "only B", "neither", "κ"])
    for one in parts:
        counts = (one.rows, one.both, one.only_a, one.only_b, one.neither)
        table.add_row(_cut(one.name), *map(count, counts), short(one.kappa.share))
    return table


def _answers(groups: Sequence[SameAnswer]) -> "Table":
    table = ruled(["prompt", "answer"], ["step", "share", "rows"])
    for one in groups:
        table.add_row(_cut(one.prompt), _cut(one.answer), one.step, share(one.share), count(one.rows))
    return table


def _cut(text: str) -> "Text":
    from rich.text import Text

    line = shown(" ".join(text.split()))
    return Text(line if len(line) <= _NAME else f"{line[: _NAME - 1]}…")
