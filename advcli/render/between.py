"""Two data sets side by side, as Rich tables."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from advcli.common.wording import counted, one_line, summed
from advcli.records.results.between import (
    Between,
    Coverage,
    Paired,
    PromptPair,
    RowPairs,
    RunFigures,
    Side,
    StepPair,
)
from advcli.records.results.report import Column
from advcli.render.numbers import count, number, points, share, short, signed
from advcli.render.tables import health_line, left_out_line, rule_line
from advcli.render.whole import print_line, print_whole, ruled

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# Characters of a run's name.
_RUN = 12
_SIGNIFICANT = 0.05
_PROMPT = 30
"""Characters of a prompt."""

_Text = Callable[[float | None], str]
_Row = tuple[str, Callable[[Side], float | None], _Text]

_GROUPS: Sequence[_Row] = (
    ("rows", lambda side: side.report.health.rows, count),
    ("groups", lambda side: side.report.health.groups, count),
    ("steps", lambda side: side.steps, count),
    ("runs", lambda side: len(side.runs) if len(side.runs) > 1 else None, count),
    ("dead groups", lambda side: side.report.columns[-1].dead_groups, count),
    ("live groups", lambda side: side.report.columns[-1].live_groups, count),
    ("singletons", lambda side: side.report.health.singletons, count),
    ("missing rewards", lambda side: side.report.health.missing, count),
)
_REWARDS: Sequence[_Row] = (
    ("reward mean", lambda side: side.rewards.mean, number),
    ("reward std", lambda side: side.rewards.std, number),
    ("reward min", lambda side: side.rewards.min, number),
    ("reward median", lambda side: side.rewards.median, number),
    ("reward max", lambda side: side.rewards.max, number),
)
_ADVANTAGES: Sequence[tuple[str, Callable[[Column], float | None], _Text]] = (
    ("rows", lambda column: column.figures.count, count),
    ("mean", lambda column: column.figures.mean, number),
    ("std", lambda column: column.figures.std, number),
    ("min", lambda column: column.figures.min, number),
    ("median", lambda column: column.figures.median, number),
    ("max", lambda column: column.figures.max, number),
    ("mean |A|", lambda column: column.figures.mean_abs, number),
    ("positive", lambda column: column.figures.share_positive, share),
    ("zero", lambda column: column.figures.share_zero, share),
    ("negative", lambda column: column.figures.share_negative, share),
)


def show(between: Between, console: "Console") -> None:
    """Print B − A, the figures of both, the steps, the prompts that changed most, and the joined rows."""
    first, *more = paired_lines(between.paired)
    print_line(first, console, "bold")
    for line in (*more, *coverage_lines(between.coverage)):
        print_line(line, console)
    for letter, side in (("A", between.a), ("B", between.b)):
        print_line(f"{letter} {side.name}: reward {summed(side.report.settings['reward'])}", console)
        print_line(f"  {health_line(side.report.health)}", console)
        for part in side.report.left_out:
            print_line(f"  {left_out_line(part)}", console, "dim")
    rules = [rule_line(side.report) for side in (between.a, between.b)]
    for line in dict.fromkeys(rules) if rules[0] == rules[1] else (f"A {rules[0]}", f"B {rules[1]}"):
        print_line(line, console, "dim")
    print_whole(_figures(between.a, between.b), console)
    if between.runs:
        print_whole(_runs(between.runs), console)
    if between.stretches:
        print_whole(_steps(between.stretches), console)
    if between.changed:
        print_whole(_changed(between.changed), console)
    if between.rows:
        for line in row_lines(between.rows):
            print_line(line, console)


def paired_lines(paired: Paired | None) -> list[str]:
    """The difference in one line, followed by its interval, test and power."""
    if paired is None:
        return ["no prompt has a reward in both: only the figures of each are shown"]
    scope = "both" if paired.runs_a == paired.runs_b == 1 else "every run"
    over = f"over {counted(paired.prompts, 'prompt')} in {scope}"
    lines = [f"B − A: {signed(paired.difference)} in mean reward per prompt, {over}"]
    lines += [paired.unclear] if paired.unclear else list(_certainty(paired))
    if paired.mcnemar:
        test = paired.mcnemar
        lines.append(
            f"two rewards (McNemar): {test.gained:,} higher in B only, {test.lost:,} in A only, {_p(test.p)}"
        )
    if paired.prompts < 2:
        return lines
    directions = (
        f"{paired.up:,} up, {paired.down:,} down, {paired.same:,} the same; "
        f"rank agreement of the prompts {number(paired.rank_agreement)}"
    )
    return [*lines, directions]


def _certainty(paired: Paired) -> Iterator[str]:
    """The interval, and the smallest difference that this many prompts and runs can detect."""
    runs = f"{counted(paired.runs_a, 'run')} of A, {paired.runs_b:,} of B"
    several = paired.runs_a > 1 or paired.runs_b > 1
    about = f"prompts and {runs}" if several else "prompts, not over seeds"
    yield f"95% interval {signed(paired.low)} … {signed(paired.high)}, {_p(paired.p)} (over {about})"
    yield f"smallest detectable difference: {number(paired.detectable)} (p < 0.05 with 80% power)"
    if paired.p < _SIGNIFICANT or not paired.difference:
        return
    ways = []
    if paired.prompts_needed is not None:
        more = max(0, paired.prompts_needed - paired.prompts)
        ways.append(f"{counted(paired.prompts_needed, 'prompt')} ({more:,} more)")
    if paired.runs_needed is not None:
        ways.append(f"{counted(paired.runs_needed, 'run')} per side")
    needed = " or ".join(ways) or "more prompts and more runs"
    yield f"detecting {number(abs(paired.difference))} would take {needed}"


def _p(value: float) -> str:
    """Format a p-value.

    Example:
        >>> _p(0.0004), _p(0.04321), _p(1.0)
        ('p < 0.001', 'p 0.043', 'p 1')
    """
    return "p < 0.001" if value < 0.001 else f"p {value:.2g}"


def coverage_lines(covered: Coverage) -> Iterator[str]:
    r"""What both have in common, and what only one has.

    Example:
        >>> print(*coverage_lines(Coverage(8, 1, 0, 32, 30, 0, 4, 0, 1)), sep="\n")
        in both: 8 prompts (32 rows of A, 30 of B), 4 steps
        only in A: 1 prompt, 0 steps · only in B: 0 prompts, 1 step
    """
    rows = f"({counted(covered.rows_a, 'row')} of A, {covered.rows_b:,} of B)"
    yield f"in both: {counted(covered.prompts_both, 'prompt')} {rows}{_and_steps(covered.steps_both)}"
    alone = (
        ("A", covered.prompts_a, covered.steps_a),
        ("B", covered.prompts_b, covered.steps_b),
    )
    if any(prompts or steps for _, prompts, steps in alone):
        yield " · ".join(
            f"only in {letter}: {counted(prompts, 'prompt')}{_and_steps(steps)}"
            for letter, prompts, steps in alone
        )


def _and_steps(steps: int | None) -> str:
    return "" if steps is None else f", {counted(steps, 'step')}"


def row_lines(rows: RowPairs) -> Iterator[str]:
    """What changed row by row."""
    left = f"{rows.only_a:,} of A and {rows.only_b:,} of B without a partner"
    yield f"{counted(rows.rows, 'row')} joined by {rows.by}; {left}"
    if rows.rewarded:
        changed = f"{share(rows.changed / rows.rewarded)} of {counted(rows.rewarded, 'row')} changed"
        yield f"reward: {changed} ({rows.up:,} up, {rows.down:,} down), B − A {signed(rows.difference)} in the mean"
    if rows.advantages:
        opposite = f"{share(rows.flips)} the opposite sign"
        others = f"{share(rows.sign_changes)} of {counted(rows.advantages, 'row')}"
        yield f"advantage: {others} have another sign (−, 0, +), {opposite}"
        yield f"rank agreement of the advantages within groups {number(rows.rank_agreement)}"


def _figures(a: Side, b: Side) -> "Table":
    table = ruled([""], ["A", "B", "B − A"])
    filtered = any(len(side.report.columns) > 1 for side in (a, b))
    sections = [
        [row for row in _GROUPS if row[1](a) is not None or row[1](b) is not None],
        _REWARDS,
        *(_advantages(column) for column in ((0, -1) if filtered else (0,))),
    ]
    for section in sections:
        for label, value, text in section:
            first, second = value(a), value(b)
            gap = None if first is None or second is None else second - first
            table.add_row(label, text(first), text(second), signed(gap, points if text is share else text))
        table.add_section()
    return table


def _advantages(column: int) -> list[_Row]:
    """The rows of the original (0) or processed (-1) advantage."""
    name = "processed" if column else "advantage"

    def of(value: Callable[[Column], float | None]) -> Callable[[Side], float | None]:
        return lambda side: value(side.report.columns[column])

    return [(f"{name} {label}", of(value), text) for label, value, text in _ADVANTAGES]


def _runs(runs: Sequence[RunFigures]) -> "Table":
    """Each run, and the difference of each run of B from all of A."""
    from rich.text import Text

    table = ruled(["", "run"], ["rows", "mean", "B − A", "95% interval", "p", "p (Holm)"])
    for run in runs:
        interval = "" if math.isnan(run.low) else f"{signed(run.low, short)} … {signed(run.high, short)}"
        table.add_row(
            run.side,
            Text(_ending(one_line(run.run, len(run.run) * 4 + 2)[1:-1])),
            count(run.rows),
            short(run.mean),
            "" if run.side == "A" else signed(run.difference, short),
            interval,
            *("" if math.isnan(p) else _p(p).removeprefix("p ") for p in (run.p, run.p_holm)),
        )
    return table


def _ending(name: str) -> str:
    """The end of a long name; names of runs usually differ at the end."""
    return name if len(name) <= _RUN else f"…{name[1 - _RUN :]}"


def _steps(steps: Sequence[StepPair]) -> "Table":
    table = ruled(["step"], ["rows A", "rows B", "mean A", "mean B", "B − A", "live A", "live B"])
    for step in steps:
        table.add_row(
            step.step,
            count(step.rows_a),
            count(step.rows_b),
            number(step.mean_a),
            number(step.mean_b),
            signed(step.difference),
            share(step.live_a),
            share(step.live_b),
        )
    return table


def _changed(pairs: Sequence[PromptPair]) -> "Table":
    heading, labels = _labels(pairs)
    table = ruled([heading], ["rows A", "rows B", "mean A", "mean B", "B − A"])
    for label, pair in zip(labels, pairs, strict=True):
        means = (number(pair.mean_a), number(pair.mean_b), signed(pair.difference))
        table.add_row(label, count(pair.rows_a), count(pair.rows_b), *means)
    return table


def _labels(pairs: Sequence[PromptPair]) -> tuple[str, list[str]]:
    """A label per prompt: its beginning, or the location of its first row if several begin the same."""
    names = [one_line(pair.prompt, _PROMPT) for pair in pairs]
    if len({*names}) == len(names):
        return "changed most", names
    return "changed most, first row in A", [pair.first_a or "" for pair in pairs]
