"""Rows that a statement is given as a table: how each database reads them, and joins with them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol

from onthedot.stores.sql.mysql_batches import in_texts
from onthedot.stores.sql.postgres_batches import array_literal

Kinds = Mapping[str, Literal["key", "text", "number"]]
"""The columns of the given rows: `id` is a key, by which they are joined; a text may be of any length."""
Rows = Sequence[Sequence[Any]]


class GivenRows(Protocol):
    """In the text of a statement the given table is called `given`, the one that it is joined with `ours`."""

    quote: str
    """Around names."""

    def beside(self, table: str, kinds: Kinds) -> str:
        """FROM: each given row, with the row of the table that has its id."""

    def update(self, table: str, kinds: Kinds, changes: Mapping[str, str]) -> str:
        """A statement that sets these columns, to these expressions, in the rows that have the given ids."""

    def taking(self, table: str, kinds: Kinds) -> tuple[str, str] | None:
        """WITH and FROM: the same as `beside`, of rows that are deleted with it; None where no statement does both."""

    def values(self, kinds: Kinds, rows: Rows) -> Iterator[dict[str, Any]]:
        """The parameters of such a statement; where a server takes not all at once, of several."""


class JsonEach:
    """SQLite: one JSON text. A statement for each row would let go of the interpreter with each, and wait for it."""

    quote = '"'

    def beside(self, table: str, kinds: Kinds) -> str:
        return f"{self._given(kinds)} CROSS JOIN {table} AS ours ON ours.id = given.id"  # in this order

    def update(self, table: str, kinds: Kinds, changes: Mapping[str, str]) -> str:
        return f"UPDATE {table} AS ours SET {_set(changes)} FROM {self._given(kinds)} WHERE ours.id = given.id"

    def taking(self, table: str, kinds: Kinds) -> None:
        return None

    def values(self, kinds: Kinds, rows: Rows) -> Iterator[dict[str, Any]]:
        yield {"given": json.dumps(rows)}

    @staticmethod
    def _given(kinds: Kinds) -> str:
        columns = ", ".join(f"json_extract(value, '$[{place}]') AS {name}" for place, name in enumerate(kinds))
        return f"(SELECT {columns} FROM json_each(:given)) AS given"


class Unnest:
    """PostgreSQL: one array for each column."""

    quote = '"'

    def beside(self, table: str, kinds: Kinds) -> str:
        return f"{self.table(kinds)} JOIN {table} AS ours ON ours.id = given.id"

    def update(self, table: str, kinds: Kinds, changes: Mapping[str, str]) -> str:
        return f"UPDATE {table} AS ours SET {_set(changes)} FROM {self.table(kinds)} WHERE ours.id = given.id"

    def taking(self, table: str, kinds: Kinds) -> tuple[str, str]:
        gone = f"DELETE FROM {table} AS live USING given WHERE live.id = given.id RETURNING live.*"
        return f"WITH given AS (SELECT * FROM {self.table(kinds)}), ours AS ({gone})", "given JOIN ours USING (id)"

    def values(self, kinds: Kinds, rows: Rows) -> Iterator[dict[str, Any]]:
        columns = zip(kinds, zip(*rows, strict=True), strict=True)
        yield {f"given_{name}": array_literal(values) for name, values in columns}

    @staticmethod
    def table(kinds: Kinds) -> str:
        """FROM: the given rows."""
        types = ((name, "bigint" if kind == "number" else "text") for name, kind in kinds.items())
        arrays = ", ".join(f"CAST(:given_{name} AS {type_}[])" for name, type_ in types)
        return f"unnest({arrays}) AS given ({', '.join(kinds)})"


class JsonTable:
    """MariaDB and MySQL: one JSON text. By the key, whatever the server thinks of the table's size: reading all of it
    would lock all of it."""

    quote = "`"
    _TYPES: Mapping[str, str] = {
        "key": "VARCHAR(700) COLLATE utf8mb4_bin",
        "text": "LONGTEXT COLLATE utf8mb4_bin",
        "number": "BIGINT",
    }

    def beside(self, table: str, kinds: Kinds) -> str:
        return f"{self._given(kinds)} STRAIGHT_JOIN {table} AS ours FORCE INDEX (PRIMARY) ON ours.id = given.id"

    def update(self, table: str, kinds: Kinds, changes: Mapping[str, str]) -> str:
        ours = {f"ours.{name}": expression for name, expression in changes.items()}
        return f"UPDATE {self.beside(table, kinds)} SET {_set(ours)}"

    def taking(self, table: str, kinds: Kinds) -> None:
        return None

    def values(self, kinds: Kinds, rows: Rows) -> Iterator[dict[str, Any]]:
        return ({"given": text} for text in in_texts(rows))

    def _given(self, kinds: Kinds) -> str:
        columns = ", ".join(
            f"{name} {self._TYPES[kind]} PATH '$[{place}]' ERROR ON ERROR"
            for place, (name, kind) in enumerate(kinds.items())
        )
        return f"JSON_TABLE(:given, '$[*]' COLUMNS ({columns})) AS given"


def _set(changes: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {expression}" for name, expression in changes.items())
