"""`advcli sweep`: a grid of settings, one line each."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from advcli.cli import flags, output
from advcli.cli import options as opt
from advcli.cli.shared import Shared, with_shared
from advcli.common.errors import UsageError

_GRID = "Grid"
_AXES = ("estimator", "like", "scale", "keep_pos", "keep_neg", "compute_new_adv", "preset")


_axis = partial(opt.option, _GRID)


def _command(
    shared: Shared,
    estimator: Annotated[
        list[str] | None, _axis("Estimators, comma-separated or repeated.", metavar="NAME")
    ] = None,
    like: Annotated[
        list[str] | None, _axis("Frameworks, comma-separated or repeated.", metavar="NAME")
    ] = None,
    scale: Annotated[list[str] | None, _axis("Scales, comma-separated or repeated.", metavar="SCALE")] = None,
    keep_pos: Annotated[
        str, _axis("Fractions of the positive rows: 0.3,0.5,1 or 0.5:1:0.1 (from:to:step).", metavar="SHARES")
    ] = "1",
    keep_neg: Annotated[str, _axis("Fractions of the negative rows, likewise.", metavar="SHARES")] = "1",
    compute_new_adv: Annotated[
        str, _axis("Recompute on the kept rows (grpo only): no, yes or both. Default: no.", metavar="WORD")
    ] = "no",
    sort: Annotated[
        str | None, _axis("Sort by a figure, largest first; -FIGURE for smallest first.", metavar="FIGURE")
    ] = None,
    out: Annotated[
        Path | None, _axis("Write the points to a .parquet, .csv or .jsonl file.", metavar="FILE")
    ] = None,
    force: opt.Force = False,
) -> None:
    """Try a grid of estimators, scales, keep ratios and shaping, one line per point.

    Each --shape is a point: --shape none --shape gr3 --shape 'kimi:weight=0.2; clip:min=0,max=1'.
    """
    from advcli.io import tables
    from advcli.pipeline.sweep import Grid
    from advcli.records.results.result import dumped
    from advcli.records.results.sweep import SweepResult
    from advcli.render import sweep as text
    from advcli.settings import grid

    again = {"no": (False,), "yes": (True,), "both": (False, True)}
    if compute_new_adv not in again:
        raise UsageError(f"--compute-new-adv is '{compute_new_adv}'", hint="no, yes or both")
    # Each --shape is a point; semicolons separate its steps.
    chains = [[step for step in text.split(";") if step.strip() != "none"] for text in shared.shape or ()]
    axes = Grid(
        estimators=grid.names(estimator),
        likes=grid.names(like),
        scales=grid.names(scale),
        keep_pos=grid.shares("--keep-pos", keep_pos),
        keep_neg=grid.shares("--keep-neg", keep_neg),
        again=again[compute_new_adv],
        shapes=tuple(flags.shaping(replace(shared, shape=chain)) for chain in chains),
    )
    every = replace(shared, shape=[step for chain in chains for step in chain] or None)
    request = flags.build(flags.inputs(shared), every)
    check = partial(tables.check, out, force=force) if out is not None else None
    with output.progress("points", quiet=shared.quiet) as advance:
        result = flags.command("sweep", shared)(request, axes, check=check, advance=advance)
    result = text.in_order(result, sort)
    output.notes(result, quiet=shared.quiet)
    if out is not None:
        output.remarks(tables.leftovers([out]), quiet=shared.quiet)
        tables.write(out, [{**point.settings, **point.figures()} for point in result.points], force=force)
    if shared.json_:
        typer.echo(dumped(SweepResult.of(result)))
    elif not shared.quiet:
        output.drawn(lambda console: text.show(result, console))


command = with_shared(_command, but=_AXES)
