"""The first pass in a thread, while the rest of the program is imported.

Importing torch takes longer than reading a million rows, so both are done at once. Only plain files and folders of them are
prefetched, because they need no cleanup if the program ends meanwhile. Prefetching changes no result: inputs other than
the prefetched ones are read again.
"""

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from advcli.records.table import ColumnOptions, RewardTable, Source

# The first bytes of what is read where it lies.
_PLAIN = (b"PAR1", b"{")


def stop() -> None:
    """End the threads that still prefetch, because the program ends."""
    for thread in threading.enumerate():
        if isinstance(thread, Prefetch):
            thread.stop()


class _Stopped(Exception):  # noqa: N818  never leaves the thread
    """Stops prefetching: the program ends, or a file is not plain."""


@dataclass(frozen=True)
class _Found:
    """The inputs that will be read.

    Attributes:
        sources: these.
        refused: names of columns that they may not have.
    """

    sources: list[Source]
    refused: tuple[str, ...]


class Prefetch(threading.Thread):
    """Prefetches some inputs.

    Args:
        inputs: what the user typed.
        options: which columns the user asked for.
        prefix: of the columns that will be written, which the inputs may not have; None if nothing is.
        skip_bad_rows: count bad rows instead of stopping at the first.
        refuse_missing: stop at the first missing reward.
        advance: called with the number of rows that are read so far.
    """

    def __init__(
        self,
        inputs: Sequence[str],
        options: ColumnOptions,
        *,
        prefix: str | None = None,
        skip_bad_rows: bool = False,
        refuse_missing: bool = False,
        advance: Callable[[int], None] = lambda rows: None,
    ) -> None:
        super().__init__(name="prefetch")
        self._advance, self._rows = advance, 0
        self._inputs = inputs
        self._options = options
        self._prefix = prefix
        self._found = _Found([], ())
        self._rules = {"skip_bad_rows": skip_bad_rows, "refuse_missing": refuse_missing}
        self._looked = threading.Event()
        self._table: RewardTable | None = None
        self._error: BaseException | None = None
        self._ending = threading.Event()
        self.start()

    def sources(self) -> list[Source]:
        """The inputs, once they are found; none without prefetching."""
        self._looked.wait()
        return self._found.sources

    def table(
        self, sources: Sequence[Source], options: ColumnOptions, refused: Collection[str]
    ) -> RewardTable | None:
        """The table of these inputs, once it is read; None if other inputs or columns were read.

        Raises:
            AdvcliError: as `read` does.
        """
        self.join()
        same = [_same(source) for source in sources] == [_same(source) for source in self._found.sources]
        if not (same and self._options == options and self._found.refused == tuple(refused)):
            return None
        if self._error is not None:
            raise self._error
        return self._table

    def stop(self) -> None:
        """End after the batch that is being read."""
        self._ending.set()
        self.join()

    def run(self) -> None:
        """Read; called by the thread itself."""
        try:
            self._table = self._read()
        except BaseException as error:
            # Raised again where the table is asked for.
            self._error = error
        finally:
            self._looked.set()

    def _read(self) -> RewardTable | None:
        if not all(map(_is_plain, self._inputs)):
            return None
        # Imported here, beside what is imported meanwhile: they take their time too.
        from advcli.io.inputs import opened
        from advcli.io.read import read
        from advcli.io.write import refused_names

        refused = () if self._prefix is None else refused_names(self._prefix)
        max_line, advance = self._options.max_line, self._still_wanted
        with opened(self._inputs, scratch=_no_copies, max_line=max_line, advance=advance) as sources:
            self._found = _Found(sources, refused)
            self._looked.set()
            return read(sources, self._options, refused=refused, advance=self._count, **self._rules)

    def _count(self, rows: int) -> None:
        self._rows += rows
        self._advance(self._rows)
        self._still_wanted()

    def _still_wanted(self) -> None:
        if self._ending.is_set():
            raise _Stopped


def _no_copies() -> Path:
    raise _Stopped


def _is_plain(name: str) -> bool:
    """Whether an input is a file that is read where it lies, or a folder, in which there are no others but files."""
    try:
        path = Path(name)
        if not path.is_file():
            return bool(name) and path.is_dir()
        with path.open("rb") as file:
            return file.read(4).startswith(_PLAIN)
    except (OSError, ValueError):
        return False


def _same(source: Source) -> tuple[object, ...]:
    return source.name, source.path, source.container, source.codec, source.stamp
