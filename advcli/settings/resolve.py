"""Merges the layers of settings: defaults < config < preset < --set < flags."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from advcli.common.errors import UsageError
from advcli.common.wording import one_line
from advcli.records.settings import DEFAULT_ESTIMATOR, Settings
from advcli.records.table import ColumnOptions
from advcli.settings import config
from advcli.settings.catalog import PRESETS

# The maximum rows per group, more than any run has.
_MAX_N = 1 << 31
_SHARES = ("keep_pos", "keep_neg")
# Settings that the other columns of a comparison inherit from the first.
_INHERITED = ("missing", "singleton", "device", "count", "rollout_reward")
# Knobs of an estimator that a configuration can set.
_DISCOUNTS = ("gamma", "lam")


def resolve(
    flags: Mapping[str, Any],
    columns: ColumnOptions,
    *,
    preset: str | None = None,
    config_file: Path | None = None,
    pairs: Sequence[str] = (),
) -> tuple[Settings, ColumnOptions, tuple[str, ...], dict[str, str]]:
    """Merge the layers, later ones taking precedence.

    Args:
        flags: setting → value from the command line; None if not given.
        columns: the column options of the command line.
        preset: name of a preset.
        config_file: a trainer's configuration.
        pairs: `KEY=VALUE` overrides of the configuration.

    Returns:
        The settings, the column options with `n` and `weights` filled in, warnings, and setting → the origin of
        its value ("" for the command line).

    Raises:
        UsageError: a file or value cannot be read or is invalid.
    """
    flat = config.load(config_file) if config_file else {}
    where = str(config_file or "--set")
    changes, ignored = config.overrides(pairs)
    base, only_for, unread = config.settings(_without(flat, changes), where)
    changed, changed_only_for, changed_unread = config.settings(changes, "--set")
    given = {name: value for name, value in flags.items() if value is not None}
    spec, knobs = parse_spec(given.pop("estimator", None) or "")
    layers = [
        (where, _checked(base, where, flat)),
        (f"preset {preset}", dict(PRESETS[preset].settings) if preset else {}),
        ("--set", _checked(changed, "--set", changes)),
        ("", {**spec, **given}),
    ]
    merged = {name: value for _, layer in layers for name, value in layer.items()}
    origin = {name: position for position, layer in layers for name in layer}
    for name, only in (only_for | changed_only_for).items():
        # verl's configuration always has norm_adv_by_std_in_grpo, which does not apply to rloo.
        if merged.get("estimator", DEFAULT_ESTIMATOR) not in only and origin[name] in (where, "--set"):
            merged.pop(name, None)
    n, weights = merged.pop("n", None), merged.pop("weights", ())
    discounts = {name: merged.pop(name) for name in _DISCOUNTS if name in merged}
    settings = Settings(**merged, knobs={**discounts, **knobs})
    columns = replace(columns, n=columns.n if columns.n is not None else n, weights=weights)
    unreplayable = config.unreplayable({**_without(flat, changes), **changes}, where)
    if config_file and not any(map(config.followed, flat)):
        unreplayable = [*unreplayable, f"{where}: no key that advcli follows, so nothing is taken from it"]
    return settings, columns, (*ignored, *unread, *changed_unread, *unreplayable), origin


def parse_spec(spec: str) -> tuple[dict[str, Any], dict[str, float | str]]:
    """Parse `NAME[:KEY=VALUE,...]`, an estimator with its settings.

    Returns:
        setting → value, and the knobs of the estimator: numbers, or text if not a number.

    Raises:
        UsageError: a part is not KEY=VALUE, or a share is not a number.

    Example:
        >>> parse_spec("grpo:scale=none,keep_pos=0.7,eps=1e-4")
        ({'estimator': 'grpo', 'scale': 'none', 'keep_pos': 0.7}, {'eps': 0.0001})
    """
    if not spec:
        return {}, {}
    name, _, rest = spec.partition(":")
    if not name.strip():
        raise UsageError(f"'{spec}' names no estimator", hint=f"grpo:{rest or 'scale=none'}")
    result: dict[str, Any] = {"estimator": name}
    knobs: dict[str, float | str] = {}
    for pair in filter(None, rest.split(",")):
        key, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"{spec}: '{pair}' is not KEY=VALUE", hint=f"{name}:scale=none")
        if key in ("scale", "missing", "singleton", "like", "count", "rollout_reward"):
            result[key] = value
        elif key in _SHARES:
            result[key] = _number(key, value)
        elif key == "compute_new_adv":
            result[key] = _boolean(key, value)
        else:
            knobs[key] = _number_or_text(value)
    return result, knobs


def versus(base: Settings, spec: str) -> Settings:
    """The settings of a `--vs` column: inherits the missing and singleton rules and the reward of the base, but no keep ratio.

    Example:
        >>> versus(Settings(missing="zero", keep_pos=0.5), "rloo").missing
        'zero'
    """
    if not spec.strip():
        raise UsageError("--vs names no estimator", hint="--vs rloo")
    result, knobs = parse_spec(spec)
    return Settings(
        **{**{name: getattr(base, name) for name in _INHERITED}, **result},
        knobs=knobs,
        shaping=base.shaping,
    )


def _without(flat: config.Flat, changes: config.Flat) -> config.Flat:
    """The file's keys that no override replaces, matched with or without their prefix."""
    return {
        path: value
        for path, value in flat.items()
        if not any(
            config.followed(key) and (path == key or path.endswith(f".{key}") or key.endswith(f".{path}"))
            for key in changes
        )
    }


def _checked(layer: Mapping[str, Any], where: str, flat: config.Flat) -> dict[str, Any]:
    """The values of a layer, checked and converted to the types of the settings; `flat` has the keys they come from."""
    try:
        return {name: _CHECKS[name](config.key_of(flat, name), value) for name, value in layer.items()}
    except UsageError as error:
        raise UsageError(f"{where}: {error.message}", hint=error.hint) from error


def _number_or_text(text: str) -> float | str:
    """The text as a number if it is one."""
    for read in (int, float):
        with suppress(ValueError):
            return read(text)
    return text


def _number(name: str, value: Any) -> float:  # noqa: ANN401
    number = math.nan
    with suppress(TypeError, ValueError, OverflowError):
        number = math.nan if isinstance(value, bool) else float(value)
    if not math.isfinite(number):
        raise UsageError(f"{name} is {one_line(value)}, expected a number")
    return number


def _count(name: str, value: Any) -> int:  # noqa: ANN401
    number = _number(name, value)
    if not (number.is_integer() and 1 <= number <= _MAX_N):
        raise UsageError(f"{name} is {one_line(value)}, expected a whole number from 1 to {_MAX_N:,}")
    return int(number)


def _boolean(name: str, value: Any) -> bool:  # noqa: ANN401
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if str(value).lower() not in words:
        raise UsageError(f"{name} is {one_line(value)}, expected true or false")
    return words[str(value).lower()]


def _word(name: str, value: Any) -> str:  # noqa: ANN401
    if not isinstance(value, str):
        raise UsageError(f"{name} is {one_line(value)}, expected a name")
    return value


def _numbers(name: str, value: Any) -> tuple[float, ...]:  # noqa: ANN401
    if not isinstance(value, list | tuple):
        raise UsageError(f"{name} is {one_line(value)}, expected a list of numbers")
    return tuple(_number(name, item) for item in value)


_CHECKS = {
    "estimator": _word,
    "scale": _word,
    "keep_pos": _number,
    "keep_neg": _number,
    "compute_new_adv": _boolean,
    "gamma": _number,
    "lam": _number,
    "n": _count,
    "weights": _numbers,
}
