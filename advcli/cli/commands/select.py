"""`advcli select`: rows, pairs and prompts for the next training step."""

import math
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from advcli.cli import flags, output
from advcli.cli import options as opt
from advcli.cli.shared import ADVANTAGES, Shared, with_shared
from advcli.common.errors import UsageError
from advcli.common.wording import counted, shown
from advcli.records.results.select import KINDS, STYLES, Selection, Wanted

_PANEL = "What to select"

_option = partial(opt.option, _PANEL)


def _command(
    shared: Shared,
    as_: Annotated[
        str, typer.Option("--as", metavar="KIND", help="sft, dpo or prompts.", rich_help_panel=_PANEL)
    ],
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Write .jsonl or .parquet.", rich_help_panel=_PANEL)
    ],
    min_: Annotated[
        float | None,
        _option(
            "Lowest reward of a chosen row (sft) or a right row (prompts). Default: the higher of two rewards.",
            "--min",
            metavar="REWARD",
        ),
    ] = None,
    margin: Annotated[
        float | None, _option("Smallest difference in reward of a pair (dpo).", metavar="REWARD")
    ] = None,
    all_pairs: Annotated[
        bool, _option("Write every pair of a prompt, not only its best and worst row (dpo).", "--all-pairs")
    ] = False,
    band: Annotated[
        str | None,
        _option("Range of a prompt's share of solved rows (prompts): 0.2:0.8.", metavar="LOW:HIGH"),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Select the N prompts whose next group is most likely live (prompts).",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    style: Annotated[
        str | None,
        _option(
            "text, chat, or messages (one column, as ms-swift has it). Default: as in the dump.",
            metavar="STYLE",
        ),
    ] = None,
    prompt_text: Annotated[
        str | None, _option("Column with the text of the prompt. Default: auto-detected.", metavar="COL")
    ] = None,
    response: Annotated[
        str | None, _option("Column with the response. Default: auto-detected.", metavar="COL")
    ] = None,
    force: opt.Force = False,
) -> None:
    """Write rows for the next training step: best rows, pairs, or prompts.

    TRL and ms-swift load these files directly. Each record has the file and line it comes from.
    """
    run = flags.command("select", shared)
    wanted = Wanted(
        kind=opt.choice("--as", as_, KINDS),
        least=min_,
        margin=_margin(margin),
        every=all_pairs,
        band=_band(band),
        top=top,
        style=None if style is None else opt.choice("--style", style, STYLES),
        prompt=prompt_text,
        response=response,
    )
    _refuse(
        wanted, {"--margin": margin, "--all-pairs": all_pairs, "--band": band, "--top": top, "--min": min_}
    )
    if out.suffix not in (".jsonl", ".parquet"):
        raise UsageError(f"--out {out}: expected .jsonl or .parquet", hint=f"--out {wanted.kind}.jsonl")
    request = flags.build(flags.inputs(shared), shared, ungrouped=True)
    from advcli.io import tables
    from advcli.records.results.result import dumped
    from advcli.records.results.select import SelectResult

    result = run(request, wanted, check=partial(tables.check, out, force=force, hint=f"{wanted.kind}.jsonl"))
    output.notes(result, quiet=shared.quiet)
    tables.write(out, result.records, force=force)
    if shared.json_:
        typer.echo(dumped(SelectResult.of(result, wanted.kind, str(out))))
    elif not shared.quiet:
        typer.echo(shown(_summary(result, wanted.kind, out)))


_NOUNS = {"sft": "row", "dpo": "pair", "prompts": "prompt"}


def _summary(result: Selection, kind: str, out: Path) -> str:
    left = f"; skipped {counted(result.empty, 'row')} without text" if result.empty else ""
    of = f"from {result.used:,} of {counted(result.prompts, 'prompt')}"
    return f"wrote {out}: {counted(len(result.records), _NOUNS[kind])} {of}{left}"


_KINDS_OF = {
    "--margin": ("dpo",),
    "--all-pairs": ("dpo",),
    "--band": ("prompts",),
    "--top": ("prompts",),
    "--min": ("sft", "prompts"),
}


def _refuse(wanted: Wanted, given: dict[str, object]) -> None:
    """Raise if an option has no effect."""
    for flag, value in given.items():
        if value not in (None, False) and wanted.kind not in _KINDS_OF[flag]:
            raise UsageError(
                f"{flag} does nothing with --as {wanted.kind}", hint=f"--as {_KINDS_OF[flag][0]}"
            )


def _margin(given: float | None) -> float:
    if given is not None and not 0 <= given < math.inf:
        raise UsageError(f"--margin is {given:g}, expected 0 or more", hint="--margin 0.5")
    return given or 0.0


def _band(text: str | None) -> tuple[float, float]:
    if text is None:
        return 0.0, 1.0
    try:
        low, high = map(float, text.split(":"))
    except ValueError:
        low, high = 1.0, 0.0
    if not 0 <= low <= high <= 1:
        raise UsageError(f"--band {text}: expected two shares, LOW:HIGH", hint="--band 0.2:0.8")
    return low, high


command = with_shared(_command, but=ADVANTAGES)
