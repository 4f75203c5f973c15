"""`--follow`: what the command line says while a run folder grows."""

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from advcli.cli import flags, loading, output
from advcli.cli.shared import Shared
from advcli.common.errors import Interrupted, UsageError
from advcli.common.wording import counted

if TYPE_CHECKING:
    from rich.console import Console

    from advcli.inspection.details import Wanted
    from advcli.pipeline.follow import Written
    from advcli.pipeline.request import Request
    from advcli.records.results.inspection import Inspection

Draw = Callable[[Callable[["Console"], None]], None]


def compute(
    shared: Shared,
    inputs: list[str],
    out: str | None,
    prefix: str,
    *,
    force: bool,
    same_layout: bool,
    but: Mapping[str, object],
) -> None:
    """Annotate until Ctrl-C.

    Args:
        shared: the shared options.
        inputs: files, folders or globs.
        out: a folder.
        prefix: of the added columns.
        force: begin again.
        same_layout: keep lists as lists where a record holds several rows.
        but: option → its value, of those that make no sense here.
    """
    _refuse(shared, inputs, {**but, "--json": shared.json_, "--dedup": shared.dedup})
    request = flags.build(inputs, shared, prefix=prefix, ahead=False)
    follower, looks = map(
        loading.loaded, (f"advcli.pipeline.follow:{name}" for name in ("Follower", "looks"))
    )
    from advcli.pipeline.compute import Output

    one = follower(request, Output(out, prefix, force=force, same_layout=same_layout))
    said: set[str] = set()
    last: Written | None = None
    try:
        for result in looks(one.look, inputs):
            if result is None:
                _once("waiting for files", said, quiet=shared.quiet)
                continue
            last = result
            for text in result.warnings:
                _once(f"warning: {text}", said, quiet=shared.quiet)
            if result.rows and not shared.quiet:
                output.say(f"advcli: {_written(result)}", dim=True)
    except Interrupted:
        if last and last.waiting and not shared.quiet:
            waiting = f"{counted(last.waiting, 'row')} of groups that are not whole yet"
            output.say(f"advcli: not written: {waiting}; without --follow they are", dim=True)
        raise


def inspect(
    shared: Shared, request: "Request", wanted: "Wanted", near_dead: float
) -> "Iterator[tuple[Inspection, Draw]]":
    """A description whenever the inputs have changed, and what draws it over the one before."""
    inputs = list(request.inputs)
    _refuse(shared, inputs, {"--dedup": shared.dedup})
    look, looks = map(loading.loaded, (f"advcli.pipeline.follow:{name}" for name in ("inspect", "looks")))
    said: set[str] = set()
    for result in looks(lambda: look(request, wanted, near_dead=near_dead), inputs):
        if result is None:
            _once("waiting for files", said, quiet=shared.quiet)
        else:
            yield result, _redrawn if sys.stdout.isatty() else output.drawn


def _redrawn(draw: Callable[["Console"], None]) -> None:
    output.drawn(draw, over=True)


def _refuse(shared: Shared, inputs: list[str], given: Mapping[str, Any]) -> None:
    """An error for what cannot grow, and for options that need everything at once."""
    if "-" in inputs or not shared.inputs:
        raise UsageError(
            "--follow watches files and folders, not standard input", hint="the folder of the run"
        )
    if shared.engine != "local":
        raise UsageError("--follow runs on this machine", hint="--engine local")
    for flag, value in given.items():
        if value:
            raise UsageError(f"{flag} needs all rows, and --follow never has them", hint="one of the two")


def _once(text: str, said: set[str], *, quiet: bool) -> None:
    if text not in said and not quiet:
        output.say(f"advcli: {text}", dim=not text.startswith("warning"))
    said.add(text)


def _written(result: "Written") -> str:
    steps = f", step {result.steps[0]}" if len(result.steps) == 1 else ""
    if len(result.steps) > 1:
        steps = f", steps {result.steps[0]} to {result.steps[-1]}"
    return f"wrote {counted(result.rows, 'row')} in {counted(result.groups, 'group')}{steps}"
