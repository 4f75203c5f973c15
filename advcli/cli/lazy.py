"""The commands by name; each is imported only when it is run."""

import re
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from advcli.cli.help_text import Command, no_such_command, with_help_all, without_markdown, without_types

_ASK, _LOOK_UP, _MORE = "Ask a dump", "Look something up", "More"

COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "inspect": (_ASK, "Show what is in a dump: groups, signal, dead groups, lengths, steps."),
        "compute": (_ASK, "Add advantages to a copy of each dump, and compare original and processed."),
        "compare": (_ASK, "Compare advantages side by side: keep ratios, estimators, or two dumps."),
        "sweep": (_ASK, "Try a grid of estimators, scales, keep ratios and shaping, one line per point."),
        "match": (_ASK, "Find the rules that the logged advantages are consistent with."),
        "prompts": (_ASK, "Follow each prompt over the run: learned, forgotten, flat; pass@k."),
        "verify": (_ASK, "Compare two verifiers of the same rows: where do they disagree?"),
        "select": (_ASK, "Write rows for the next training step: best rows, pairs, or prompts."),
        "report": (_ASK, "Write one self-contained page with findings, plots, groups and rows."),
        "estimators": (_LOOK_UP, "List the estimators, or describe one."),
        "filters": (_LOOK_UP, "List the filters of --before and --after, or describe one."),
        "shapers": (_LOOK_UP, "List the rules of --shape, or describe one."),
        "formats": (_LOOK_UP, "List the dump formats, or describe one."),
        "frameworks": (_LOOK_UP, "List the frameworks that --like reproduces, or the estimators of one."),
        "sample": (_MORE, "Write the bundled sample dumps into a folder (default: this one)."),
        "schema": (_MORE, "Print the JSON schema of a command's --json, or list the schemas."),
        "help": (_MORE, "Show the help of a command."),
    }
)
"""Name → the heading of the command in `advcli --help`, and the first sentence of its help."""


_MARKUP = re.compile(r"\[(?=[a-zA-Z#/@])")


class Commands(TyperGroup):
    """Lists the commands with their first sentence, and imports the one that is run."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  typer's classes
        """Write the help, without the types of flags."""
        without_markdown()
        without_types(self.get_params(ctx))
        super().format_help(ctx, formatter)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:  # noqa: ANN401
        """Replace the placeholder by the command itself."""
        if args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise no_such_command(args[0], list(COMMANDS))
        name, _, rest = super().resolve_command(ctx, args)
        return name, None if name is None else load_command(name), rest


def add_to(app: typer.Typer) -> None:
    """Add a placeholder for each command to an app of class `Commands`."""
    for name, (heading, text) in COMMANDS.items():
        app.command(name, help=text, rich_help_panel=heading)(_placeholder)


def load_command(name: str) -> Any:  # noqa: ANN401  a private class of Typer
    """Import a command and return it with its options."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    command = import_module(f"advcli.cli.commands.{name}").command
    app.command(name, cls=Command)(with_help_all(command, name))
    return get_command(app)


def _placeholder() -> None:
    """Takes the place of a command that is not imported yet."""
