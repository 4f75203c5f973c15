"""Read a trainer's YAML or JSON configuration and `KEY=VALUE` overrides."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from advcli.errors import UsageError
from advcli.settings.catalog import CONFIG_KEYS, UNREPLAYABLE, ConfigKey, Unreplayable
from advcli.wording import one_line

Flat = dict[str, Any]
"""Dotted path → value."""


def load(path: Path) -> Flat:
    """Read a configuration file.

    Args:
        path: YAML; JSON is YAML too.

    Returns:
        Dotted path → value.

    Raises:
        UsageError: the file cannot be read, or is no mapping.
    """
    try:
        content = _parsed(path.read_text(encoding="utf-8"), path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {(getattr(error, 'strerror', None) or str(error)).lower()}") from error
    if not isinstance(content, Mapping):
        raise UsageError(f"{path}: expected keys and values, got {one_line(content)}")
    return dict(_flattened(content))


def _parsed(text: str, path: Path) -> object:
    """YAML, or JSON: nearly all of JSON is YAML, but tabs are not."""
    import yaml

    if text.lstrip().startswith("{"):
        with suppress(ValueError):
            return json.loads(text)
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}" if mark else str(path)
        raise UsageError(
            f"{place}: not valid YAML or JSON ({getattr(error, 'problem', None) or error})"
        ) from error


def overrides(pairs: Sequence[str]) -> tuple[Flat, list[str]]:
    """Read `KEY=VALUE` overrides as Hydra writes them.

    Returns:
        Dotted path → value, and a warning for each key that advcli does not follow.

    Raises:
        UsageError: no "=" or an unreadable value.

    Example:
        >>> overrides(["algorithm.keep_pos_ratio=0.7"])
        ({'algorithm.keep_pos_ratio': 0.7}, [])
    """
    import yaml

    flat: Flat = {}
    warnings = []
    for pair in pairs:
        key, equals, value = pair.partition("=")
        key = key.strip().lstrip("+")
        if not equals or not key:
            raise UsageError(f"--set {pair}: expected KEY=VALUE", hint="--set algorithm.keep_pos_ratio=0.7")
        try:
            flat[key] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise UsageError(f"--set {pair}: the value cannot be read") from error
        if not followed(key):
            near = get_close_matches(key.rsplit(".", 1)[-1], CONFIG_KEYS.names(), n=1)
            warnings.append(
                f"--set {key} is ignored: no key that advcli follows{f' (try {near[0]})' if near else ''}"
            )
    return flat, warnings


def followed(path: str) -> bool:
    """Whether advcli follows a key."""
    return any(_names(row, path) for row in (*CONFIG_KEYS, *UNREPLAYABLE))


def settings(flat: Flat, where: str) -> tuple[dict[str, Any], dict[str, tuple[str, ...]], list[str]]:
    """Translate configuration keys to settings.

    Args:
        flat: dotted path → value.
        where: the file, for messages.

    Returns:
        setting → value; setting → the estimators that it is about, where a key is about some only; and
        warnings about values that cannot be followed.

    Raises:
        UsageError: two keys give one setting different values.
    """
    found: dict[str, Any] = {}
    told_by: dict[str, str] = {}
    only_for: dict[str, tuple[str, ...]] = {}
    warnings = []
    for path, value in flat.items():
        row = next((row for row in CONFIG_KEYS if _names(row, path)), None)
        if row is None or value is None:
            continue
        if isinstance(value, str) and "${" in value:
            warnings.append(f"{where}: {path} is {one_line(value)}, which is not resolved here: ignored")
            continue
        told = _translated(row, value)
        if found.setdefault(row.setting, told) != told and told == told:  # NaN is refused where it is used
            raise UsageError(
                f"{where}: {told_by[row.setting]} and {path} disagree about {row.setting}: "
                f"{found[row.setting]} and {told}",
                hint=f"--set {path}={found[row.setting]}",
            )
        told_by[row.setting] = path
        if row.only_for:
            only_for[row.setting] = row.only_for
    return found, only_for, warnings


def unreplayable(flat: Flat, where: str) -> list[str]:
    """One warning for each key that changed the advantages in a way that a dump cannot tell."""
    active = []
    for row in UNREPLAYABLE:
        for path, value in flat.items():
            if _names(row, path) and value is not None and value not in row.unless and _holds(row, flat):
                active.append(f"{where}: {path} is {one_line(value)}: {row.why}")
    return active


def _holds(row: Unreplayable, flat: Flat) -> bool:
    return row.also is None or flat.get(row.also[0]) == row.also[1]


def _names(row: ConfigKey | Unreplayable, path: str) -> bool:
    return path == row.name or path.endswith(f".{row.name}")


def _translated(row: ConfigKey, value: Any) -> Any:  # noqa: ANN401  any YAML value
    """The setting's value; YAML's words for true and false are accepted as strings too."""
    if isinstance(value, str) and value.lower() in ("true", "false"):
        value = value.lower() == "true"
    if isinstance(value, bool):
        return row.values.get(value, value)
    return value


def _flattened(content: Mapping[Any, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in content.items():
        path = f"{before}{key}"
        if isinstance(value, Mapping) and value:
            yield from _flattened(value, f"{path}.")
        else:
            yield path, value
