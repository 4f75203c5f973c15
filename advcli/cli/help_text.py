"""What `--help` shows: the common options and two examples; `--help-all` shows every option."""

import inspect
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from advcli.common.errors import UsageError
from advcli.common.wording import either


@dataclass(frozen=True)
class Help:
    """The short help of a command.

    Attributes:
        first: the options to show, at most ten.
        examples: two command lines that run after `advcli sample`.
    """

    first: tuple[str, ...]
    examples: tuple[str, str]


_COLUMNS = ("reward", "prompt_col", "n")

HELP: Mapping[str, Help] = {
    "inspect": Help(
        ("by", "step", "group", "top", "fail_if", *_COLUMNS, "json_", "quiet"),
        ("advcli inspect rewards.parquet", "advcli inspect rewards.parquet --step 2 --top 5"),
    ),
    "compute": Help(
        ("out", "force", "estimator", "like", "keep_pos", "keep_neg", *_COLUMNS, "json_"),
        (
            "advcli compute rewards.parquet --estimator rloo",
            "advcli compute rewards.jsonl --like verl --out as_verl.parquet",
        ),
    ),
    "compare": Help(
        ("vs", "estimator", "like", "keep_pos", "keep_neg", "between", "join", *_COLUMNS[:2], "json_"),
        (
            "advcli compare rewards.parquet --keep-pos 0.7 --vs rloo",
            "advcli compare rewards.parquet rewards.jsonl --between",
        ),
    ),
    "sweep": Help(
        ("estimator", "like", "scale", "keep_pos", "keep_neg", "sort", "out", *_COLUMNS[:2], "json_"),
        (
            "advcli sweep rewards.parquet --estimator grpo,rloo --keep-pos 0.5,0.7,1",
            "advcli sweep rewards.parquet --like trl,verl --sort mean_abs",
        ),
    ),
    "match": Help(
        ("logged_col", "like", "estimator", "scale", *_COLUMNS, "length_col", "json_", "quiet"),
        ("advcli match trl", "advcli match trl --like trl"),
    ),
    "prompts": Help(
        ("k", "pass_at", "sort", "top", "out", "where", *_COLUMNS[:2], "json_", "quiet"),
        ("advcli prompts rewards.parquet", "advcli prompts rewards.parquet --k 1,8 --top 5"),
    ),
    "verify": Help(
        (
            "reward",
            "vs_reward",
            "pass_at",
            "b",
            "join",
            "out",
            "by",
            "answer",
            "prompt_col",
            "json_",
        ),
        (
            "advcli verify rewards.parquet --vs-reward accuracy_reward --pass-at 1",
            "advcli verify rewards.parquet rewards.jsonl --b reward=accuracy_reward --pass-at 1",
        ),
    ),
    "select": Help(
        ("as_", "out", "min_", "margin", "band", "top", "force", *_COLUMNS[:2], "json_"),
        (
            "advcli select rewards.parquet --as sft --out sft.jsonl",
            "advcli select rewards.parquet --as prompts --band 0.2:0.8 --out prompts.jsonl",
        ),
    ),
    "report": Help(
        ("out", "force", "estimator", "like", "keep_pos", "keep_neg", *_COLUMNS, "png"),
        (
            "advcli report rewards.parquet",
            "advcli report rewards.parquet --keep-pos 0.7 --out keep_07.html",
        ),
    ),
    "estimators": Help((), ("advcli estimators", "advcli estimators rloo")),
    "filters": Help((), ("advcli filters", "advcli filters dynamic_sampling")),
    "shapers": Help((), ("advcli shapers", "advcli shapers gr3")),
    "formats": Help((), ("advcli formats", "advcli formats verl")),
    "frameworks": Help((), ("advcli frameworks", "advcli frameworks trl")),
    "sample": Help(("force", "quiet"), ("advcli sample", "advcli sample try/")),
    "schema": Help((), ("advcli schema", "advcli schema inspect")),
    "help": Help(("every",), ("advcli help compare", "advcli help inspect --all")),
}


