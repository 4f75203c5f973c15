"""Turns the flags of a command into the request that the pipeline takes."""

import os
import re
import stat
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from advcli.cli.loading import loaded
from advcli.cli.options import choice, reward_weight
from advcli.cli.shared import Shared
from advcli.common.errors import UsageError
from advcli.common.wording import either

if TYPE_CHECKING:
    from advcli.io.prefetch import Prefetch
    from advcli.pipeline.request import Request
    from advcli.records.settings import FilterSpec, Settings, ShapeSpec
    from advcli.records.table import ColumnOptions

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_SETTINGS = (
    "estimator",
    "scale",
    "keep_pos",
    "keep_neg",
    "compute_new_adv",
    "missing",
    "singleton",
    "device",
    "like",
    "count",
    "rollout_reward",
)


def build(
    inputs: Sequence[str],
    shared: Shared,
    *,
    prefix: str | None = None,
    prefetch: bool = True,
    advance: Callable[[int], None] = lambda rows: None,
    as_read: "Callable[[ColumnOptions], ColumnOptions]" = lambda columns: columns,
    **columns: Any,  # noqa: ANN401  fields of ColumnOptions
) -> "Request":
    """Build the request from the preset, the configuration and the flags.

    Args:
        inputs: where the rows are.
        shared: the flags.
        prefix: prefix of the columns to write; None if none are written.
        prefetch: prefetch the inputs while the rest of the program is imported; only with the local engine.
        advance: called with the number of rows read so far.
        as_read: turns the requested columns into those that the command reads.
        columns: further columns that this command reads, as fields of `ColumnOptions`.
    """
    from advcli.engine.scope import compares_groups
    from advcli.io import pandas_unasked
    from advcli.settings.resolve import resolve

    skip = choice("--on-bad-row", shared.on_bad_row, ("error", "skip")) == "skip"
    flags = {name: getattr(shared, name) for name in _SETTINGS}
    settings, chosen, warnings, origin = resolve(
        {**flags, "shaping": shaping(shared) or None, "filters": _filters(shared) or None},
        _columns(shared),
        preset=shared.preset,
        config_file=shared.config,
        pairs=shared.set_ or (),
    )
    chosen = replace(chosen, ungrouped=not compares_groups(settings))
    # Filters may need the log-probabilities even if the command does not show them.
    columns["log_probs"] = chosen.log_probs or columns.get("log_probs", "")
    chosen = replace(chosen, **columns)
    pandas_unasked.keep_out()
    started = None
    if prefetch and shared.engine == "local":
        started = _prefetch(inputs, as_read(chosen), settings, prefix, skip=skip, advance=advance)
    from advcli.pipeline.request import Request

    return Request(tuple(inputs), settings, chosen, skip, warnings, origin, started, shared.ray_address)


def _prefetch(
    inputs: Sequence[str],
    columns: "ColumnOptions",
    settings: "Settings",
    prefix: str | None,
    *,
    skip: bool,
    advance: Callable[[int], None],
) -> "Prefetch":
    from advcli.io.prefetch import Prefetch

    return Prefetch(
        inputs,
        columns,
        prefix=prefix,
        skip_bad_rows=skip,
        refuse_missing=settings.missing == "error",
        advance=advance,
    )


_ENGINES = {"local": "advcli.pipeline.{name}:{name}", "ray": "advcli.distributed.commands:{name}"}
_ON_RAY = ("compute", "compare", "inspect", "match", "prompts", "sweep")


def command(name: str, shared: Shared) -> Callable[..., Any]:
    """The function that runs a command on the engine of `--engine`.

    Raises:
        UsageError: the engine is unknown, or does not run the command.
    """
    engine = choice("--engine", shared.engine, tuple(_ENGINES))
    if name not in _ON_RAY:
        refuse_ray(name, shared)
    if engine == "local" and shared.ray_address is not None:
        raise UsageError("--ray-address is for --engine ray", hint="--engine ray")
    return partial(_run, _ENGINES[engine].format(name=name))


def _run(target: str, *args: object, **options: object) -> Any:  # noqa: ANN401  what the command gives
    """Import and run the command; importing this late overlaps with the prefetch."""
    return loaded(target)(*args, **options)


def refuse_ray(name: str, shared: Shared) -> None:
    """Refuse `--engine ray` for a command that only runs locally.

    Raises:
        UsageError: another engine than local was requested.
    """
    if shared.engine != "local":
        raise UsageError(
            f"{name} does not run on Ray; {', '.join(_ON_RAY)} do",
            hint="--engine local on a part of the files",
        )


def inputs(shared: Shared, part: str | None = None) -> list[str]:
    """The inputs; by default stdin if something is piped in, else the bundled sample, with a line on stderr.

    Args:
        shared: the flags.
        part: the file or folder of the sample to use; None for its main dump.
    """
    from advcli.cli.output import say
    from advcli.io.sources import sample

    names = _named_or_piped(shared)
    if not names:
        names = [str(sample.path(part or sample.DUMP))]
        if not shared.quiet:
            say("advcli: no input: using the bundled sample", dim=True)
    return names


