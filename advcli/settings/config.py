"""Reads a trainer's YAML or JSON configuration and `KEY=VALUE` overrides."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from advcli.common.errors import UsageError
from advcli.common.wording import one_line, reason
from advcli.settings.catalog import CONFIG_KEYS, UNREPLAYABLE, ConfigKey, Unreplayable

Flat = dict[str, Any]
"""Dotted path → value."""

# Limits far above any trainer's configuration: characters, nesting depth, values, characters of a number or a time.
_MAX_CHARACTERS = 1 << 20
_MAX_DEPTH = 64
_MAX_VALUES = 100_000
_MAX_SCALAR = 100
_LIMITED_TAGS = (":int", ":float", ":timestamp")


def load(path: Path) -> Flat:
    """Read a configuration file.

    Args:
        path: YAML; JSON is YAML too.

    Returns:
        Dotted path → value.

    Raises:
        UsageError: the file cannot be read, is not a mapping, or exceeds the limits above.
    """
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(_MAX_CHARACTERS + 1)
    except OSError as error:
        raise UsageError(f"{path}: {reason(error)}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not text, expected YAML or JSON") from error
    if len(text) > _MAX_CHARACTERS:
        raise UsageError(
            f"{path}: more than {_MAX_CHARACTERS:,} characters, which no trainer's configuration has"
        )
    try:
        content = _parsed(text)
    except _Unreadable as error:
        position = f"{path}:{error.line}" if error.line else str(path)
        raise UsageError(f"{position}: not valid YAML or JSON ({error})") from error
    if content is None:
        raise UsageError(f"{path}: the file is empty, expected keys and values")
    if not isinstance(content, Mapping):
        raise UsageError(f"{path}: expected keys and values, got {one_line(content)}")
    return dict(_flattened(content))


class _Unreadable(ValueError):  # noqa: N818  never leaves this module
    """A text is not valid YAML, or exceeds the limits above.

    Args:
        what: what is wrong.
        line: the line, counted from 1; None if unknown.
    """

    def __init__(self, what: str, line: int | None = None) -> None:
        super().__init__(what)
        self.line = line


def _parsed(text: str) -> Any:  # noqa: ANN401  any YAML value
    """The value of YAML or JSON text. JSON is tried first, because YAML does not allow its tabs."""
    import yaml

    try:
        if text.lstrip().startswith("{"):
            with suppress(ValueError):
                result = json.loads(text)
                _check_depth(result)
                return result
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        _Bounds().check(node)
        # PyYAML passes on Python errors, such as that of an invalid date or a mismatched tag.
        return None if node is None else loader.construct_document(node)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or reason(error)
        raise _Unreadable(what, mark and mark.line + 1) from error
    except RecursionError as error:
        raise _Unreadable("nested too deeply") from error
    except _Unreadable:
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}" if isinstance(error, LookupError) else reason(error)
        raise _Unreadable(what) from error


def _check_depth(value: object, depth: int = 0) -> None:
    """Raise an error for JSON that is nested too deeply."""
    if depth > _MAX_DEPTH:
        raise _Unreadable("nested too deeply")
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in inner:
        _check_depth(item, depth + 1)


class _Bounds:
    """Limits the number of values of a YAML document after expanding its aliases."""

    def __init__(self) -> None:
        # Node id → number of values; None while it is being counted.
        self._sizes: dict[int, int | None] = {}

    def check(self, node: Any, depth: int = 0) -> int:  # noqa: ANN401  PyYAML's classes
        """The number of values in a node, including itself.

        Raises:
            _Unreadable: there are too many, nested too deeply or recursively, or a number is too long.
        """
        if node is None:
            return 0
        line = node.start_mark.line + 1
        if id(node) in self._sizes:
            known = self._sizes[id(node)]
            if known is None:
                raise _Unreadable("an alias of its own parent", line)
            return known
        if depth > _MAX_DEPTH:
            raise _Unreadable("nested too deeply", line)
        if isinstance(node.value, str) and len(node.value) > _MAX_SCALAR and node.tag.endswith(_LIMITED_TAGS):
            raise _Unreadable(f"a number or a time of {len(node.value):,} characters", line)
        self._sizes[id(node)] = None
        inner = [] if isinstance(node.value, str) else node.value
        parts = (part for item in inner for part in (item if isinstance(item, tuple) else (item,)))
        size = 1 + sum(self.check(part, depth + 1) for part in parts)
        if size > _MAX_VALUES:
            raise _Unreadable(f"more than {_MAX_VALUES:,} values once its aliases are spelled out", line)
        self._sizes[id(node)] = size
        return size


def overrides(pairs: Sequence[str]) -> tuple[Flat, list[str]]:
    """Read Hydra-style `KEY=VALUE` overrides.

    Returns:
        Dotted path → value, and a warning for each key that advcli ignores.

    Raises:
        UsageError: no "=" or an unreadable value.

    Example:
        >>> overrides(["algorithm.keep_pos_ratio=0.7"])
        ({'algorithm.keep_pos_ratio': 0.7}, [])
    """
    flat: Flat = {}
    warnings = []
    for pair in pairs:
        key, equals, value = pair.partition("=")
        key = key.strip().lstrip("+")
        if not equals or not key:
            raise UsageError(f"--set {pair}: expected KEY=VALUE", hint="--set algorithm.keep_pos_ratio=0.7")
        try:
            flat[key] = _parsed(value)
        except _Unreadable as error:
            raise UsageError(
                f"--set {one_line(pair, text=str)}: the value cannot be read ({error})"
            ) from error
        if not followed(key):
            similar = get_close_matches(key.rsplit(".", 1)[-1], CONFIG_KEYS.names(), n=1)
            warnings.append(
                f"--set {key} is ignored: no key that advcli follows{f' (try {similar[0]})' if similar else ''}"
            )
    return flat, warnings


def followed(path: str) -> bool:
    """Whether advcli uses a key."""
    return any(_names(row, path) for row in (*CONFIG_KEYS, *UNREPLAYABLE))


def key_of(flat: Flat, setting: str) -> str:
    """The key that gives a setting; the setting's own name where none does.

    Example:
        >>> key_of({"algorithm.keep_pos_ratio": 0.7}, "keep_pos")
        'algorithm.keep_pos_ratio'
    """
    keys = (path for path in flat for row in CONFIG_KEYS if row.setting == setting and _names(row, path))
    return next(keys, setting)


def settings(flat: Flat, where: str) -> tuple[dict[str, Any], dict[str, tuple[str, ...]], list[str]]:
    """Translate configuration keys to settings.

    Args:
        flat: dotted path → value.
        where: the file, for messages.

    Returns:
        setting → value; setting → the estimators that it applies to, if only some; and
        warnings about values that cannot be used.

    Raises:
        UsageError: two keys give one setting different values.
    """
    result: dict[str, Any] = {}
    paths: dict[str, str] = {}
    only_for: dict[str, tuple[str, ...]] = {}
    warnings = []
    for path, value in flat.items():
        row = next((row for row in CONFIG_KEYS if _names(row, path)), None)
        if row is None or value is None:
            continue
        if isinstance(value, str) and "${" in value:
            warnings.append(f"{where}: {path} is {one_line(value)}, an unresolved reference: ignored")
            continue
        translated = _translated(row, value)
        if (
            result.setdefault(row.setting, translated) != translated and translated == translated
        ):  # NaN is refused where it is used
            raise UsageError(
                f"{where}: {paths[row.setting]} and {path} disagree about {row.setting}: "
                f"{one_line(result[row.setting], text=str)} and {one_line(translated, text=str)}",
                hint=f"--set {path}={one_line(result[row.setting], text=str)}",
            )
        paths[row.setting] = path
        if row.only_for:
            only_for[row.setting] = row.only_for
    return result, only_for, warnings


def unreplayable(flat: Flat, where: str) -> list[str]:
    """A warning for each key whose effect on the advantages can't be recovered from a dump."""
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
    """The setting's value; true and false are also accepted as strings."""
    if isinstance(value, str) and value.lower() in ("true", "false"):
        value = value.lower() == "true"
    if isinstance(value, bool):
        return row.values.get(value, value)
    return value


def _flattened(content: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in content.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping) and value:
            yield from _flattened(value, f"{path}.")
        else:
            yield path, value
