"""Drawings of the page as plain data: axes, and layers of paths in a square of 1000 × 1000 that takes any shape."""

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
# Differences of larger numbers overflow.
_FAR = 1e300
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
        form: how its values are written: "number", "count", "share".
        names: the text at 0, 1, 2 …, where it counts categories; () elsewhere.
    """

    label: str
    low: float
    high: float
    form: str = "number"
    names: tuple[str, ...] = ()

    @classmethod
    def over(cls, label: str, values: Sequence[float], *, zero: bool = False, form: str = "number") -> "Axis":
        """An axis that holds some values with a little space around them.

        Args:
            label: what it shows.
            values: what it holds; NaN is left out.
            zero: start at 0, so that lengths and heights can be compared.
            form: how its values are written.
        """
        known = [_bounded(one) for one in values if not math.isnan(one)] or [0.0]
        low, high = (min(0.0, *known), max(0.0, *known)) if zero else (min(known), max(known))
        space = 0.05 * (high - low) or 0.5 * abs(high) or 1.0
        return cls(
            label,
            low if zero and low == 0 else low - space,
            high if zero and high == 0 > low else high + space,
            form,
        )

    @classmethod
    def of(cls, label: str, names: Sequence[str]) -> "Axis":
        """An axis with a place per name."""
        return cls(label, -0.5, len(names) - 0.5, "number", tuple(names))

    def at(self, value: float) -> float:
        """Where a value lies, from 0 to 1000."""
        return round((_bounded(value) - self.low) / (self.high - self.low) * SIDE, 2)

    def ticks(self) -> list[tuple[float, str]]:
        """Where the axis is marked, in percent, and with what."""
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
        """Characters of the longest mark."""
        return max((len(text) for _, text in self.ticks()), default=1)


@dataclass(frozen=True)
class Layer:
    """Marks of one look.

    Attributes:
        look: "bars" (filled), "outline", "line", "band", "whisker" or "points".
        colour: the role that colours it: "original", "processed" or "dead".
        path: what is drawn, in the language of SVG paths.
        name: what the legend says; "" for no entry.
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
        x: to the right.
        y: upwards.
        layers: the lowest first.
        at: where the data are, for the pointer: "x" and, for points, "y" from 0 to 1000; "find": what the list of groups
            is filtered by on a click.
    """

    x: Axis
    y: Axis
    layers: tuple[Layer, ...]
    at: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @property
    def legend(self) -> tuple[Layer, ...]:
        """The layers with a name, where there are several."""
        named = tuple(layer for layer in self.layers if layer.name)
        return named if len(named) > 1 else ()

    def line(self, x: Sequence[float], y: Sequence[float]) -> str:
        """A path through points, broken where one is undefined."""
        path, pen = [], "M"
        for position, value in zip(x, y, strict=True):
            if not math.isfinite(value):
                pen = "M"
                continue
            path.append(f"{pen}{self._at(position, value)}")
            pen = "L"
        return "".join(path)

    def points(self, x: Sequence[float], y: Sequence[float]) -> str:
        """A path of dots: lines without length, whose round ends keep their shape however the square is stretched."""
        known = [one for one in zip(x, y, strict=True) if all(map(math.isfinite, one))]
        return "".join(f"M{self._at(*one)}h0" for one in known)

    def whiskers(self, x: Sequence[float], ends: Sequence[tuple[float, float]]) -> str:
        """A path of upright lines."""
        known = [
            (position, *one) for position, one in zip(x, ends, strict=True) if all(map(math.isfinite, one))
        ]
        return "".join(
            f"M{self._at(position, low)}V{SIDE - self.y.at(high):g}" for position, low, high in known
        )

    def band(self, x: Sequence[float], ends: Sequence[tuple[float, float]]) -> str:
        """A path around every stretch between two curves."""
        path, stretch = [], []
        for position, one in [*zip(x, ends, strict=True), (math.nan, (math.nan, math.nan))]:
            if all(map(math.isfinite, one)):
                stretch.append((position, *one))
                continue
            if stretch:
                up = [self._at(position, high) for position, _, high in stretch]
                down = [self._at(position, low) for position, low, _ in reversed(stretch)]
                path.append(f"M{'L'.join([*up, *down])}Z")
            stretch = []
        return "".join(path)

    def bars(self, ends: Sequence[tuple[float, float]], heights: Sequence[float]) -> str:
        """A path around upright bars, or around the staircase that adjoining ones make."""
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
        detail: what else is known of it.
        part: where the value lies between the smallest, 0, and the largest, 1.
        chosen: whether the cell is marked.
    """

    text: str
    detail: str
    part: float
    chosen: bool


@dataclass(frozen=True)
class Heat:
    """A table whose cells are coloured by their value.

    Attributes:
        across: what the columns are.
        down: what the rows are.
        columns: heading of each.
        rows: (heading, cells).
    """

    across: str
    down: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


@dataclass(frozen=True)
class Bars:
    """Bars to the right of their names, to the left of 0 where negative.

    Attributes:
        rows: (name, where the bar begins and how wide it is in percent, value).
        zero: where 0 is, in percent.
    """

    rows: tuple[tuple[str, float, float, str], ...]
    zero: float

    @classmethod
    def of(cls, names: Sequence[str], values: Sequence[float], texts: Sequence[str]) -> "Bars":
        """Bars of some values."""
        known = [one if math.isfinite(one) else 0.0 for one in values]
        low, high = min(0.0, *known), max(0.0, *known)
        size = 100 / (high - low) if high > low else 0.0
        rows = (
            (name, round((min(0.0, value) - low) * size, 1), round(abs(value) * size, 1), text)
            for name, value, text in zip(names, known, texts, strict=True)
        )
        return cls(tuple(rows), round(-low * size, 1))


def nice(low: float, high: float, *, whole: bool = False) -> list[float]:
    """Round numbers from one end to the other; integers only if `whole`.

    Example:
        >>> nice(-0.03, 1.03), nice(0, 230), nice(0, 2.1, whole=True)
        ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 50.0, 100.0, 150.0, 200.0], [0.0, 1.0, 2.0])
    """
    rough = (high - low) / _TICKS
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * one for one in (1, 2, 5, 10) if size * one >= rough * 0.8)
    step = max(step, 1.0) if whole else step
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{position * step:.12g}") for position in range(first, last + 1)]


def rounded(values: Sequence[float]) -> list[float | None]:
    """Six significant digits are more than a screen shows; null where undefined."""
    return [float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None for value in values]


def _bounded(value: float) -> float:
    return min(_FAR, max(-_FAR, value))


def _short(text: str) -> str:
    return text if len(text) <= _LABEL else f"{text[: _LABEL - 1]}…"
