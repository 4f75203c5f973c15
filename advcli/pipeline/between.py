"""`compare --between`: two data sets side by side, by prompt, by step and row by row."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from advcli.common.wording import counted, one_line, verb
from advcli.dataset.load import DataSet, by_unit
from advcli.dataset.pairing import Joined, Pairing, Runs, joined
from advcli.engine.run import run
from advcli.pipeline.compare import without_filters
from advcli.pipeline.describe import report_of
from advcli.pipeline.request import Request
from advcli.pipeline.sides import labelled, lettered, loaded, named
from advcli.records.results.between import Between, Coverage, Paired, PromptPair, RowPairs, Side, StepPair
from advcli.records.results.report import Report
from advcli.records.settings import AdvantageTable
from advcli.records.table import Source
from advcli.stats.figures import figures
from advcli.stats.inference import paired_prompts, paired_steps
from advcli.stats.inference.paired_prompts import PromptMeans, Rewarded
from advcli.stats.inference.paired_rows import row_pairs

# Maximum number of lines in the table of steps.
_STRETCHES = 20


@dataclass(frozen=True)
class _Loaded:
    """One of the two data sets, with its advantages."""

    letter: str
    name: str
    data: DataSet
    runs: Runs
    result: AdvantageTable
    report: Report


def between(
    a: Request,
    b: Request,
    *,
    top: int = 10,
    by_path: tuple[bool, bool] = (False, False),
    check: Callable[[Sequence[Source]], None] | None = None,
) -> Between:
    """Compare two data sets.

    Args:
        a: the first; `columns.by` is the column that identifies its runs.
        b: the second.
        top: number of prompts to list, those that changed most.
        by_path: whether each file or folder that the input of A (of B) matches is a run.
        check: called with the inputs of each before they are read, to refuse outputs that would overwrite them.
    """
    a.plan()  # errors in the settings of both are raised without a letter
    first, second = _loaded("A", a, check, by_path=by_path[0]), _loaded("B", b, check, by_path=by_path[1])
    pairing = Pairing.of(first.data, second.data)
    rewarded_a, rewarded_b = (
        Rewarded(side.data.rows.rewards, prompts, side.runs.codes, len(side.runs.names))
        for side, prompts in zip((first, second), pairing.prompts, strict=True)
    )
    means = PromptMeans.of(rewarded_a, rewarded_b, len(pairing.named[0]))
    covered = paired_prompts.coverage(means, pairing.shared_steps(), pairing.other_steps())
    several = len(first.runs.names) > 1 or len(second.runs.names) > 1
    rows = None if several else joined(first.data, second.data, pairing)
    steps = _steps(first, second, pairing)
    table = _prompts(means, pairing)
    changed = paired_prompts.most_changed(means, top)
    paired = paired_prompts.paired(means)
    return Between(
        a=_side(first),
        b=_side(second),
        coverage=covered,
        paired=paired,
        changed=tuple(PromptPair(**{name: cells[at] for name, cells in table.items()}) for at in changed),
        runs=paired_prompts.each_run(means, first.runs.names, second.runs.names),
        steps=steps,
        stretches=tuple(paired_steps.stretches(steps, _STRETCHES)),
        rows=None if rows is None else _rows(first, second, rows),
        prompts=table,
        notes=(*labelled(first.report.notes, second.report.notes), *_notes(paired, rows, several=several)),
        warnings=(
            *labelled(first.report.warnings, second.report.warnings),
            *_warnings(first, second, covered, rows),
            *_unclear(paired, covered),
        ),
    )


def _loaded(
    letter: str, request: Request, check: Callable[[Sequence[Source]], None] | None, *, by_path: bool
) -> _Loaded:
    """Read one of the two data sets; errors are labelled with its letter."""
    name = named(request)
    with lettered(letter, name):
        plan = request.plan()
    data = loaded(letter, request, check)
    with lettered(letter, name):
        pattern = name if by_path else None
        data = Runs.of(data, pattern).apart(data)
        columns = data.columns()
        plan = plan.at(columns)
    result = run(plan, columns)
    bare = run(without_filters(plan), columns) if plan.settings.filters else result
    original = bare.unprocessed()
    shown = {"original": replace(original, warnings=result.warnings, left_out=result.left_out)}
    # If nothing is filtered, both columns are equal.
    shown |= {} if torch.equal(original.kept, result.kept) else {"processed": result}
    report = report_of(request, data, plan, shown)
    unit, inner = by_unit(data, {"processed": replace(result, original=bare.original)}, plan.unit.reward)
    return _Loaded(letter, name, unit, Runs.of(unit, pattern), inner["processed"], report)


def _side(loaded: _Loaded) -> Side:
    rewards = loaded.data.rows.rewards
    finite = rewards[rewards.isfinite()]
    return Side(
        name=loaded.name,
        report=loaded.report,
        rewards=figures(finite, finite.sign()),
        steps=None if loaded.data.table.step is None else len(loaded.data.rows.step.unique()),
        runs=loaded.runs.names,
    )


def _steps(a: _Loaded, b: _Loaded, pairing: Pairing) -> tuple[StepPair, ...]:
    if pairing.steps is None:
        return ()
    sides = [(side.data.rows, side.result, step) for side, step in zip((a, b), pairing.steps, strict=True)]
    return tuple(paired_steps.per_step(sides[0], sides[1], pairing.step_names))


def _rows(a: _Loaded, b: _Loaded, rows: Joined) -> RowPairs:
    sides = [(side.data.rows.rewards, side.result.original, side.data.rows.group) for side in (a, b)]
    return row_pairs(sides[0], sides[1], (rows.a, rows.b), rows.by)


def _prompts(means: PromptMeans, pairing: Pairing) -> dict[str, list[Any]]:
    """A column per figure of each prompt, NaN where undefined."""
    a, b = pairing.named
    return {
        "prompt": [one.name if one else other.name if other else "" for one, other in zip(a, b, strict=True)],
        "first_a": [one and one.place for one in a],
        "first_b": [one and one.place for one in b],
        "rows_a": means.rows_a.sum(0).tolist(),
        "rows_b": means.rows_b.sum(0).tolist(),
        "mean_a": means.mean_a.tolist(),
        "mean_b": means.mean_b.tolist(),
        "difference": means.difference().tolist(),
    }


def _example(loaded: _Loaded) -> str:
    """The key columns with their value in the first row, truncated."""
    table = loaded.data.table
    columns = " + ".join(f"'{name}'" for name in table.choice.prompt)
    return f"{columns} as {one_line(table.prompts[int(table.key[table.key >= 0][0])].name, 40)}"


def _notes(paired: Paired | None, rows: Joined | None, *, several: bool) -> Iterator[str]:
    if rows is None and paired is not None and not several:
        yield (
            "rows are not compared one by one, because no column identifies the same answer; "
            "try --join COL with an id or the text of the answer"
        )


def _unclear(paired: Paired | None, covered: Coverage) -> Iterator[str]:
    """Why there is no interval, and which prompts are not in it."""
    if paired is None:
        return
    if paired.unclear:
        yield paired.unclear
    if max(paired.runs_a, paired.runs_b) > 1 and paired.prompts < covered.prompts_both:
        yield (
            f"{counted(covered.prompts_both - paired.prompts, 'prompt')} in both "
            f"{verb(covered.prompts_both - paired.prompts, 'is', 'are')} not in every run: the difference is over "
            f"the other {paired.prompts:,}"
        )


def _warnings(a: _Loaded, b: _Loaded, covered: Coverage, rows: Joined | None) -> Iterator[str]:
    for side in (a, b):
        if not side.data.table.prompts:
            yield f"{side.letter} has no prompt id, so no prompt can be found in both"
    if not covered.prompts_both and a.data.table.prompts and b.data.table.prompts:
        keys = (f"{side.letter} has {_example(side)}" for side in (a, b))
        yield (
            f"no prompt is in both: {' and '.join(keys)}; try --prompt-col COL with a column that is the same in both, "
            "or --b prompt-col=COL for B only"
        )
    if covered.other_steps:
        prompts = (
            f"{counted(covered.other_steps, 'prompt')} in both {verb(covered.other_steps, 'was', 'were')}"
        )
        yield f"{prompts} not sampled at the same steps: the difference includes what training changed in between"
    if rows is not None and not len(rows.a):
        yield f"no row of A is joined with one of B by {rows.by}"
