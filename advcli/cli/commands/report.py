"""`advcli report`: one self-contained page with plots."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from advcli.cli import flags, output
from advcli.cli import options as opt
from advcli.cli.between import overrides
from advcli.cli.shared import Shared, with_shared
from advcli.common.errors import UsageError
from advcli.common.wording import redacted

if TYPE_CHECKING:
    from advcli.records.results.page import Page
    from advcli.records.table import Source

_PAGE = "Page"
_option = partial(opt.option, _PAGE)
Out = Annotated[
    Path,
    typer.Option("--out", "-o", metavar="FILE", help="The page to write.", rich_help_panel=_PAGE),
]
Texts = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        help="Include the responses of the N most extreme groups and of N dead groups.",
        rich_help_panel=_PAGE,
    ),
]
Png = Annotated[
    Path | None,
    _option("Also save each plot as a PNG into this folder (needs Chrome or Chromium).", metavar="DIR"),
]
Between = Annotated[
    str | None,
    _option("Another run, B: is the difference in reward real?", "--between", metavar="INPUT"),
]
B = Annotated[
    list[str] | None,
    _option("Override an option for B only: reward=COL, prompt-col=COL, ...", "--b", metavar="OPTION=VALUE"),
]
NoMatch = Annotated[bool, _option("Skip the search for the rule behind a logged advantage.", "--no-match")]


@partial(with_shared, but=("json_",))
def command(
    shared: Shared,
    out: Out = Path("report.html"),
    texts: Texts = 20,
    png: Png = None,
    no_match: NoMatch = False,
    between: Between = None,
    b: B = None,
    force: opt.Force = False,
) -> None:
    """Write one self-contained page with findings, plots, groups and rows.

    It has the figures of inspect, and the original and processed advantage of the chosen estimator.
    """
    from advcli.io import atomic
    from advcli.render.report import html, pictures

    if png is not None:
        pictures.browser()
    run = flags.command("report", shared)
    if b and between is None:
        raise UsageError("--b without --between does nothing", hint="--between INPUT")
    request = flags.build(flags.inputs(shared), shared)
    other = None
    if between is not None:
        own = replace(shared, **overrides(b or (), but=("join", "runs")))
        other = flags.build([between], own, prefetch=False, named=True, ungrouped=True)
    check = partial(_check, out, png, force=force)
    tell = output.progress_messages(quiet=shared.quiet)
    page = run(request, texts=texts, search=not no_match, other=other, check=check, tell=tell)
    page = replace(page, command=_command_line())
    output.notes(page.report, quiet=shared.quiet)
    output.remarks(atomic.leftovers([out]), quiet=shared.quiet)
    with atomic.replacing(out, force=force) as file:
        file.write(html.html(page).encode("utf-8", errors="backslashreplace"))
    wrote = [str(out)]
    if png is not None:
        wrote += [str(path) for path in _pictures(page, png, force=force)]
    if not shared.quiet:
        for path in wrote:
            output.say(f"advcli: wrote {path}", dim=True)


def _command_line() -> str:
    """The command line, without the secrets of URLs."""
    return shlex.join(["advcli", *(redacted(text, whole=True) for text in sys.argv[1:])])


def _check(out: Path, png: Path | None, sources: "Sequence[Source]", *, force: bool) -> None:
    """Refuse to overwrite files, before anything is computed."""
    from advcli.io import atomic

    atomic.check(out, sources, force=force)
    if out.suffix.lower() not in (".html", ".htm") and (out.is_file() or not out.exists()):
        raise UsageError(f"--out {out}: expected .html", hint=f"--out {out.stem.strip('-') or 'report'}.html")
    if png is not None and png.exists() and not png.is_dir():
        raise UsageError(f"--png {png} is a file, expected a folder", hint="--png plots/")
    existing = sorted(png.glob("*.png")) if png is not None and not force else []
    if existing:
        raise UsageError(f"{existing[0]} exists already", hint="--force to overwrite it, or another --png")


def _pictures(page: "Page", folder: Path, *, force: bool) -> list[Path]:
    """Write the pictures atomically, and return their paths."""
    from advcli.io import atomic
    from advcli.render.report import pictures

    written = []
    for name, picture in pictures.pictures(page).items():
        path = folder / f"{name}.png"
        atomic.check(path, (), force=force, parent=False, flag="--png")
        with atomic.replacing(path, force=force, flag="--png") as file:
            file.write(picture)
        written.append(path)
    return written
