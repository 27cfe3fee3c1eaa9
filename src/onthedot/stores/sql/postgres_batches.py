"""Many rows in one statement on PostgreSQL: each column goes as one array, which the server unfolds into rows.

Its driver would send a statement for each row, if in one go; the server then plans, runs and answers each.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import Column, Connection, Table

from onthedot.stores.sql import driver
from onthedot.stores.sql.tables import qualified

_KEY = "this_key"
_NUMBER_OR_NULL = frozenset({int, type(None)})


def insert_many(connection: Connection, table: Table, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> int:
    """New rows, with these columns."""
    return _run(connection, _inserting(table, qualified(connection, table.name), tuple(names)), rows)


def change_many(connection: Connection, key: Column[Any], names: Sequence[str], rows: Sequence[Sequence[Any]]) -> int:
    """Set these columns in the rows whose keys come last; how many there were. Without names: delete them."""
    return _run(connection, _changing(key, qualified(connection, str(key.table)), tuple(names)), rows)


def _run(connection: Connection, statement: str, rows: Sequence[Sequence[Any]]) -> int:
    arrays = tuple(array_literal(column) for column in zip(*rows, strict=True))
    return driver.write_text(connection, statement, [arrays])


def array_literal(values: Sequence[Any]) -> str:
    """Whole numbers or texts as PostgreSQL reads an array: a fortieth of what its driver takes, value by value.

    A NUL, which no text of a database has, stands between texts until all of them are escaped in one go.
    """
    if all(map(_NUMBER_OR_NULL.__contains__, map(type, values))):
        return "{" + str(list(values))[1:-1].replace("None", "NULL") + "}"
    if None in values:
        return "{" + ",".join("NULL" if value is None else f'"{_escaped(value)}"' for value in values) + "}"
    return '{"' + _escaped("\0".join(values)).replace("\0", '","') + '"}'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


@cache
def _inserting(table: Table, qualified_name: str, names: tuple[str, ...]) -> str:
    arrays = ", ".join(_array(table.c[name]) for name in names)
    return f"INSERT INTO {qualified_name} ({_quoted(names)}) SELECT * FROM unnest({arrays})"


@cache
def _changing(key: Column[Any], qualified_name: str, names: tuple[str, ...]) -> str:
    table = key.table
    assert isinstance(table, Table)
    arrays = ", ".join(_array(column) for column in (*(table.c[name] for name in names), key))
    given = f"unnest({arrays}) AS given ({_quoted((*names, _KEY))})"
    match = f'ours."{key.name}" = given."{_KEY}"'
    if not names:
        return f"DELETE FROM {qualified_name} AS ours USING {given} WHERE {match}"
    changes = ", ".join(f'"{name}" = given."{name}"' for name in names)
    return f"UPDATE {qualified_name} AS ours SET {changes} FROM {given} WHERE {match}"


def _array(column: Column[Any]) -> str:
    return "%s::bigint[]" if column.type.python_type is int else "%s::text[]"


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