def _named_or_piped(shared: Shared) -> list[str]:
    return shared.inputs or (["-"] if piped() else [])


def piped() -> bool:
    """Whether something was piped or redirected into standard input; false for a terminal or /dev/null."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError, AttributeError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def _names(flag: str, text: str | None) -> tuple[str, ...]:
    """Parse comma-separated column names."""
    if text is None:
        return ()
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise UsageError(f"{flag} '{text}' names no column", hint=f"{flag} A,B")
    return names


def _bytes(flag: str, text: str) -> int:
    """Parse a number of bytes, with or without a unit."""
    result = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*([kMG]?)i?B?", text.strip(), re.IGNORECASE)
    size = int(float(result[1]) * _UNITS[result[2].lower()]) if result else 0
    if not 0 < size < 1 << 40:
        raise UsageError(f"{flag} is '{text}', expected a size", hint=f"{flag} 1GB")
    return size


def shaping(shared: Shared) -> "tuple[ShapeSpec, ...]":
    """The shaping steps in order: --overlong, each --shape, --affine, --clip-reward, --kl-coef."""
    from advcli.shaping.catalog import SHAPINGS
    from advcli.shaping.spec import flag_spec, shape_spec, spec_of

    def flagged(name: str, text: str | None) -> "list[ShapeSpec]":
        return [] if text is None else [flag_spec(SHAPINGS[name], text)]

    result = [*flagged("overlong", shared.overlong), *map(shape_spec, shared.shape or ())]
    result += [*flagged("affine", shared.affine), *flagged("clip", shared.clip_reward)]
    if shared.kl_coef is not None:
        result.append(spec_of(SHAPINGS["kl"], {"coef": shared.kl_coef}))
    elif shared.kl_col is not None and not any(step.name == "kl" for step in result):
        raise UsageError("--kl-col without --kl-coef does nothing", hint="--kl-coef 0.05")
    return tuple(result)


def _filters(shared: Shared) -> "tuple[FilterSpec, ...]":
    """The filters in order, those before the statistics first."""
    from advcli.filters.catalog import FILTERS, filter_spec

    given = [("before", text) for text in shared.before or ()] + [
        ("after", text) for text in shared.after or ()
    ]
    result = tuple(filter_spec(when, text) for when, text in given)
    weighs = next((spec for spec in result if FILTERS[spec.name].weighs), None)
    if weighs is not None and shared.engine != "local":
        raise UsageError(
            f"{weighs.name} does not run on Ray", hint=f"without --{weighs.when} {weighs}, or --engine local"
        )
    return result


def _roles(shared: Shared) -> tuple[tuple[str, str], ...]:
    """Pairs of a role and its column, for roles with a number or a label per row."""
    from advcli.records.roles import FREE, ROLES

    result = {
        role.name: column
        for role in ROLES
        if role.holds in ("number", "label")
        and (column := getattr(shared, role.option))
        and role.name not in FREE
    }
    for text in shared.role or ():
        role, _, name = text.partition("=")
        if role not in FREE or not name:
            raise UsageError(
                f"--role '{text}': expected ROLE=COL",
                hint=f"--role {next(iter(FREE))}=COL; {either(list(FREE))}",
            )
        result[role] = name
    return tuple(result.items())


def _columns(shared: Shared) -> "ColumnOptions":
    from advcli.filters.catalog import expression, log_probs
    from advcli.records.roles import ROLES
    from advcli.records.table import MAX_LINE, ColumnOptions
    from advcli.shaping.spec import measures

    measured = measures(shaping(shared))
    return ColumnOptions(
        format=shared.format_,
        prompt=shared.prompt_col,
        group_by=_names("--group-by", shared.group_by),
        step=shared.step_col,
        rewards=tuple(reward_weight(text) for text in shared.reward or ()),
        length=shared.length_col,
        tokens={
            role.name: column
            for role in ROLES
            if role.holds == "list" and (column := getattr(shared, role.option))
        },
        extra=tuple(dict.fromkeys([*(spec.column for spec in _filters(shared) if spec.column), *measured])),
        where=tuple(shared.where or ()),
        tests=tuple(dict.fromkeys(test for spec in _filters(shared) if (test := expression(spec)))),
        measures=measured,
        strict=shared.quiet,
        n=shared.n,
        layout=shared.layout,
        explode=_names("--explode", shared.explode),
        dedup=shared.dedup,
        rollout=shared.rollout_col,
        turn=shared.turn_col,
        turn_rewards=shared.turn_rewards_col,
        roles=_roles(shared),
        log_probs=log_probs(_filters(shared)),
        max_line=_bytes("--max-line", shared.max_line) if shared.max_line is not None else MAX_LINE,
    )
