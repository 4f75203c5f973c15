"""`advcli filters`: lists the filters, or describes one."""

from typing import Annotated

import typer

from advcli.cli import output


def command(
    name: Annotated[str | None, typer.Argument(help="One filter.", show_default=False)] = None,
) -> None:
    """List the filters of --before and --after, or describe one."""
    from advcli.common.registry import knobs
    from advcli.filters.catalog import FILTERS

    if name is None:
        rows = [(row.name, " or ".join(row.when), row.summary) for row in FILTERS]
        output.listing(("name", "when", "drops"), rows)
        return
    row = FILTERS[name]
    given = [f"{knob}={default}" if default else knob for knob, default in knobs(row.target).items()]
    if row.by_framework:
        given = ["those of the framework: advcli frameworks NAME"]
    output.pairs(
        {
            "filter": row.name,
            "drops": row.summary,
            "when": " or ".join(f"--{when}" for when in row.when),
            "needs": ", ".join(row.needs),
            "knobs": ", ".join([*given, *(["column=NAME"] if "rewards" in row.needs else [])]),
            "source": row.source,
        }
    )
