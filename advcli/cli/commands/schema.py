"""`advcli schema`: the JSON schemas of `--json`."""

import json
from typing import Annotated

import typer

from advcli.cli import output
from advcli.common.errors import UsageError
from advcli.common.wording import either


def command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="COMMAND", help="One command; 'between' for compare --between.", show_default=False
        ),
    ] = None,
) -> None:
    """Print the JSON schema of a command's --json, or list the schemas."""
    from advcli.records.results.schema import RESULTS, schema

    if name is None:
        output.listing(
            ("command", "schema", "what is printed"),
            [(known, result.schema, schema(known)["description"]) for known, result in RESULTS.items()],
        )
        return
    if name not in RESULTS:
        raise UsageError(f"'{name}' prints no JSON", hint=either(list(RESULTS)))
    typer.echo(json.dumps(schema(name), indent=2, ensure_ascii=False))
