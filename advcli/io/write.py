"""The second pass: copies the inputs with the new columns appended."""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import pyarrow as pa

from advcli.common.errors import AdvcliError, DataError, UsageError
from advcli.common.wording import reason
from advcli.io import atomic, convert
from advcli.io.collect.numbering import line_numbers
from advcli.io.jsonl import read as jsonl
from advcli.io.jsonl.suffixes import Suffixes
from advcli.io.layouts import objects
from advcli.io.layouts import text as json_text
from advcli.io.parquet import append
from advcli.io.parquet import read as parquet
from advcli.io.parquet.column_chunks import Chunks
from advcli.io.slices import Slices
from advcli.io.sources.find import CODECS, SUFFIXES, stamp
from advcli.io.sources.remote import is_remote
from advcli.records.layout import Layout
from advcli.records.settings import AdvantageTable
from advcli.records.table import STANDARD_OUTPUT, Grouping, RewardTable, Source

if TYPE_CHECKING:
    from torch import Tensor

COLUMNS = ("original", "processed", "kept", "group")
"""The added columns, without their prefix."""

ROLLOUT = "rollout"
"""The column with the rollout number, if rollouts have several rows."""

TOKENS = "tokens"
"""The list column that a per-token estimator adds."""

TURNS = "turns"
"""The list column that a per-turn estimator adds if a row is a rollout."""

WEIGHTS = ("weight", "weighted", "weight_tokens")
"""The columns that a filter with weights adds: a row's mean weight, its weighted advantage, and the list of weights."""

OFF_POLICY = (
    "log_ratio",
    "kl",
    "k2_kl",
    "k3_kl",
    "chi2_token",
    "eff_sample_size",
    "training_ppl",
    "rollout_ppl",
    "ppl_ratio",
    "lag",
)
"""The columns with the off-policy figures of each row."""

SOURCE = "source"
"""The column, without its prefix, with the source line of an exploded row."""


# Suffixes of formats that can't be written; any other suffix is part of the name.
_OTHER = (
    ".csv",
    ".tsv",
    ".txt",
    ".xlsx",
    ".xls",
    ".arrow",
    ".feather",
    ".db",
    ".zip",
    ".eval",
    ".orc",
    ".avro",
    ".pkl",
    ".pt",
    ".html",
    ".yaml",
)


def refused_names(prefix: str, more: Sequence[str] = ()) -> tuple[str, ...]:
    """The column names that no input may have because they would be written, including those in `more`."""
    return tuple(prefix + name for name in (*more, *COLUMNS, ROLLOUT, TOKENS, TURNS, *WEIGHTS, SOURCE))


@dataclass(frozen=True)
class Target:
    """The output of one source.

    Attributes:
        path: the file, or None for standard output.
        layout: "jsonl" or "parquet".
        codec: "gzip", "zstd" or None.
    """

    path: Path | None
    layout: str
    codec: str | None


def targets(sources: Sequence[Source], out: str | None, *, force: bool) -> list[Target]:
    """Choose the output of each source, and check that it may be written.

    Args:
        sources: the inputs.
        out: a file, a folder (existing, or ending in /), "-", or None for `<name>.adv.<suffix>` next to the
            input; None with standard input means standard output.
        force: overwrite existing files.

    Raises:
        UsageError: a file exists, is an input, or two sources would go to one file.
        DataError: there is no folder to write into.
    """
    if out is not None and not out.strip():
        raise UsageError("--out is empty", hint="--out FILE, --out DIR/ or --out -")
    remote = next(
        (name for name in (out, *(source.name for source in sources)) if name and is_remote(name)), None
    )
    if remote and (remote == out or out is None):
        raise UsageError(f"{remote}: advcli writes to this machine only", hint="--out FILE or --out DIR/")
    if out is None and sources[0].name == "<stdin>":
        out = STANDARD_OUTPUT[0]
    if out in STANDARD_OUTPUT:
        _one_stream(sources)
        return [Target(None, _written(source), None) for source in sources]
    into_folder = out is not None and (out.endswith("/") or _is_folder(out))
    if out is not None and into_folder:
        result = [
            _target(Path(out) / name, source) for name, source in zip(_names(sources), sources, strict=True)
        ]
    elif len(sources) > 1:
        raise UsageError(f"{len(sources)} inputs need a folder to go to", hint="--out DIR/ (with the slash)")
    elif out is not None:
        result = [_target(Path(out), sources[0])]
    else:
        result = [_target(Path(sources[0].name).with_name(_file_name(sources[0])), sources[0])]
    paths = [target.path for target in result if target.path]
    if len(set(paths)) < len(paths):
        raise UsageError(
            "two inputs have the same file name and would overwrite each other", hint="one --out each"
        )
    atomic.check_all(paths, sources, force=force, parent=not into_folder)
    return result


