"""Surveys the inputs: detects columns, their kinds, the format and the layout from the first records."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from advcli.common.errors import DataError, UsageError
from advcli.common.wording import either
from advcli.io.collect.cells import kinds_of_objects
from advcli.io.collect.keys import key_text
from advcli.io.columns import names
from advcli.io.columns.choose import asked
from advcli.io.columns.evidence import Evidence
from advcli.io.formats import detect
from advcli.io.formats.catalog import FORMATS, PROMPT_IDS, PROMPT_TEXTS, REWARD_TOTALS
from advcli.io.formats.derived import PLACES, named_step, step_of
from advcli.io.formats.format import Format
from advcli.io.jsonl import read as jsonl
from advcli.io.layouts import kinds as column_kinds
from advcli.io.layouts import objects as layouts
from advcli.io.layouts.paths import ABSENT, find, roots
from advcli.io.parquet import files
from advcli.io.parquet import read as parquet
from advcli.io.sources import side_files
from advcli.records.layout import PLAIN, Derived, Layout
from advcli.records.table import ColumnOptions, Source
from advcli.tensors.expressions import parse

_SAMPLED_RECORDS = 400
_SCORED = Derived("rewards.total", ("rewards",), "advcli.io.formats.derived:weighted_total")
# How many sources are sampled for the values of columns.
_SAMPLED_SOURCES = 8
_FLAT = {"number", "text", "null"}


_Rows: TypeAlias = Callable[[], Sequence[Mapping[str, Any]]]
_known_samples: dict[tuple[Path, tuple[int, int], int], "Seen"] = {}


@dataclass(frozen=True)
class Seen:
    """The sample of one source.

    Attributes:
        source: the input.
        shapes: column → "number", "text", "list", "object", "null" or "other".
        first: its first records; None if they are read on demand.
        whole: whether the whole source was read.
    """

    source: Source
    shapes: Mapping[str, str]
    first: Sequence[Mapping[str, Any]] | None
    whole: bool

    @cached_property
    def records(self) -> Sequence[Mapping[str, Any]]:
        """Its first records."""
        return parquet.head(self.source) if self.first is None else self.first

    @property
    def is_flat(self) -> bool:
        """Whether no value can be a list or an object, so that records add nothing about the layout."""
        return self.first is None and set(self.shapes.values()) <= _FLAT

    def has(self, path: str) -> bool:
        """Whether a dotted path exists in some record."""
        return bool(roots([path], tuple(self.shapes))) and _exists(path, self.records)


@dataclass(frozen=True)
class Survey:
    """The format, layout and columns of the inputs as one data set.

    Attributes:
        form: the format.
        layout: how rows are nested in the records.
        kinds: column of a row → "number", "text", "nested" or "other"; includes the existing columns and paths that the
            format or the user names.
        whole: whether all of the inputs were read.
        name: the format's name to show: the container's if everything else was detected from the columns.
        evidence: a sample of the rows.
    """

    form: Format
    layout: Layout
    kinds: Mapping[str, str]
    whole: bool = True
    name: str = ""
    evidence: Evidence = field(default_factory=Evidence)


def look(source: Source, *, limit: int = 100, whole: bool = False, again: bool = False) -> Seen:
    """Sample the first records of a source, or all of them.

    Args:
        source: the input.
        limit: how many records are sampled.
        whole: read all of them.
        again: whether the source will be read soon.

    Raises:
        DataError: the file is broken.
    """
    if source.container == "parquet":
        return Seen(source, parquet.columns(source, again=again), None, whole=True)
    return Seen(source, *jsonl.head(source, limit=limit, whole=whole))


def without_rollouts(sources: Sequence[Source], advance: Callable[[], None] = lambda: None) -> dict[str, str]:
    """The sources without rollouts: name → what they are. The samples of the others are kept for `looked`.

    Args:
        sources: the inputs.
        advance: called for each source.

    Raises:
        DataError: a file is broken, or none of them holds rollouts.
    """
    limit = _limit(sources)
    _known_samples.clear()
    files.forget()
    result: dict[str, str] = {}
    first: Mapping[str, str] = {}
    for source in sources:
        advance()
        seen = look(source, limit=limit, again=True)
        _known_samples[source.path, source.stamp, limit] = seen
        if not (seen.whole or side_files.may_be_a_dump(seen.shapes)):
            # A dump is recognized by its columns, so more records are searched for them.
            seen = look(source)
        what = side_files.what(source.name, seen.shapes)
        if source.format and not side_files.may_be_a_dump(seen.shapes):
            what = what or "a table without prompts"
        if what:
            result[source.name] = what
        first = first or seen.shapes
    if len(result) == len(sources):
        side_files.refuse(sources[0].name, first)
    return result


def looked(sources: Sequence[Source]) -> list[Seen]:
    """Sample all sources, with fewer records each if there are many; reuses the samples of `without_rollouts` once.

    Raises:
        DataError: a file is broken.
    """
    limit, known = _limit(sources), dict(_known_samples)
    _known_samples.clear()
    return [known.get((source.path, source.stamp, limit)) or look(source, limit=limit) for source in sources]


def _whole(sources: Sequence[Source]) -> list[Seen]:
    """All records of all sources."""
    return [look(source, limit=_limit(sources), whole=True) for source in sources]


def _limit(sources: Sequence[Source]) -> int:
    """How many records of each source are sampled, so that memory does not grow with the number of files."""
    return max(4, min(100, _SAMPLED_RECORDS // len(sources)))


def survey(sources: Sequence[Source], options: ColumnOptions, *, whole: bool = False) -> Survey | None:
    """Detect the format, layout and columns of all sources.

    Args:
        sources: the inputs.
        options: what the user asked for.
        whole: read all lines, not only the first ones.

    Returns:
        The survey; None if there are no records.

    Raises:
        DataError: two formats fit, or the inputs hold no rollouts.
        UsageError: the list to explode doesn't exist.
    """
    seen = _whole(sources) if whole else looked(sources)
    if not any(entry.shapes for entry in seen):
        return None
    form = FORMATS[options.format] if options.format else None
    if form is None or form.tells_nothing:
        form = _format(seen)
        if form.unique and any(_shared(form.unique, entry.records) for entry in seen):
            form = FORMATS["generic"]
    if form.refusal:
        raise DataError(
            f"{_example(form, seen)}: {form.refusal}", hint="advcli formats, for the dumps that are read"
        )
    if form.parts is not None and not all(entry.whole for entry in seen):
        # A reward function that first appears late must not be missed.
        seen = _whole(sources)
    layout = _layout(form, seen, options)
    kinds, rows, of = _kinds(seen, layout)
    if form.name == "generic" and layout.exploded:
        form = FORMATS[layout.name]
    elif form.name == "generic" and kinds.get("rewards") == "nested" and _are_scored(rows()):
        form = replace(form, derived=(_SCORED,), reward=(*REWARD_TOTALS, _SCORED.name))
    named = dict.fromkeys(chain(_named(form), wanted := list(asked(options))))
    kinds |= {
        name: kind for name in named if name not in kinds and (kind := _kind(name, form, kinds, rows, seen))
    }
    if len(seen) == 1 and "@file" not in wanted:
        kinds.pop("@file", None)
    if any(named_step(entry.source.name) for entry in seen):
        kinds["@step"] = "text"
    sample = rows if layout.name != "rows" else lambda: _sample(seen)
    container = (
        "" if options.format else next((entry.source.format for entry in seen if entry.source.format), "")
    )
    whole = all(entry.whole for entry in seen)
    return Survey(form, layout, kinds, whole, container or form.name, Evidence(cache(sample), rows, of))


def _format(seen: Sequence[Seen]) -> Format:
    """The common format of all sources."""
    known: dict[tuple[tuple[str, str], ...], Format | None] = {}
    result = {entry.source.name: _recognised(entry, known) for entry in seen if entry.shapes}
    forms = {form.name: form for form in result.values() if form}
    # Files of an earlier version of the same framework may be mixed in.
    read = {name for form in forms.values() for name in form.reads}
    forms = {name: form for name, form in forms.items() if name not in read}
    examples: dict[str, str] = {}
    # A shard may lack columns that others have.
    columns = {column for entry in seen if result.get(entry.source.name) for column in entry.shapes}
    parts = {entry.source.name for entry in seen if entry.shapes.keys() <= columns}
    for name, form in result.items():
        if form is None and name in parts:
            continue
        if form is None or form.name in forms:
            examples.setdefault(form.name if form else "generic", name)
    if len(examples) > 1 and forms:
        shown = " and ".join(f"{name} ({position})" for name, position in examples.items())
        raise DataError(
            f"the inputs have several formats: {shown}",
            hint=f"the files of one format at a time, such as {next(iter(examples.values()))}",
        )
    if forms:
        return next(iter(forms.values()))
    if len(seen) == 1:
        side_files.refuse(seen[0].source.name, seen[0].shapes)
    _refuse_mixture(seen)
    merged = _merged(entry.shapes for entry in seen)
    merged_form = detect.recognised(merged, lambda path: any(entry.has(path) for entry in seen))
    return merged_form or FORMATS["generic"]


def _refuse_mixture(seen: Sequence[Seen]) -> None:
    """Raise an error if files name their prompts or rewards differently, because they have different writers.

    Raises:
        DataError: names two such files.
    """
    for test in (names.is_total, lambda name: name in (*PROMPT_IDS, *PROMPT_TEXTS)):
        result = [(entry.source.name, {name for name in entry.shapes if test(name)}) for entry in seen]
        result = [(position, columns) for position, columns in result if columns]
        for position, columns in result[1:]:
            if not columns & result[0][1]:
                raise DataError(
                    f"the inputs are of several kinds: {result[0][0]} has '{min(result[0][1])}', {position} has "
                    f"'{min(columns)}'",
                    hint=f"the files of one kind at a time, such as {result[0][0]}",
                )


def _recognised(entry: Seen, known: dict[tuple[tuple[str, str], ...], Format | None]) -> Format | None:
    """The format of a source; cached by its columns if these alone decided."""
    columns = tuple(entry.shapes.items())
    if columns in known:
        return known[columns]
    asked: list[str] = []

    def has(path: str) -> bool:
        asked.append(path)
        return entry.has(path)

    form = detect.recognised(entry.shapes, has, name=entry.source.name)
    if not asked:
        known[columns] = form
    return form


def _layout(form: Format, seen: Sequence[Seen], options: ColumnOptions) -> Layout:
    if options.explode:
        return _exploded(options, _records(seen))
    if options.layout:
        _check_layout(options.layout)
        return layouts.laid_out(options.layout, "", _records(seen))
    if form.name == "generic":
        if all(entry.is_flat for entry in seen):
            return PLAIN
        # A list that the user names belongs to one row.
        named = {options.turn_rewards, *options.tokens.values()}
        return layouts.guessed(
            [{name: record[name] for name in record if name not in named} for record in _records(seen)]
        )
    return layouts.laid_out(form.layout, form.path, [] if form.layout == "rows" else _records(seen))


def _exploded(options: ColumnOptions, records: Sequence[Mapping[str, Any]]) -> Layout:
    first = options.explode[0]
    values = [record[first] for record in records if record.get(first) is not None]
    if not any(first in record for record in records):
        columns = ", ".join(dict.fromkeys(key for record in records for key in record))
        raise UsageError(
            f"--explode {first}: no such column; the columns are {columns}", hint="--explode COL"
        )
    objects = [item for value in values for item in layouts.as_list(value) or ()]
    nested = bool(objects) and all(isinstance(item, Mapping) for item in objects)
    name = options.layout or ("nested" if nested and len(options.explode) == 1 else "lists")
    _check_layout(name)
    layout = layouts.laid_out(name, first, records)
    if len(options.explode) == 1 or name == "nested":
        return layout
    names = dict.fromkeys(key for record in records for key in record)
    return Layout(name, first, options.explode, tuple(key for key in names if key not in options.explode))


def _check_layout(name: str) -> None:
    if name not in layouts.LAYOUTS:
        raise UsageError(f"unknown layout '{name}'", hint=either(layouts.LAYOUTS))


def _kinds(seen: Sequence[Seen], layout: Layout) -> tuple[dict[str, str], "_Rows", list[int]]:
    """Column of a row → kind, a function that returns sample rows, and the record of each exploded sample row."""
    if layout.name == "rows":
        merged = _merged(entry.shapes for entry in seen)
        kinds = {name: column_kinds.kind(shape) for name, shape in merged.items()}
        return kinds, cache(lambda: _records(seen)), []
    rows: list[Mapping[str, Any]] = []
    of: list[int] = []
    for number, record in enumerate(_records(seen)):
        try:
            rows += [_as_laid_out(row, record, layout) for row in layouts.rows(record, layout)]
        except layouts.LayoutMismatch:
            # The scan reports where.
            continue
        of += [number] * (len(rows) - len(of))
    return kinds_of_objects(rows), lambda: rows, of


def _as_laid_out(row: Mapping[str, Any], record: Mapping[str, Any], layout: Layout) -> Mapping[str, Any]:
    """A row without lists of another length, which would misrepresent its values."""
    return {
        name: value
        for name, value in row.items()
        if name not in layout.split or value is not record.get(name)
    }


def _sample(seen: Sequence[Seen]) -> list[Mapping[str, Any]]:
    """Some rows from a few sources, evenly spread."""
    few = seen[:: -(-len(seen) // _SAMPLED_SOURCES)]
    each = max(4, min(100, _SAMPLED_RECORDS // len(few)))
    return [
        row
        for entry in few
        for row in (parquet.sample(entry.source, each) if entry.first is None else entry.first)
    ]


def _records(seen: Sequence[Seen]) -> list[Mapping[str, Any]]:
    """The sampled records."""
    return [record for entry in seen for record in entry.records]


def _merged(shapes: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """The union of the columns; a column that is null in one file and text in another is text."""
    merged: dict[str, str] = {}
    for columns in shapes:
        for name, shape in columns.items():
            merged[name] = shape if merged.get(name, "null") == "null" else merged[name]
    return merged


def _kind(
    name: str, form: Format, kinds: Mapping[str, str], rows: "_Rows", seen: Sequence[Seen]
) -> str | None:
    """The kind of a derived column or path; None if it doesn't exist."""
    derived = next((column for column in form.derived if column.name == name), None)
    if derived:
        exists = all(roots([path], tuple(kinds)) and _exists(path, rows()) for path in derived.needed())
        return derived.kind if exists else None
    if name in PLACES:
        known = name != "@step" or any(step_of(entry.source.name) for entry in seen)
        return "text" if known else None
    if not roots([name], tuple(kinds)):
        return None
    values = [value for row in rows() if (value := find(row, name)) is not ABSENT]
    return kinds_of_objects({name: value} for value in values)[name] if values else None


