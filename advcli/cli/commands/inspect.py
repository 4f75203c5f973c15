"""`advcli inspect`: what is in a dump."""

from functools import partial
from typing import Annotated

import typer

from advcli.cli import flags, output
from advcli.cli import options as opt
from advcli.cli.follow import inspect as follow_inspect
from advcli.cli.shared import Shared, with_shared
from advcli.inspection.bounds import FIGURES, bound
from advcli.records.results.inspection import NEAR_DEAD

_SHOW = "What to show"
# inspect shows advantages before any of these.
_UNPROCESSED = ("keep_pos", "keep_neg", "compute_new_adv", "before", "after", "preset")

_option = partial(opt.option, _SHOW)

By = Annotated[str | None, _option("Split every figure by a column (data source, domain).", metavar="COL")]
Outcome = Annotated[
    list[str] | None,
    _option(
        "Also describe this reward column, such as the raw outcome. Default: auto-detected.",
        metavar="COL",
    ),
]
Step = Annotated[str | None, _option("Show the groups of one step.", metavar="STEP")]
Group = Annotated[
    str | None,
    _option(
        "Show the rows of one group: its prompt's id or text, or #NUMBER (from --step).",
        metavar="KEY",
    ),
]
Top = Annotated[
    int,
    typer.Option(metavar="N", min=0, help="Show the N rows with the largest |A|.", rich_help_panel=_SHOW),
]
Bottom = Annotated[
    int,
    typer.Option(metavar="N", min=0, help="Show the N rows with the smallest |A|.", rich_help_panel=_SHOW),
]
NearDead = Annotated[
    float,
    typer.Option(
        metavar="SHARE",
        help="A live group is near-dead if its rewards span at most this fraction of the overall range.",
        rich_help_panel=_SHOW,
    ),
]
FailIf = Annotated[
    list[str] | None,
    _option(
        "Exit with code 1 if true: 'dead > 0.5', 'missing > 0', ... Repeatable. Metrics: "
        + "; ".join(f"{name}, {text}" for name, (_, text) in FIGURES.items())
        + ". Conditions on undefined metrics never trigger.",
        metavar="CONDITION",
    ),
]


@partial(with_shared, but=_UNPROCESSED)
def command(
    shared: Shared,
    by: By = None,
    outcome: Outcome = None,
    step: Step = None,
    group: Group = None,
    top: Top = 0,
    bottom: Bottom = 0,
    near_dead: NearDead = NEAR_DEAD,
    fail_if: FailIf = None,
    follow: opt.Follow = False,
) -> None:
    """Show what is in a dump: groups, signal, dead groups, lengths, steps.

    Advantages are shown before any keep ratio or filter.
    """
    bounds = [bound(text) for text in fail_if or ()]
    run = flags.command("inspect", shared)
    request = flags.build(
        flags.inputs(shared),
        shared,
        by=by,
        outcomes=tuple(outcome or ()),
        find_outcomes=True,
        ungrouped=True,
        log_probs="figures" if shared.engine == "local" else "",
        prefetch=not follow,
    )
    from advcli.inspection.details import Wanted
    from advcli.records.results.inspect import InspectResult
    from advcli.records.results.result import dumped
    from advcli.render.inspection import show

    wanted = Wanted(step, group, top, bottom)
    if follow:
        screens = follow_inspect(shared, request, wanted, near_dead)
    else:
        screens = iter([(run(request, wanted, near_dead=near_dead), output.drawn)])
    for result, draw in screens:
        checked = [condition.check(result) for condition in bounds]
        output.remarks(result.notes, quiet=shared.quiet)
        if shared.json_:
            typer.echo(dumped(InspectResult.of(result, checked)))
        elif not shared.quiet:
            draw(partial(show, result))
        output.conditions(checked)
        if any(condition.held for condition in checked):
            raise typer.Exit(1)
