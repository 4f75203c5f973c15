"""Detects the format of a dump by its columns and their contents, never by its name."""

from collections.abc import Callable, Mapping

from advcli.common.errors import DataError
from advcli.common.wording import either
from advcli.io.formats.catalog import FORMATS
from advcli.io.formats.format import Format

# The shapes that satisfy a requirement. A column of nulls satisfies any; "nested" is a list or an object.
_ALLOWED = {
    "number": ("number", "null"),
    "text": ("text", "null"),
    "list": ("list", "nested", "null"),
    "object": ("object", "nested", "null"),
}


def fits(form: Format, shapes: Mapping[str, str], has: Callable[[str], bool] | None = None) -> bool:
    """Whether a dump has the columns that a format requires, and none that it forbids.

    Args:
        form: a row of the catalog.
        shapes: column → "number", "text", "list", "object" ("nested": either of them), "null" or "other".
        has: returns whether a dotted path exists; None if only columns are known.
    """
    if form.only and not shapes.keys() <= {need.partition(":")[0] for need in form.requires}:
        return False
    return all(_satisfied(need, shapes, has) for need in form.requires) and not any(
        _satisfied(name, shapes, has) for name in form.forbids
    )


def recognised(
    shapes: Mapping[str, str], has: Callable[[str], bool] | None = None, *, name: str = "the dump"
) -> Format | None:
    """The format of a dump; None if no format with required columns fits.

    If several fit, one whose requirements include all of another's takes precedence.

    Args:
        shapes: column → its shape.
        has: returns whether a dotted path exists.
        name: the dump, for messages.

    Raises:
        DataError: two formats fit.
    """
    result = [form for form in FORMATS if form.requires and fits(form, shapes, has)]
    needs = {form.name: {need.partition(":")[0] for need in form.requires} for form in result}
    best = [form for form in result if not any(needs[form.name] < needs[other.name] for other in result)]
    if len(best) > 1:
        raise several([form.name for form in best], name)
    return best[0] if best else None


def several(names: list[str], place: str) -> DataError:
    """The error for a dump that fits several formats."""
    return DataError(
        f"{place}: the formats {' and '.join(names)} fit", hint=either([f"--format {name}" for name in names])
    )


def _satisfied(need: str, shapes: Mapping[str, str], has: Callable[[str], bool] | None) -> bool:
    name, _, shape = need.partition(":")
    if name in shapes:
        return not shape or shapes[name] in _ALLOWED[shape]
    return "." in name and has is not None and has(name)
