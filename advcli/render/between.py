"""Two data sets side by side, as Rich tables and as JSON."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from advcli.records.between import Between, Coverage, Paired, PromptPair, RowPairs, Side, StepPair
from advcli.records.report import Column
from advcli.render.jsonout import figures, head, known
from advcli.render.numbers import count, number, points, share, signed
from advcli.render.tables import health_line, left_out_line, rule_line
from advcli.render.whole import print_whole, ruled
from advcli.wording import counted, one_line, summed

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_PROMPT = 30
"""How much of a prompt is shown."""

_Text = Callable[[float | None], str]
_Row = tuple[str, Callable[[Side], float | None], _Text]

_GROUPS: Sequence[_Row] = (
    ("rows", lambda side: side.report.health.rows, count),
    ("groups", lambda side: side.report.health.groups, count),
    ("steps", lambda side: side.steps, count),
    ("dead groups", lambda side: side.report.health.dead_groups, count),
    ("live groups", lambda side: side.live_groups, count),
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
    """Print what B − A is, the figures of both, the steps, the prompts that changed most, and the joined rows."""
    first, *more = paired_lines(between.paired)
    _line(first, console, "bold")
    for line in (*more, *coverage_lines(between.coverage)):
        _line(line, console)
    for letter, side in (("A", between.a), ("B", between.b)):
        _line(f"{letter} {side.name}: reward {summed(side.report.settings['reward'])}", console)
        _line(f"  {health_line(side.report.health)}", console)
        for part in side.report.left_out:
            _line(f"  {left_out_line(part)}", console, "dim")
    rules = [rule_line(side.report) for side in (between.a, between.b)]
    for line in dict.fromkeys(rules) if rules[0] == rules[1] else (f"A {rules[0]}", f"B {rules[1]}"):
        _line(line, console, "dim")
    print_whole(_figures(between.a, between.b), console)
    if between.stretches:
        print_whole(_steps(between.stretches), console)
    if between.changed:
        print_whole(_changed(between.changed), console)
    if between.rows:
        for line in row_lines(between.rows):
            _line(line, console)


def paired_lines(paired: Paired | None) -> list[str]:
    """The answer, in a line, and how sure it is."""
    if paired is None:
        return ["no prompt has a reward in both: only the figures of each are shown"]
    over = f"over {counted(paired.prompts, 'prompt')} in both"
    lines = [f"B − A: {signed(paired.difference)} in mean reward per prompt, {over}"]
    if paired.prompts < 2:
        return [*lines, "too few prompts for an interval"]
    sure = (
        f"95 % interval {signed(paired.low)} … {signed(paired.high)} "
        f"(bootstrap, {paired.resamples:,} resamples of prompts, seed {paired.seed})"
    )
    ways = (
        f"{paired.up:,} up, {paired.down:,} down, {paired.same:,} the same; "
        f"rank agreement of the prompts {number(paired.rank_agreement)}"
    )
    return [*lines, sure, ways]


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
        opposite = f"{share(rows.flips)} the opposite one"
        others = f"{share(rows.sign_changes)} of {counted(rows.advantages, 'row')}"
        yield f"advantage: {others} have another sign (−, 0, +), {opposite}"
        yield f"rank agreement of the advantages within groups {number(rows.rank_agreement)}"


def as_json(between: Between) -> dict[str, Any]:
    """Everything as plain values; the prompts are those that changed most."""
    return {
        "a": _side(between.a),
        "b": _side(between.b),
        "coverage": asdict(between.coverage),
        "paired": between.paired and asdict(between.paired),
        "changed": [asdict(pair) for pair in between.changed],
        "steps": [asdict(step) for step in between.steps],
        "rows": between.rows and asdict(between.rows),
        "warnings": list(between.warnings),
    }


def _side(side: Side) -> dict[str, Any]:
    original, processed = side.report.columns[0], side.report.columns[-1]
    return {
        "input": side.name,
        **head(side.report, processed),
        "steps": side.steps,
        "live_groups": side.live_groups,
        "reward": known(side.rewards),
        "original": figures(original),
        "processed": figures(processed),
    }


def _line(text: str, console: "Console", style: str | None = None) -> None:
    console.print(text, style=style, highlight=False, soft_wrap=True, markup=False)


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
    """What tells the prompts apart: their beginning, or the place of their first row where they begin alike."""
    names = [one_line(pair.prompt, _PROMPT) for pair in pairs]
    if len({*names}) == len(names):
        return "changed most", names
    return "changed most, first row in A", [pair.first_a or "" for pair in pairs]
