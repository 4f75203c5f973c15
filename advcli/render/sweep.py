"""A sweep as a table, and as a heat map of keep ratios."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from advcli.common.errors import UsageError
from advcli.common.wording import either
from advcli.records.results.sweep import Point, Sweep
from advcli.render.numbers import count, number, share
from advcli.render.tables import health_line
from advcli.render.whole import print_line, print_whole, ruled, spread

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_CELLS = "▁▂▃▄▅▆▇█"
# As it is typed.
_NO_SHAPE = "none"
# Characters of a cell.
_LEAST = 4
_UNBOUNDED = 10_000

# Name of a figure in JSON and for --sort → its heading, as in `compare`, and its format.
_FIGURES: Mapping[str, tuple[str, Any]] = {
    "kept_rows": ("kept rows", count),
    "kept_groups": ("kept groups", count),
    "live_groups": ("live groups", count),
    "mean_abs": ("mean |A|", number),
    "std": ("std", number),
    "max_abs": ("max |A|", number),
    "share_positive": ("positive", share),
    "sign_changes": ("sign changes", share),
    "rank_agreement": ("rank agreement", number),
    "correlation": ("correlation", number),
    "effective_rows": ("effective rows", count),
    "token_share": ("token share", share),
}
# Headings → the line that explains them.
_LEGEND = (
    (("positive",), "positive: share of the kept rows with A > 0"),
    (("sign changes",), "sign changes: share of the kept rows"),
    (("rank agreement",), "rank agreement: Spearman's ρ within groups"),
    (("correlation",), "correlation: Pearson's r over the kept rows"),
    (
        ("sign changes", "rank agreement", "correlation"),
        "these compare with the first point, unfiltered",
    ),
    (("effective rows",), "effective rows: (Σ|A|)² / ΣA²"),
    (("token share",), "token share: tokens of the kept rows, of all"),
)
_SETTINGS: Mapping[str, str] = {
    "estimator": "estimator",
    "like": "like",
    "scale": "scale",
    "keep_pos": "keep-pos",
    "keep_neg": "keep-neg",
    "compute_new_adv": "recomputed",
    "shape": "shape",
}


def show(sweep: Sweep, console: "Console") -> None:
    """Print the groups, a line per point, and a heat map if both keep ratios have several values.

    Settings and figures that are the same at every point are listed above the table.
    """
    print_line(health_line(sweep.health), console, "bold")
    common = ", ".join(f"{heading} {text}" for heading, text in _common(sweep.points).items())
    if common:
        which = "the only point" if len(sweep.points) == 1 else "at every point"
        print_line(f"{which}: {common}", console, "dim")
    tables = [*_tables(sweep.points, console)]
    for table in tables:
        print_whole(table, console)
    if not tables:
        console.print()
    defined = {heading for heading, texts in _texts(sweep.points).items() if {*texts} != {"–"}}
    for headings, line in _LEGEND:
        if defined.intersection(headings):
            print_line(line, console, "dim")
    for line in heat_map(sweep.points, width=console.width if console.is_terminal else _UNBOUNDED):
        console.print(line, highlight=False, soft_wrap=True)


def in_order(sweep: Sweep, figure: str | None) -> Sweep:
    """The sweep with its points sorted.

    Args:
        sweep: the sweep.
        figure: its name or heading, for largest first; with a leading "-", smallest first; None keeps the order of
            the grid. Undefined figures come last.

    Raises:
        UsageError: there is no such figure.
    """
    if figure is None:
        return sweep
    name, down = figure.removeprefix("-"), not figure.startswith("-")
    names = {heading: name for name, (heading, _) in _FIGURES.items()}
    name = names.get(name, name)
    if name not in _FIGURES:
        raise UsageError(f"--sort {figure}: no such figure", hint=either(list(_FIGURES)))

    def sort_key(point: Point) -> tuple[bool, float]:
        value = point.figures()[name]
        undefined = value is None or math.isnan(value)
        return undefined, 0.0 if value is None or undefined else -value if down else value

    return replace(sweep, points=tuple(sorted(sweep.points, key=sort_key)))


def heat_map(points: Sequence[Point], figure: str = "mean_abs", *, width: int = _UNBOUNDED) -> Iterator[str]:
    """Lines of a heat map of a figure over keep-pos (across) and keep-neg (down), one map per combination of the others.

    A cell shows the figure between its smallest (▁) and its largest value (█) in the map; "·" if it is
    undefined or the point is not in the grid. A map wider than `width` is split into parts.
    """
    for label, cells in _maps(points).items():
        across = sorted({pos for pos, _ in cells})
        down = sorted({neg for _, neg in cells})
        if len(across) < 2 or len(down) < 2:
            continue
        figures = {key: point.figures()[figure] for key, point in cells.items()}
        values = {key: math.nan if value is None else float(value) for key, value in figures.items()}
        defined = [value for value in values.values() if not math.isnan(value)]
        low, high = (min(defined), max(defined)) if defined else (0.0, 0.0)
        heading = _FIGURES[figure][0]
        yield f"{heading} of {label}: ▁ {number(low)} … █ {number(high)}; keep-pos across, keep-neg down"
        wide = max(_LEAST, *(len(f"{pos:g}") for pos in across))
        left = max(_LEAST, *(len(f"{neg:g}") for neg in down)) + 1
        most = max(1, (width - left) // (wide + 1))
        for part in (across[at : at + most] for at in range(0, len(across), most)):
            yield " " * left + "".join(f" {pos:>{wide}g}" for pos in part)
            for neg in down:
                cells_of = (_cell(values.get((pos, neg), math.nan), low, high) for pos in part)
                yield f"{neg:>{left}g}" + "".join(f" {cell * wide}" for cell in cells_of)


def _maps(points: Sequence[Point]) -> dict[str, dict[tuple[float, float], Point]]:
    """The other settings, as a label → (keep-pos, keep-neg) → point."""
    result: dict[str, dict[tuple[float, float], Point]] = {}
    for point in points:
        settings = point.settings
        words = [
            settings["like"] or "",
            settings["estimator"],
            settings["scale"] or "",
            "recomputed" if settings["compute_new_adv"] else "",
            str(settings.get("shape") or ""),
        ]
        label = " ".join(filter(None, words))
        result.setdefault(label, {})[(settings["keep_pos"], settings["keep_neg"])] = point
    return result


def _cell(value: float, low: float, high: float) -> str:
    if math.isnan(value):
        return "·"
    position = (value - low) / (high - low) if high > low else 0.0
    return _CELLS[min(int(position * len(_CELLS)), len(_CELLS) - 1)]


def _texts(points: Sequence[Point]) -> dict[str, list[str]]:
    """Heading → a text per point."""
    columns = {
        heading: [_setting(point.settings.get(name)) for point in points]
        for name, heading in _SETTINGS.items()
    }
    if len(set(columns["shape"])) > 1:
        columns["shape"] = [_NO_SHAPE if text == "–" else text for text in columns["shape"]]
    for name, (heading, text) in _FIGURES.items():
        columns[heading] = [text(point.figures()[name]) for point in points]
    return columns


def _setting(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "–" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _common(points: Sequence[Point]) -> dict[str, str]:
    """Heading → value for settings and figures that are the same at every point, if informative."""
    columns = _texts(points)
    return {
        heading: texts[0]
        for heading, texts in columns.items()
        if len(set(texts)) == 1 and texts[0] not in ("–", "no")
    }


def _tables(points: Sequence[Point], console: "Console") -> Iterator["Table"]:
    """As many tables as needed to show every column; each begins with the settings."""
    columns = {heading: texts for heading, texts in _texts(points).items() if len(set(texts)) > 1}
    settings = [heading for heading in columns if heading in _SETTINGS.values()]
    figures = [heading for heading in columns if heading not in settings]
    return spread(figures, lambda shown: _table(columns, settings, shown), console)


def _table(columns: Mapping[str, Sequence[str]], settings: Sequence[str], figures: Sequence[str]) -> "Table":
    table = ruled(settings, figures)
    for row in zip(*(columns[heading] for heading in (*settings, *figures)), strict=True):
        table.add_row(*row)
    return table
