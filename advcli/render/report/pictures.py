"""Screenshots of the report's plots as PNG, taken with an installed Chrome or Chromium."""

import subprocess
import tempfile
from pathlib import Path
from shutil import which

from advcli.common.errors import MissingPackage
from advcli.common.wording import reason
from advcli.records.results.page import Page
from advcli.render.report.charts import Bars
from advcli.render.report.html import picture
from advcli.render.report.plots import Plot, plots

_BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
)
_WIDTH, _SCALE = 900, 2
# Heights by kind; bars add the height of each line.
_HEIGHTS = {"chart": 520, "heat": 400, "bars": 90}
_LINE = 34
_SECONDS = 60


def pictures(page: Page) -> dict[str, bytes]:
    """Name of each plot → its PNG, on light ground.

    Raises:
        MissingPackage: no browser is installed, or the screenshot fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        return {plot.name: _screenshot(browser(), plot, Path(folder)) for plot in plots(page)}


def browser() -> str:
    """The browser to take screenshots with.

    Raises:
        MissingPackage: none is installed.
    """
    result = next(filter(None, map(which, _BROWSERS)), None)
    if result is None:
        raise MissingPackage(
            "--png needs Chrome or Chromium, which is not installed", hint="apt-get install chromium"
        )
    return result


def _screenshot(program: str, plot: Plot, folder: Path) -> bytes:
    height = _HEIGHTS[plot.kind] + (_LINE * len(plot.figure.rows) if isinstance(plot.figure, Bars) else 0)
    source, target = folder / "plot.html", folder / "plot.png"
    source.write_text(picture(plot), encoding="utf-8", errors="backslashreplace")
    target.unlink(missing_ok=True)
    # No sandbox, because containers may not support one; the page is advcli's own and runs no script.
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--window-size={_WIDTH},{height}",
        f"--force-device-scale-factor={_SCALE}",
        f"--user-data-dir={folder / 'profile'}",
    ]
    try:
        subprocess.run(
            [program, *options, f"--screenshot={target}", source.as_uri()],
            check=True,
            capture_output=True,
            timeout=_SECONDS,
        )
        return target.read_bytes()
    except (OSError, subprocess.SubprocessError) as error:
        raise MissingPackage(f"--png: {program} took no screenshot: {reason(error)}") from error
