"""`advcli help`: the help of a command, as `advcli COMMAND --help` shows it."""

from typing import Annotated

import typer


def command(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="COMMAND", help="The command.", show_default=False)
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show all options.", show_default=False)] = False,
) -> None:
    """Show the help of a command."""
    from advcli.cli.help_text import no_such_command
    from advcli.cli.lazy import COMMANDS, load_command

    root = context.parent or context
    if name is None:
        typer.echo(root.get_help(), color=root.color)
        return
    if name not in COMMANDS:
        raise no_such_command(name, list(COMMANDS))
    loaded = load_command(name)
    with type(context)(loaded, info_name=name, parent=root) as inner:
        inner.meta["all"] = every
        typer.echo(loaded.get_help(inner), color=context.color)
