"""The inputs as the sources of one data set, without the files that hold no rollouts."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from advcli.io import survey
from advcli.io.sources import find, side_files
from advcli.records.table import MAX_LINE, Source


@contextmanager
def opened(
    inputs: Sequence[str],
    *,
    copied: bool = True,
    scratch: find.Scratch | None = None,
    max_line: int = MAX_LINE,
    advance: Callable[[], None] = lambda: None,
) -> Iterator[list[Source]]:
    """Find the inputs, skip the files that hold no rollouts, and hold the temporary copies that some need.

    Args:
        inputs: files, globs, folders, or "-" for standard input.
        copied: whether inputs behind a URL are copied to this machine, or read where they lie.
        scratch: gives the folder for temporary copies; None for one that goes when the sources do.
        max_line: bytes that a line may have.
        advance: called for each file that is looked at.

    Yields:
        One source per file, folders in natural order of names; the first one names the files that were skipped.

    Raises:
        DataError: nothing there, or nothing that can be read.
        UsageError: "-" beside other inputs or twice.
    """
    with find.found(inputs, copied=copied, scratch=scratch, max_line=max_line, advance=advance) as (
        files,
        skipped,
    ):
        if len(files) > 1:
            skipped.update(survey.without_rollouts(files, advance))
        first, *others = [source for source in files if source.name not in skipped]
        yield [replace(first, remarks=(*first.remarks, *side_files.passed_over(skipped))), *others]
