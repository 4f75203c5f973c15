"""`advcli match`: which rules the logged advantages are consistent with."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import typer

from advcli.cli import flags, output
from advcli.cli import options as opt
from advcli.cli.shared import Shared, typed, with_shared

# Settings that the search determines, and columns that it does not read, are not options of match.
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
    "rollout_log_probs_col",
    "teacher_log_probs_col",
    "version_col",
    "sum_pi_squared_col",
    "mask_col",
    "entropy_col",
)


@partial(with_shared, but=_SEARCHED)
def command(shared: Shared, logged_col: opt.LoggedCol = None) -> None:
    """Find the rules that the logged advantages are consistent with.

    It tries every framework, estimator, scale, eps, ddof and grouping; --like, --estimator and --scale narrow the
    search. Exit code 0 if a rule fits every row and the log determines everything that was fitted, else 1.
    """
    from advcli.io.sources import sample
    from advcli.records.table import ColumnOptions

    run = flags.command("match", shared)
    inputs = flags.inputs(shared, sample.LOGGED)
    request = flags.build(inputs, shared, as_read=ColumnOptions.as_logged, logged=logged_col)
    from advcli.records.results.match import MatchResult
    from advcli.records.results.result import dumped
    from advcli.render import match as text

    outcome = run(request, output.progress_messages(quiet=shared.quiet))
    outcome = replace(outcome, command=_command(outcome.command, inputs, shared))
    output.notes(outcome, quiet=shared.quiet)
    if shared.json_:
        typer.echo(dumped(MatchResult.of(outcome)))
    elif not shared.quiet:
        output.drawn(partial(text.show, outcome))
    if not outcome.found:
        raise typer.Exit(1)


# Options that the result replaces, or that only apply to match.
_REPLACED = (
    "estimator",
    "like",
    "scale",
    "count",
    "shape",
    "config",
    "set_",
    "engine",
    "ray_address",
    "json_",
    "quiet",
)


def _command(flags: str | None, inputs: Sequence[str], shared: Shared) -> str | None:
    """The compute command that reproduces the result: the user's inputs and columns, and the flags of the rule."""
    if flags is None:
        return None
    replaced = {"reward"} if "--reward" in flags else set()
    replaced |= {"n"} if "--group-by" in flags else set()
    words = ["advcli", "compute", *inputs, *typed(shared, but={*_REPLACED, *replaced})]
    return f"{shlex.join(words)} {flags}"
