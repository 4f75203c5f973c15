"""The JSON schema of each command's `--json`, generated from the typed records."""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from typing import Any, get_args, get_type_hints, is_typeddict

from advcli.records.results.between import BetweenResult
from advcli.records.results.compare import CompareResult
from advcli.records.results.compute import ComputeResult
from advcli.records.results.inspect import InspectResult
from advcli.records.results.match import MatchResult
from advcli.records.results.prompts import PromptsResult
from advcli.records.results.result import Result
from advcli.records.results.select import SelectResult
from advcli.records.results.sweep import SweepResult
from advcli.records.results.verify import VerifyResult

RESULTS: Mapping[str, type[Result]] = {
    result.schema.split("/")[1]: result
    for result in (
        ComputeResult,
        CompareResult,
        BetweenResult,
        InspectResult,
        MatchResult,
        SweepResult,
        PromptsResult,
        VerifyResult,
        SelectResult,
    )
}
"""Command → its result class; "between" is `compare --between`."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_ATTRIBUTE = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


def schema(name: str) -> dict[str, Any]:
    """The JSON schema of what a command prints with `--json`.

    Args:
        name: a key of `RESULTS`.

    Returns:
        A schema of draft 2020-12. Undefined numbers are null. Keys may be added within a version; none is
        removed or changes its type.
    """
    import msgspec

    result = RESULTS[name]
    (root,), parts = msgspec.json.schema_components([result], ref_template="#/$defs/{name}")
    for record in _records(result):
        _describe(parts[record.__name__], record)
    body = parts.pop(root["$ref"].rpartition("/")[2])
    body["properties"] = {"schema": {"const": result.schema}, **body["properties"]}
    body["required"] = ["schema", *body["required"]]
    return {"$schema": _DIALECT, "$id": f"urn:{result.schema.replace('/', ':')}", **body, "$defs": parts}


def _records(hint: Any) -> Iterator[type]:  # noqa: ANN401  any type
    """The records that a type contains, recursively."""
    if is_dataclass(hint) or is_typeddict(hint):
        assert isinstance(hint, type)
        yield hint
        for name, part in get_type_hints(hint).items():
            if not name.startswith("_"):
                yield from _records(part)
    for part in get_args(hint):
        yield from _records(part)


def _describe(body: dict[str, Any], record: type) -> None:
    """Take the descriptions from the docstring, and let numbers be null."""
    body["description"] = (inspect.getdoc(record) or "").split("\n", 1)[0]
    texts = attributes(record)
    for name, value in body["properties"].items():
        value.pop("default", None)
        if name in texts:
            value["description"] = texts[name]
    # Every key is always present.
    body["required"] = list(body["properties"])
    for value in _numbers(body):
        value["type"] = ["number", "null"]


def attributes(record: type) -> dict[str, str]:
    """Attribute → its description in the docstring, base classes included.

    Example:
        >>> from advcli.records.results.inspection import Spreads
        >>> attributes(Spreads)["within"]
        'mean squared distance of a row from the mean of its group.'
    """
    result: dict[str, str] = {}
    for base in reversed(record.__mro__):
        text = inspect.cleandoc(base.__dict__.get("__doc__") or "")
        result |= {name: " ".join(description.split()) for name, description in _ATTRIBUTE.findall(text)}
    return result


def _numbers(value: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401  any part of a schema
    if isinstance(value, dict):
        if value.get("type") == "number":
            yield value
        for item in value.values():
            yield from _numbers(item)
    elif isinstance(value, list):
        for item in value:
            yield from _numbers(item)
