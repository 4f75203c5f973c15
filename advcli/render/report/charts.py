"""Drawings of the report as plain data: axes, and layers of SVG paths in a 1000 × 1000 square that is stretched to fit."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from advcli.render.numbers import count, number, share

SIDE = 1000
_TICKS = 5
_LABELS = 8
_LABEL = 14
_DIGITS = 6
# Values are clamped to this: differences of larger numbers overflow.
_LIMIT = 1e300
_FORMS: Mapping[str, Callable[[float], str]] = {
    "number": number,
    "count": count,
    "share": lambda value: share(value).replace(".0%", "%"),
}


@dataclass(frozen=True)
class Axis:
    """One direction of a drawing.

    Attributes:
        label: what it shows.
        low: value at the left or lower end.
        high: value at the other end.
        form: format of its values: "number", "count", "share".
        names: the labels at 0, 1, 2 … of a categorical axis; () for a numeric one.
    """

    label: str
    low: float
    high: float
    form: str = "number"
    names: tuple[str, ...] = ()

    @classmethod
    def over(cls, label: str, values: Sequence[float], *, zero: bool = False, form: str = "number") -> "Axis":
        """An axis that covers values with a margin.

        Args:
            label: what it shows.
            values: the values to cover; NaN is ignored.
            zero: start at 0, so that lengths and heights can be compared.
            form: format of its values.
        """
        known = [_bounded(value) for value in values if not math.isnan(value)] or [0.0]
        low, high = (min(0.0, *known), max(0.0, *known)) if zero else (min(known), max(known))
        margin = 0.05 * (high - low) or 0.5 * abs(high) or 1.0
        return cls(
            label,
            low if zero and low == 0 else low - margin,
            high if zero and high == 0 > low else high + margin,
            form,
        )

    @classmethod
    def of(cls, label: str, names: Sequence[str]) -> "Axis":
        """A categorical axis."""
        return cls(label, -0.5, len(names) - 0.5, "number", tuple(names))

    def at(self, value: float) -> float:
        """The position of a value, from 0 to 1000."""
        return round((_bounded(value) - self.low) / (self.high - self.low) * SIDE, 2)

    def ticks(self) -> list[tuple[float, str]]:
        """Position in percent and label of each tick."""
        if self.names:
            every = math.ceil(len(self.names) / _LABELS)
            chosen = range(0, len(self.names), every)
            return [(self.at(position) / 10, _short(self.names[position])) for position in chosen]
        return [
            (self.at(value) / 10, _FORMS[self.form](value))
            for value in nice(self.low, self.high, whole=self.form == "count")
        ]

    @property
    def width(self) -> int:
        """Characters of the longest tick label."""
        return max((len(text) for _, text in self.ticks()), default=1)


@dataclass(frozen=True)
class Layer:
    """Marks of one style.

    Attributes:
        look: "bars" (filled), "outline", "line", "band", "whisker" or "points".
        colour: the role that sets its colour: "original", "processed" or "dead".
        path: SVG path data.
        name: its entry in the legend; "" for none.
        size: width of points.
    """

    look: str
    colour: str
    path: str
    name: str = ""
    size: float = 0


@dataclass(frozen=True)
class Chart:
    """Layers between two axes.

    Attributes:
        x: the horizontal axis.
        y: the vertical axis.
        layers: bottom layer first.
        at: positions of the data for hover and click: "x" and, for points, "y" from 0 to 1000; "find": the search term
            for the list of groups.
    """

    x: Axis
    y: Axis
    layers: tuple[Layer, ...]
    at: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @property
    def legend(self) -> tuple[Layer, ...]:
        """The named layers, if there are several."""
        named = tuple(layer for layer in self.layers if layer.name)
        return named if len(named) > 1 else ()

    def line(self, x: Sequence[float], y: Sequence[float]) -> str:
        """A path through points, interrupted at undefined ones."""
        path, pen = [], "M"
        for position, value in zip(x, y, strict=True):
            if not math.isfinite(value):
                pen = "M"
                continue
            path.append(f"{pen}{self._at(position, value)}")
            pen = "L"
        return "".join(path)

    def points(self, x: Sequence[float], y: Sequence[float]) -> str:
        """A path of dots: zero-length lines, whose round caps keep their shape when the square is stretched."""
        finite = [point for point in zip(x, y, strict=True) if all(map(math.isfinite, point))]
        return "".join(f"M{self._at(*point)}h0" for point in finite)

    def whiskers(self, x: Sequence[float], ends: Sequence[tuple[float, float]]) -> str:
        """A path of vertical lines."""
        finite = [
            (position, *pair) for position, pair in zip(x, ends, strict=True) if all(map(math.isfinite, pair))
        ]
        return "".join(
            f"M{self._at(position, low)}V{SIDE - self.y.at(high):g}" for position, low, high in finite
        )

    def band(self, x: Sequence[float], ends: Sequence[tuple[float, float]]) -> str:
        """A path around the area between two curves, interrupted where they are undefined."""
        path, segment = [], []
        for position, pair in [*zip(x, ends, strict=True), (math.nan, (math.nan, math.nan))]:
            if all(map(math.isfinite, pair)):
                segment.append((position, *pair))
                continue
            if segment:
                up = [self._at(position, high) for position, _, high in segment]
                down = [self._at(position, low) for position, low, _ in reversed(segment)]
                path.append(f"M{'L'.join([*up, *down])}Z")
            segment = []
        return "".join(path)

    def bars(self, ends: Sequence[tuple[float, float]], heights: Sequence[float]) -> str:
        """A path around vertical bars; adjacent bars share one outline."""
        base, path, last = f"{SIDE - self.y.at(0):g}", "", math.nan
        for (low, high), height in zip(ends, heights, strict=True):
            if not height:
                continue
            start = "" if low == last else f"V{base}M{self.x.at(low):g} {base}"
            path += f"{start}V{SIDE - self.y.at(height):g}H{self.x.at(high):g}"
            last = high
        return f"{path[path.index('M') :]}V{base}" if path else ""

    def _at(self, x: float, y: float) -> str:
        return f"{self.x.at(x):g} {SIDE - self.y.at(y):g}"


@dataclass(frozen=True)
class Cell:
    """A cell of a heat map.

    Attributes:
        text: its value.
        detail: its tooltip.
        part: the value scaled to 0 for the smallest and 1 for the largest.
        chosen: whether the cell is framed.
    """

    text: str
    detail: str
    part: float
    chosen: bool


@dataclass(frozen=True)
class Heat:
    """A table whose cells are coloured by their value.

    Attributes:
        across: what the columns show.
        down: what the rows show.
        columns: their headings.
        rows: (heading, cells).
    """

    across: str
    down: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


@dataclass(frozen=True)
class Bars:
    """Horizontal bars next to their names; negative ones extend to the left of 0.

    Attributes:
        rows: (name, start of the bar in percent, its width in percent, value).
        zero: position of 0 in percent.
    """

    rows: tuple[tuple[str, float, float, str], ...]
    zero: float

    @classmethod
    def of(cls, names: Sequence[str], values: Sequence[float], texts: Sequence[str]) -> "Bars":
        """Bars for values."""
        finite = [value if math.isfinite(value) else 0.0 for value in values]
        low, high = min(0.0, *finite), max(0.0, *finite)
        scale = 100 / (high - low) if high > low else 0.0
        rows = (
            (name, round((min(0.0, value) - low) * scale, 1), round(abs(value) * scale, 1), text)
            for name, value, text in zip(names, finite, texts, strict=True)
        )
        return cls(tuple(rows), round(-low * scale, 1))


def nice(low: float, high: float, *, whole: bool = False) -> list[float]:
    """Round tick values between two numbers; integers only if `whole`.

    Example:
        >>> nice(-0.03, 1.03), nice(0, 230), nice(0, 2.1, whole=True)
        ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 50.0, 100.0, 150.0, 200.0], [0.0, 1.0, 2.0])
    """
    rough = (high - low) / _TICKS
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough * 0.8)
    step = max(step, 1.0) if whole else step
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{position * step:.12g}") for position in range(first, last + 1)]


def rounded(values: Sequence[float]) -> list[float | None]:
    """Round to six significant digits, more than a screen shows; None if undefined."""
    return [float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None for value in values]


def _bounded(value: float) -> float:
    return min(_LIMIT, max(-_LIMIT, value))


def _short(text: str) -> str:
    return text if len(text) <= _LABEL else f"{text[: _LABEL - 1]}…"