@dataclass(frozen=True)
class Additions:
    """The additions to every file.

    Attributes:
        columns: column name → arrow array of all rows, in the order of the sources.
        about: key-value metadata for parquet files.
        record: the name of the column with the record number, for exploded rows; None to keep the layout, with the
            new values in lists or in the nested objects.
    """

    columns: Mapping[str, pa.Array]
    about: Mapping[str, str]
    record: str | None = "adv_source"


@dataclass(frozen=True)
class _Job:
    """The copy of one source; `added`, `chunks` and `suffixes` are the same new columns in three forms."""

    source: Source
    added: pa.Table
    chunks: Chunks
    suffixes: Suffixes
    about: Mapping[str, str]
    dropped: frozenset[int]
    layout: Layout
    start: int
    advance: Callable[[int], None]

    def slices(self) -> Slices:
        """The new columns, some rows at a time."""
        return Slices(self.added, lambda done: self.advance(self.start + done))


def write(
    sources: Sequence[Source],
    goals: Sequence[Target],
    table: RewardTable,
    additions: Additions,
    *,
    force: bool,
    advance: Callable[[int], None] = lambda rows: None,
) -> None:
    """Write every source to its target with the new columns appended.

    If a record holds several rows, each row is written separately with the number of its record, unless the
    layout is kept.

    Args:
        sources: the inputs.
        goals: one target per source, from `targets`.
        table: the result of the first pass, with rows and dropped lines per source.
        additions: what is added.
        force: overwrite existing files.
        advance: called with the number of rows written so far.

    Raises:
        DataError: a file cannot be written, or a source changed meanwhile.
        UsageError: the layout can't be kept.
    """
    start = 0
    layout = table.choice.layout
    in_records = [additions.record is not None and _has_records(source, layout) for source in sources]
    added = {key: _added(table, additions, with_record=key) for key in set(in_records)}
    encoders = {
        key: (Chunks(part, table.rows, advance), Suffixes(part, advance)) for key, part in added.items()
    }
    for source, goal, rows, dropped, key in zip(
        sources, goals, table.rows, table.dropped, in_records, strict=True
    ):
        if additions.record is None:
            can_stay(source, goal, layout)
        columns, (chunks, suffixes) = added[key].slice(start, rows), encoders[key]
        job = _Job(
            source,
            columns,
            chunks.part(start),
            suffixes.part(start, rows),
            additions.about,
            dropped,
            layout,
            start,
            advance,
        )
        start += rows
        opened = (
            atomic.standard_output()
            if goal.path is None
            else atomic.replacing(goal.path, force=force, like=source.path)
        )
        with opened as raw, atomic.compressed(raw, goal.codec) as out, _wrapping_errors(source):
            more = goal.path is None and source is not sources[-1]
            if not _has_records(source, layout) and (layout.name == "rows" or additions.record):
                _copy(job, goal.layout, out, more=more)
            elif additions.record:
                _unfold(job, goal.layout, out)
            else:
                _fold(job, out)
            _check_unchanged(source)


def _added(table: RewardTable, additions: Additions, *, with_record: bool) -> pa.Table:
    """The new columns of all rows, with the record number of exploded rows."""
    columns = pa.table(dict(additions.columns))
    if not with_record:
        return columns
    return columns.append_column(additions.record, pa.array(line_numbers(table)))


def _has_records(source: Source, layout: Layout) -> bool:
    """Whether the rows of a source are not lines or parquet rows themselves."""
    return layout.exploded or source.container == "json"


