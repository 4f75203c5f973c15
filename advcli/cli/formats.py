"""`advcli formats`: the dumps that are recognised."""

from typing import Annotated

import typer

from advcli.cli import _show
from advcli.io.catalog import FORMATS


def command(
    name: Annotated[str | None, typer.Argument(help="One format.", show_default=False)] = None,
) -> None:
    """List the formats, or describe one: its columns, its files, its writer."""
    if name is None:
        _show.listing(("name", "where it comes from"), [(row.name, row.summary) for row in FORMATS])
        return
    row = FORMATS[name]
    _show.pairs(
        {
            "format": f"{row.name}: {row.summary}",
            "recognised by": ", ".join(row.requires) or "nothing: used when no other format fits",
            "files": ", ".join(row.files),
            "written by": row.source,
        }
    )
