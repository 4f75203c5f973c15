"""A first look at the inputs: which columns there are, what they hold, which format that is and how rows lie."""

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

_KEPT = 400
_SCORED = Derived("rewards.total", ("rewards",), "advcli.io.formats.derived:weighted_total")
# Rows of so many sources tell what a column holds.
_SAMPLED = 8
_FLAT = {"number", "text", "null"}


_Rows: TypeAlias = Callable[[], Sequence[Mapping[str, Any]]]
_KNOWN: dict[tuple[Path, tuple[int, int], int], "Seen"] = {}


@dataclass(frozen=True)
class Seen:
    """What was seen of one source.

    Attributes:
        source: the input.
        shapes: column → "number", "text", "list", "object", "null" or "other".
        first: its first records; None where they are read when they are asked for.
        whole: whether all of it was looked at.
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
        """Whether there is anything at a dotted path."""
        return bool(roots([path], tuple(self.shapes))) and _there(path, self.records)


@dataclass(frozen=True)
class Survey:
    """What the inputs are as one data set.

    Attributes:
        form: the format.
        layout: how rows lie in the records.
        kinds: column of a row → "number", "text", "nested" or "other"; the columns and paths that the format
            or the user names are among them, as far as they are there.
        whole: whether all of the inputs was looked at.
        name: what the format is called: the container's name where its columns tell the rest.
        evidence: what some rows hold.
    """

    form: Format
    layout: Layout
    kinds: Mapping[str, str]
    whole: bool = True
    name: str = ""
    evidence: Evidence = field(default_factory=Evidence)


def look(source: Source, *, limit: int = 100, whole: bool = False, again: bool = False) -> Seen:
    """Look at the first records of a source, or at all of it.

    Args:
        source: the input.
        limit: how many records are looked at.
        whole: look at all of them.
        again: whether the source will soon be read.

    Raises:
        DataError: the file is broken.
    """
    if source.container == "parquet":
        return Seen(source, parquet.columns(source, again=again), None, whole=True)
    return Seen(source, *jsonl.head(source, limit=limit, whole=whole))


def without_rollouts(sources: Sequence[Source], advance: Callable[[], None] = lambda: None) -> dict[str, str]:
    """The sources that hold no rollouts: name → what they are. What is seen of the others is kept for `looked`.

    Args:
        sources: the inputs.
        advance: called for each of them.

    Raises:
        DataError: a file is broken, or none of them holds rollouts.
    """
    limit = _limit(sources)
    _KNOWN.clear()
    files.forget()
    result: dict[str, str] = {}
    first: Mapping[str, str] = {}
    for source in sources:
        advance()
        seen = look(source, limit=limit, again=True)
        _KNOWN[source.path, source.stamp, limit] = seen
        if not (seen.whole or side_files.may_be_a_dump(seen.shapes)):
            # Only a column can tell that it is a dump, so more of them are looked for.
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
    """Look at the first records of all sources, of many a few each; what is known already is used once.

    Raises:
        DataError: a file is broken.
    """
    limit, known = _limit(sources), dict(_KNOWN)
    _KNOWN.clear()
    return [known.get((source.path, source.stamp, limit)) or look(source, limit=limit) for source in sources]


def _whole(sources: Sequence[Source]) -> list[Seen]:
    """The same for all of the sources."""
    return [look(source, limit=_limit(sources), whole=True) for source in sources]


def _limit(sources: Sequence[Source]) -> int:
    """How many records of each are sampled, so that memory does not grow with the number of files."""
    return max(4, min(100, _KEPT // len(sources)))


def survey(sources: Sequence[Source], options: ColumnOptions, *, whole: bool = False) -> Survey | None:
    """Look at all sources.

    Args:
        sources: the inputs.
        options: what the user asked for.
        whole: look at all lines, not only at the first ones.

    Returns:
        What they are; None if there is no record to look at.

    Raises:
        DataError: two formats fit, or what there is holds no rollouts.
        UsageError: the list to explode is not there.
    """
    seen = _whole(sources) if whole else looked(sources)
    if not any(one.shapes for one in seen):
        return None
    form = FORMATS[options.format] if options.format else None
    if form is None or form.tells_nothing:
        form = _format(seen)
        if form.unique and _shared(form.unique, _records(seen)):
            form = FORMATS["generic"]
    if form.refusal:
        raise DataError(
            f"{_place(form, seen)}: {form.refusal}", hint="advcli formats, for the dumps that are read"
        )
    if form.parts is not None and not all(one.whole for one in seen):
        # A reward function that appears late must not be left out.
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
    if any(named_step(one.source.name) for one in seen):
        kinds["@step"] = "text"
    sample = rows if layout.name != "rows" else lambda: _sample(seen)
    container = "" if options.format else next((one.source.format for one in seen if one.source.format), "")
    whole = all(one.whole for one in seen)
    return Survey(form, layout, kinds, whole, container or form.name, Evidence(cache(sample), rows, of))


def _format(seen: Sequence[Seen]) -> Format:
    """The format of all sources together."""
    known: dict[tuple[tuple[str, str], ...], Format | None] = {}
    result = {one.source.name: _recognised(one, known) for one in seen if one.shapes}
    forms = {form.name: form for form in result.values() if form}
    # Files of an earlier version of the same writer are read beside its own.
    read = {name for form in forms.values() for name in form.reads}
    forms = {name: form for name, form in forms.items() if name not in read}
    places: dict[str, str] = {}
    # A shard may lack columns that others have.
    columns = {column for one in seen if result.get(one.source.name) for column in one.shapes}
    parts = {one.source.name for one in seen if one.shapes.keys() <= columns}
    for name, form in result.items():
        if form is None and name in parts:
            continue
        if form is None or form.name in forms:
            places.setdefault(form.name if form else "generic", name)
    if len(places) > 1 and forms:
        shown = " and ".join(f"{name} ({position})" for name, position in places.items())
        raise DataError(
            f"the inputs have several formats: {shown}",
            hint=f"the files of one format at a time, such as {next(iter(places.values()))}",
        )
    if forms:
        return next(iter(forms.values()))
    if len(seen) == 1:
        side_files.refuse(seen[0].source.name, seen[0].shapes)
    _refuse_mixture(seen)
    merged = _merged(one.shapes for one in seen)
    together = detect.recognised(merged, lambda path: any(one.has(path) for one in seen))
    return together or FORMATS["generic"]


def _refuse_mixture(seen: Sequence[Seen]) -> None:
    """Refuse files that name their prompts or rewards differently: they are not of one writer.

    Raises:
        DataError: names two of them.
    """
    for test in (names.is_total, lambda name: name in (*PROMPT_IDS, *PROMPT_TEXTS)):
        result = [(one.source.name, {name for name in one.shapes if test(name)}) for one in seen]
        result = [(position, columns) for position, columns in result if columns]
        for position, columns in result[1:]:
            if not columns & result[0][1]:
                raise DataError(
                    f"the inputs are of several kinds: {result[0][0]} has '{min(result[0][1])}', {position} has "
                    f"'{min(columns)}'",
                    hint=f"the files of one kind at a time, such as {result[0][0]}",
                )


def _recognised(one: Seen, known: dict[tuple[tuple[str, str], ...], Format | None]) -> Format | None:
    """The format of a source; the one already known for others, if their columns alone decided."""
    columns = tuple(one.shapes.items())
    if columns in known:
        return known[columns]
    asked: list[str] = []

    def has(path: str) -> bool:
        asked.append(path)
        return one.has(path)

    form = detect.recognised(one.shapes, has, name=one.source.name)
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
        if all(one.is_flat for one in seen):
            return PLAIN
        # A list that the user names is one of a row.
        named = {options.turn_rewards, *options.tokens.values()}
        return layouts.guessed(
            [{name: one[name] for name in one if name not in named} for one in _records(seen)]
        )
    return layouts.laid_out(form.layout, form.path, [] if form.layout == "rows" else _records(seen))


def _exploded(options: ColumnOptions, records: Sequence[Mapping[str, Any]]) -> Layout:
    first = options.explode[0]
    values = [record[first] for record in records if record.get(first) is not None]
    if not any(first in record for record in records):
        there = ", ".join(dict.fromkeys(key for record in records for key in record))
        raise UsageError(f"--explode {first}: no such column; there is {there}", hint="--explode COL")
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
    """The columns of a row and what they hold, some rows when they are asked for, and of which record each exploded one is."""
    if layout.name == "rows":
        merged = _merged(one.shapes for one in seen)
        kinds = {name: column_kinds.kind(shape) for name, shape in merged.items()}
        return kinds, cache(lambda: _records(seen)), []
    rows: list[Mapping[str, Any]] = []
    of: list[int] = []
    for number, record in enumerate(_records(seen)):
        try:
            rows += [_as_laid_out(row, record, layout) for row in layouts.rows(record, layout)]
        except layouts.LayoutMismatch:
            # The scan says where.
            continue
        of += [number] * (len(rows) - len(of))
    return kinds_of_objects(rows), lambda: rows, of


def _as_laid_out(row: Mapping[str, Any], record: Mapping[str, Any], layout: Layout) -> Mapping[str, Any]:
    """A row without lists of another length, which say nothing about a row's values."""
    return {
        name: value
        for name, value in row.items()
        if name not in layout.split or value is not record.get(name)
    }


