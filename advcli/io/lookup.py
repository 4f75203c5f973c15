"""Reads a few rows back from the files, and counts duplicate rows."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from advcli.io.collect.batch import BadRows, Batch
from advcli.io.collect.cells import Cells
from advcli.io.collect.keys import key_text
from advcli.io.collect.numbering import line_numbers
from advcli.io.collect.values import records, values
from advcli.io.formats import derived
from advcli.io.jsonl import read as jsonl
from advcli.io.layouts import objects
from advcli.io.parquet import read as parquet
from advcli.io.read import scans
from advcli.records.layout import Layout
from advcli.records.table import Choice, RewardTable, Source

# Digests per batch of lines.
_BATCH_ROWS = 1 << 16
_MIX = np.uint64(1099511628211)
_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))

Row = Mapping[str, Any]


def duplicates(sources: Sequence[Source], table: RewardTable) -> int:
    """Count the rows that are identical to an earlier one, including texts; rows that are left out are not counted.

    JSON lines are identical if their stripped bytes are; parquet rows and exploded rows if all their
    columns are. Rows are compared by a 64-bit digest, so that no text is held.

    Args:
        sources: the inputs.
        table: the table read from them.
    """
    layout = table.choice.layout
    digests = [
        row_digests(source, dropped, layout) for source, dropped in zip(sources, table.dropped, strict=True)
    ]
    return repeated(np.concatenate(digests)[table.key >= 0])


def row_digests(source: Source, dropped: Collection[int], layout: Layout) -> NDArray[np.uint64]:
    """A digest of each row of an input, including texts; the same in every process."""
    return np.concatenate(list(_DIGESTS[source.container](source, dropped, layout)))


def repeated(digests: NDArray[np.uint64]) -> int:
    """The number of digests that repeat an earlier one."""
    # Sorting is several times faster than numpy's unique.
    result = np.sort(digests)
    return int((result[1:] == result[:-1]).sum())


def read_back(sources: Sequence[Source], table: RewardTable, rows: Collection[int]) -> dict[int, Row]:
    """Some rows with all columns of the files.

    Args:
        sources: the inputs.
        table: the table read from them.
        rows: positions in the data set.

    Returns:
        Position → the columns of the row, including the prompt columns under their names in the choice.
    """
    result: dict[int, Row] = {}
    offset, numbers = 0, line_numbers(table)
    for source, count in zip(sources, table.rows, strict=True):
        lines = numbers[offset : offset + count]
        wanted: dict[int, list[tuple[int, int]]] = {}
        for row in sorted(rows):
            if offset <= row < offset + count:
                line = int(lines[row - offset])
                # The rows of a record are adjacent.
                position = row - offset - int(np.searchsorted(lines, line))
                wanted.setdefault(line, []).append((row, position))
        result |= read_lines(source, table.choice, wanted)
        offset += count
    return result


def read_lines(
    source: Source, choice: Choice, wanted: Mapping[int, Sequence[tuple[int, int]]]
) -> dict[int, Row]:
    """Some rows of one input.

    Args:
        source: the input.
        choice: which columns were read.
        wanted: line number → for each row, the key in the result and its index within the record.
    """
    result: dict[int, Row] = {}
    for line, record in _RECORDS_AT[source.container](source, wanted) if wanted else ():
        of_record = _rows(source.name, line, record, choice)
        result |= {row: of_record[position] for row, position in wanted[line]}
    return result


def rows_with_key(sources: Sequence[Source], table: RewardTable, key: str) -> list[int]:
    """The positions of the rows with this text in a prompt column.

    Args:
        sources: the inputs.
        table: the table read from them.
        key: the text, as in the dump.
    """
    result: list[int] = []
    offset = 0
    choice = _keys_only(table.choice)
    scan = scans()
    for source in sources:
        batches = scan[source.container](
            source,
            derived.inputs(choice),
            refused=(),
            bad_rows=BadRows(skip=True),
            dropped=set(),
            layout=choice.layout,
        )
        for batch in batches:
            columns = derived.completed(batch, choice).columns
            for name in choice.prompt:
                cells = _values(columns[name])
                result += [
                    offset + position for position, value in enumerate(cells) if key_text(value) == key
                ]
            offset += len(batch.lines)
    return sorted(set(result))


def _rows(name: str, line: int, record: Row, choice: Choice) -> list[Row]:
    """The rows of a record, with prompts that are paths or derived added under their names."""
    choice = _keys_only(choice)
    count, cells = objects.cells(record, choice.layout, derived.inputs(choice))
    keys = derived.completed(Batch(name, cells, np.full(count, line)), choice).columns
    rows = objects.rows(record, choice.layout)
    return [
        {**row, **{name: keys[name][position] for name in choice.prompt}} for position, row in enumerate(rows)
    ]


def _keys_only(choice: Choice) -> Choice:
    """The choice reduced to the prompt columns."""
    return Choice(choice.format, choice.prompt, None, (), layout=choice.layout, derived=choice.derived)


def _values(cells: Cells) -> list[Any]:
    return cells if isinstance(cells, list) else values(cells)


def _line_digests(source: Source, dropped: Collection[int], layout: Layout) -> Iterator[NDArray[np.uint64]]:
    result: list[bytes] = []
    for number, raw in jsonl.lines(source):
        body = jsonl.body(raw)
        if not body or number in dropped:
            continue
        result += _record_texts(jsonl.parsed(raw), layout) if layout.exploded else [body]
        if len(result) >= _BATCH_ROWS:
            yield _hashed(result)
            result = []
    yield _hashed(result)


def _batch_digests(source: Source, dropped: Collection[int], layout: Layout) -> Iterator[NDArray[np.uint64]]:
    for batch in parquet.objects(source, dropped, whole=False):
        if layout.exploded:
            yield _hashed([text for record in records(batch) for text in _record_texts(record, layout)])
            continue
        digest = np.zeros(batch.num_rows, dtype=np.uint64)
        for name in sorted(batch.schema.names):
            digest = digest * _MIX + _cell_digests(batch.column(name)) + np.uint64(len(name))
        yield digest


def _record_texts(record: Row | None, layout: Layout) -> list[bytes]:
    """The text of each row of a record."""
    return [
        repr(sorted(row.items())).encode("utf-8", "surrogatepass")
        for row in objects.rows(record or {}, layout)
    ]


def _hashed(rows: Sequence[bytes]) -> NDArray[np.uint64]:
    """A digest of each text. hash() would differ between processes."""
    digests = (int.from_bytes(blake2b(row, digest_size=8).digest(), "little") for row in rows)
    return np.fromiter(digests, dtype=np.uint64, count=len(rows))


def _cell_digests(cells: Any) -> NDArray[np.uint64]:  # noqa: ANN401  an arrow array
    if isinstance(cells, pa.ExtensionArray):
        cells = cells.storage
    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    if pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type):
        present = np.asarray(cells.is_valid()).astype(np.uint64)
        numbers = cells.fill_null(0).to_numpy(zero_copy_only=False)
        wide = np.float64 if numbers.dtype.kind == "f" else np.uint64
        bits: NDArray[np.uint64] = numbers.astype(wide).view(np.uint64)
        for factor in _FACTORS:
            # Fold the upper bits first: multiplication only carries upward.
            bits = (bits ^ (bits >> np.uint64(32))) * factor
        return bits * _MIX + present
    if pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type):
        # As bytes, in case they are not valid UTF-8.
        coded = cells.cast(pa.large_binary()).dictionary_encode()
        result = _hashed([text.as_py() for text in coded.dictionary])
        codes = np.asarray(coded.indices.fill_null(len(result)))
        digests: NDArray[np.uint64] = np.append(result, np.uint64(0))[codes]
        return digests
    return _hashed([repr(value).encode("utf-8", "surrogatepass") for value in values(cells)])


def _lines_at(source: Source, wanted: Collection[int]) -> Iterator[tuple[int, Row]]:
    last = max(wanted)
    for number, raw in jsonl.lines(source):
        if number in wanted:
            record = jsonl.parsed(raw)
            if record is None:
                raise jsonl.changed(source)
            yield number, record
        if number == last:
            return


_DIGESTS: Mapping[str, Callable[..., Iterator[NDArray[np.uint64]]]] = {
    "jsonl": _line_digests,
    "json": _line_digests,
    "parquet": _batch_digests,
}
_RECORDS_AT: Mapping[str, Callable[..., Iterator[tuple[int, Row]]]] = {
    "jsonl": _lines_at,
    "json": _lines_at,
    "parquet": parquet.rows_at,
}
