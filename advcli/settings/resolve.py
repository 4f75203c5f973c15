"""One set of settings out of many layers: defaults < config < preset < --set < flags."""

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

# More rows of a group than any run has.
_MOST = 1 << 31
_SHARES = ("keep_pos", "keep_neg")
# What further columns of a comparison take over from the settings of the first.
_OF_ALL = ("missing", "singleton", "device", "count", "rollout_reward")
# Knobs of an estimator that a configuration tells.
_DISCOUNTS = ("gamma", "lam")


def resolve(
    flags: Mapping[str, Any],
    columns: ColumnOptions,
    *,
    preset: str | None = None,
    config_file: Path | None = None,
    pairs: Sequence[str] = (),
) -> tuple[Settings, ColumnOptions, tuple[str, ...], dict[str, str]]:
    """Put the layers on top of each other.

    Args:
        flags: setting → value as given on the command line; None where it was not.
        columns: the column options of the command line.
        preset: name of a preset.
        config_file: a trainer's configuration.
        pairs: `KEY=VALUE` overrides of the configuration.

    Returns:
        The settings, the column options with `n` and `weights` filled in, warnings, and setting → where its
        value comes from ("" for the command line).

    Raises:
        UsageError: something cannot be read or does not make sense.
    """
    flat = config.load(config_file) if config_file else {}
    where = str(config_file or "--set")
    changes, ignored = config.overrides(pairs)
    base, about, unread = config.settings(_without(flat, changes), where)
    changed, changed_about, changed_unread = config.settings(changes, "--set")
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
    for name, only in (about | changed_about).items():
        # verl's configuration always has norm_adv_by_std_in_grpo; it is nothing to rloo.
        if merged.get("estimator", DEFAULT_ESTIMATOR) not in only and origin[name] in (where, "--set"):
            merged.pop(name, None)
    n, weights = merged.pop("n", None), merged.pop("weights", ())
    discounts = {name: merged.pop(name) for name in _DISCOUNTS if name in merged}
    settings = Settings(**merged, knobs={**discounts, **knobs})
    columns = replace(columns, n=columns.n if columns.n is not None else n, weights=weights)
    lost = config.unreplayable({**_without(flat, changes), **changes}, where)
    if config_file and not any(map(config.followed, flat)):
        lost = [*lost, f"{where}: no key that advcli follows, so nothing is taken from it"]
    return settings, columns, (*ignored, *unread, *changed_unread, *lost), origin


def parse_spec(spec: str) -> tuple[dict[str, Any], dict[str, float | str]]:
    """Read `NAME[:KEY=VALUE,...]`, the way to name an estimator with its settings.

    Returns:
        setting → value, and the knobs of the estimator: numbers, or text for what is none.

    Raises:
        UsageError: a part is not KEY=VALUE, or a share is no number.

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
            knobs[key] = _plain(value)
    return result, knobs


def versus(base: Settings, spec: str) -> Settings:
    """The settings of one `--vs` column: the missing and singleton rules and the reward of the base, no keep ratio.

    Example:
        >>> versus(Settings(missing="zero", keep_pos=0.5), "rloo").missing
        'zero'
    """
    if not spec.strip():
        raise UsageError("--vs names no estimator", hint="--vs rloo")
    result, knobs = parse_spec(spec)
    return Settings(
        **{**{name: getattr(base, name) for name in _OF_ALL}, **result},
        knobs=knobs,
        shaping=base.shaping,
    )


def _without(flat: config.Flat, changes: config.Flat) -> config.Flat:
    """The file's keys that no override replaces, whether it was written with or without its prefix."""
    return {
        path: value
        for path, value in flat.items()
        if not any(
            config.followed(key) and (path == key or path.endswith(f".{key}") or key.endswith(f".{path}"))
            for key in changes
        )
    }


def _checked(layer: Mapping[str, Any], where: str, flat: config.Flat) -> dict[str, Any]:
    """The values of a layer, in the types that the settings have; `flat`: the keys that they come from."""
    try:
        return {name: _CHECKS[name](config.key_of(flat, name), value) for name, value in layer.items()}
    except UsageError as error:
        raise UsageError(f"{where}: {error.message}", hint=error.hint) from error


def _plain(text: str) -> float | str:
    """A number if it is one."""
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
    if not (number.is_integer() and 1 <= number <= _MOST):
        raise UsageError(f"{name} is {one_line(value)}, expected a whole number from 1 to {_MOST:,}")
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
