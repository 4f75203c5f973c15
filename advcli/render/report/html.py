"""Renders the report: one file that needs no network."""

import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any

from advcli.common.wording import counted, megabytes, shown
from advcli.records.results.page import Group, Page
from advcli.records.results.result import plain
from advcli.render.numbers import count, number, share
from advcli.render.report import sections
from advcli.render.report.charts import Axis, Chart
from advcli.render.report.findings import findings
from advcli.render.report.plots import Plot, plots

if TYPE_CHECKING:
    from jinja2 import Environment


def html(page: Page) -> str:
    """The page as HTML.

    Every value is escaped, because responses are untrusted. The page loads nothing, and its content security policy
    enforces that.
    """
    drawn = plots(page)
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            page=page,
            title=sections.title(page),
            facts=page.inspection.facts,
            findings=findings(page),
            plots=drawn,
            cards=sections.cards(page),
            tables=sections.tables(page),
            settings=sections.settings(page),
            sparks=dict(_sparks(page)),
            columns=_columns(page),
            states={group.group: _state(page, group) for group in page.browser},
            numbers=embedded({plot.name: _numbers(plot) for plot in drawn}),
            rows=embedded(_rows(page)),
        )
    )


def picture(plot: Plot) -> str:
    """A page with a single plot, on light ground."""
    return _environment().get_template("picture.html.j2").render(plot=plot)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader

    environment = Environment(
        loader=PackageLoader("advcli.render.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        # Markup that is marked as safe has a subclass of str.
        finalize=lambda value: shown(value, keep="\t\n") if type(value) is str else value,
    )
    environment.globals["counted"] = counted
    environment.filters |= {"number": number, "count": count, "share": share, "bytes": megabytes}
    return environment


def _numbers(plot: Plot) -> dict[str, Any]:
    """The data of a plot, with the positions and axes that its hover text needs."""
    if not isinstance(plot.figure, Chart):
        return {"data": plot.data}
    axes = {"x": asdict(plot.figure.x), "y": asdict(plot.figure.y)}
    return {"data": plot.data, "at": plot.figure.at, "axes": axes}


def _columns(page: Page) -> list[tuple[str, str]]:
    """Sort key and heading of each column of the list of groups; "" for columns that can't be sorted."""
    result = [
        ("group", "group"),
        ("step", "step"),
        ("size", "rows"),
        ("", "rewards"),
        ("mean", "mean"),
        ("std", "std"),
        ("solved", "solved"),
        ("max_centred", "max |r − mean|"),
        ("max_abs", "max |A|"),
        ("state", "state"),
        ("prompt", "prompt"),
    ]
    return result if page.inspection.facts.steps else [pair for pair in result if pair[0] != "step"]


def _state(page: Page, group: Group) -> str:
    """The state of a group: dead, live, single or no reward."""
    signal = page.inspection.facts.signal
    if group.dead and signal.min == signal.max:
        return "dead"
    if group.dead:
        ends = ((signal.max, "dead, all-max"), (signal.min, "dead, all-min"))
        return next((name for end, name in ends if group.mean == end), "dead")
    if math.isnan(group.mean):
        return "no reward"
    return "single" if math.isnan(group.std) else "live"


def _rows(page: Page) -> dict[str, Any]:
    """The groups and their rows, for the page's script."""
    return {
        "columns": ["row", "reward", "original", "processed", "kept", "tokens", "text"],
        "total": page.inspection.facts.groups,
        "groups": {str(group.group): _group(page, group) for group in page.browser},
    }


def _group(page: Page, group: Group) -> dict[str, Any]:
    figures: dict[str, Any] = {
        name: _short(getattr(group, name)) for name in ("mean", "std", "solved", "max_centred", "max_abs")
    }
    figures |= {"group": group.group, "step": _displayed(group.step), "size": group.size, "left": group.left}
    rows = [
        (
            _displayed(row.place.rpartition("/")[2]),
            *map(_short, (row.reward, row.original, row.processed)),
            row.kept,
            row.length,
            _displayed(row.text),
        )
        for row in group.rows
    ]
    return {"figures": figures | {"state": _state(page, group), "prompt": group.prompt[:20]}, "rows": rows}


def _displayed(text: str | None) -> str | None:
    return None if text is None else shown(text, keep="\t\n")


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def _sparks(page: Page) -> Iterator[tuple[int, str]]:
    """Group → SVG path with a bar per reward in ascending order, each 10 × 100 units."""
    signal = page.inspection.facts.signal
    axis = Axis.over("", [signal.min, signal.max], zero=True)
    for group in page.browser:
        yield group.group, "".join(_bars(group, axis))


def _bars(group: Group, axis: Axis) -> Iterator[str]:
    rewards = sorted(row.reward for row in group.rows if not math.isnan(row.reward))
    for position, reward in enumerate(rewards):
        # Even the lowest reward gets a visible bar.
        yield f"M{10 * position} 100v-{4 + round(axis.at(reward) * 0.096)}h8V100"


def embedded(value: Any) -> str:  # noqa: ANN401  anything that JSON can say
    r"""JSON that is safe inside a script element.

    Example:
        >>> embedded({"a": "</script>"})
        '{"a":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(plain(value), allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
