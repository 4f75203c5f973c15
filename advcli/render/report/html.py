"""The page itself: one file that needs no network."""

import json
from typing import Any

from advcli.errors import MissingPackage
from advcli.records.page import Page
from advcli.records.result import plain
from advcli.render.numbers import count, number
from advcli.render.report import sections
from advcli.render.report.plots import PALETTES, plots
from advcli.wording import shown

INSTALL = "pip install 'advcli[report]'"


def html(page: Page) -> str:
    """The page as HTML.

    Every value is escaped: what a model wrote is data. The page loads nothing, and its policy says so to the browser.

    Raises:
        MissingPackage: Jinja2 or Plotly is not installed.
    """
    try:
        from jinja2 import Environment, PackageLoader
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise MissingPackage(
            f"report needs {error.name or 'Jinja2 and Plotly'}, which is not installed", hint=INSTALL
        ) from error
    environment = Environment(
        loader=PackageLoader("advcli.render.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        # What is marked as safe is of a subclass, and our own.
        finalize=lambda value: shown(value, keep="\t\n") if type(value) is str else value,
    )
    environment.filters |= {"number": number, "count": count, "bytes": sections.size_of}
    drawn = plots(page)
    return environment.get_template("report.html.j2").render(
        page=page,
        title=sections.title(page),
        facts=page.inspection.facts,
        plots=drawn,
        cards=sections.cards(page),
        tables=sections.tables(page),
        settings=sections.settings(page),
        figures=embedded({plot.name: plot.figure for plot in drawn}),
        palettes=embedded(PALETTES),
        light=PALETTES["light"],
        dark=PALETTES["dark"],
        plotly=get_plotlyjs(),
    )


def check_installed() -> None:
    """Say that a package is missing before anything is computed.

    Raises:
        MissingPackage: Jinja2 or Plotly is not installed.
    """
    from importlib.util import find_spec

    lacking = [
        name for module, name in (("jinja2", "Jinja2"), ("plotly", "Plotly")) if find_spec(module) is None
    ]
    if lacking:
        raise MissingPackage(f"report needs {' and '.join(lacking)}, not installed here", hint=INSTALL)


def embedded(value: Any) -> str:  # noqa: ANN401  anything that JSON can say
    r"""JSON that may stand inside a script element, whatever the texts in it say.

    Example:
        >>> embedded({"a": "</script>"})
        '{"a":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(plain(value), allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
