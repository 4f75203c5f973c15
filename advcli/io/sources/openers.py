"""Openers for common tables: CSV and TSV, Arrow and Feather, and zip archives with one dump."""

import codecs
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePath

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from advcli.common.errors import DataError
from advcli.common.wording import shortened
from advcli.io.formats.format import Contents

# A row must fit into a block.
_BLOCK = 64 << 20
# Bytes of a table that are examined before it is read.
_HEAD = 1 << 20
# Only texts that survive conversion exactly: an id with leading zeros or of 20 digits stays text.
_TYPES = (
    (pa.bool_(), r"^([Tt]rue|[Ff]alse)$"),
    (pa.int64(), r"^-?(0|[1-9][0-9]{0,17})$"),
    (
        pa.float64(),
        r"^(-?(0|[1-9][0-9]{0,14})|-?(0|[1-9][0-9]*)(\.[0-9]+([eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)|[Nn]a[Nn]|-?[Ii]nf(inity)?)$",
    ),
)
_DUMPS = (".jsonl", ".ndjson", ".json", ".parquet", ".csv", ".tsv", ".arrow", ".feather")


def delimited(path: Path, name: str) -> Contents:
    """The rows of a CSV or TSV table; numbers are converted if no digit changes, and an empty cell is null.

    Args:
        path: the file, decompressed.
        name: its name.

    Raises:
        DataError: it is no UTF-8.
    """
    _check_text(path, name)
    separator = _separator(path)
    names = _texts(path, separator, ()).schema.names
    types: dict[str, pa.DataType | None] = dict.fromkeys(names)
    for batch in _texts(path, separator, names):
        for column, cells in zip(names, batch.columns, strict=True):
            types[column] = _type(cells, types[column])
    schema = pa.schema([(column, types[column] or pa.string()) for column in names])
    return Contents(pa.RecordBatchReader.from_batches(schema, _typed(path, separator, schema)))


def _check_text(path: Path, name: str) -> None:
    """Refuse a table whose first rows are no UTF-8.

    Raises:
        DataError: they are not.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name}: not UTF-8 at byte {error.start + 1}",
            hint="saving it as UTF-8: iconv -f LATIN1 -t UTF-8",
        ) from error


def _separator(path: Path) -> str:
    """The separator of the cells in the first line: comma, tab or semicolon."""
    with path.open("rb") as file:
        first = re.sub(rb'"[^"]*"', b"", file.readline())
    return max(",\t;", key=lambda separator: first.count(separator.encode()))


def _texts(path: Path, separator: str, names: tuple[str, ...] | list[str]) -> pa.RecordBatchReader:
    """The table with all cells as text."""
    return pa.csv.open_csv(
        path,
        read_options=pa.csv.ReadOptions(block_size=_BLOCK),
        parse_options=pa.csv.ParseOptions(delimiter=separator, newlines_in_values=True),
        convert_options=pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), null_values=[""], strings_can_be_null=True
        ),
    )


def _type(cells: pa.Array, known: pa.DataType | None) -> pa.DataType | None:
    """The narrowest type for these texts and those before; None if all are null so far."""
    cells = cells.drop_null()
    if not len(cells):
        return known
    for kind, pattern in _TYPES:
        if pc.all(pc.match_substring_regex(cells, pattern)).as_py():
            return kind if known in (None, kind) else _common_type(known, kind)
    return pa.string()


def _common_type(first: pa.DataType, second: pa.DataType) -> pa.DataType:
    """The common type of two types: integers and floats are floats, anything else is text."""
    return pa.float64() if {first, second} == {pa.int64(), pa.float64()} else pa.string()


def _typed(path: Path, separator: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in _texts(path, separator, schema.names):
        columns = [_cast(cells, field.type) for cells, field in zip(batch.columns, schema, strict=True)]
        yield pa.record_batch(columns, schema=schema)


def _cast(cells: pa.Array, kind: pa.DataType) -> pa.Array:
    return pc.equal(pc.utf8_lower(cells), "true") if pa.types.is_boolean(kind) else cells.cast(kind)


def arrow_file(path: Path, name: str) -> Contents:
    """The rows of an Arrow file, which is also the Feather format."""
    del name
    file = pa.ipc.open_file(pa.memory_map(str(path)))
    batches = (file.get_batch(position) for position in range(file.num_record_batches))
    return Contents(pa.RecordBatchReader.from_batches(file.schema, batches))


def arrow_stream(path: Path, name: str) -> Contents:
    """The rows of an Arrow stream."""
    del name
    return Contents(pa.ipc.open_stream(pa.memory_map(str(path))))


def archive(path: Path, name: str) -> Contents | None:
    """The only dump in a zip archive; None if there is none.

    Raises:
        DataError: it holds several.
    """
    file = zipfile.ZipFile(path)
    dumps = [member.filename for member in file.infolist() if _may_be_a_dump(member)]
    if len(dumps) > 1:
        raise DataError(
            f"{name}: the zip archive holds {len(dumps)} files that may be dumps: {shortened(dumps, 3)}",
            hint="unpacking it and naming the folder",
        )
    return Contents(file.open(dumps[0]), name=dumps[0]) if dumps else None


def _may_be_a_dump(member: zipfile.ZipInfo) -> bool:
    path = PurePath(member.filename)
    name = path.name.removesuffix(".gz").removesuffix(".zst")
    hidden = any(part.startswith((".", "__MACOSX")) for part in path.parts)
    return not (member.is_dir() or hidden) and PurePath(name).suffix.lower() in _DUMPS
