"""`advcli formats`: lists the dump formats, or describes one."""

from typing import TYPE_CHECKING, Annotated

import typer

from advcli.cli import output

if TYPE_CHECKING:
    from advcli.io.formats.format import Format


def command(
    name: Annotated[str | None, typer.Argument(help="One format.", show_default=False)] = None,
) -> None:
    """List the dump formats, or describe one.

    Shows its columns, its files, the setting that enables it, and its traps.
    """
    from advcli.io.formats.catalog import FORMATS

    if name is None:
        output.listing(("name", "where it comes from"), [(row.name, row.summary) for row in FORMATS])
        return
    output.pairs(described(FORMATS[name]))


def described(row: "Format") -> dict[str, str]:
    """The description of a format as label → text, one entry per trap."""
    shown = {
        "format": f"{row.name}: {row.summary}",
        "detected by": ", ".join(row.requires)
        or ("the kind of its file" if row.opener else "nothing: used when no other format fits"),
        "without": ", ".join(row.forbids),
        "one per row": row.unique,
        "layout": f"{row.layout} {row.path}".strip(),
        "prompt": " or ".join(row.prompt) or "auto-detected",
        "step": " or ".join(row.step) or "auto-detected",
        "reward": " or ".join(row.reward)
        or ("all numbers, summed" if row.parts is not None else "auto-detected"),
        "logged advantage": " or ".join(row.logged) or "auto-detected",
        "files": ", ".join((*row.files, *row.otherwise)),
        "written by": row.source,
        "enabled by": row.switch,
    }
    shown |= {f"trap {number}": text for number, text in enumerate(row.traps, start=1)}
    return {label: text for label, text in shown.items() if text}
