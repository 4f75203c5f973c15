"""`advcli prompts`: each prompt over the run."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from advcli.cli import flags, output
from advcli.cli import options as opt
from advcli.cli.shared import ADVANTAGES, Shared, with_shared
from advcli.common.errors import UsageError

_SHOW = "What to show"

_option = partial(opt.option, _SHOW)


def _command(
    shared: Shared,
    k: Annotated[
        str, typer.Option("--k", metavar="K,…", help="The k of pass@k.", rich_help_panel=_SHOW)
    ] = "1,4,8",
    pass_at: Annotated[
        float | None,
        _option("Lowest reward of a right row. Default: the higher of two rewards.", metavar="REWARD"),
    ] = None,
    fdr: Annotated[
        float,
        typer.Option(
            metavar="RATE",
            help="False-discovery rate of learned and forgotten (Benjamini–Hochberg over all prompts).",
            rich_help_panel=_SHOW,
        ),
    ] = 0.05,
    sort: Annotated[
        str | None,
        _option(
            "Sort by a figure, largest first; -FIGURE for smallest first. Default: most significant trend first.",
            metavar="FIGURE",
        ),
    ] = None,
    top: Annotated[
        int, typer.Option(metavar="N", min=0, help="Show the first N prompts.", rich_help_panel=_SHOW)
    ] = 20,
    out: Annotated[
        Path | None, _option("Write every prompt: .parquet, .csv or .jsonl.", metavar="FILE")
    ] = None,
    force: opt.Force = False,
) -> None:
    """Follow each prompt over the run: learned, forgotten, flat; pass@k.

    Tests each prompt for a trend over its steps, and shows the mean over prompts and the mean over rows.
    """
    run = flags.command("prompts", shared)
    ks = _whole_numbers(k)
    if not 0 < fdr < 1:
        raise UsageError(f"--fdr is {fdr:g}, expected a share between 0 and 1", hint="--fdr 0.05")
    request = flags.build(flags.inputs(shared), shared, named=True, ungrouped=True, characters=True)
    from advcli.io import tables
    from advcli.records.results.prompts import Asked, PromptsResult
    from advcli.records.results.result import dumped
    from advcli.render import prompts as text

    check = partial(tables.check, out, force=force, hint="prompts.csv") if out is not None else None
    result = run(request, Asked(ks, pass_at, fdr, sort, top), check=check)
    output.notes(result, quiet=shared.quiet)
    if out is not None:
        tables.write(out, result.table, force=force)
    if shared.json_:
        typer.echo(dumped(PromptsResult.of(result)))
    elif not shared.quiet:
        output.drawn(lambda console: text.show(result, console))


def _whole_numbers(text: str) -> tuple[int, ...]:
    """Parse comma-separated whole numbers, without duplicates."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and 0 < int(part) <= _MAX_K for part in parts):
        raise UsageError(f"--k {text}: expected whole numbers from 1 to {_MAX_K:,}", hint="--k 1,4,8")
    return tuple(dict.fromkeys(map(int, parts)))


# Each of the k draws is a pass over the prompts.
_MAX_K = 10_000

command = with_shared(_command, but=ADVANTAGES)
