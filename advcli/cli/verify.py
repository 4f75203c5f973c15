"""`advcli verify`: is the verifier to blame?"""

from functools import partial
from typing import Annotated

import typer

from advcli.cli import _options as opt
from advcli.cli import _request, _show
from advcli.cli._shared import ADVANTAGES, Shared, with_shared

_PANEL = "What to compare"

_option = partial(opt.option, _PANEL)


def _command(
    shared: Shared,
    vs_reward: Annotated[
        str | None, _option("Reward column of a second verifier (B) of the same rows.", metavar="COL")
    ] = None,
    pass_at: Annotated[
        float | None,
        _option(
            "A row is right at this reward or more. Default: the higher of two rewards.", metavar="REWARD"
        ),
    ] = None,
    vs_pass_at: Annotated[float | None, _option("The same for --vs-reward.", metavar="REWARD")] = None,
    answer: Annotated[
        str | None,
        _option(
            "Column with the final answer. Default: the text after the last #### or in the last \\boxed{}.",
            metavar="COL",
        ),
    ] = None,
    by: Annotated[
        str | None, _option("Split by the values of a column (data source, domain).", metavar="COL")
    ] = None,
    top: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="Name the first N prompts and groups.", rich_help_panel=_PANEL),
    ] = 10,
) -> None:
    """Compare two reward columns of the same rows: where do the verifiers disagree?

    It also finds groups that a verifier may call wrong by mistake. Figures with their intervals, no verdict. Without --vs-reward only what one reward can show.
    """
    run = _request.command("verify", shared)
    outcomes = () if vs_reward is None else (vs_reward,)
    request = _request.build(
        _request.inputs(shared), shared, by=by, outcomes=outcomes, named=True, ungrouped=True
    )
    from advcli.records.results import strict
    from advcli.records.verify import Asked
    from advcli.render import verify as text

    found = run(request, Asked(vs_reward, pass_at, vs_pass_at, answer, top))
    _show.notes(found, quiet=shared.quiet)
    if shared.json_:
        typer.echo(strict(text.as_json(found)))
    elif not shared.quiet:
        _show.drawn(lambda console: text.show(found, console))


command = with_shared(_command, but=ADVANTAGES)
