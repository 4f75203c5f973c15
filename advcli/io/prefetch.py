"""Runs the first pass in a thread while the rest of the program is imported.

Importing torch takes longer than reading a million rows, so both run concurrently. Only plain files and folders of them are
prefetched, because they need no cleanup if the program ends early. Prefetching changes no result: if other inputs are
requested, they are read as usual.
"""

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from advcli.records.table import ColumnOptions, RewardTable, Source

# The first bytes of files that are read in place.
_PLAIN = (b"PAR1", b"{")


def stop() -> None:
    """Stop all prefetching threads, because the program ends."""
    for thread in threading.enumerate():
        if isinstance(thread, Prefetch):
            thread.stop()


class _Stopped(Exception):  # noqa: N818  never leaves the thread
    """Stops prefetching: the program ends, or a file is not plain."""


@dataclass(frozen=True)
class _Inputs:
    """The inputs to be read.

    Attributes:
        sources: the inputs.
        refused: column names that they may not have.
    """

    sources: list[Source]
    refused: tuple[str, ...]


class Prefetch(threading.Thread):
    """Prefetches some inputs.

    Args:
        inputs: what the user typed.
        options: which columns the user asked for.
        prefix: prefix of the columns to be written, which the inputs may not have; None if nothing is written.
        skip_bad_rows: count bad rows instead of stopping at the first.
        refuse_missing: stop at the first missing reward.
        advance: called with the number of rows read so far.
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
        self._opened = _Inputs([], ())
        self._rules = {"skip_bad_rows": skip_bad_rows, "refuse_missing": refuse_missing}
        self._inputs_found = threading.Event()
        self._table: RewardTable | None = None
        self._error: BaseException | None = None
        self._stopping = threading.Event()
        self.start()

    def sources(self) -> list[Source]:
        """The inputs, once they are found; empty if nothing is prefetched."""
        self._inputs_found.wait()
        return self._opened.sources

    def table(
        self, sources: Sequence[Source], options: ColumnOptions, refused: Collection[str]
    ) -> RewardTable | None:
        """The table of these inputs, once read; None if other inputs or columns were prefetched.

        Raises:
            AdvcliError: as `read` does.
        """
        self.join()
        same = [_identity(source) for source in sources] == [
            _identity(source) for source in self._opened.sources
        ]
        if not (same and self._options == options and self._opened.refused == tuple(refused)):
            return None
        if self._error is not None:
            raise self._error
        return self._table

    def stop(self) -> None:
        """Stop after the current batch."""
        self._stopping.set()
        self.join()

    def run(self) -> None:
        """Read; called by the thread itself."""
        try:
            self._table = self._read()
        except BaseException as error:
            # Raised again where the table is asked for.
            self._error = error
        finally:
            self._inputs_found.set()

    def _read(self) -> RewardTable | None:
        if not all(map(_is_plain, self._inputs)):
            return None
        # Imported in the thread, because these imports take time too.
        from advcli.io.inputs import opened
        from advcli.io.read import read
        from advcli.io.write import refused_names

        refused = () if self._prefix is None else refused_names(self._prefix)
        max_line, advance = self._options.max_line, self._check_stopped
        with opened(self._inputs, scratch=_no_copies, max_line=max_line, advance=advance) as sources:
            self._opened = _Inputs(sources, refused)
            self._inputs_found.set()
            return read(sources, self._options, refused=refused, advance=self._count, **self._rules)

    def _count(self, rows: int) -> None:
        self._rows += rows
        self._advance(self._rows)
        self._check_stopped()

    def _check_stopped(self) -> None:
        if self._stopping.is_set():
            raise _Stopped


def _no_copies() -> Path:
    raise _Stopped


def _is_plain(name: str) -> bool:
    """Whether an input is a file that is read in place, or a folder."""
    try:
        path = Path(name)
        if not path.is_file():
            return bool(name) and path.is_dir()
        with path.open("rb") as file:
            return file.read(4).startswith(_PLAIN)
    except (OSError, ValueError):
        return False


def _identity(source: Source) -> tuple[object, ...]:
    return source.name, source.path, source.container, source.codec, source.stamp
