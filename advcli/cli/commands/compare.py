"""`advcli compare`: original, kept, kept + recomputed and other estimators side by side, or two data sets."""

import shlex
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from advcli.cli import flags, output
from advcli.cli import options as opt
from advcli.cli.between import Asked, join_option, show, together_option
from advcli.cli.shared import Shared, with_shared
from advcli.common.errors import UsageError

_TWO = "Two dumps"
_two = partial(opt.option, _TWO)


@with_shared
def command(
    shared: Shared,
    vs: opt.Vs = None,
    between: Annotated[
        bool,
        _two("Compare two INPUTs, A and B: two runs, or two rewards of the same rows.", "--between"),
    ] = False,
    together: Annotated[bool, together_option(_TWO)] = False,
    b: Annotated[
        list[str] | None,
        _two(
            "Override an option for B only: reward=COL, prompt-col=COL, estimator=rloo, ...",
            "--b",
            metavar="OPTION=VALUE",
        ),
    ] = None,
    join: Annotated[str | None, join_option(_TWO)] = None,
    runs: Annotated[
        str | None,
        _two(
            "Column with the run (seed) of each row, or path: each file or folder that INPUT's * matches is a run.",
            metavar="COL|path",
        ),
    ] = None,
    top: Annotated[
        int | None, _two("Show the N prompts that changed most. Default: 10.", metavar="N")
    ] = None,
    out: Annotated[
        Path | None, _two("Write all prompts to a .parquet, .csv or .jsonl file.", metavar="FILE")
    ] = None,
    force: opt.Force = False,
) -> None:
    """Compare advantages side by side: keep ratios, estimators, or two dumps.

    With --between it compares two INPUTs, A and B: two runs, or two rewards of the same rows.
    """
    asked = Asked(join=join, b=b, runs=runs, top=top, out=out, force=force)
    if between and together:
        raise UsageError(
            "--between compares two data sets, but --together merges them", hint="one of the two"
        )
    if between and vs:
        raise UsageError(
            "--vs adds columns for one data set, but --between compares two", hint="--b estimator=rloo"
        )
    if between:
        flags.refuse_ray("compare --between", shared)
        show(shared, asked)
        return
    asked.refuse()
    if len(shared.inputs or ()) == 2 and "-" not in (shared.inputs or ()) and not together:
        a, b_ = (shlex.quote(name) for name in shared.inputs or ())
        raise UsageError(
            "two INPUTs can be two runs or one data set",
            hint=f"advcli compare {a} {b_} --between or advcli compare {a} {b_} --together",
        )
    run = flags.command("compare", shared)
    request = flags.build(flags.inputs(shared), shared)
    from advcli.records.results.compare import CompareResult
    from advcli.records.results.result import dumped
    from advcli.settings.resolve import versus

    report = run(request, {spec: versus(request.settings, spec) for spec in vs or ()})
    output.notes(report, quiet=shared.quiet)
    if shared.json_:
        typer.echo(dumped(CompareResult.of(report)))
    elif not shared.quiet:
        output.table(report, to_stderr=False)
