"""The first pass in a process or thread of its own, while the rest of the program is imported.

Importing torch takes longer than reading a million rows, so both are done at once. Importing holds Python's lock, which whatever reads needs too:
hence another process where there is much to read, and a thread where that would not pay or is not possible. Only plain files and folders of them are read ahead, because nothing has to be put away for them if the program ends meanwhile. Whether
there was a head start changes no result: where the inputs are not those that were read, they are read again.
"""

import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TypeAlias

from advcli.io import apart
from advcli.records.table import ColumnOptions, RewardTable, Source

# The first bytes of what is read where it lies.
_PLAIN = (b"PAR1", b"{")
# So many bytes take longer to read than another process takes to be there; to open a file takes as long as to read so many.
_MUCH = 16 << 20
_FILE = 1 << 17


_RUNNING: list["HeadStart"] = []


def stop() -> None:
    """End all threads, because the program ends."""
    for start in _RUNNING:
        start.stop()


class _Stopped(Exception):  # noqa: N818  never leaves the thread
    """The program ends: nobody waits for the table. Or a file is not as plain as all that."""


@dataclass(frozen=True)
class _Found:
    """The inputs that will be read.

    Attributes:
        sources: these.
        refused: names of columns that they may not have.
    """

    sources: list[Source]
    refused: tuple[str, ...]


_Tell: TypeAlias = Callable[["_Found | int"], None]
"""Hears which inputs were found, and how many rows more are read."""


class HeadStart:
    """Reads some inputs ahead.

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
        self._advance, self._rows = advance, 0
        self._inputs = inputs
        self._options = options
        self._prefix = prefix
        self._found = _Found([], ())
        self._rules = {"skip_bad_rows": skip_bad_rows, "refuse_missing": refuse_missing}
        self._looked = threading.Event()
        self._table: RewardTable | None = None
        self._error: BaseException | None = None
        self._stop = threading.Event()
        self._apart = self._in_a_process()
        self._thread = threading.Thread(target=self._run, name="head start")
        self._thread.start()
        _RUNNING.append(self)

    def sources(self) -> list[Source]:
        """The inputs, once they are found; none if they are not read ahead."""
        self._looked.wait()
        return self._found.sources

    def table(
        self, sources: Sequence[Source], options: ColumnOptions, refused: Collection[str]
    ) -> RewardTable | None:
        """The table of these inputs, once it is read; None if other inputs or columns were read.

        Raises:
            AdvcliError: as `read` does.
        """
        self._thread.join()
        same = [_same(source) for source in sources] == [_same(source) for source in self._found.sources]
        if not (same and self._options == options and self._found.refused == tuple(refused)):
            return None
        if self._error is not None:
            raise self._error
        return self._table

    def stop(self) -> None:
        """Leave off: a thread after the batch that is being read, a process at once."""
        self._stop.set()
        if self._apart is not None:
            self._apart.stop()
        self._thread.join()

    def _in_a_process(self) -> "apart.Apart[RewardTable | None] | None":
        if not _pays(self._inputs):
            return None
        try:
            return apart.Apart(self._read)
        except OSError:
            return None

    def _run(self) -> None:
        try:
            self._table = self._read(self._hear) if self._apart is None else self._listened(self._apart)
        except BaseException as error:
            # Raised again where the table is asked for.
            self._error = error
        finally:
            self._looked.set()

    def _listened(self, other: "apart.Apart[RewardTable | None]") -> RewardTable | None:
        try:
            for what in other.told():
                self._hear(what)
        except apart.Lost:
            # It is read again where it is asked for, and fails there if it has to.
            return None
        return other.answer

    def _read(self, tell: _Tell) -> RewardTable | None:
        if not all(map(_is_plain, self._inputs)):
            return None
        # Imported here, beside what is imported meanwhile: they take their time too.
        from advcli.io.inputs import opened
        from advcli.io.read import read
        from advcli.io.write import refused_names

        refused = () if self._prefix is None else refused_names(self._prefix)
        max_line, advance = self._options.max_line, self._still_wanted
        with opened(self._inputs, scratch=_no_copies, max_line=max_line, advance=advance) as sources:
            tell(_Found(sources, refused))
            return read(sources, self._options, refused=refused, advance=tell, **self._rules)

    def _hear(self, what: "_Found | int") -> None:
        if isinstance(what, _Found):
            self._found = what
            self._looked.set()
        else:
            self._rows += what
            self._advance(self._rows)
        self._still_wanted()

    def _still_wanted(self) -> None:
        if self._stop.is_set():
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
    return source.name, source.path, source.layout, source.codec, source.stamp


def _pays(inputs: Iterable[str]) -> bool:
    """Whether to read in another process. Where torch is there already, nothing is left that would hold a thread up."""
    return "torch" not in sys.modules and apart.possible() and _is_much(inputs)


def _is_much(inputs: Iterable[str]) -> bool:
    """Whether some inputs have more than a few bytes or files together; no more files are looked at than it takes to tell."""
    return any(size > _MUCH for size in accumulate(_sizes(inputs)))


def _sizes(inputs: Iterable[str]) -> Iterator[int]:
    for name in inputs:
        try:
            path = Path(name)
            files = path.rglob("*") if path.is_dir() else [path]
            yield from (_FILE + file.stat().st_size for file in files)
        except (OSError, ValueError):
            continue
