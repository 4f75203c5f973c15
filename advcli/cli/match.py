"""`advcli match`: which rule made the logged advantages."""

from functools import partial

import typer

from advcli.cli import _options as opt
from advcli.cli import _request, _show
from advcli.cli._shared import Shared, with_shared

# What changes an advantage is what is searched for, so it is no option here; nor is what the search does not read.
_SEARCHED = (
    "keep_pos",
    "keep_neg",
    "compute_new_adv",
    "preset",
    "missing",
    "singleton",
    "device",
    "before",
    "after",
    "overlong",
    "affine",
    "clip_reward",
    "kl_coef",
    "kl_col",
    "values_col",
    "log_probs_col",
    "sum_pi_squared_col",
    "mask_col",
)


@partial(with_shared, but=_SEARCHED)
def command(shared: Shared, logged_col: opt.LoggedCol = None) -> None:
    """Find which framework, estimator, scale, eps, ddof and grouping made the logged advantages.

    --like, --estimator and --scale narrow the search. Exit code 0 if a rule reproduces every row, else 1.
    """
    from advcli.records.table import ColumnOptions

    run = _request.command("match", shared)
    request = _request.build(
        _request.required_inputs(shared), shared, as_read=ColumnOptions.as_logged, logged=logged_col
    )
    from advcli.render import jsonout
    from advcli.render import match as text

    outcome = run(request, _show.patiently(quiet=shared.quiet))
    _show.notes(outcome, quiet=shared.quiet)
    if shared.json_:
        typer.echo(jsonout.match(outcome))
    elif not shared.quiet:
        _show.drawn(partial(text.show, outcome))
    if not outcome.found:
        raise typer.Exit(1)