def _are_scored(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether `rewards` maps names to scores with weights, as verifiers writes them."""
    scores = [
        score
        for row in rows
        for score in (row["rewards"].values() if isinstance(row.get("rewards"), Mapping) else ())
        if score is not None
    ]
    return bool(scores) and all(
        isinstance(score, Mapping) and {"score", "weight"} <= score.keys() for score in scores
    )


def _shared(name: str, records: Sequence[Mapping[str, Any]]) -> bool:
    """Whether different records of a file share a value of a column."""
    first: dict[str, Mapping[str, Any]] = {}
    return any(
        first.setdefault(key_text(record[name]), record) != record for record in records if record.get(name)
    )


def _exists(path: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    return any(find(row, path) is not ABSENT for row in rows)


def _named(form: Format) -> list[str]:
    """The columns that a format names."""
    names = [part.strip("?").partition(":")[0] for key in form.prompt for part in key.split("+")]
    names += [name for key in form.rollout for name in key.split("+")]
    conditions = [name for text in form.counts for name in parse(text).columns]
    single = [name for name in (form.filler, form.evaluation, *form.turn, *form.same) if name]
    return [*names, *form.step, *form.reward, *form.lengths, *form.logged, *single, *conditions]


def _example(form: Format, seen: Sequence[Seen]) -> str:
    fitting = (entry.source.name for entry in seen if detect.fits(form, entry.shapes, entry.has))
    return next(fitting, seen[0].source.name)