def _copy(job: _Job, layout: str, out: BinaryIO, *, more: bool) -> None:
    """Copy each record, which is a row, with the new columns appended."""
    source = job.source
    if source.container == layout == "jsonl":
        jsonl.annotate(source, job.dropped, job.suffixes, out.write, end_line=more)
    elif source.container == layout == "parquet":
        if job.dropped:
            batches = parquet.objects(source, job.dropped)
            parquet.write_batches(source, out, _joined(batches, job.slices()), job.about)
        elif not append.annotate(source, out, job.chunks, job.about):
            parquet.annotate(source, out, job.slices(), job.about)
    elif layout == "jsonl":
        convert.parquet_to_jsonl(parquet.objects(source, job.dropped), job.suffixes, out)
    else:
        convert.jsonl_to_parquet(
            lambda: jsonl.objects(source, job.dropped), job.added, out, job.about, source.name
        )


def _unfold(job: _Job, layout: str, out: BinaryIO) -> None:
    """Write each row of a record separately."""
    source, added = job.source, job.added
    if source.container == "parquet":
        rows = parquet.rows(source, job.layout, job.dropped)
        if layout == "parquet":
            parquet.write_batches(source, out, _joined(rows, job.slices()), job.about)
        else:
            convert.parquet_to_jsonl(rows, job.suffixes, out)
    elif layout == "parquet":
        convert.jsonl_to_parquet(
            lambda: jsonl.objects(source, job.dropped, job.layout), added, out, job.about, source.name
        )
    else:
        suffixes = job.suffixes
        for text, record in jsonl.texts(source, job.dropped):
            for row in json_text.row_texts(text, record, job.layout):
                comma = b"" if row == "{" else b", "
                out.write(row.encode("utf-8", "surrogatepass") + comma + next(suffixes) + b"}\n")


def _fold(job: _Job, out: BinaryIO) -> None:
    """Write each record in its layout, with the new values added."""
    source, added = job.source, job.added
    if source.container == "parquet":
        records = parquet.with_lists(source, job.layout, job.dropped, job.slices())
        parquet.write_batches(source, out, records, job.about)
        return
    values = _json_values(added)
    for text, record in jsonl.texts(source, job.dropped):
        if not json_text.can_fold(text, job.layout):
            raise UsageError(
                f"{source.name}: '{job.layout.path}' is JSON within a string", hint="without --same-layout"
            )
        rows = [next(values) for _ in range(objects.length(record, job.layout))]
        columns = {name: [row[position] for row in rows] for position, name in enumerate(added.column_names)}
        out.write(json_text.folded(text, job.layout, columns).encode("utf-8", "surrogatepass") + b"\n")


