"""The second pass: stream the inputs through and append the new columns."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import pyarrow as pa

from advcli.errors import DataError, UsageError
from advcli.io import convert, jsonl, parquet, sink
from advcli.io.sources import CODECS, SUFFIXES, stamp
from advcli.records import STANDARD_OUTPUT, AdvantageTable, Grouping, RewardTable, Source

if TYPE_CHECKING:
    from torch import Tensor

COLUMNS = ("original", "processed", "kept", "group")
"""The columns that are added, without their prefix."""

TOKENS = "tokens"
"""The list column that an estimator with an advantage per token adds to them."""


@dataclass(frozen=True)
class Target:
    """Where the rows of one source go.

    Attributes:
        path: the file, or None for standard output.
        layout: "jsonl" or "parquet".
        codec: "gzip", "zstd" or None.
    """

    path: Path | None
    layout: str
    codec: str | None


def targets(sources: Sequence[Source], out: str | None, *, force: bool) -> list[Target]:
    """Decide where each source goes, and refuse what must not be written.

    Args:
        sources: the inputs.
        out: a file, a folder (existing, or ending in /), "-", or None for `<name>.adv.<suffix>` beside the
            input; None with standard input means standard output.
        force: overwrite existing files.

    Raises:
        UsageError: a file exists, is an input, or two sources would go to one file.
        DataError: there is no folder to write into.
    """
    if out is not None and not out.strip():
        raise UsageError("--out is empty", hint="--out FILE, --out DIR/ or --out -")
    if out is None and sources[0].name == "<stdin>":
        out = STANDARD_OUTPUT[0]
    if out in STANDARD_OUTPUT:
        _one_stream(sources)
        return [Target(None, source.layout, None) for source in sources]
    into_folder = out is not None and (out.endswith("/") or _is_folder(out))
    if out is not None and into_folder:
        found = [_target(Path(out) / _file_name(source), source) for source in sources]
    elif len(sources) > 1:
        raise UsageError(f"{len(sources)} inputs need a folder to go to", hint="--out DIR/ (with the slash)")
    elif out is not None:
        found = [_target(Path(out), sources[0])]
    else:
        found = [_target(Path(sources[0].name).with_name(_file_name(sources[0])), sources[0])]
    paths = [target.path for target in found if target.path]
    if len(set(paths)) < len(paths):
        raise UsageError(
            "two inputs have the same file name and would overwrite each other", hint="one --out each"
        )
    for path in paths:
        sink.check(path, sources, force=force, parent=not into_folder)
    return found


def write(
    sources: Sequence[Source],
    goals: Sequence[Target],
    table: RewardTable,
    columns: Mapping[str, pa.Array],
    *,
    about: Mapping[str, str],
    force: bool,
) -> None:
    """Write every source to its target with the new columns appended.

    Args:
        sources: the inputs.
        goals: one target per source, from `targets`.
        table: what the first pass saw: rows and dropped lines per source.
        columns: column name → arrow array of all rows, sources one after the other.
        about: key-value metadata for parquet files.
        force: overwrite existing files.

    Raises:
        DataError: a file cannot be written, or a source changed meanwhile.
    """
    start = 0
    last = sources[-1]
    for source, goal, rows, dropped in zip(sources, goals, table.rows, table.dropped, strict=True):
        added = pa.table({name: column.slice(start, rows) for name, column in columns.items()})
        start += rows
        opened = sink.standard_output() if goal.path is None else sink.replacing(goal.path, force=force)
        with opened as raw, sink.compressed(raw, goal.codec) as out:
            if source.layout == goal.layout == "jsonl":
                more = goal.path is None and source is not last
                jsonl.annotate(source, dropped, _suffixes(added), out.write, end_line=more)
            else:
                _copy(source, goal.layout, out, added, about, dropped)
            _unchanged(source)


def _copy(
    source: Source,
    layout: str,
    out: BinaryIO,
    added: pa.Table,
    about: Mapping[str, str],
    dropped: frozenset[int],
) -> None:
    try:
        if source.layout == layout == "parquet":
            parquet.annotate(source, out, _Slices(added), about)
        elif layout == "jsonl":
            convert.parquet_to_jsonl(parquet.objects(source), _suffixes(added), out)
        else:
            convert.jsonl_to_parquet(lambda: jsonl.objects(source, dropped), added, out, about, source.name)
    except (pa.ArrowException, StopIteration, ValueError, OverflowError) as error:
        if isinstance(error, DataError):
            raise
        _unchanged(source)
        raise DataError(
            f"{source.name}: cannot be copied ({error})", hint="--out with another suffix"
        ) from error


def _unchanged(source: Source) -> None:
    """Make sure that the second pass saw what the first one did."""
    if stamp(source.path) != source.stamp:
        raise jsonl.changed(source)


def _suffixes(added: pa.Table) -> Iterator[bytes]:
    """`"adv_original": 0.5, ...` for each row; null where undefined, never NaN."""
    names = [json.dumps(name) for name in added.column_names]
    for batch in added.to_batches(max_chunksize=4096):
        for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            pairs = (f"{name}: {json.dumps(value)}" for name, value in zip(names, values, strict=True))
            yield ", ".join(pairs).encode()


class _Slices:
    """Hands out the rows of a table in order."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table.combine_chunks()
        self._done = 0

    def __call__(self, rows: int) -> pa.RecordBatch:
        """The next `rows` rows as one batch."""
        part = self._table.slice(self._done, rows).combine_chunks()
        self._done += rows
        arrays = [
            column.chunk(0) if column.num_chunks else pa.array([], column.type) for column in part.columns
        ]
        return pa.record_batch(arrays, schema=part.schema)


