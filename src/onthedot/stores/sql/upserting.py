"""Writing rows of which the transaction does not know whether they exist."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, Table, bindparam, insert, select, update

from onthedot.stores.sql.dialects import Dialect
from onthedot.stores.sql.mapping import Columns
from onthedot.stores.sql.statements import Batch, among


class Upsert:
    """Inserts or updates whole rows; only the primary key decides, any other clash is an error."""

    def __init__(self, dialect: Dialect, table: Table, names: Sequence[str]) -> None:
        (key,) = table.primary_key.columns
        self._at = list(names).index(key.name)
        self._most = dialect.most_values
        self._known = select(key).where(among(key)).order_by(key).with_for_update()
        if dialect.insert_or_update is not None:
            self._whole: Batch | None = Batch(dialect.insert_or_update(table, names), names)
            return
        self._whole = None
        others = [name for name in names if name != key.name]
        changing = update(table).where(key == bindparam("this_key")).values({name: bindparam(name) for name in others})
        self._insert = Batch(insert(table), names)
        self._update = Batch(changing, (*others, "this_key"))

    def run(self, connection: Connection, rows: Sequence[Columns]) -> None:
        """Write the rows, each in the order of the names."""
        if self._whole is not None:
            self._whole.run(connection, rows)
            return
        known = self._known_among(connection, sorted(row[self._at] for row in rows))
        old = [row for row in rows if row[self._at] in known]
        self._insert.run(connection, [row for row in rows if row[self._at] not in known])
        self._update.run(connection, [(*row[: self._at], *row[self._at + 1 :], row[self._at]) for row in old])

    def _known_among(self, connection: Connection, keys: Sequence[str]) -> set[str]:
        known: set[str] = set()
        for start in range(0, len(keys), self._most):
            known.update(connection.execute(self._known, {"among": keys[start : start + self._most]}).scalars())
        return known
