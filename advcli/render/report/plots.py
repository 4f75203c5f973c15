"""One function per plot: a page in, a figure of Plotly out, as plain data.

Colours are names that stand for a role ("@original"); the page and the pictures put in those of their theme.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from advcli.records.page import Histogram, Page
from advcli.render.numbers import count, number
from advcli.wording import counted, shown

# From Okabe and Ito's palette, which colour-blind readers can tell apart; lighter on dark ground.
PALETTES: Mapping[str, Mapping[str, str]] = {
    "light": {
        "original": "#0072B2",
        "processed": "#D55E00",
        "dead": "#8A8F98",
        "text": "#1d2330",
        "muted": "#5b6475",
        "grid": "#e3e6ec",
        "ground": "#ffffff",
    },
    "dark": {
        "original": "#56B4E9",
        "processed": "#E69F00",
        "dead": "#8b93a3",
        "text": "#e7eaf0",
        "muted": "#a3acbd",
        "grid": "#323947",
        "ground": "#1a1f29",
    },
}
_DIGITS = 6


@dataclass(frozen=True)
class Plot:
    """A figure with its words.

    Attributes:
        name: its id on the page, and the name of its picture.
        title: heading.
        note: what is shown, and how to read it.
        figure: "data" and "layout" of Plotly.
        wide: whether it takes the width of the page.
    """

    name: str
    title: str
    note: str
    figure: Mapping[str, Any]
    wide: bool = False


def plots(page: Page) -> tuple[Plot, ...]:
    """Every plot for which the page has data, in reading order."""
    return tuple(plot for draw in _PLOTS for plot in draw(page))


def coloured(value: Any, palette: Mapping[str, str]) -> Any:  # noqa: ANN401  any part of a figure
    """The figure with colours in place of their names."""
    if isinstance(value, str):
        return palette[value[1:]] if value.startswith("@") and value[1:] in palette else value
    if isinstance(value, Mapping):
        return {key: coloured(part, palette) for key, part in value.items()}
    return [coloured(part, palette) for part in value] if isinstance(value, list | tuple) else value


def _reward(page: Page) -> Sequence[Plot]:
    note = _outside(page.reward, "reward")
    return [
        Plot(
            "reward",
            "Rewards",
            f"Rows per reward.{note}",
            _bars(page.reward, "reward", "rows", ["@original"]),
        )
    ]


def _advantage(page: Page) -> Sequence[Plot]:
    note = "Rows per advantage: original over all rows, processed over the rows that are trained on."
    colours = ["@original", "@processed"]
    figure = _bars(page.advantage, "advantage", "rows", colours)
    return [Plot("advantage", "Advantages", note + _outside(page.advantage, "advantage"), figure)]


def _steps(page: Page) -> Sequence[Plot]:
    steps = page.inspection.facts.per_step
    if not steps:
        return []
    names = [_escaped(one.step) for one in steps]
    curves = [
        (
            "reward-by-step",
            "Mean reward per step",
            [("mean reward", "@original", "reward_mean")],
            "mean reward",
        ),
        ("live-by-step", "Live groups per step", [("live share", "@original", "live")], "share of groups"),
        (
            "advantage-by-step",
            "|A| per step",
            [("mean |A|", "@original", "mean_abs_adv"), ("max |A|", "@processed", "max_abs_adv")],
            "|A|, original",
        ),
    ]
    if page.inspection.facts.length is not None:
        curves.append(
            ("length-by-step", "Length per step", [("mean length", "@original", "length_mean")], "tokens")
        )
    found = []
    for name, title, lines, axis in curves:
        figure = _figure(
            [
                {
                    "type": "scatter",
                    "mode": "lines+markers" if len(steps) <= 60 else "lines",
                    "name": label,
                    "x": names,
                    "y": _rounded([getattr(one, attribute) for one in steps]),
                    "line": {"color": colour, "width": 2},
                    "hovertemplate": f"step %{{x}}<br>{label} %{{y:.4~g}}<extra></extra>",
                }
                for label, colour, attribute in lines
            ],
            "step",
            axis,
            legend=len(lines) > 1,
        )
        figure["layout"]["xaxis"]["type"] = "linear" if all(map(_is_number, names)) else "category"
        figure["layout"]["xaxis"]["nticks"] = 8
        if len(names) <= 12:
            figure["layout"]["xaxis"]["type"] = "category"
        if name == "live-by-step":
            figure["layout"]["yaxis"] |= {"range": [0, 1.04], "tickformat": ".0%"}
        found.append(Plot(name, title, f"{counted(len(steps), 'step')}.", figure))
    return found


def _groups(page: Page) -> Sequence[Plot]:
    points = page.groups
    if not points.total:
        return []
    data = []
    largest = max(points.groups)
    for label, colour, dead, symbol in (
        ("live", "@original", False, "circle"),
        ("dead", "@dead", True, "x"),
    ):
        chosen = [place for place, one in enumerate(points.dead) if one == dead]
        if not chosen:
            continue
        many = [points.groups[place] for place in chosen]
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": f"{label} ({sum(many):,})" if points.shown == points.total else label,
                "x": _rounded([points.mean[place] for place in chosen]),
                "y": _rounded([points.std[place] for place in chosen]),
                "customdata": many,
                "marker": {
                    "color": colour,
                    "symbol": symbol,
                    "opacity": 0.75,
                    "line": {"width": 0},
                    "size": [
                        round(7 + 17 * math.sqrt(one / largest), 1) if largest > 1 else 8 for one in many
                    ],
                },
                "hovertemplate": "mean %{x:.4~g}, std %{y:.4~g}<br>%{customdata} groups<extra></extra>",
            }
        )
    figure = _figure(data, "mean reward of the group", "std (ddof 1)", legend=True)
    note = "A marker per mean and spread; the larger, the more groups lie there. Dead groups (all rewards equal) lie at 0."
    return [Plot("groups", "Groups: mean and spread", note, figure)]


def _solve_rate(page: Page) -> Sequence[Plot]:
    top = number(page.inspection.facts.signal.max)
    if "solve rate" not in page.solve_rate.counts:
        note = f"Groups per mean reward, as hardly any row has the largest reward, {top}."
        note += _outside(page.solve_rate, "mean reward")
        figure = _bars(page.solve_rate, "mean reward of the group", "groups", ["@original"])
        return [Plot("solve-rate", "Mean reward of groups", note, figure)]
    note = f"Groups per share of their rows at the largest reward of the dump, {top}."
    figure = _bars(page.solve_rate, "share of rows at the largest reward", "groups", ["@original"])
    figure["layout"]["xaxis"] |= {"tickformat": ".0%", "range": [-0.06, 1.06]}
    return [Plot("solve-rate", "Solve rate", note, figure)]


def _keep(page: Page) -> Sequence[Plot]:
    if page.keep is None:
        return []
    grid = page.keep
    texts = [[number(value) for value in line] for line in grid.mean_abs]
    figure = _figure(
        [
            {
                "type": "heatmap",
                "x": [f"{share:g}" for share in grid.keep_pos],
                "y": [f"{share:g}" for share in grid.keep_neg],
                "z": [_rounded(line) for line in grid.mean_abs],
                "text": texts,
                "texttemplate": "%{text}",
                "customdata": [_rounded(line) for line in grid.kept],
                "colorscale": "Cividis",
                "xgap": 2,
                "ygap": 2,
                "colorbar": {"thickness": 10, "outlinewidth": 0, "tickfont": {"color": "@muted"}},
                "hovertemplate": "keep-pos %{x}, keep-neg %{y}<br>mean |A| %{z:.4~g}<br>"
                "%{customdata:.1%} of the rows kept<extra></extra>",
            }
        ],
        "keep-pos",
        "keep-neg",
    )
    for axis in ("xaxis", "yaxis"):
        figure["layout"][axis] |= {"type": "category", "showgrid": False}
    note = "Mean |A| of the kept rows for each pair of keep ratios, all other settings as they are."
    return [Plot("keep-ratios", "Keep ratios", note, figure)]


def _parts(page: Page) -> Sequence[Plot]:
    parts = page.inspection.facts.parts
    if parts is None:
        return []
    figure = _figure(
        [
            {
                "type": "bar",
                "orientation": "h",
                "y": [f"{one.weight:g} × {_escaped(one.name)}" for one in parts.parts][::-1],
                "x": _rounded([one.share for one in parts.parts])[::-1],
                "marker": {"color": "@original"},
                "hovertemplate": "%{y}<br>%{x:.1%} of the variance within groups<extra></extra>",
            }
        ],
        "share of the variance within groups",
        "",
    )
    figure["layout"]["xaxis"] |= {"tickformat": ".0%", "zeroline": True}
    figure["layout"]["yaxis"] |= {"automargin": True, "showgrid": False}
    note = (
        "How much of the reward's variance inside groups each part makes; below 0 it works against the sum."
    )
    return [Plot("reward-parts", "Reward parts", note, figure)]


def _length(page: Page) -> Sequence[Plot]:
    points = page.lengths
    if points is None or not points.total:
        return []
    figure = _figure(
        [
            {
                "type": "scatter",
                "mode": "markers",
                "name": "rows",
                "x": _rounded(points.length),
                "y": _rounded(points.advantage),
                "marker": {"color": "@original", "size": 5, "opacity": 0.45, "line": {"width": 0}},
                "hovertemplate": "%{x:,} tokens<br>A %{y:.4~g}<extra></extra>",
            },
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": "mean of a tenth of the rows",
                "x": _rounded(points.bin_length),
                "y": _rounded(points.bin_advantage),
                "line": {"color": "@processed", "width": 3},
                "hovertemplate": "about %{x:,.0f} tokens<br>mean A %{y:.4~g}<extra></extra>",
            },
        ],
        "tokens",
        "original advantage",
        legend=True,
    )
    facts = page.inspection.facts.length
    told = number(facts.with_advantage) if facts else number(None)
    note = f"{counted(points.total, 'row')}; correlation inside groups {told}."
    return [Plot("length", "Length and advantage", note, figure)]


_PLOTS: tuple[Callable[[Page], Sequence[Plot]], ...] = (
    _reward,
    _advantage,
    _steps,
    _groups,
    _solve_rate,
    _keep,
    _parts,
    _length,
)


def _bars(found: Histogram, x: str, y: str, colours: Sequence[str]) -> dict[str, Any]:
    """A histogram whose bins are counted already."""
    places = found.values or tuple(
        (low + high) / 2 for low, high in zip(found.edges[:-1], found.edges[1:], strict=True)
    )
    series = [(name, many) for name, many in found.counts.items()]
    data = []
    for (name, many), colour in zip(series, colours, strict=True):
        bar: dict[str, Any] = {
            "type": "bar",
            "name": name,
            "x": _rounded(places),
            "y": list(many),
            "marker": {"color": colour},
            "hovertemplate": f"{name} %{{x:.4~g}}<br>%{{y:,}} {y}<extra></extra>",
        }
        data.append(bar)
    figure = _figure(data, x, y, legend=len(series) > 1)
    figure["layout"] |= {"bargap": 0.04 if found.edges else 0.25, "barmode": "group"}
    if not found.edges and len(places) > 1:
        # A bar per value: as wide as the closest two values allow, but never a hair.
        span = places[-1] - places[0]
        gap = max(min(b - a for a, b in pairwise(places)), span / 60)
        for bar in data:
            bar["width"] = 0.8 * gap / len(data)
    if found.values and len(places) == 1:
        figure["layout"]["xaxis"] |= {"range": [places[0] - 1, places[0] + 1]}
        for bar in data:
            bar["width"] = 0.3 / len(data)
    return figure


def _figure(data: list[dict[str, Any]], x: str, y: str, *, legend: bool = False) -> dict[str, Any]:
    """Traces on a plain ground with named axes."""
    axis = {
        "gridcolor": "@grid",
        "linecolor": "@grid",
        "zerolinecolor": "@grid",
        "tickfont": {"color": "@muted"},
        "automargin": True,
    }
    return {
        "data": data,
        "layout": {
            "paper_bgcolor": "@ground",
            "plot_bgcolor": "@ground",
            "font": {
                "color": "@text",
                "size": 13,
                "family": "system-ui, -apple-system, 'Segoe UI', sans-serif",
            },
            "margin": {"l": 56, "r": 16, "t": 12 if not legend else 36, "b": 48},
            "xaxis": {**axis, "title": {"text": x, "font": {"color": "@muted", "size": 13}, "standoff": 8}},
            "yaxis": {**axis, "title": {"text": y, "font": {"color": "@muted", "size": 13}, "standoff": 8}},
            "showlegend": legend,
            "legend": {
                "orientation": "h",
                "x": 0,
                "y": 1.02,
                "yanchor": "bottom",
                "font": {"color": "@text"},
            },
            "hoverlabel": {"font": {"size": 13}},
            "dragmode": False,
        },
    }


def _outside(found: Histogram, what: str) -> str:
    """What lies beyond the bins, in words."""
    told = [
        f"{count(many)} {name}" if name != what else count(many)
        for name, many in found.outside.items()
        if many
    ]
    return f" Not in the picture, further out: {', '.join(told)}." if told else ""


def _rounded(values: Sequence[float]) -> list[float | None]:
    """Six significant digits are more than a screen shows; null where undefined."""
    return [float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None for value in values]


def _escaped(text: str) -> str:
    """A text that Plotly would otherwise read as markup."""
    return shown(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
