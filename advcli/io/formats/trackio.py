"""Tables and traces logged with trackio, in its SQLite database."""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from advcli.common.errors import DataError
from advcli.common.wording import counted, either
from advcli.io.formats.format import Contents, Format, Opener

if TYPE_CHECKING:
    import sqlite3

_HERE = "advcli.io.formats.trackio"
_SOURCE = "trackio/sqlite_storage.py"
_SWITCH = "trackio.log with a Table: {TRACKIO_DIR}/<project>.db"
_RUNS = "if a database has several runs, the newest one is read"

ROWS = (
    Format(
        name="trackio",
        requires=(),
        otherwise=("*.db",),
        opener=Opener("SQLite format 3", f"{_HERE}:opened"),
        summary="trackio <project>.db (SQLite): the rows of a logged table",
        source=_SOURCE,
        switch=_SWITCH,
        traps=(_RUNS, "columns are detected as in any other table"),
    ),
    Format(
        name="trackio-traces",
        requires=("messages:list", "metadata:object", "metadata.reward", "trace_index"),
        prompt=("metadata.group_id", "messages.0"),
        step=("step",),
        reward=("metadata.reward",),
        logged=("metadata.advantage",),
        lengths=("metadata.completion_tokens",),
        otherwise=("*.db",),
        summary="trackio <project>.db (SQLite): traces of TRL's AsyncGRPO",
        source=f"{_SOURCE}; trl/experimental/async_grpo",
        switch="report_to='trackio' (AsyncGRPOTrainer)",
        traps=(_RUNS, "at most 16 traces a flush, so groups are cut"),
    ),
)


def opened(path: Path, name: str) -> Contents | None:
    """The rows of the table, or else the traces, logged by the newest run; None if it is not a trackio database.

    Raises:
        DataError: nothing of the kind was logged, or several tables were.
    """
    from advcli.io.sources import sqlite

    with closing(sqlite.opened(path)) as database:
        tables = sqlite.tables(database)
        if not {"run_name", "step", "metrics"} <= set(tables.get("metrics", ())):
            return None
        for form, read in (("trackio", _tables), ("", _traces)):
            result = read(database, name) if form or "traces" in tables else {}
            if result:
                run, *others = reversed(result)
                remark = f"{name} holds {counted(len(result), 'run')}: the newest, '{run}', is read"
                return Contents(result[run], format=form, remarks=(remark,) if others else ())
    raise DataError(
        f"{name}: a trackio database without a table or a trace", hint="a dump that the trainer writes"
    )


def _tables(database: "sqlite3.Connection", name: str) -> dict[str, list[dict[str, Any]]]:
    """The rows of the logged table of each run, in the order of the log calls."""
    result: dict[str, list[dict[str, Any]]] = {}
    keys: dict[str, None] = {}
    for run, step, text in database.execute("select run_name, step, metrics from metrics order by id"):
        for key, rows in _logged(text):
            keys[key] = None
            result.setdefault(run, []).extend(
                {**row, **({} if "step" in row else {"step": step})} for row in rows
            )
    if len(keys) > 1:
        raise DataError(
            f"{name}: several tables were logged ({either(list(keys))}), expected one", hint="exporting one"
        )
    return result


def _logged(text: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Name and rows of each table in a metrics object."""
    try:
        metrics = json.loads(text)
    except (ValueError, TypeError):
        return
    for key, value in metrics.items() if isinstance(metrics, dict) else ():
        rows = (
            value.get("_value")
            if isinstance(value, Mapping) and value.get("_type") == "trackio.table"
            else None
        )
        if isinstance(rows, list):
            yield key, [row for row in rows if isinstance(row, dict)]


def _traces(database: "sqlite3.Connection", name: str) -> dict[str, list[dict[str, Any]]]:
    """The traces of each run, in the order logged."""
    del name
    result: dict[str, list[dict[str, Any]]] = {}
    query = (
        "select run_name, step, key, trace_index, messages, metadata from traces order by timestamp, rowid"
    )
    for run, *cells in database.execute(query):
        row = dict(zip(("step", "key", "trace_index", "messages", "metadata"), cells, strict=True))
        row |= {column: json.loads(row[column]) for column in ("messages", "metadata")}
        result.setdefault(run, []).append(row)
    return result
