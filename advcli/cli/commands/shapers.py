"""`advcli shapers`: lists the shaping rules, or describes one."""

from typing import Annotated

import typer

from advcli.cli import output


def command(
    name: Annotated[str | None, typer.Argument(help="One rule.", show_default=False)] = None,
) -> None:
    """List the rules of --shape, or describe one.

    Shows the formula, knobs and their defaults, the columns it uses, and the source.
    """
    from advcli.records.roles import ROLES
    from advcli.shaping.catalog import SHAPINGS

    if name is None:
        rows = [(row.name, "advantage" if row.after else "reward", row.summary) for row in SHAPINGS]
        output.listing(("name", "shapes", "how"), rows)
        return
    row = SHAPINGS[name]
    given = [*row.required, *(f"{knob}={value:g}" for knob, value in row.optional.items())]
    described = {
        "shaper": f"{row.name}: {row.summary}",
        "shapes": "the advantage, after the estimator" if row.after else "the reward, before the estimator",
        "formula": row.pattern,
        "knobs": ", ".join(given) or "none",
    }
    if row.flag != "--shape":
        described["also"] = row.flag
    described |= {f"needs {need}": f"{ROLES[need].what}: {ROLES[need].flag}" for need in row.needs}
    for part in row.inputs:
        default = ROLES[part.role].flag if part.role else "optional" if part.optional else "required"
        described[f"{part.name}=EXPR"] = f"{part.what}, over columns; {default}"
    described["source"] = row.source
    output.pairs(described)
