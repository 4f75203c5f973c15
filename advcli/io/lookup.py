"""Going back to the files for a few rows, and once over everything for rows that are there twice."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from advcli.io import jsonl, parquet
from advcli.io.batch import BadRows
from advcli.io.values import key_text
from advcli.records import RewardTable, Source

# Digests in one batch of a file with a line per row.
_BATCH_ROWS = 1 << 16
_MIX = np.uint64(1099511628211)
_SCAN: Mapping[str, Callable[..., Any]] = {"jsonl": jsonl.scan, "parquet": parquet.scan}


def duplicates(sources: Sequence[Source], table: RewardTable) -> int:
    """Count the rows that are identical to an earlier one, texts included.

    Two lines of JSON Lines are identical byte for byte (space around them apart); two rows of parquet in every
    column. Rows are compared by a digest of 64 bits, so that no text is held.

    Args:
        sources: the inputs.
        table: what was read from them.
    """
    digests = [
        part
        for source, dropped in zip(sources, table.dropped, strict=True)
        for part in _DIGESTS[source.layout](source, dropped)
    ]
    found = np.concatenate(digests) if digests else np.zeros(0)
    # Sorting is several times faster than numpy's unique.
    found.sort()
    return int((found[1:] == found[:-1]).sum())


def read_back(
    sources: Sequence[Source], table: RewardTable, rows: Collection[int]
) -> dict[int, Mapping[str, Any]]:
    """Some rows with everything that the files hold of them.

    Args:
        sources: the inputs.
        table: what was read from them.
        rows: positions in the data set.

    Returns:
        Position → the columns of the row.
    """
    found: dict[int, Mapping[str, Any]] = {}
    before = 0
    for source, count in zip(sources, table.rows, strict=True):
        here = {int(table.lines[row]): row for row in rows if before <= row < before + count}
        if here:
            found |= {here[line]: columns for line, columns in _ROWS_AT[source.layout](source, here)}
        before += count
    return found


def rows_with_key(sources: Sequence[Source], table: RewardTable, key: str) -> list[int]:
    """Positions of the rows of which a prompt column holds this text.

    Args:
        sources: the inputs.
        table: what was read from them.
        key: the text, as the dump has it.
    """
    found: list[int] = []
    done = 0
    for source in sources:
        skip = BadRows(skip=True)
        for batch in _SCAN[source.layout](
            source, table.choice.prompt, refused=(), bad_rows=skip, dropped=set()
        ):
            for name in table.choice.prompt:
                cells = batch.columns[name]
                values = cells.to_pylist() if isinstance(cells, pa.Array) else cells
                found += [done + place for place, value in enumerate(values) if key_text(value) == key]
            done += len(batch.lines)
    return sorted(set(found))


def _line_digests(source: Source, dropped: Collection[int]) -> Iterator[NDArray[np.uint64]]:
    found: list[int] = []
    for number, raw in jsonl.lines(source):
        body = raw.strip()
        if not body or number in dropped:
            continue
        found.append(hash(body) & 0xFFFFFFFFFFFFFFFF)
        if len(found) == _BATCH_ROWS:
            yield np.array(found, dtype=np.uint64)
            found = []
    yield np.array(found, dtype=np.uint64)


def _batch_digests(source: Source, dropped: Collection[int]) -> Iterator[NDArray[np.uint64]]:
    del dropped
    for batch in parquet.objects(source):
        digest = np.zeros(batch.num_rows, dtype=np.uint64)
        for name in sorted(batch.schema.names):
            digest = digest * _MIX + _cell_digests(batch.column(name)) + np.uint64(len(name))
        yield digest


def _cell_digests(cells: Any) -> NDArray[np.uint64]:  # noqa: ANN401  an arrow array
    if isinstance(cells, pa.ExtensionArray):
        cells = cells.storage
    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    if pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type):
        present = np.asarray(cells.is_valid()).astype(np.uint64)
        values = cells.fill_null(0).to_numpy(zero_copy_only=False)
        return pd.util.hash_array(values) * _MIX + present
    values = cells.to_pylist()
    if not pa.types.is_string(cells.type) and not pa.types.is_large_string(cells.type):
        values = [None if value is None else repr(value) for value in values]
    return pd.util.hash_array(np.array([*values, None], dtype=object), categorize=False)[:-1]


def _lines_at(source: Source, wanted: Collection[int]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    last = max(wanted)
    for number, raw in jsonl.lines(source):
        if number in wanted:
            row = jsonl.parsed(raw)
            if row is None:
                raise jsonl.changed(source)
            yield number, row
        if number == last:
            return


_DIGESTS: Mapping[str, Callable[..., Iterator[NDArray[np.uint64]]]] = {
    "jsonl": _line_digests,
    "parquet": _batch_digests,
}
_ROWS_AT: Mapping[str, Callable[..., Iterator[tuple[int, Mapping[str, Any]]]]] = {
    "jsonl": _lines_at,
    "parquet": parquet.rows_at,
}
