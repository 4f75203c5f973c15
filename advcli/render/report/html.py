"""The page itself: one file that needs no network."""

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

    Every value is escaped: what a model wrote is data. The page loads nothing, and its policy says so to the browser.
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
    """A page with one plot and nothing else, on light ground."""
    return _environment().get_template("picture.html.j2").render(plot=plot)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader

    environment = Environment(
        loader=PackageLoader("advcli.render.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        # What is marked as safe is of a subclass, and our own.
        finalize=lambda value: shown(value, keep="\t\n") if type(value) is str else value,
    )
    environment.globals["counted"] = counted
    environment.filters |= {"number": number, "count": count, "share": share, "bytes": megabytes}
    return environment


def _numbers(plot: Plot) -> dict[str, Any]:
    """What is drawn, for the reader and for the pointer."""
    if not isinstance(plot.figure, Chart):
        return {"data": plot.data}
    axes = {"x": asdict(plot.figure.x), "y": asdict(plot.figure.y)}
    return {"data": plot.data, "at": plot.figure.at, "axes": axes}


def _columns(page: Page) -> list[tuple[str, str]]:
    """Key, by which the list of groups is sorted, and heading of each of its columns; "" where it is not sorted."""
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
    return result if page.inspection.facts.steps else [one for one in result if one[0] != "step"]


def _state(page: Page, group: Group) -> str:
    """Whether the group carries a signal."""
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
    """The groups and their rows, as the page's script reads them."""
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
            _displayed(one.place.rpartition("/")[2]),
            *map(_short, (one.reward, one.original, one.processed)),
            one.kept,
            one.length,
            _displayed(one.text),
        )
        for one in group.rows
    ]
    return {"figures": figures | {"state": _state(page, group), "prompt": group.prompt[:20]}, "rows": rows}


def _displayed(text: str | None) -> str | None:
    return None if text is None else shown(text, keep="\t\n")


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def _sparks(page: Page) -> Iterator[tuple[int, str]]:
    """A bar per reward of each group in ascending order, as a path in a field of 10 × 100 per row."""
    signal = page.inspection.facts.signal
    axis = Axis.over("", [signal.min, signal.max], zero=True)
    for group in page.browser:
        yield group.group, "".join(_bars(group, axis))


def _bars(group: Group, axis: Axis) -> Iterator[str]:
    rewards = sorted(one.reward for one in group.rows if not math.isnan(one.reward))
    for position, reward in enumerate(rewards):
        # A reward at the lower end is still a row.
        yield f"M{10 * position} 100v-{4 + round(axis.at(reward) * 0.096)}h8V100"


def embedded(value: Any) -> str:  # noqa: ANN401  anything that JSON can say
    r"""JSON that may stand inside a script element, whatever the texts in it say.

    Example:
        >>> embedded({"a": "</script>"})
        '{"a":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(plain(value), allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
