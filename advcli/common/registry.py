"""Read-only catalogs, and loading the function that a row names."""

import ast
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar

from advcli.common.errors import MissingPackage, UsageError
from advcli.common.wording import either


class Row(Protocol):
    """The interface of every catalog row."""

    @property
    def name(self) -> str:
        """The name the user types."""


RowT = TypeVar("RowT", bound=Row)


class Registry(Generic[RowT]):
    """A read-only table of rows, looked up by name.

    Args:
        kind: singular noun for a row, for messages ("estimator").
        rows: the rows, in display order.
        refuse: the error for a known name without a row; None for any other name.

    Raises:
        ValueError: two rows have the same name.
    """

    def __init__(
        self, kind: str, rows: Iterable[RowT], refuse: Callable[[str], UsageError | None] = lambda name: None
    ) -> None:
        self.kind, self._refuse = kind, refuse
        table: dict[str, RowT] = {}
        for row in rows:
            if row.name in table:
                raise ValueError(f"two rows of the table of {kind}s are named '{row.name}'")
            table[row.name] = row
        self._rows = MappingProxyType(table)

    def __iter__(self) -> Iterator[RowT]:
        return iter(self._rows.values())

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def names(self) -> tuple[str, ...]:
        """The names, in table order."""
        return tuple(self._rows)

    def __getitem__(self, name: str) -> RowT:
        """The row with that name.

        Raises:
            UsageError: no such row; the hint lists the closest names.
        """
        if name in self._rows:
            return self._rows[name]
        if refused := self._refuse(name):
            raise refused
        near = nearest(name, self.names(), n=2) or self.names()
        raise UsageError(f"unknown {self.kind} '{name}'", hint=either(near), about=self.kind)


def nearest(name: str, known: Sequence[str], *, n: int = 1) -> Sequence[str]:
    """The most similar known words, at most n; only the anagram if there is one.

    Example:
        >>> nearest("gpro", ["hgpo", "gdpo", "grpo"], n=2)
        ['grpo']
        >>> nearest("rlo", ["grpo", "rloo"], n=2)
        ['rloo']
    """
    near = get_close_matches(name, known, n=max(1, len(known)), cutoff=0.6)
    swapped = [word for word in near if sorted(word) == sorted(name)]
    return swapped[:1] or near[:n]


def covers(versions: str, version: str, *, hint: str) -> bool:
    """Whether a version range contains a version, including pre-releases.

    Args:
        versions: a version specifier; "" for all.
        version: as the user typed it.
        hint: what to type instead of an invalid version.

    Raises:
        UsageError: not a version.

    Example:
        >>> [covers("<0.9", version, hint="verl@1.0") for version in ("0.8.5", "1.0")]
        [True, False]
    """
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    try:
        return SpecifierSet(versions).contains(Version(version), prereleases=True)
    except InvalidVersion:
        raise UsageError(f"'{version}' is not a version", hint=hint) from None


def load(target: str) -> Callable[..., Any]:
    """Import the function a row names.

    Args:
        target: "package.module:function".

    Raises:
        MissingPackage: the module needs a package that is not installed.
    """
    module, _, function = target.partition(":")
    try:
        loaded: Callable[..., Any] = getattr(import_module(module), function)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("advcli"):
            raise
        raise MissingPackage(
            f"the package '{error.name}' is needed and not installed",
            hint=f"pip install {error.name}",
        ) from error
    return loaded


@cache
def parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """The parameters of a function by name, cached: a search asks for those of a few functions thousands of times."""
    return inspect.signature(function).parameters


@cache
def knobs(target: str) -> Mapping[str, str]:
    """The keyword-only arguments of a row's function and their defaults, parsed from its source without importing it.

    Args:
        target: "package.module:function".

    Returns:
        name → default, as source text.

    Example:
        >>> dict(knobs("advcli.estimators.group:grpo"))
        {'scale': "'group'", 'ddof': '1', 'eps': '0.0'}
    """
    module, _, function = target.partition(":")
    spec = find_spec(module)
    source = Path(spec.origin).read_text(encoding="utf-8") if spec and spec.origin else ""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            return MappingProxyType(
                {knob.arg: ast.unparse(default) if default else "" for knob, default in pairs}
            )
    return MappingProxyType({})