class Command(TyperCommand):
    """A command whose `--help` is short."""

    def __init__(self, name: str, **settings: Any) -> None:  # noqa: ANN401  typer's settings
        examples = "\n\n".join(f"$ {line}" for line in HELP[name].examples)
        super().__init__(name, **{**settings, "epilog": f"Examples:\n\n{examples}"})

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  typer's class
        """Read the options; no number is NaN or infinite, as one that compares with everything alike asks for nothing.

        Raises:
            UsageError: a number is.
        """
        rest = super().parse_args(ctx, args)
        for option in self.params:
            value = ctx.params.get(option.name)
            if isinstance(value, float) and not math.isfinite(value):
                raise UsageError(f"{option.opts[0]} is {value:g}, expected a number")
        return rest

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  typer's classes
        """Write the help: the common options in one panel, or all with `--help-all`."""
        without_markdown()
        without_types(self.get_params(ctx))
        every, first = self.params, [*HELP[self.name or ""].first, "help_all"]
        if ctx.meta.get("all") or not every:
            super().format_help(ctx, formatter)
            return
        options = {option.name: copy(option) for option in every if option.name in first}
        for option in options.values():
            option.rich_help_panel = None  # type: ignore[attr-defined]
        arguments = [option for option in every if option.param_type_name == "argument"]
        self.params = [*arguments, *(options[name] for name in first if name in options)]
        try:
            super().format_help(ctx, formatter)
        finally:
            self.params = every


def with_help_all(command: Callable[..., None], name: str) -> Callable[..., None]:
    """Add the option `--help-all` to a command whose `--help` does not show every option."""
    signature = inspect.signature(command)
    if not HELP[name].first or len(signature.parameters) <= len(HELP[name].first) + 1:
        return command

    def run(*, help_all: bool, **values: Any) -> None:  # noqa: ANN401  typer has checked them
        del help_all
        command(**values)

    option = inspect.Parameter("help_all", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_HelpAll)
    kept = [part.replace(kind=inspect.Parameter.KEYWORD_ONLY) for part in signature.parameters.values()]
    run.__signature__ = inspect.Signature([*kept, option])  # type: ignore[attr-defined]
    run.__annotations__ = {part.name: part.annotation for part in (*kept, option)}
    run.__doc__ = command.__doc__
    return run


def _show_all(ctx: typer.Context, value: bool) -> None:
    if value:
        ctx.meta["all"] = True
        typer.echo(ctx.get_help(), color=ctx.color)
        raise typer.Exit


_HelpAll = Annotated[
    bool,
    typer.Option(
        "--help-all",
        callback=_show_all,
        is_eager=True,
        help="Show all options and exit.",
        show_default=False,
    ),
]


def without_markdown() -> None:
    """Import typer's help formatter without rich's Markdown, which is unused and takes a third of the import time."""
    name = "rich.markdown"
    if name in sys.modules:
        return
    stand_in: Any = ModuleType(name)
    stand_in.Markdown = object
    sys.modules[name] = stand_in
    try:
        import typer.rich_utils  # noqa: F401
    finally:
        del sys.modules[name]


def without_types(options: Iterable[Any]) -> None:
    """Hide the types of flags and arguments in the help, which users don't need."""
    for option in options:
        if option.param_type_name == "argument" or getattr(option, "is_flag", False):
            option.display_type_rich = lambda ctx: None


def message(error: Any) -> str:  # noqa: ANN401  typer's class, which is private
    """Typer's message about the command line, in one line; suggests only the most similar option."""
    from difflib import get_close_matches

    near = get_close_matches(
        getattr(error, "option_name", ""), getattr(error, "possibilities", None) or (), n=1
    )
    text = " ".join((error.message if near else error.format_message()).split()).rstrip(".")
    return f"{text}; try {near[0]}" if near else text


def no_such_command(name: str, names: Sequence[str]) -> UsageError:
    """The error for an unknown command; the hint is the most similar one."""
    from difflib import get_close_matches

    near = get_close_matches(name, names, n=1) or names
    return UsageError(f"No such command '{name}'", hint=either([f"advcli {known}" for known in near]))
