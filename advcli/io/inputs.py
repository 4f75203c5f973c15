"""Opens the inputs as the sources of one data set, skipping files without rollouts."""

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
    """Find the inputs, skip files without rollouts, and keep the temporary copies that some need.

    Args:
        inputs: files, globs, folders, or "-" for standard input.
        copied: whether inputs behind a URL are copied to this machine instead of read remotely.
        scratch: returns the folder for temporary copies; None for one that is deleted on exit.
        max_line: maximum bytes of a line.
        advance: called for each file that is sampled.

    Yields:
        One source per file, in natural order of names within a folder; the first has a remark about the skipped files.

    Raises:
        DataError: no input exists, or none can be read.
        UsageError: "-" is combined with other inputs or given twice.
    """
    with find.found(inputs, copied=copied, scratch=scratch, max_line=max_line, advance=advance) as (
        files,
        skipped,
    ):
        if len(files) > 1:
            skipped.update(survey.without_rollouts(files, advance))
        first, *others = [source for source in files if source.name not in skipped]
        yield [replace(first, remarks=(*first.remarks, *side_files.passed_over(skipped))), *others]
