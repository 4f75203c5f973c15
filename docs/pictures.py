"""Draw the pictures of the documentation: `python docs/pictures.py [FOLDER]`.

The screens are Rich's own SVG; the picture of the page is taken in Chromium, if Playwright and the browser are there.
They are drawn in a folder with a copy of the sample, so that they name the file as the title does, wherever that folder lies.
"""

import contextlib
import importlib.util
import io
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI

from advcli.inspection.details import Wanted
from advcli.io.sources import sample
from advcli.pipeline.compare import compare
from advcli.pipeline.inspect import inspect
from advcli.pipeline.report import report
from advcli.pipeline.request import Request
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions
from advcli.render import inspection, tables
from advcli.render.report.html import html

HERE = Path(__file__).parent
SIZE = {"width": 1240, "height": 1060}


def main(folder: Path = HERE) -> None:
    """Write compare.svg and inspect.svg."""
    folder = folder.resolve()
    with _beside_the_sample():
        _screens(folder)


def _screens(folder: Path) -> None:
    settings = Settings(keep_pos=0.7, keep_neg=0.5)
    shown = compare(_request(settings), {"rloo": Settings("rloo")})
    title = "advcli compare --keep-pos 0.7 --keep-neg 0.5 --vs rloo"
    _screen(partial(tables.show, shown), folder / "compare.svg", title, 128)
    found = inspect(_request(Settings(), find_outcomes=True), Wanted())
    _screen(partial(inspection.show, found), folder / "inspect.svg", "advcli inspect rewards.parquet", 100)


def page(folder: Path = HERE) -> None:
    """Write report.png: what a browser shows first."""
    from playwright.sync_api import sync_playwright

    folder = folder.resolve()
    with _beside_the_sample():
        made = report(_request(Settings(keep_pos=0.7, keep_neg=0.5)))
        # Without a date, which would make another picture every day.
        text = html(
            replace(
                made, made="", command=f"advcli report {sample.path().name} --keep-pos 0.7 --keep-neg 0.5"
            )
        )
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        path = Path(scratch) / "report.html"
        path.write_text(text, encoding="utf-8")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        tab = browser.new_page(viewport=SIZE)
        tab.goto(path.as_uri())
        tab.wait_for_selector("body[data-ready]")
        tab.screenshot(path=folder / "report.png")
        browser.close()


@contextlib.contextmanager
def _beside_the_sample() -> Iterator[None]:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(sample.path(), folder)
        with contextlib.chdir(folder):
            yield


def _request(settings: Settings, *, find_outcomes: bool = False) -> Request:
    return Request((sample.path().name,), settings, ColumnOptions(find_outcomes=find_outcomes))


def _screen(show: Callable[[Console], None], path: Path, title: str, width: int) -> None:
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    show(console)
    console.save_svg(str(path), title=title, theme=MONOKAI, unique_id=path.stem)


if __name__ == "__main__":
    folders = list(map(Path, sys.argv[1:]))
    main(*folders)
    if importlib.util.find_spec("playwright"):
        page(*folders)
