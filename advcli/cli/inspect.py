"""`advcli inspect`: what is in a dump."""

from dataclasses import replace
from typing import Annotated

import typer

from advcli.cli import _options as opt
from advcli.cli import _request, _show
from advcli.errors import UsageError
from advcli.stats.bounds import FIGURES, bound

_SHOW = "What to show"

By = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Split every figure by the values of a column (data source, domain).",
        rich_help_panel=_SHOW,
        show_default=False,
    ),
]
Outcome = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL",
        help="Describe another reward column too, such as the raw outcome. Default: what looks like one.",
        rich_help_panel=_SHOW,
        show_default=False,
    ),
]
Step = Annotated[
    str | None,
    typer.Option(
        metavar="STEP", help="Show the groups of one step.", rich_help_panel=_SHOW, show_default=False
    ),
]
Group = Annotated[
    str | None,
    typer.Option(
        metavar="KEY",
        help="Show the rows of one group: the text of its prompt column, or #NUMBER as --step shows it.",
        rich_help_panel=_SHOW,
        show_default=False,
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
        help="A live group whose rewards spread over no more than this share of the range of all is near dead.",
        rich_help_panel=_SHOW,
    ),
]
FailIf = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CONDITION",
        help="Exit with 1 if it holds: 'dead > 0.5', 'missing > 0' ... Repeatable. Names: "
        + "; ".join(f"{name}, {told}" for name, (_, told) in FIGURES.items())
        + ". A figure that the data do not define holds nothing.",
        rich_help_panel=_SHOW,
        show_default=False,
    ),
]


@opt.with_shared(without=("keep_pos", "keep_neg", "compute_new_adv", "before", "after", "preset"))
def command(
    shared: opt.Shared,
    by: By = None,
    outcome: Outcome = None,
    step: Step = None,
    group: Group = None,
    top: Top = 0,
    bottom: Bottom = 0,
    near_dead: NearDead = 0.01,
    fail_if: FailIf = None,
) -> None:
    """Say what is in a dump: format, columns, grouping, signal, phantoms, length, steps.

    Figures only, no verdict. The advantage is the one before any keep ratio or filter.
    """
    from advcli.inspection.details import Wanted
    from advcli.pipeline import inspect
    from advcli.render import inspectjson

    bounds = [bound(text) for text in fail_if or ()]
    inputs = shared.inputs or (["-"] if _request.piped() else [])
    if not inputs:
        raise UsageError("no input", hint="a file, a folder, a quoted glob or - for standard input")
    request = _request.build(inputs, shared)
    columns = replace(request.columns, by=by, outcomes=tuple(outcome or ()), find_outcomes=True)
    found = inspect(replace(request, columns=columns), Wanted(step, group, top, bottom), near_dead=near_dead)
    checked = [one.check(found) for one in bounds]
    if shared.json_:
        typer.echo(inspectjson.inspect(found, checked))
    elif not shared.quiet:
        _show.inspection(found)
    _show.conditions(checked)
    if any(one.held for one in checked):
        raise typer.Exit(1)
