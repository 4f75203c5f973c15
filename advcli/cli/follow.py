"""`--follow`: prints the progress while the files of a run grow."""

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
        force: start over.
        same_layout: write lists into records that hold several rows.
        but: option → value, for options that can't be combined with `--follow`.
    """
    _refuse(shared, inputs, {**but, "--json": shared.json_, "--dedup": shared.dedup})
    request = flags.build(inputs, shared, prefix=prefix, prefetch=False)
    follower, looks = map(
        loading.loaded, (f"advcli.pipeline.follow:{name}" for name in ("Follower", "looks"))
    )
    from advcli.pipeline.compute import Output

    annotator = follower(request, Output(out, prefix, force=force, same_layout=same_layout))
    printed: set[str] = set()
    last: Written | None = None
    try:
        for result in looks(annotator.look, inputs):
            if result is None:
                _once("waiting for files", printed, quiet=shared.quiet)
                continue
            last = result
            for text in result.warnings:
                _once(f"warning: {text}", printed, quiet=shared.quiet)
            if result.rows and not shared.quiet:
                output.say(f"advcli: {_written(result)}", dim=True)
    except Interrupted:
        if last and last.waiting and not shared.quiet:
            waiting = f"{counted(last.waiting, 'row')} of incomplete groups"
            output.say(f"advcli: not written: {waiting}; run without --follow to write them", dim=True)
        raise


def inspect(
    shared: Shared, request: "Request", wanted: "Wanted", near_dead: float
) -> "Iterator[tuple[Inspection, Draw]]":
    """Yield a new result whenever the inputs have changed, and the function that draws it over the previous one."""
    inputs = list(request.inputs)
    _refuse(shared, inputs, {"--dedup": shared.dedup})
    look, looks = map(loading.loaded, (f"advcli.pipeline.follow:{name}" for name in ("inspect", "looks")))
    printed: set[str] = set()
    for result in looks(lambda: look(request, wanted, near_dead=near_dead), inputs):
        if result is None:
            _once("waiting for files", printed, quiet=shared.quiet)
        else:
            yield result, _redrawn if sys.stdout.isatty() else output.drawn


def _redrawn(draw: Callable[["Console"], None]) -> None:
    output.drawn(draw, over=True)


def _refuse(shared: Shared, inputs: list[str], given: Mapping[str, Any]) -> None:
    """Raise for inputs that cannot grow, and for options that need all rows at once."""
    if "-" in inputs or not shared.inputs:
        raise UsageError(
            "--follow watches files and folders, not standard input", hint="the folder of the run"
        )
    if shared.engine != "local":
        raise UsageError("--follow does not run on Ray", hint="--engine local")
    for flag, value in given.items():
        if value:
            raise UsageError(f"{flag} needs all rows, which --follow never has", hint="one of the two")


def _once(text: str, printed: set[str], *, quiet: bool) -> None:
    if text not in printed and not quiet:
        output.say(f"advcli: {text}", dim=not text.startswith("warning"))
    printed.add(text)


def _written(result: "Written") -> str:
    steps = f", step {result.steps[0]}" if len(result.steps) == 1 else ""
    if len(result.steps) > 1:
        steps = f", steps {result.steps[0]} to {result.steps[-1]}"
    return f"wrote {counted(result.rows, 'row')} in {counted(result.groups, 'group')}{steps}"
