"""Parses shaping steps as the user types them, and formats them for messages."""

import re
from collections.abc import Iterator, Mapping, Sequence

from advcli.common.errors import UsageError
from advcli.common.wording import one_line
from advcli.records.settings import ShapeSpec
from advcli.shaping import expressions
from advcli.shaping.catalog import SHAPINGS
from advcli.shaping.shaper import Input, Shaping
from advcli.tensors.expressions import parse as parse_row

EXPRESSION = "expr"
"""The name of a step that is an expression."""

Given = Mapping[str, str | float]
Shapes = str | Sequence[str] | Mapping[str, Given]
"""Shaping steps in the Python API: in the syntax of `--shape`, or name → knobs, which are applied in the usual order."""

_NAMED = re.compile(r"\s*([A-Za-z_]\w*)\s*(?::(.*))?", re.DOTALL)
# Commas in quoted text and in brackets don't separate pairs.
_PAIR = re.compile(
    r"""(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]+`|\((?:[^()]|\([^()]*\))*\)|\[[^\]]*\]|[^,])+"""
)


def shape_spec(text: str) -> ShapeSpec:
    """Parse the value of `--shape`: `NAME[:KEY=VALUE,...]` of the catalog, or an expression.

    Raises:
        UsageError: it is neither.

    Example:
        >>> shape_spec("gr3:alpha=0.5,length=len(response)").columns
        {'length': 'len(response)'}
        >>> shape_spec("r - 0.1*turns/max(turns)").name
        'expr'
    """
    result = _NAMED.fullmatch(text)
    if result is None or result[1] == expressions.REWARD:
        return ShapeSpec(EXPRESSION, expression=expressions.parse(text).text)
    return spec_of(SHAPINGS[result[1]], dict(_pairs(result[1], result[2] or "")))


def flag_spec(row: Shaping, text: str) -> ShapeSpec:
    """Parse the value of a shaping's own option, `KEY=NUMBER,...`.

    Example:
        >>> flag_spec(SHAPINGS["overlong"], "max=4096,buffer=512").knobs
        {'factor': 1.0, 'cap': 0.0, 'max': 4096.0, 'buffer': 512.0}

    Raises:
        UsageError: it can't be parsed.
    """
    given: dict[str, str | float] = {}
    for pair in filter(None, text.split(",")):
        name, equals, value = pair.partition("=")
        if not equals:
            known = ",".join(f"{name}=…" for name in row.knobs)
            raise UsageError(f"{row.flag} {text}: '{pair}' is not KEY=NUMBER", hint=f"{row.flag} {known}")
        given[name.strip()] = value
    return spec_of(row, given)


def spec_of(row: Shaping, given: Given) -> ShapeSpec:
    """The step for a row of the catalog.

    Args:
        row: the row.
        given: knobs as numbers or text; those that name a column as expressions over columns.

    Raises:
        UsageError: a knob is unknown, missing or not a number, or a required column is not named.
    """
    inputs = {one.name: one for one in row.inputs}
    knobs = row.read({name: value for name, value in given.items() if name not in inputs})
    columns = {name: str(value) for name, value in given.items() if name in inputs}
    for name, text in columns.items():
        parse_row(text, f"{row.said}: {name}")
    for one in row.inputs:
        useless = one.optional or one.role or (one.weight and not knobs[one.weight])
        if one.name not in columns and not useless:
            hint = f"--shape {row.name}:{one.name}=COLUMN" + (f", or {one.weight}=0" if one.weight else "")
            raise UsageError(f"{row.said} needs {one.what}: {one.name}", hint=hint)
    return ShapeSpec(row.name, knobs, columns)


def specs_of(shapes: Shapes) -> tuple[ShapeSpec, ...]:
    """Shaping steps as given in the Python API.

    Raises:
        UsageError: one can't be parsed.
    """
    if isinstance(shapes, str):
        return (shape_spec(shapes),)
    if not isinstance(shapes, Mapping):
        return tuple(shape_spec(text) for text in shapes)
    result = {name: spec_of(SHAPINGS[name], given) for name, given in shapes.items()}
    return tuple(result[row.name] for row in SHAPINGS if row.name in result)


