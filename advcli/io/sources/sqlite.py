"""Reads SQLite databases, for the formats that use them."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from advcli.common.errors import DataError
from advcli.common.wording import either


def opened(path: Path) -> sqlite3.Connection:
    """A read-only connection, also to a database with a journal in a folder without write access.

    Raises:
        sqlite3.Error: it is broken.
    """
    uri = path.resolve().as_uri()
    database = sqlite3.connect(f"{uri}?mode=ro", uri=True)
    try:
        database.execute("select count(*) from sqlite_master").fetchone()
    except sqlite3.OperationalError:
        database.close()
        return sqlite3.connect(f"{uri}?mode=ro&immutable=1", uri=True)
    return database


def tables(database: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    """Table → its columns, in the order created."""
    names = [name for (name,) in database.execute("select name from sqlite_master where type = 'table'")]
    return {
        name: tuple(
            column for (column,) in database.execute("select name from pragma_table_info(?)", (name,))
        )
        for name in names
    }


def rows(database: sqlite3.Connection, table: str) -> list[dict[str, Any]]:
    """The rows of a table in the order written, as column → value."""
    quoted = table.replace('"', '""')
    result = database.execute(f'select * from "{quoted}" order by rowid')
    names = [column[0] for column in result.description]
    return [dict(zip(names, row, strict=True)) for row in result]


def only(names: Sequence[str], name: str) -> str | None:
    """The only table; None if there is none.

    Raises:
        DataError: there are several.
    """
    if len(names) > 1:
        raise DataError(
            f"{name}: several tables hold rollouts ({either(names)}), expected one", hint="exporting one"
        )
    return names[0] if names else None