def _sample(seen: Sequence[Seen]) -> list[Mapping[str, Any]]:
    """Some rows of a few sources, spread over all of them."""
    few = seen[:: -(-len(seen) // _SAMPLED)]
    each = max(4, min(100, _KEPT // len(few)))
    return [
        row for one in few for row in (parquet.sample(one.source, each) if one.first is None else one.first)
    ]


def _records(seen: Sequence[Seen]) -> list[Mapping[str, Any]]:
    """The sampled records."""
    return [record for one in seen for record in one.records]


def _merged(several: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """The union of the columns: null in one file and text in another is text."""
    merged: dict[str, str] = {}
    for one in several:
        for name, shape in one.items():
            merged[name] = shape if merged.get(name, "null") == "null" else merged[name]
    return merged


def _kind(
    name: str, form: Format, kinds: Mapping[str, str], rows: "_Rows", seen: Sequence[Seen]
) -> str | None:
    """What a column holds that is no key of a row; None if it is not there."""
    derived = next((column for column in form.derived if column.name == name), None)
    if derived:
        there = all(roots([path], tuple(kinds)) and _there(path, rows()) for path in derived.needed())
        return derived.kind if there else None
    if name in PLACES:
        known = name != "@step" or any(step_of(one.source.name) for one in seen)
        return "text" if known else None
    if not roots([name], tuple(kinds)):
        return None
    values = [value for row in rows() if (value := find(row, name)) is not ABSENT]
    return kinds_of_objects({name: value} for value in values)[name] if values else None


def _are_scored(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether `rewards` holds scores with weights by name, as verifiers writes them."""
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
    """Whether records that differ share a value of a column."""
    first: dict[str, Mapping[str, Any]] = {}
    return any(
        first.setdefault(key_text(record[name]), record) != record for record in records if record.get(name)
    )


def _there(path: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    return any(find(row, path) is not ABSENT for row in rows)


def _named(form: Format) -> list[str]:
    """The columns that a format names."""
    keys = [part.strip("?").partition(":")[0] for way in form.prompt for part in way.split("+")]
    keys += [name for way in form.rollout for name in way.split("+")]
    conditions = [name for text in form.counts for name in parse(text).columns]
    single = [name for name in (form.filler, form.evaluation, *form.turn, *form.same) if name]
    return [*keys, *form.step, *form.reward, *form.lengths, *form.logged, *single, *conditions]


def _place(form: Format, seen: Sequence[Seen]) -> str:
    fitting = (one.source.name for one in seen if detect.fits(form, one.shapes, one.has))
    return next(fitting, seen[0].source.name)
