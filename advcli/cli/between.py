"""`advcli compare --between`: builds two requests from the flags, and prints or writes the result."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import typer

from advcli.cli import flags, loading, output
from advcli.cli import options as opt
from advcli.cli.shared import Shared
from advcli.common.errors import UsageError
from advcli.common.wording import either

if TYPE_CHECKING:
    from advcli.pipeline.request import Request


# The value of --runs that makes each file or folder matched by an INPUT a run.
_PATH = "path"


@dataclass(frozen=True)
class Asked:
    """The options of `compare` that need `--between`; None if not given."""

    join: str | None
    b: list[str] | None
    runs: str | None
    top: int | None
    out: Path | None
    force: bool

    def refuse(self) -> None:
        """Raise if one was given without `--between`."""
        given = [f"--{name}" for name, value in vars(self).items() if value not in (None, False)]
        if given:
            raise UsageError(f"{given[0]} without --between does nothing", hint="--between, with two INPUTs")


def show(shared: Shared, asked: Asked) -> None:
    """Compare two inputs and print or write the result."""
    from advcli.io import tables
    from advcli.records.results.between import BetweenResult
    from advcli.records.results.result import dumped
    from advcli.render import between as text

    (a, of_a), (b, of_b) = _requests(shared, asked)
    check = partial(tables.check, asked.out, force=asked.force, hint="prompts.csv") if asked.out else None
    between = loading.loaded("advcli.pipeline.between:between")
    result = between(a, b, top=_number("--top", asked.top, 10, 0), by_path=(of_a, of_b), check=check)
    output.notes(result, quiet=shared.quiet)
    if asked.out:
        output.remarks(tables.leftovers([asked.out]), quiet=shared.quiet)
        tables.write(asked.out, result.prompts, force=asked.force)
    if shared.json_:
        typer.echo(dumped(BetweenResult.of(result)))
    elif not shared.quiet:
        output.drawn(lambda console: text.show(result, console))


def _number(flag: str, given: int | None, default: int, least: int) -> int:
    if given is not None and given < least:
        raise UsageError(f"{flag} is {given}, expected {least} or more")
    return default if given is None else given


def _requests(shared: Shared, asked: Asked) -> "tuple[tuple[Request, bool], tuple[Request, bool]]":
    """The requests for A and B, each with whether its runs come from paths; they differ only by `--b`."""
    inputs = shared.inputs or []
    if len(inputs) != 2:
        raise UsageError(
            f"--between compares two INPUTs, A and B, but {len(inputs)} {'was' if len(inputs) == 1 else 'were'} given",
            hint="a folder or a quoted glob for each; the same file twice with --b reward=COL for two rewards of it",
        )
    own, join = of_b(inputs, asked.b or (), asked.join)
    runs = own.pop("runs", asked.runs)
    return (
        _request_of(inputs[0], shared, asked.join, asked.runs),
        _request_of(inputs[1], replace(shared, **own), join, runs),
    )


def of_b(
    inputs: Sequence[str], pairs: Sequence[str], join: str | None, but: Collection[str] = ()
) -> tuple[dict[str, Any], str | None]:
    """The options of B that differ from A's, as values of `Shared`, and the column that joins its rows.

    Args:
        inputs: A and B.
        pairs: the values of `--b`.
        join: the column of A.
        but: options that the command does not have.

    Raises:
        UsageError: both are standard input, `--b` names an unknown option, or only B has a join column.
    """
    if list(inputs) == ["-", "-"]:
        raise UsageError("standard input ('-') cannot be both A and B", hint="a file for one of them")
    own = overrides(pairs, but)
    other = own.pop("join", join)
    if (join is None) != (other is None):
        raise UsageError("--b join=COL without --join does nothing", hint="--join COL for A")
    return own, other


def join_option(panel: str) -> Any:  # noqa: ANN401  typer's class
    """The option `--join`."""
    text = "Column that identifies the same row in A and B (within a prompt and step): an id or the response."
    return opt.option(panel, text, metavar="COL")


def together_option(panel: str) -> Any:  # noqa: ANN401  typer's class
    """The option `--together`."""
    return opt.option(panel, "Read two INPUTs as one data set (three or more always are).", "--together")


def _request_of(name: str, shared: Shared, join: str | None, runs: str | None) -> "tuple[Request, bool]":
    by_path = runs == _PATH
    by = None if by_path else runs
    # Prefetching two inputs at once would slow both down.
    return flags.build([name], shared, prefetch=False, row=join, named=True, by=by, ungrouped=True), by_path


def overrides(pairs: Sequence[str], but: Collection[str] = ()) -> dict[str, Any]:
    """Parse the values of `--b` into values of `Shared`.

    Args:
        pairs: each as "OPTION=VALUE".
        but: options that the command does not have.

    Raises:
        UsageError: an option is unknown or has no value.
    """
    result: dict[str, Any] = {}
    options = {name: how for name, how in _OF_B.items() if name not in but}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        name = name.strip().lstrip("-")
        if not (equals and value) or name not in options:
            raise UsageError(
                f"--b {pair}: expected OPTION=VALUE", hint=either([f"{known}=" for known in options])
            )
        field, read = options[name]
        result[field] = read(result.get(field), value)
    return result


def _text(_: object, value: str) -> str:
    return value


def _several(before: list[str] | None, value: str) -> list[str]:
    return [*(before or ()), value]


def _whole(_: object, value: str) -> int:
    if not value.isdecimal():
        raise UsageError(f"--b n={value}: expected a whole number", hint="--b n=8")
    return int(value)


_OF_B: Mapping[str, tuple[str, Callable[[Any, str], Any]]] = MappingProxyType(
    {
        "reward": ("reward", _several),
        "prompt-col": ("prompt_col", _text),
        "step-col": ("step_col", _text),
        "length-col": ("length_col", _text),
        "group-by": ("group_by", _text),
        "join": ("join", _text),
        "runs": ("runs", _text),
        "format": ("format_", _text),
        "n": ("n", _whole),
        "estimator": ("estimator", _text),
        "scale": ("scale", _text),
        "like": ("like", _text),
    }
)