def _joined(
    batches: Iterator[pa.RecordBatch], slices: Callable[[int], pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Batches with the new columns appended."""
    for batch in batches:
        new = slices(batch.num_rows)
        yield pa.record_batch([*batch.columns, *new.columns], schema=pa.schema([*batch.schema, *new.schema]))


def can_stay(source: Source, goal: Target, layout: Layout) -> None:
    """Raise an error if the output can't keep the layout."""
    if source.container == "json":
        raise UsageError(
            f"{source.name}: a JSON document cannot keep its layout", hint="without --same-layout"
        )
    if layout.name != "rows" and goal.layout != source.container:
        raise UsageError(
            f"{source.name}: --same-layout keeps the format too",
            hint=f"--out with the suffix .{source.container}",
        )


@contextmanager
def _wrapping_errors(source: Source) -> Iterator[None]:
    """Convert errors while copying to a DataError about the source; errors of the output are already converted."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        _check_unchanged(source)
        raise DataError(f"{source.name}: cannot be read ({reason(error)})") from error
    except (pa.ArrowException, StopIteration, ValueError, OverflowError) as error:
        if isinstance(error, AdvcliError):
            raise
        _check_unchanged(source)
        raise DataError(
            f"{source.name}: cannot be copied ({reason(error)})", hint="--out with another suffix"
        ) from error


def _check_unchanged(source: Source) -> None:
    """Check that a source has not changed since the first pass; a part of a file may be followed by more."""
    if source.part is not None:
        return
    try:
        same = stamp(source.path) == source.stamp
    except OSError as error:
        raise DataError(
            f"{source.name}: was removed while it was read, or cannot be read any more ({reason(error)})"
        ) from error
    if not same:
        raise jsonl.changed(source)


def _json_values(added: pa.Table) -> Iterator[list[str]]:
    """The new values of each row as JSON."""
    for batch in added.to_batches(max_chunksize=4096):
        for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield [json.dumps(value) for value in values]


def added_columns(
    prefix: str, result: AdvantageTable, grouping: Grouping, figures: "Mapping[str, Tensor] | None" = None
) -> dict[str, pa.Array]:
    """The new columns as arrow arrays: NaN, ±inf and group -1 become null.

    Args:
        prefix: put before each name of `COLUMNS`.
        result: the advantages, [N].
        grouping: the groups, [N].
        figures: additional columns of numbers, [N] each.
    """
    original = _numbers(result.original)
    arrays = (
        original,
        original if result.processed is result.original else _numbers(result.processed),
        pa.array(result.kept.numpy(), pa.bool_()),
        pa.array(grouping.group, pa.int64(), mask=grouping.group < 0),
    )
    columns = dict(zip(COLUMNS, arrays, strict=True))
    if grouping.rollout is not None:
        columns[ROLLOUT] = pa.array(grouping.rollout, pa.int64(), mask=grouping.group < 0)
    if result.tokens is not None:
        columns[TOKENS] = lists(result.tokens, result.token_counts)
    if result.turns is not None:
        columns[TURNS] = lists(result.turns, result.turn_counts)
    if result.weights is not None and result.weight is not None and result.weighted is not None:
        weights = (
            _numbers(result.weight),
            _numbers(result.weighted),
            lists(result.weights, result.token_counts),
        )
        columns |= dict(zip(WEIGHTS, weights, strict=True))
    columns |= {name: _numbers(values) for name, values in (figures or {}).items()}
    return {prefix + name: array for name, array in columns.items()}


def _numbers(values: "Tensor") -> pa.Array:
    """Floats without copying them, null where not finite."""
    result = values.double().numpy()
    undefined = ~np.isfinite(result)
    return pa.array(result, pa.float64(), mask=undefined if undefined.any() else None)


def lists(tokens: "Tensor", counts: "Tensor | None") -> pa.Array:
    """[T] numbers → a list per row, null at undefined tokens; null in rows without tokens."""
    assert counts is not None
    values = tokens.double().numpy()
    flat = pa.array(values, pa.float64(), mask=~np.isfinite(values))
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
        # Too long or not accessible: the check of the target reports it.
        return False


def _one_stream(sources: Sequence[Source]) -> None:
    layouts = {_written(source) for source in sources}
    if layouts == {"jsonl"} or len(sources) == 1:
        return
    raise UsageError("several parquet files cannot be written to one stream", hint="--out DIR/")


def _names(sources: Sequence[Source]) -> list[Path]:
    """The output name of each source; with the folders in which they differ if two have the same name."""
    names = [Path(_file_name(source)) for source in sources]
    if len(set(names)) == len(names):
        return names
    folders = [Path(source.name).resolve().parent for source in sources]
    common = Path(os.path.commonpath(folders))
    return [folder.relative_to(common) / name for folder, name in zip(folders, names, strict=True)]


def _file_name(source: Source) -> str:
    """rewards.parquet → rewards.adv.parquet, rewards.jsonl.gz → rewards.adv.jsonl.gz, a.csv → a.csv.adv.parquet."""
    path = Path("stdin" if source.name == "<stdin>" else source.name)
    codec_suffix = path.suffix if path.suffix in CODECS else ""
    path = Path(path.name.removesuffix(codec_suffix))
    if source.origin:
        # The original format is not written.
        return f"{path.name}.adv.{_written(source)}"
    keeps_suffix = path.suffix in SUFFIXES and source.container != "json"
    suffix = path.suffix if keeps_suffix else f".{_written(source)}"
    return f"{path.name.removesuffix(path.suffix) if path.suffix in SUFFIXES else path.name}.adv{suffix}{codec_suffix}"


def _written(source: Source) -> str:
    """The output format of a source; a JSON document is written as JSON Lines."""
    return "parquet" if source.container == "parquet" else "jsonl"


def _target(path: Path, source: Source) -> Target:
    """The layout and codec of a file name; by default the source's layout, uncompressed."""
    codec_suffix = path.suffix if path.suffix in CODECS else ""
    suffix = Path(path.name.removesuffix(codec_suffix)).suffix
    layout = SUFFIXES.get(suffix)
    if layout is None and suffix in _OTHER:
        raise UsageError(
            f"{path}: rows are written as parquet or JSON Lines, not as {suffix}",
            hint=f"--out {path.with_suffix('.parquet')} or --out {path.with_suffix('.jsonl')}",
        )
    if layout is None and not codec_suffix:
        return Target(path, _written(source), None)
    return Target(path, layout or _written(source), CODECS.get(codec_suffix))
