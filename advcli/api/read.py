"""Reads a dump from files or from a table in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, TypedDict, Unpack

from advcli.api.dump import Dump
from advcli.api.inputs import Inputs
from advcli.api.options import Base, Names, Rewards, names, paths, weighted
from advcli.common.errors import UsageError
from advcli.common.wording import either
from advcli.records.table import ColumnOptions

_BAD_ROW = ("error", "skip")
# Keyword → role in `records.roles`.
_ROLES = {"baseline": "baselines", "kl": "kl"}


class ReadOptions(TypedDict, total=False):
    """Further options of `read` and `from_frame`, named as on the command line.

    Attributes:
        length: the column with the tokens of a response.
        baseline: the column with the greedy reward of the row's prompt, for remax.
        kl: the column with the KL of a row or of its tokens.
        logged: the column with the advantage that the trainer logged.
        tokens: columns with a list per row: "values", "log_probs", "rollout_log_probs", "teacher_log_probs",
            "sum_pi_squared" or "mask" → column.
        layout: how rows are stored in a record: "rows", "ones", "lists" or "nested"; auto-detected by default.
        explode: the list of objects, or the lists, with one entry per row.
        dedup: drop exact duplicates.
        where: expressions that a row must meet to count, as `--where` takes them.
        on_bad_row: "error", or "skip" to count broken rows and continue.
        config: a trainer's YAML or JSON to take the advantage settings from.
        set: "KEY=VALUE" overrides of the configuration.
    """

    length: str | None
    baseline: str | None
    kl: str | None
    logged: str | None
    tokens: Mapping[str, str]
    layout: str | None
    explode: Names
    dedup: bool
    where: Names
    on_bad_row: str
    config: str | PathLike[str] | None
    set: Names


def read(  # noqa: PLR0913  the options that people use first
    path: "str | PathLike[str] | Sequence[str | PathLike[str]]",
    *,
    like: str | None = None,
    format: str | None = None,
    prompt: str | None = None,
    reward: Rewards = (),
    step: str | None = None,
    group_by: Names = (),
    n: int | None = None,
    **more: Unpack[ReadOptions],
) -> Dump:
    """Read a dump; columns are detected as on the command line.

    Args:
        path: a file, a folder, a glob or a URL, or a list of them.
        like: the framework whose numbers to reproduce, unless overridden in a call: "verl", "trl@1.5".
        format: name of the format; auto-detected by default. `advcli formats` lists them.
        prompt: the column that identifies the prompt.
        reward: the reward column; several are summed; a dict gives their weights.
        step: the column with the training step.
        group_by: the columns that together identify a group; the step is not added.
        n: rows per prompt: split the rows of a prompt (without one, consecutive rows) into groups of n.
        **more: length, baseline, kl, logged, tokens, layout, explode, dedup, where, on_bad_row ("error" or "skip"), config
            and set, as on the command line; see `advcli.api.read.ReadOptions`.

    Raises:
        UsageError: an option is invalid, or a column does not exist.
        DataError: a file cannot be read, or has no rollouts.

    Example:
        >>> import advcli
        >>> dump = advcli.read("sample_data/rewards.parquet")
        >>> len(dump), dump.columns["reward"], dump.inspect().dead_groups
        (502, {'reward': 1.0}, 8)
    """
    skip = _skip(more.get("on_bad_row", "error"))
    chosen = ColumnOptions(
        format=format, prompt=_one(prompt), rewards=weighted(reward), step=step, group_by=names(group_by), n=n
    )
    return Dump(Inputs.of_files(paths(path), skip_bad_rows=skip), _base(chosen, like, more))


def from_frame(  # noqa: PLR0913  the options that people use first
    frame: Any,  # noqa: ANN401  a table of any package
    *,
    like: str | None = None,
    format: str | None = None,
    prompt: str | None = None,
    reward: Rewards = (),
    step: str | None = None,
    group_by: Names = (),
    n: int | None = None,
    **more: Unpack[ReadOptions],
) -> Dump:
    """Make a dump from a table in memory.

    Args:
        frame: a DataFrame of pandas or polars, a pyarrow table, or anything with `__arrow_c_stream__`.
        like: the framework whose numbers to reproduce, unless overridden in a call.
        format: name of the format; auto-detected by default.
        prompt: the column that identifies the prompt.
        reward: the reward column; several are summed; a dict gives their weights.
        step: the column with the training step.
        group_by: the columns that together identify a group; the step is not added.
        n: rows per prompt.
        **more: as in `read`.

    Raises:
        UsageError: it is not a table, an option is invalid, or a column does not exist.
        DataError: the table has no rows, or a column cannot be used. Messages name rows `frame:1`, `frame:2`, …

    Example:
        >>> import advcli, pandas as pd
        >>> df = pd.DataFrame({"uid": ["a", "a", "b", "b"], "score": [0.0, 1.0, 0.5, 0.5]})
        >>> advcli.from_frame(df, prompt="uid", reward="score").advantages("rloo").original.tolist()
        [-1.0, 1.0, 0.0, 0.0]
    """
    skip = _skip(more.get("on_bad_row", "error"))
    chosen = ColumnOptions(
        format=format, prompt=_one(prompt), rewards=weighted(reward), step=step, group_by=names(group_by), n=n
    )
    return Dump(Inputs.of_frame(frame, skip_bad_rows=skip), _base(chosen, like, more))


def _base(chosen: ColumnOptions, like: str | None, more: ReadOptions) -> Base:
    """The options that apply to all calls on the dump."""
    unknown = next((name for name in more if name not in ReadOptions.__annotations__), None)
    if unknown is not None:
        raise UsageError(f"there is no option '{unknown}'", hint=either(list(ReadOptions.__annotations__)))
    options: dict[str, Any] = {**more}
    options.pop("on_bad_row", None)
    config, changes = options.pop("config", None), names(options.pop("set", ()))
    options |= {name: names(options.get(name, ())) for name in ("explode", "where")}
    roles = {role: options.pop(name, None) for name, role in _ROLES.items()}
    options["roles"] = tuple((role, column) for role, column in roles.items() if column)
    return Base(replace(chosen, **options), like, None if config is None else Path(config), changes)


def _one(prompt: object) -> str | None:
    """Check that the prompt is a single column."""
    if prompt is not None and not isinstance(prompt, str):
        raise UsageError(
            f"prompt is {prompt!r}, expected one column", hint="group_by=[...] for several columns"
        )
    return prompt


def _skip(on_bad_row: str) -> bool:
    if on_bad_row not in _BAD_ROW:
        raise UsageError(f"unknown value '{on_bad_row}' for on_bad_row", hint=either(_BAD_ROW))
    return on_bad_row == "skip"
