"""Many updates or deletes in one statement, where drivers would send them one by one: on MariaDB and MySQL.

All rows go as one parameter, a JSON text that the server reads as a table and joins with ours: one round trip, and one
statement for any number of rows. INSERT … ON DUPLICATE KEY UPDATE would be one as well, but where another unique key
clashes (a slot) it updates that other row and says nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Column, Connection, Table, TextClause, text

_LONGEST = 250_000
"""In characters: a server refuses packets of a megabyte or more where it is set up so."""
_KEY = "this_key"


def change_many(connection: Connection, key: Column[Any], names: Sequence[str], rows: Sequence[Sequence[Any]]) -> int:
    """Set these columns in the rows whose keys come last; how many there were. Without names: delete them."""
    statement = _statement(key, tuple(names))
    return sum(connection.execute(statement, {"given": given}).rowcount for given in in_texts(rows))


@cache
def _statement(key: Column[Any], names: tuple[str, ...]) -> TextClause:
    table = key.table
    assert isinstance(table, Table)
    given = [_given(table.c[name], name, place) for place, name in enumerate(names)]
    given.append(_given(key, _KEY, len(names)))
    # Row by row by the key, whatever the server thinks of the table's size: reading all of it would lock all of it.
    joined = (
        f"JSON_TABLE(:given, '$[*]' COLUMNS ({', '.join(given)})) AS given "
        f"STRAIGHT_JOIN {table.name} AS ours FORCE INDEX ({_index(key, table)}) ON ours.`{key.name}` = given.`{_KEY}`"
    )
    if not names:
        return text(f"DELETE ours FROM {joined}")
    return text(f"UPDATE {joined} SET {', '.join(f'ours.`{name}` = given.`{name}`' for name in names)}")


def _index(key: Column[Any], table: Table) -> str:
    """The one that begins with the key."""
    if next(iter(table.primary_key.columns)) is key:
        return "PRIMARY"
    return next(str(index.name) for index in table.indexes if next(iter(index.columns)) is key)


def _given(column: Column[Any], name: str, place: int) -> str:
    """Wide enough for anything: what does not fit is for the table to refuse, not for JSON_TABLE to cut off."""
    kind = "BIGINT" if column.type.python_type is int else "LONGTEXT COLLATE utf8mb4_bin"
    if name == _KEY:
        kind = kind.replace("LONGTEXT", "VARCHAR(700)")  # by which an index is searched
    return f"`{name}` {kind} PATH '$[{place}]' ERROR ON ERROR"


def in_texts(rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """The rows as JSON, in as few texts as a server takes."""
    texts: list[str] = []
    length = 0
    for row in rows:
        written = json.dumps(row, ensure_ascii=False)
        if texts and length + len(written) > _LONGEST:
            yield f"[{','.join(texts)}]"
            texts, length = [], 0
        texts.append(written)
        length += len(written)
    if texts:
        yield f"[{','.join(texts)}]"