def said(spec: ShapeSpec) -> str:
    """The name of a step in messages."""
    return expressions.FLAG if spec.expression else SHAPINGS[spec.name].said


def typed(spec: ShapeSpec) -> str:
    """A step in the syntax of `--shape`, without knobs that have their default.

    Example:
        >>> typed(shape_spec("linear:input=0,turns=0,output=0.5"))
        'linear:output=0.5,input=0,turns=0'
    """
    if spec.expression:
        return spec.expression
    row = SHAPINGS[spec.name]
    knobs = {name: value for name, value in spec.knobs.items() if row.optional.get(name) != value}
    pairs = [
        *(f"{name}={value:g}" for name, value in knobs.items()),
        *(f"{n}={c}" for n, c in spec.columns.items()),
    ]
    return f"{spec.name}:{','.join(pairs)}" if pairs else spec.name


def after(spec: ShapeSpec) -> bool:
    """Whether a step is applied to the advantages."""
    return not spec.expression and SHAPINGS[spec.name].after


def measured(one: Input, text: str) -> str:
    """The expression over columns for an input."""
    return one.wrap.format(text) if one.wrap else text


def measures(specs: Sequence[ShapeSpec]) -> tuple[str, ...]:
    """The expressions over columns that some steps use, in the syntax of `--where`, without duplicates.

    Example:
        >>> measures([shape_spec("duplicate:response=answer"), shape_spec("r where status == 'ok'")])
        ('code(answer)', "status == 'ok'")
    """
    return tuple(dict.fromkeys(text for spec in specs for text in _measures(spec)))


def _measures(spec: ShapeSpec) -> Iterator[str]:
    if spec.expression:
        yield from expressions.parse(spec.expression).measures
        return
    for one in SHAPINGS[spec.name].inputs:
        if one.name in spec.columns:
            yield measured(one, spec.columns[one.name])


def needs(spec: ShapeSpec) -> tuple[str, ...]:
    """The columns that a step needs, named in `records.roles.ROLES`."""
    if spec.expression:
        return ("group", *(["lengths"] if expressions.parse(spec.expression).uses_length else []))
    row = SHAPINGS[spec.name]
    roles = [
        one.role
        for one in row.inputs
        if one.role and one.name not in spec.columns and not (one.weight and not spec.knobs[one.weight])
    ]
    return (*row.needs, *roles)


def described(specs: Sequence[ShapeSpec]) -> dict[str, dict[str, float | str]]:
    """The steps in the order in which they are applied: what each shapes, its formula and its knobs.

    Example:
        >>> described([flag_spec(SHAPINGS["clip"], "min=-1,max=1")])
        {'clip': {'shapes': 'reward', 'formula': 'clip(r, -1, 1)', 'min': -1.0, 'max': 1.0}}
    """
    result: dict[str, dict[str, float | str]] = {}
    for spec in sorted(specs, key=after):
        count = sum(name.partition(" ")[0] == spec.name for name in result)
        name = f"{spec.name} {count + 1}" if count else spec.name
        shapes = "advantage" if after(spec) else "reward"
        result[name] = {"shapes": shapes, "formula": formula(spec), **spec.knobs, **spec.columns}
    return result


def formula(spec: ShapeSpec) -> str:
    """The formula of a step, in one line."""
    if spec.expression:
        return one_line(spec.expression, 80, str)
    text = SHAPINGS[spec.name].formula.format(**spec.knobs).replace("(r -", "(r − ").replace("(r +", "(r + ")
    return (
        f"{text}, at least −{spec.knobs['factor']:g}"
        if spec.knobs.get("cap") and "factor" in spec.knobs
        else text
    )


def _pairs(name: str, text: str) -> Iterator[tuple[str, str]]:
    for pair in _PAIR.findall(text):
        key, equals, value = pair.partition("=")
        if not equals:
            known = ",".join(f"{knob}=…" for knob in SHAPINGS[name].knobs)
            raise UsageError(
                f"--shape {name}:{text}: '{pair}' is not KEY=VALUE", hint=f"--shape {name}:{known}"
            )
        yield key.strip(), value.strip()
