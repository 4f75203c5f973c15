"""`advcli verify`: is the verifier to blame?"""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from advcli.cli import flags, output
from advcli.cli import options as opt
from advcli.cli.between import join_option, of_b, together_option
from advcli.cli.shared import ADVANTAGES, Shared, with_shared
from advcli.common.errors import UsageError

if TYPE_CHECKING:
    from advcli.pipeline.request import Request

_PANEL = "What to compare"

_option = partial(opt.option, _PANEL)
_TWO = "Two inputs"
_two = partial(opt.option, _TWO)


def _command(
    shared: Shared,
    vs_reward: Annotated[
        str | None, _option("Reward column of a second verifier (B) of the same rows.", metavar="COL")
    ] = None,
    pass_at: Annotated[
        float | None,
        _option("Lowest reward of a right row. Default: the higher of two rewards.", metavar="REWARD"),
    ] = None,
    vs_pass_at: Annotated[float | None, _option("The same for B.", metavar="REWARD")] = None,
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
        typer.Option(metavar="N", min=0, help="List the first N prompts and groups.", rich_help_panel=_PANEL),
    ] = 10,
    b: Annotated[
        list[str] | None,
        _two(
            "Override an option for B only: reward=COL, prompt-col=COL, n=8, ...",
            "--b",
            metavar="OPTION=VALUE",
        ),
    ] = None,
    join: Annotated[str | None, join_option(_TWO)] = None,
    together: Annotated[bool, together_option(_TWO)] = False,
    out: Annotated[
        Path | None,
        _option(
            "Write the rows on which A and B disagree (.parquet, .csv or .jsonl); "
            "without B, the groups that are all wrong with one answer.",
            metavar="FILE",
        ),
    ] = None,
    force: opt.Force = False,
) -> None:
    """Compare two verifiers of the same rows: where do they disagree?

    Pass two INPUTs, A and B, or two reward columns of one (--vs-reward). It also finds groups that a
    verifier may call wrong by mistake. It prints figures with intervals and draws no conclusion.
    Without B it checks one verifier alone.
    """
    run = flags.command("verify", shared)
    request, other = _requests(shared, vs_reward, by, _PairOptions(b, join, together))
    from advcli.io import tables
    from advcli.records.results.result import dumped
    from advcli.records.results.verify import Asked, VerifyResult
    from advcli.render import verify as text

    check = partial(tables.check, out, force=force, hint="rows.csv") if out is not None else None
    result = run(request, Asked(vs_reward, pass_at, vs_pass_at, answer, top), other, check=check)
    output.notes(result, quiet=shared.quiet)
    if out is not None:
        tables.write(out, result.table, force=force)
    if shared.json_:
        typer.echo(dumped(VerifyResult.of(result)))
    elif not shared.quiet:
        output.drawn(lambda console: text.show(result, console))


@dataclass(frozen=True)
class _PairOptions:
    """The options that only apply to two INPUTs."""

    b: list[str] | None
    join: str | None
    together: bool

    def refuse(self) -> None:
        """Raise if one was given with a single INPUT."""
        given = [f"--{name}" for name, value in vars(self).items() if value not in (None, False)]
        if given:
            raise UsageError(
                f"{given[0]} is for two INPUTs, A and B",
                hint="advcli verify A B, or --vs-reward COL for two rewards of one input",
            )


def _requests(
    shared: Shared, vs_reward: str | None, by: str | None, two: _PairOptions
) -> "tuple[Request, Request | None]":
    """The request for A, and that for B if it is a separate input."""
    inputs = shared.inputs or []
    if len(inputs) == 2 and not two.together and vs_reward is None:
        own, join = of_b(inputs, two.b or (), two.join, but=_NO_OPTIONS)
        # Prefetching two inputs at once would slow both down.
        build = partial(flags.build, prefetch=False, named=True, ungrouped=True)
        b = replace(shared, **own)
        return build([inputs[0]], shared, by=by, row=two.join), build([inputs[1]], b, row=join)
    if len(inputs) != 2:
        two.refuse()
    elif two.b or two.join:
        raise UsageError(
            "--b and --join are for A and B, but these INPUTs are read as one data set",
            hint="without --vs-reward and --together",
        )
    outcomes = () if vs_reward is None else (vs_reward,)
    request = flags.build(flags.inputs(shared), shared, by=by, outcomes=outcomes, named=True, ungrouped=True)
    return request, None


# verify computes no advantages and has no --runs.
_NO_OPTIONS = ("runs", "estimator", "scale", "like")

command = with_shared(_command, but=ADVANTAGES)
