"""Rows as after a put or a run, in numbers: through the store, or, where a million is wanted, by the server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy
from sqlalchemy import Table, func, literal_column, select, text

from onthedot import every
from onthedot.model.ids import new_id
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.stores.engine import Engine
from onthedot.stores.open import open_store
from onthedot.stores.sql import tables
from onthedot.triggers.codec import encode

TRIGGER = encode(every("1h"))
_DRIVERS = {"postgresql": "postgresql+psycopg", "mariadb": "mysql+pymysql", "sqlite": "sqlite"}
_ANALYSE = {"postgresql": "VACUUM ANALYZE", "mariadb": "ANALYZE TABLE"}
NUMBERS = {
    "sqlite": (
        "(WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < {}) "
        "SELECT n FROM counted) AS numbers"
    ),
    "postgresql": "generate_series(1, {}) AS numbers(n)",
    "mariadb": "(SELECT seq AS n FROM seq_1_to_{}) AS numbers",
}
"""The databases that can copy rows by themselves, and how each counts."""


def schedule_at(moment_ms: int, **fields: Any) -> Schedule:
    """A schedule without id and name whose first tick is at that moment, as it is after a put."""
    values: dict[str, Any] = {"task": "task", "trigger": TRIGGER, "created_ms": 1} | fields
    return Schedule("", "", next_run_ms=moment_ms, settled_ms=moment_ms - 1, **values)


def fill(store: Engine, count: int, blank: Schedule, prefix: str, *, each: int = 1000) -> None:
    """Insert copies of a schedule through the store, so many a transaction."""
    now_ms = store.now_ms()
    for first in range(0, count, each):
        names = [f"{prefix}-{number}" for number in range(first, min(first + each, count))]
        with store.begin() as rows:
            rows.save_schedules([replace(blank, id=new_id(now_ms), name=name) for name in names])


def fill_history(store: Engine, count: int, *, each: int = 1000) -> None:
    """Insert finished runs through the store, so many a transaction."""
    now_ms = store.now_ms()
    blank = Run("", "task", "enqueue", 1, 1, State.SUCCEEDED, finished_ms=now_ms, started_ms=1, attempt=1)
    for first in range(0, count, each):
        with store.begin() as rows:
            rows.end_runs([replace(blank, id=new_id(now_ms)) for _ in range(first, min(first + each, count))])


def multiply_schedules(url: str, count: int, prefix: str) -> None:
    """Let the database copy the schedule `{prefix}-0` so many times, with ids and names of their own."""
    template = tables.schedules.c.name == f"{prefix}-0"
    _multiply(url, tables.schedules, template, count, {"name": _joined(url, f"{prefix}-", literal_column("n"))})


def multiply_history(url: str, count: int) -> None:
    """Let the database copy the only finished run so many times, with ids of their own."""
    _multiply(url, tables.history, sqlalchemy.true(), count, {})


def multiply_waiting(url: str, count: int) -> None:
    """Let the database copy the only live run so many times, with ids of their own; it must be of no schedule."""
    _multiply(url, tables.runs, sqlalchemy.true(), count, {"apart": _numbered_id(url)})


def _multiply(url: str, table: Table, template: Any, count: int, others: dict[str, Any]) -> None:
    if count < 1:
        return
    changed = {"id": _numbered_id(url), **others}
    columns = [changed.get(column.name, column) for column in table.c]
    numbers = text(NUMBERS[_kind(url)].format(count))
    rows = select(*columns).where(template).select_from(table).select_from(numbers)
    with server_engine(url) as engine, engine.begin() as connection:
        connection.execute(table.insert().from_select([column.name for column in table.c], rows))
    settle(url, table)


def _numbered_id(url: str) -> Any:
    if _kind(url) == "sqlite":
        last = func.printf("%012d", literal_column("n"))
    else:
        last = func.right(func.concat("000000000000", literal_column("n")), 12)
    return _joined(url, "00000000-0000-7000-8000-", last)


def _joined(url: str, text_before: str, value: Any) -> Any:
    if _kind(url) == "sqlite":  # older ones have no concat()
        return sqlalchemy.literal(text_before).op("||")(value)
    return func.concat(text_before, value)


def _kind(url: str) -> str:
    return url.partition(":")[0]


def settle(url: str, *filled: Table) -> None:
    """Let the server of a SQL store look at its tables now, as it would have by itself after a while of use."""
    analyse = _ANALYSE.get(_kind(url))
    if analyse is None:
        return
    with (
        server_engine(url) as engine,
        engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection,
    ):
        for table in filled:
            connection.execute(text(f"{analyse} {table.name}"))


def opened_engine(url: str) -> Engine:
    """A new store at this URL, whose transactions can be used."""
    store = open_store(url, create=True)
    assert isinstance(store, Engine)
    return store


@contextmanager
def server_engine(url: str) -> Iterator[sqlalchemy.Engine]:
    """Connections of the bench's own, without our settings."""
    parsed = sqlalchemy.make_url(url)
    engine = sqlalchemy.create_engine(parsed.set(drivername=_DRIVERS[parsed.drivername]))
    try:
        yield engine
    finally:
        engine.dispose()
