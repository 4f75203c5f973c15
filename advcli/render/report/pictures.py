"""The plots of the page as PNG files, drawn by Kaleido in an installed Chrome or Chromium."""

from importlib.util import find_spec
from typing import Any

from advcli.errors import MissingPackage
from advcli.records.page import Page
from advcli.render.report.plots import PALETTES, coloured, plots

INSTALL = "pip install 'advcli[report,png]'"
_WIDTH, _HEIGHT, _SCALE = 900, 500, 2


def pictures(page: Page) -> dict[str, bytes]:
    """Name of each plot → its picture, on light ground.

    Raises:
        MissingPackage: Kaleido, or the browser that it needs, is not there.
    """
    import kaleido

    drawn = {plot.name: _titled(coloured(plot.figure, PALETTES["light"]), plot.title) for plot in plots(page)}
    options = {"format": "png", "width": _WIDTH, "height": _HEIGHT, "scale": _SCALE}
    made: dict[str, bytes] = {}
    try:
        kaleido.start_sync_server(n=1, silence_warnings=True)
        try:
            for name, figure in drawn.items():
                made[name] = kaleido.calc_fig_sync(figure, opts=options)
        finally:
            kaleido.stop_sync_server(silence_warnings=True)
    except Exception as error:
        if type(error).__name__ != "ChromeNotFoundError":
            raise
        raise MissingPackage(
            "--png needs Chrome or Chromium, which is not installed", hint="apt-get install chromium"
        ) from error
    return made


def check_installed() -> None:
    """Say that Kaleido is missing before anything is computed.

    Raises:
        MissingPackage: Kaleido is not installed.
    """
    if find_spec("kaleido") is None:
        raise MissingPackage("--png needs Kaleido, which is not installed", hint=INSTALL)


def _titled(figure: dict[str, Any], title: str) -> dict[str, Any]:
    """A picture stands alone, so it says what it is."""
    layout = figure["layout"]
    layout |= {"title": {"text": title, "x": 0.01, "font": {"size": 18}}}
    layout["margin"] = {**layout["margin"], "t": 84 if layout["showlegend"] else 52}
    return figure