def added_columns(prefix: str, result: AdvantageTable, grouping: Grouping) -> dict[str, pa.Array]:
    """The new columns as arrow arrays: NaN and group -1 become null.

    Args:
        prefix: put before each name of `COLUMNS`.
        result: the advantages, [N].
        grouping: the groups, [N].
    """
    original, processed = (values.double().numpy() for values in (result.original, result.processed))
    arrays = (
        pa.array(original, pa.float64(), mask=np.isnan(original)),
        pa.array(processed, pa.float64(), mask=np.isnan(processed)),
        pa.array(result.kept.numpy(), pa.bool_()),
        pa.array(grouping.group, pa.int64(), mask=grouping.group < 0),
    )
    columns = dict(zip(COLUMNS, arrays, strict=True))
    if result.tokens is not None:
        columns[TOKENS] = _lists(result.tokens, result.token_counts)
    return {prefix + name: array for name, array in columns.items()}


def _lists(tokens: "Tensor", counts: "Tensor | None") -> pa.Array:
    """[T] numbers → a list per row, null at undefined tokens; null in rows without tokens."""
    assert counts is not None
    values = tokens.double().numpy()
    flat = pa.array(values, pa.float64(), mask=np.isnan(values))
    sizes = counts.numpy()
    ends = np.concatenate([[0], np.cumsum(sizes)])
    return pa.LargeListArray.from_arrays(
        pa.array(ends, pa.int64(), mask=np.append(sizes == 0, False)),
        flat,
    ).cast(pa.list_(pa.float64()))


def _is_folder(out: str) -> bool:
    try:
        return Path(out).is_dir()
    except OSError:
        # Too long or not to be entered: the check of the target says so.
        return False


def _one_stream(sources: Sequence[Source]) -> None:
    layouts = {source.layout for source in sources}
    if layouts == {"jsonl"} or len(sources) == 1:
        return
    raise UsageError("several parquet files cannot be written to one stream", hint="--out DIR/")


def _file_name(source: Source) -> str:
    """rewards.parquet → rewards.adv.parquet, rewards.jsonl.gz → rewards.adv.jsonl.gz."""
    path = Path("stdin" if source.name == "<stdin>" else source.name)
    tail = path.suffix if path.suffix in CODECS else ""
    path = Path(path.name.removesuffix(tail))
    suffix = path.suffix if path.suffix in SUFFIXES else f".{source.layout}"
    return (
        f"{path.name.removesuffix(path.suffix) if path.suffix in SUFFIXES else path.name}.adv{suffix}{tail}"
    )


def _target(path: Path, source: Source) -> Target:
    """The layout and codec that a file name asks for; those of the source if it does not say."""
    tail = path.suffix if path.suffix in CODECS else ""
    layout = SUFFIXES.get(Path(path.name.removesuffix(tail)).suffix)
    if layout is None and not tail:
        return Target(path, source.layout, None)
    return Target(path, layout or source.layout, CODECS.get(tail))
