"""The base class of results: plain values for JSON, and a view that draws it."""

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from advcli.common.wording import shown_json

if TYPE_CHECKING:
    from rich.console import RenderableType


class View(Protocol):
    """How a result is drawn; implemented in `render.views`, because records must not import rendering code."""

    @property
    def rich(self) -> "RenderableType":
        """For a console of Rich."""

    def text(self) -> str:
        """For a terminal, without colours."""

    def html(self) -> str:
        """For a notebook, self-contained."""


class Result:
    """A result that draws itself as tables in a notebook and a terminal, and converts to plain values with `to_dict`.

    Attributes:
        schema: name and version of the JSON, such as "advcli/inspect/1"; see `advcli schema`.
    """

    schema: ClassVar[str]
    _view: View | None = None

    def to_dict(self) -> dict[str, Any]:
        """The plain values that `--json` prints: numbers, text, lists and dicts; None where undefined."""
        return {"schema": self.schema, **plain(self)}

    def drawn_by(self, view: View) -> None:
        """Set how the result is drawn."""
        # Results are frozen, and the view is not part of their data.
        object.__setattr__(self, "_view", view)

    def __rich__(self) -> "RenderableType":
        return self._view.rich if self._view else repr(self)

    def _repr_html_(self) -> str | None:
        return self._view.html() if self._view else None

    def __repr__(self) -> str:
        return self._view.text() if self._view else f"<{type(self).__name__}>"


def plain(value: Any) -> Any:  # noqa: ANN401  any value of a record
    """Convert a record to JSON types: dicts with text keys, lists, and None for NaN and ±inf.

    Example:
        >>> plain({8: (1.5, float("nan"))})
        {'8': [1.5, None]}
    """
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def dumped(result: Result) -> str:
    """A result as one line of strict JSON: null where undefined, never NaN."""
    return strict(result.to_dict())


def strict(values: Any) -> str:  # noqa: ANN401  any value of a record
    """Any values as one line of strict JSON."""
    return shown_json(json.dumps(plain(values), ensure_ascii=False, allow_nan=False))


def plain_cell(value: Any) -> Any:  # noqa: ANN401  a number of numpy or a text
    """A cell of a table as Python's own type."""
    return value.item() if hasattr(value, "item") else value


def fields_of(record: Any) -> dict[str, Any]:  # noqa: ANN401  any record
    """Field → value, one level deep."""
    return {field.name: getattr(record, field.name) for field in fields(record)}
