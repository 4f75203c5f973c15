"""One set of settings out of many layers: defaults < config < preset < --set < flags."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from advcli.errors import UsageError, one_line
from advcli.records import ColumnOptions, Settings
from advcli.settings import config
from advcli.settings.catalog import PRESETS

_SHARES = ("keep_pos", "keep_neg")
_SETTING_NAMES = {field.name for field in fields(Settings)}


def resolve(
    flags: Mapping[str, Any],
    columns: ColumnOptions,
    *,
    preset: str | None = None,
    config_file: Path | None = None,
    pairs: Sequence[str] = (),
) -> tuple[Settings, ColumnOptions, tuple[str, ...]]:
    """Put the layers on top of each other.

    Args:
        flags: setting → value as given on the command line; None where it was not.
        columns: the column options of the command line.
        preset: name of a preset.
        config_file: a trainer's configuration.
        pairs: `KEY=VALUE` overrides of the configuration.

    Returns:
        The settings, the column options with `n` and `weights` filled in, and warnings.

    Raises:
        UsageError: something cannot be read or does not make sense.
    """
    flat = config.load(config_file) if config_file else {}
    where = str(config_file or "--set")
    changes, warnings = config.overrides(pairs)
    base, about, more = config.settings({**_without(flat, changes), **changes}, where)
    changed, _, _ = config.settings(changes, "--set")
    given = {name: value for name, value in flags.items() if value is not None}
    spec, knobs = parse_spec(given.pop("estimator", None) or "")
    layers = {**base, **(PRESETS[preset].settings if preset else {}), **changed, **spec, **given}
    estimator = layers.get("estimator", "grpo")
    for name, only in about.items():
        if only != estimator and name not in {**spec, **given}:
            layers.pop(name, None)
    checked = {name: _checked(name, value, where) for name, value in layers.items()}
    n, weights = checked.pop("n", None), checked.pop("weights", ())
    settings = Settings(
        **{name: value for name, value in checked.items() if name in _SETTING_NAMES}, knobs=knobs
    )
    return settings, replace(columns, n=columns.n or n, weights=weights), (*warnings, *more)


def parse_spec(spec: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Read `NAME[:KEY=VALUE,...]`, the way to name an estimator with its settings.

    Returns:
        setting → value, and the knobs of the estimator as text.

    Raises:
        UsageError: a part is not KEY=VALUE, or a share is no number.

    Example:
        >>> parse_spec("grpo:scale=none,keep_pos=0.7,eps=1e-4")
        ({'estimator': 'grpo', 'scale': 'none', 'keep_pos': 0.7}, {'eps': '1e-4'})
    """
    if not spec:
        return {}, {}
    name, _, rest = spec.partition(":")
    found: dict[str, Any] = {"estimator": name}
    knobs: dict[str, str] = {}
    for pair in filter(None, rest.split(",")):
        key, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"{spec}: '{pair}' is not KEY=VALUE", hint=f"{name}:scale=none")
        if key in ("scale", "missing", "singleton", "like"):
            found[key] = value
        elif key in _SHARES:
            found[key] = _number(key, value)
        elif key == "compute_new_adv":
            found[key] = _boolean(key, value)
        else:
            knobs[key] = value
    return found, knobs


def versus(base: Settings, spec: str) -> Settings:
    """The settings of one `--vs` column: the missing and singleton rules of the base, no keep ratio.

    Example:
        >>> versus(Settings(missing="zero", keep_pos=0.5), "rloo").missing
        'zero'
    """
    found, knobs = parse_spec(spec)
    return Settings(
        **{"missing": base.missing, "singleton": base.singleton, "device": base.device, **found}, knobs=knobs
    )


def _without(flat: config.Flat, changes: config.Flat) -> config.Flat:
    """The file's keys that no override replaces, whether it was written with or without its prefix."""
    return {
        path: value
        for path, value in flat.items()
        if not any(path == key or path.endswith(f".{key}") or key.endswith(f".{path}") for key in changes)
    }


def _checked(name: str, value: Any, where: str) -> Any:  # noqa: ANN401  any YAML value
    """A value of the type that the setting has."""
    check = _CHECKS.get(name)
    try:
        return check(name, value) if check else value
    except UsageError as error:
        raise UsageError(f"{where}: {error.message}", hint=error.hint) from error


def _number(name: str, value: Any) -> float:  # noqa: ANN401
    try:
        return float("true is no number" if isinstance(value, bool) else value)
    except (TypeError, ValueError):
        raise UsageError(f"{name} is {one_line(value)}, expected a number") from None


def _count(name: str, value: Any) -> int:  # noqa: ANN401
    number = _number(name, value)
    if not number.is_integer() or number < 1:
        raise UsageError(f"{name} is {one_line(value)}, expected a whole number, 1 or more")
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
    "n": _count,
    "weights": _numbers,
}
