"""The commands by name; one is imported when it is run, so that none pays for the others."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "compute": "Annotate dumps with advantages, and compare original and processed.",
        "compare": "Compare advantages side by side: original, kept, kept + recomputed, and other estimators.",
        "inspect": "Say what is in a dump: format, columns, grouping, signal, phantoms, length, steps.",
        "sweep": "Try a grid of estimators, scales and keep ratios on data that are read once, one line per point.",
        "match": "Find which framework, estimator, scale, eps, ddof and grouping made the logged advantages.",
        "prompts": "Follow each prompt over the run: learned, forgotten, flat, never or always solved; pass@k.",
        "select": "Select rows for the next training step: the best row per prompt, pairs, or prompts by difficulty.",
        "verify": "Compare two reward columns of the same rows, and find groups that a verifier may call wrong by mistake.",
        "report": "Write one self-contained page with plots, figures and the most extreme groups.",
        "estimators": "List the estimators, or describe one: formula, inputs, defaults, source, and a worked number.",
        "filters": "List the filters of --before and --after, or describe one: what it leaves out, knobs, source.",
        "formats": "List the formats, or describe one: its columns, its files, its writer, its traps.",
        "frameworks": "List the frameworks whose numbers --like reproduces, or the estimators of one, with formula and source.",
    }
)
"""Name → the first sentence of the command's help, which is all that `advcli --help` shows of it."""


class Commands(TyperGroup):
    """Lists the commands by their first sentence, and imports the one that is run."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:  # noqa: ANN401
        """The whole command in place of its first sentence."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, None if name is None else whole(name), rest


def add_to(app: typer.Typer) -> None:
    """Give an app, whose class is `Commands`, all commands."""
    for name, text in COMMANDS.items():
        app.command(name, help=text)(_nothing)


def whole(name: str) -> Any:  # noqa: ANN401  a class that Typer keeps to itself
    """A command with its options."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command(name)(import_module(f"advcli.cli.{name}").command)
    return get_command(app)


def _nothing() -> None:
    """Stands for a command that is not imported."""
