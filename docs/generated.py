"""For cog: the parts of the pages that are made from the program itself, as Markdown.

They are written again by `cog -r docs/*.md`.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from advcli.cli import lazy
from advcli.estimators.catalog import ESTIMATORS
from advcli.filters.catalog import FILTERS
from advcli.frameworks.catalog import RULES
from advcli.frameworks.proven import range_of
from advcli.io.formats.catalog import FORMATS, framework_of
from advcli.io.formats.format import Format
from advcli.records.results.schema import RESULTS, schema

_KIND_ONLY = ("generic",)
"""Formats that no framework writes: kinds of files and shapes of rows."""

_TYPES = {
    "integer": "int",
    "number": "float",
    "string": "text",
    "boolean": "bool",
    "array": "list",
    "null": "null",
}


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of Markdown."""
    head = list(head)
    lines = [head, ["---"] * len(head), *(list(map(_cell, row)) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def options(command: str) -> str:
    """The options of a command, a table for each panel of `--help-all`."""
    panels: dict[str, list[tuple[str, str]]] = {}
    for option in lazy.load_command(command).params:
        if option.param_type_name == "option" and option.name not in ("help", "help_all"):
            flags = "/".join(f"`{flag}`" for flag in (*option.opts[::-1], *option.secondary_opts))
            value = "" if option.is_flag else f" {option.metavar or ''}"
            panels.setdefault(option.rich_help_panel or "Options", []).append((flags + value, option.help))
    return "\n\n".join(
        f"**{panel}**\n\n{table(('option', 'what it does'), rows)}" for panel, rows in panels.items()
    )


def estimators() -> str:
    """A row per estimator."""
    return table(
        ("name", "formula", "what it is", "source"),
        ((f"`{row.name}`", row.formula, row.summary, row.source) for row in ESTIMATORS),
    )


def filters() -> str:
    """A row per filter."""
    return table(
        ("name", "when", "drops"), ((f"`{row.name}`", " or ".join(row.when), row.summary) for row in FILTERS)
    )


def frameworks() -> str:
    """A section per framework: its dumps, and the rules of `--like`."""
    names = dict.fromkeys([*(framework_of(row.name) for row in FORMATS), *(rule.framework for rule in RULES)])
    return "\n\n".join(_framework(name) for name in names if name not in _KIND_ONLY)


def _framework(name: str) -> str:
    parts = [f"### {name}"]
    dumps = [row for row in FORMATS if framework_of(row.name) == name]
    if dumps:
        parts.append(table(("format", "switch it on", "reward", "logged advantage"), map(_dump, dumps)))
    traps = dict.fromkeys(trap for row in dumps for trap in row.traps)
    if traps:
        parts.append("\n".join(f"- {_cell(trap[:1].upper() + trap[1:])}." for trap in traps))
    rules = dict.fromkeys(rule.estimator for rule in RULES if rule.framework == name)
    if rules:
        compared = f"; releases compared: {range_of(name)}" if range_of(name) else ""
        parts.append(f"`--like {name}` with " + ", ".join(f"`{rule}`" for rule in rules) + compared + ".")
    return "\n\n".join(parts)


def _dump(row: Format) -> tuple[str, ...]:
    if row.refusal:
        return (f"`{row.name}`: {row.summary}", row.switch, "refused", "–")
    reward = " or ".join(f"`{name}`" for name in row.reward)
    reward = reward or ("every number is a reward function" if row.parts is not None else "auto-detected")
    logged = " or ".join(f"`{name}`" for name in row.logged) or "auto-detected"
    return (f"`{row.name}`: {row.summary}", row.switch, reward, logged)


def schemas() -> str:
    """A row per JSON: the command, its schema, and where every key is explained."""
    rows = []
    for name in RESULTS:
        body = schema(name)
        command = "advcli " + ("compare --between" if name == "between" else name)
        place = f"[{body['title']}](definitions.md#{body['title'].lower()})"
        rows.append((f"`{command}`", f"[{name}](schemas/{name}.json)", place))
    return table(("command", "schema", "every key"), rows)


def keys() -> str:
    """The keys of the JSON of every command, a table per record; a record of several commands stands once."""
    labels: dict[str, dict[str, Any]] = {}
    parts = []
    for name in RESULTS:
        body = schema(name)
        records = {body["title"]: {**body, "$defs": {}}, **body["$defs"]}
        # Two commands may have records of one name with other keys.
        named = {title: _label(title, name, record, labels) for title, record in records.items()}
        for title, record in records.items():
            if named[title] not in labels:
                labels[named[title]] = record
                parts.append("\n\n".join(_record(named[title], record, named)))
    return "\n\n".join(parts)


def _label(title: str, command: str, record: dict[str, Any], labels: dict[str, dict[str, Any]]) -> str:
    return title if labels.get(title, record) == record else f"{title} of {command}"


def _record(label: str, record: dict[str, Any], named: dict[str, str]) -> Iterator[str]:
    yield f"### {label}"
    yield _cell(record["description"].splitlines()[0])
    rows = (
        (f"`{key}`", _type(value, named), value.get("description", "name and version of this JSON"))
        for key, value in record["properties"].items()
    )
    yield table(("key", "type", "what it is"), rows)


def _type(value: Any, named: dict[str, str]) -> str:
    if not isinstance(value, dict):
        return "any"
    if "const" in value:
        return "text"
    if "$ref" in value:
        label = named[value["$ref"].rsplit("/", 1)[1]]
        return f"[{label}](#{label.lower().replace(' ', '-')})"
    if "anyOf" in value:
        return " or ".join(_type(one, named) for one in value["anyOf"])
    kinds = value.get("type", "any")
    if kinds == "array":
        return f"list of {_type(value.get('items', {}), named)}"
    if kinds == "object":
        inside = value.get("additionalProperties")
        return f"name → {_type(inside, named)}" if isinstance(inside, dict) else "object"
    return " or ".join(_TYPES.get(kind, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds))


def _cell(text: str) -> str:
    """A text that is nothing but text in a cell: no bar and no tag."""
    spans = re.split(r"(`[^`]*`)", " ".join(text.split()))
    spans = [
        span if span.startswith("`") else span.replace("<", "&lt;").replace("*", r"\*") for span in spans
    ]
    return "".join(spans).replace("|", r"\|")
