"""Counting ends into hours: read without a lock, kept in a short transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy import Column, Connection, Select, bindparam, case, func, insert, literal_column, or_, select, update
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import Text

from onthedot.model.hour import Hour
from onthedot.rules.counting import WRONG, End
from onthedot.stores import mapping
from onthedot.stores.roll_up import Flows, Known
from onthedot.stores.sql import driver, tables
from onthedot.stores.sql.batches import Batch, changing
from onthedot.stores.sql.dialect import Dialect
from onthedot.stores.sql.exactly import exactly
from onthedot.stores.sql.in_list import in_list
from onthedot.stores.sql.prune import Read
from onthedot.stores.sql.transaction import in_chunks

_history, _hours, _rolled = tables.history.c, tables.hours.c, tables.rolled.c
_ENDS: Any = literal_column("'ends'")


class _Tail(FunctionElement[str]):
    """The last thousand characters of a text: an error may be long, and its last line is all that is asked for."""

    type = Text()
    inherit_cache = True


@compiles(_Tail)
def _right(element: _Tail, compiler: SQLCompiler, **how: Any) -> str:
    return f"RIGHT({compiler.process(element.clauses, **how)}, 1000)"


@compiles(_Tail, "sqlite")
def _substr(element: _Tail, compiler: SQLCompiler, **how: Any) -> str:
    text = compiler.process(element.clauses, **how)
    return f"CASE WHEN LENGTH({text}) > 1000 THEN SUBSTR({text}, -1000) ELSE {text} END"


def _tail(column: Column[Any]) -> Any:
    return _Tail(column)


_WENT_WRONG = _history.state.in_([literal_column(f"'{state.value}'") for state in WRONG])
# What was filled in is a step, and counts as any run of its schedule.
_WHOLE = or_(_history.step.is_(None), _history.schedule_id.is_not(None))
_STEP: Any = literal_column("'//'", Text)
# Nothing but what is counted: a whole run takes ten times as long.
ALL_ENDS: Select[Any] = (
    select(
        case((_WHOLE, _history.kept_by), else_=literal_column("'//'", Text).concat(_history.parent_id)),
        case((_WHOLE, literal_column("''")), else_=_history.step),
        _history.state,
        _history.due_ms,
        _history.started_ms,
        _history.finished_ms,
        case((_WENT_WRONG, func.coalesce(_tail(_history.error), _history.reason))),
    )
    .where(_history.finished_ms > bindparam("after_ms"), _history.finished_ms <= bindparam("last_ms"))
    .order_by(_history.finished_ms)
)
ENDS = ALL_ENDS.limit(bindparam("most"))
THROUGH = select(_rolled.through_ms).where(_rolled.name == _ENDS)
MOVE = (
    update(tables.rolled)
    .where(_rolled.name == _ENDS, _rolled.through_ms == bindparam("before_ms"))
    .values(through_ms=bindparam("moved_ms"))
)
BEGIN = insert(tables.rolled).inline().values(name=_ENDS, through_ms=bindparam("moved_ms"))
_COLUMNS = [tables.hours.c[name] for name in mapping.HOUR]
# As a range, so that SQLite looks up each place, and does not read all that is of the hour.
HOURS_AT = select(*_COLUMNS, _hours.seq).where(
    in_list(_hours.kept_by),
    in_list(_hours.step, "steps"),
    _hours.hour_ms.between(bindparam("hour_ms"), bindparam("hour_ms")),
)
HOURS = (
    select(*_COLUMNS)
    .where(
        exactly(_hours.kept_by, bindparam("of")),
        exactly(_hours.step, bindparam("of_step")),
        _hours.hour_ms.between(bindparam("first_ms"), bindparam("last_ms")),
    )
    .order_by(_hours.hour_ms)
)
INSERT_HOURS = Batch(insert(tables.hours), mapping.HOUR)
CHANGE_HOURS = changing(_hours.seq, ("body",))


class SqlRolling:
    """Of one store."""

    def __init__(
        self, read: Read, write: Callable[[], AbstractContextManager[Connection]], dialect: Dialect, flows: Flows
    ) -> None:
        self.flows = flows
        self._read = read
        self._write = write
        self._dialect = dialect

    def rolled_through(self) -> int:
        found = self._read(lambda connection: driver.fetch(connection, THROUGH))
        return int(found[0][0]) if found else 0

    def ends(self, after_ms: int, last_ms: int, most: int) -> Sequence[End]:
        asked = {"after_ms": after_ms, "last_ms": last_ms}
        if most:
            return self._read(lambda connection: driver.fetch(connection, ENDS, {**asked, "most": most}))
        return self._read(lambda connection: driver.fetch(connection, ALL_ENDS, asked))

    def hours_at(self, hour_ms: int, places: Sequence[tuple[str, str]]) -> list[Known]:
        of, steps = (sorted(set(each)) for each in zip(*places, strict=True))
        asked = {"hour_ms": hour_ms, "steps": steps}

        def found(connection: Connection) -> list[Known]:
            rows = in_chunks(connection, HOURS_AT, of, asked, self._dialect.most_values)
            return [(mapping.hour_from(columns), seq) for *columns, seq in rows]

        return self._read(found)

    def keep(self, before_ms: int, through_ms: int, new: Sequence[Hour], changed: Sequence[Known]) -> bool:
        with self._write() as connection:
            # This locks the row: who else has read the same ends waits here, and then finds it moved.
            if not driver.write(connection, MOVE, {"before_ms": before_ms, "moved_ms": through_ms}):
                if before_ms or driver.fetch(connection, THROUGH):
                    return False
                driver.write(connection, BEGIN, {"moved_ms": through_ms})  # two at once clash in it
            INSERT_HOURS.run(connection, [mapping.hour_row(each) for each in new])
            CHANGE_HOURS.run(connection, [(mapping.hour_row(each)[-1], seq) for each, seq in changed])
        return True

    def hours(self, of: str, step: str, first_ms: int, last_ms: int) -> list[Hour]:
        """See `Store.hours`."""
        asked = {"of": of, "of_step": step, "first_ms": first_ms, "last_ms": last_ms}
        return [mapping.hour_from(row) for row in self._read(lambda connection: driver.fetch(connection, HOURS, asked))]
