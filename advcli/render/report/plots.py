"""One function per plot: turns the page's data into a drawing and its numbers."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from advcli.common.wording import counted, shown
from advcli.records.results.page import Histogram, Page
from advcli.render.numbers import count, number, share
from advcli.render.report import query
from advcli.render.report.charts import Axis, Bars, Cell, Chart, Heat, Layer, rounded

# With more steps than this, intervals are a band and steps have no dots.
_DOTS = 60
_CATEGORIES = 12
_SMALLEST, _LARGEST, _SIZES = 7.0, 22.0, 4
_INTERVAL = "95% interval"


Columns = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Plot:
    """A drawing with its texts.

    Attributes:
        name: its id on the page, and the name of its picture.
        title: heading.
        note: what is shown, and how to read it.
        figure: the drawing.
        data: heading → plotted numbers, which the page has as JSON.
    """

    name: str
    title: str
    note: str
    figure: Chart | Heat | Bars
    data: Columns

    @property
    def kind(self) -> str:
        """The name of the macro that draws it."""
        return type(self.figure).__name__.lower()


def plots(page: Page) -> tuple[Plot, ...]:
    """Every plot for which the page has data, in reading order."""
    return tuple(plot for draw in _PLOTS for plot in draw(page) if any(map(_known, plot.data.values())))


def _known(column: Sequence[Any]) -> bool:
    """Whether a column has any defined value."""
    return any(value is not None for value in column)


def _reward(page: Page) -> Sequence[Plot]:
    note = "Rows per reward." + _outside(page.reward, "reward")
    return [_histogram("reward", "Rewards", note, page.reward, "reward", "rows", field="reward")]


def _advantage(page: Page) -> Sequence[Plot]:
    drawn = page.advantage
    original, processed = drawn.counts.values()
    note = "Rows per advantage: original over all rows, processed over the rows that are trained on."
    if original == processed:
        drawn = replace(
            drawn, counts={"advantage": original}, outside={"advantage": drawn.outside["original"]}
        )
        note = "Rows per advantage; all of them are trained on."
    note += _outside(drawn, "advantage")
    return [_histogram("advantage", "Advantages", note, drawn, "advantage", "rows", field="A")]


def _solve_rate(page: Page) -> Sequence[Plot]:
    top = number(page.inspection.facts.signal.max)
    drawn = page.solve_rate
    if "solve rate" not in drawn.counts:
        some = page.inspection.facts.signal.distinct > 1
        note = "Groups per mean reward" + (
            f", as hardly any row has the largest reward, {top}." if some else "."
        )
        note += _outside(drawn, "mean reward")
        title, axis = "Mean reward of groups", "mean reward of the group"
        return [_histogram("solve-rate", title, note, drawn, axis, "groups", field="mean")]
    note = f"Groups per share of their rows at the largest reward of the dump, {top}."
    axis = "share of rows at the largest reward"
    return [_histogram("solve-rate", "Solve rate", note, drawn, axis, "groups", field="solved", form="share")]


def _steps(page: Page) -> Sequence[Plot]:
    steps = page.inspection.facts.per_step
    if not steps:
        return []
    curves = [
        ("reward-by-step", "Mean reward per step", "mean reward", ("reward_mean",), "number"),
        ("live-by-step", "Live groups per step", "share of groups", ("live",), "share"),
        ("advantage-by-step", "|A| per step", "|A|, original", ("mean_abs_adv", "max_abs_adv"), "number"),
    ]
    if page.inspection.facts.length is not None:
        curves.append(("length-by-step", "Length per step", "tokens", ("length_mean",), "count"))
    return [
        Plot(name, title, _about_steps(page, figures[0]), *_curves(page, axis, figures, form))
        for name, title, axis, figures, form in curves
    ]


_HEADINGS: Mapping[str, str] = {
    "reward_mean": "mean reward",
    "live": "live share",
    "mean_abs_adv": "mean |A|",
    "max_abs_adv": "max |A|",
    "length_mean": "mean length",
}


def _about_steps(page: Page, figure: str) -> str:
    steps = page.inspection.facts.per_step
    known = any(math.isfinite(low) for low, _ in page.intervals[figure])
    interval = f", with the {_INTERVAL} over groups" if known else ""
    return f"{counted(len(steps), 'step')}{interval}."


def _curves(page: Page, label: str, figures: Sequence[str], form: str) -> tuple[Chart, Columns]:
    """One or two figures per step, the first with its interval."""
    steps = page.inspection.facts.per_step
    names = [shown(step.step) for step in steps]
    x, positions = _step_axis(names)
    ends = page.intervals[figures[0]]
    values = {figure: [getattr(step, figure) for step in steps] for figure in figures}
    covered = [
        *(value for column in values.values() for value in column),
        *(end for pair in ends for end in pair),
    ]
    y = (
        Axis("share of groups", 0, 1.04, "share")
        if form == "share"
        else Axis.over(label, covered, zero=True, form=form)
    )
    chart = Chart(x, y, ())
    few = len(steps) <= _DOTS
    intervals = chart.whiskers(positions, ends) if few else chart.band(positions, ends)
    layers = [Layer("whisker" if few else "band", "original", intervals)]
    for figure, colour in zip(figures, ("original", "processed"), strict=False):
        layers.append(Layer("line", colour, chart.line(positions, values[figure]), _HEADINGS[figure]))
        if few:
            layers.append(Layer("points", colour, chart.points(positions, values[figure]), size=_SMALLEST))
    outliers = [
        (position, step)
        for position, step in zip(positions, steps, strict=True)
        if set(figures) & set(step.stands_out)
    ]
    marked = [
        (position, getattr(step, figure))
        for position, step in outliers
        for figure in figures
        if figure in step.stands_out
    ]
    if marked:
        path = chart.points(*zip(*marked, strict=True))
        layers.append(Layer("points", "processed", path, "stands out", size=1.8 * _SMALLEST))
    data: dict[str, Sequence[Any]] = {"step": names}
    data |= {_HEADINGS[figure]: rounded(column) for figure, column in values.items()}
    data |= {
        f"{_INTERVAL}, {end}": rounded(column)
        for end, column in zip(("low", "high"), zip(*ends, strict=True), strict=True)
    }
    data["rows"] = [step.rows for step in steps]
    at: Columns = {
        "x": [x.at(position) for position in positions],
        "find": [query.term("step", name) for name in names],
    }
    return Chart(x, y, tuple(layers), at), data


def _step_axis(names: Sequence[str]) -> tuple[Axis, list[float]]:
    """The axis of steps and their positions: numeric if all are numbers and there are many, else categorical."""
    values = [_value(name) for name in names]
    if len(names) <= _CATEGORIES or not all(map(math.isfinite, values)):
        return Axis.of("step", names), list(map(float, range(len(names))))
    return Axis.over("step", values), values


def _groups(page: Page) -> Sequence[Plot]:
    drawn = page.groups
    if not drawn.total:
        return []
    chart = Chart(
        Axis.over("mean reward of the group", drawn.mean), Axis.over("std (ddof 1)", drawn.std, zero=True), ()
    )
    # Dead groups are on the axis, which would cut off half of each mark.
    margin = 0.04 * (chart.y.high - chart.y.low)
    chart = Chart(chart.x, Axis(chart.y.label, -margin, chart.y.high), ())
    largest = math.sqrt(max(drawn.groups))
    layers = []
    for dead, colour, name in ((False, "original", "live"), (True, "dead", "dead")):
        of_kind = [position for position, state in enumerate(drawn.dead) if state == dead]
        total = sum(drawn.groups[position] for position in of_kind)
        legend = f"{name} ({total:,})" if drawn.shown == drawn.total else name
        for size, members in _by_size(of_kind, drawn.groups, largest):
            means, stds = [drawn.mean[index] for index in members], [drawn.std[index] for index in members]
            path = chart.points(means, stds)
            layers.append(Layer("squares" if dead else "points", colour, path, legend, size))
            legend = ""
    at: Columns = {
        "x": [chart.x.at(mean) for mean in drawn.mean],
        "y": [chart.y.at(std) for std in drawn.std],
        "find": [
            f"{query.between('mean', mean)} {query.between('std', std)}"
            for mean, std in zip(drawn.mean, drawn.std, strict=True)
        ],
    }
    data: Columns = {
        "mean": rounded(drawn.mean),
        "std": rounded(drawn.std),
        "groups": list(drawn.groups),
        "state": ["dead" if dead else "live" for dead in drawn.dead],
    }
    note = "A mark per mean and spread; larger marks are more groups. Dead groups (squares, all rewards equal) are at 0."
    return [Plot("groups", "Groups: mean and spread", note, Chart(chart.x, chart.y, tuple(layers), at), data)]


def _by_size(points: Sequence[int], groups: Sequence[int], largest: float) -> list[tuple[float, list[int]]]:
    """Points by size, with areas proportional to their numbers of groups; largest first, so that none is covered."""
    sizes: dict[float, list[int]] = {}
    for position in points:
        part = math.sqrt(groups[position]) / largest if largest > 1 else 0.0
        size = _SMALLEST + round(part * _SIZES) / _SIZES * (_LARGEST - _SMALLEST)
        sizes.setdefault(size, []).append(position)
    return sorted(sizes.items(), reverse=True)


def _keep(page: Page) -> Sequence[Plot]:
    grid = page.keep
    known = (
        [] if grid is None else [value for line in grid.mean_abs for value in line if math.isfinite(value)]
    )
    if grid is None or not known:
        return []
    low, size = min(known), max(known) - min(known) or 1.0
    rows = []
    lines = zip(grid.keep_neg, grid.mean_abs, grid.kept, strict=True)
    for keep_neg, mean_abs, kept in reversed(list(lines)):
        cells = tuple(
            Cell(
                number(value),
                f"keep-pos {keep_pos:g}, keep-neg {keep_neg:g}: {share(part)} of the rows kept",
                round((value - low) / size, 3) if math.isfinite(value) else 0.0,
                (keep_pos, keep_neg) == grid.chosen,
            )
            for keep_pos, value, part in zip(grid.keep_pos, mean_abs, kept, strict=True)
        )
        rows.append((f"{keep_neg:g}", cells))
    data: Columns = {
        "keep-pos": [keep_pos for _ in grid.keep_neg for keep_pos in grid.keep_pos],
        "keep-neg": [keep_neg for keep_neg in grid.keep_neg for _ in grid.keep_pos],
        "mean |A|": rounded([value for line in grid.mean_abs for value in line]),
        "kept": rounded([value for line in grid.kept for value in line]),
    }
    chosen = f"keep-pos {grid.chosen[0]:g}, keep-neg {grid.chosen[1]:g}"
    note = (
        f"Mean |A| of the kept rows, with all other settings unchanged. Framed: the chosen ratios, {chosen}."
    )
    heat = Heat("keep-pos", "keep-neg", tuple(f"{keep_pos:g}" for keep_pos in grid.keep_pos), tuple(rows))
    return [Plot("keep-ratios", "Keep ratios", note, heat, data)]


def _parts(page: Page) -> Sequence[Plot]:
    parts = page.inspection.facts.parts
    if parts is None:
        return []
    names = [f"{part.weight:g} × {shown(part.name)}" for part in parts.parts]
    shares = [part.share for part in parts.parts]
    note = "Share of each part in the reward's variance within groups; a negative part works against the sum."
    data: Columns = {"part": names, "share of variance": rounded(shares)}
    return [
        Plot("reward-parts", "Reward parts", note, Bars.of(names, shares, list(map(share, shares))), data)
    ]


def _length(page: Page) -> Sequence[Plot]:
    drawn = page.lengths
    if drawn is None or not drawn.total:
        return []
    x = Axis.over("tokens", [*drawn.length, *drawn.bin_length], zero=True, form="count")
    y = Axis.over("original advantage", [*drawn.advantage, *drawn.bin_advantage])
    chart = Chart(x, y, ())
    tenths = chart.line(drawn.bin_length, drawn.bin_advantage)
    layers = (
        Layer("points", "original", chart.points(drawn.length, drawn.advantage), "rows", 5),
        Layer("line", "processed", tenths, "mean of a tenth of the rows"),
    )
    at: Columns = {
        "x": [x.at(length) for length in drawn.length],
        "y": [y.at(advantage) for advantage in drawn.advantage],
        "find": [
            f"group:{group} {query.between('tokens', length)}"
            for group, length in zip(drawn.group, drawn.length, strict=True)
        ],
    }
    data: Columns = {
        "group": list(drawn.group),
        "tokens": rounded(drawn.length),
        "original advantage": rounded(drawn.advantage),
    }
    facts = page.inspection.facts.length
    correlation = number(facts.with_advantage if facts else None)
    note = f"{counted(drawn.total, 'row')}; correlation within groups {correlation}."
    return [Plot("length", "Length and advantage", note, Chart(x, y, layers, at), data)]


_PLOTS: tuple[Callable[[Page], Sequence[Plot]], ...] = (
    _reward,
    _advantage,
    _solve_rate,
    _groups,
    _steps,
    _keep,
    _parts,
    _length,
)


def _histogram(  # noqa: PLR0913  the texts of a plot
    name: str,
    title: str,
    note: str,
    drawn: Histogram,
    label: str,
    counts: str,
    *,
    field: str,
    form: str = "number",
) -> Plot:
    """A histogram: filled bars for one column; for several, outlines, with the first one filled in pale."""
    ends = _ends(drawn)
    # Otherwise the bar of a single value would fill the plot.
    margin = [drawn.values[0] - 1, drawn.values[0] + 1] if len(drawn.values) == 1 else []
    margin = [0.0, 1.0] if form == "share" else margin
    x = Axis.over(label, [*margin, *(end for pair in ends for end in pair)], form=form)
    y = Axis.over(
        counts, [value for column in drawn.counts.values() for value in column], zero=True, form="count"
    )
    chart = Chart(x, y, ())
    paths = {column: chart.bars(ends, heights) for column, heights in drawn.counts.items()}
    if len(paths) == 1:
        layers = [Layer("bars", "original", path) for path in paths.values()]
    else:
        first = next(iter(paths.values()))
        layers = [Layer("pale", "original", first)]
        layers += [
            Layer("outline", colour, path, f"{column} ({sum(drawn.counts[column]):,})")
            for (column, path), colour in zip(paths.items(), ("original", "processed"), strict=True)
        ]
    bins = [(value, value) for value in drawn.values] or list(pairwise(drawn.edges))
    at: Columns = {
        "x": [x.at((low + high) / 2) for low, high in ends],
        "find": [query.between(field, low, high) for low, high in bins],
    }
    data: dict[str, Sequence[Any]] = {label: rounded(drawn.values)}
    if drawn.edges:
        data = {"from": rounded(drawn.edges[:-1]), "to": rounded(drawn.edges[1:])}
    data |= {counts if column == label else column: list(heights) for column, heights in drawn.counts.items()}
    return Plot(name, title, note, Chart(x, y, tuple(layers), at), data)


def _ends(drawn: Histogram) -> list[tuple[float, float]]:
    """The ends of each bar; a bar per value is as wide as the closest two allow, but never hairline."""
    if drawn.edges:
        return list(pairwise(drawn.edges))
    values = drawn.values
    if len(values) < 2:
        return [(value - 0.1, value + 0.1) for value in values]
    gap = max(min(b - a for a, b in pairwise(values)), (values[-1] - values[0]) / 60)
    return [(value - 0.4 * gap, value + 0.4 * gap) for value in values]


def _outside(result: Histogram, what: str) -> str:
    """A sentence on the values beyond the bins; "" if there are none."""
    beyond = [
        f"{count(total)} {name}" if name != what else count(total)
        for name, total in result.outside.items()
        if total
    ]
    return f" Outside the plot: {', '.join(beyond)}." if beyond else ""


def _value(text: str) -> float:
    """Parse a number; NaN for any other text."""
    try:
        return float(text)
    except ValueError:
        return math.nan
