"""A SQL table as a JobStore, through SQLAlchemy Core: SQLite, PostgreSQL, MySQL and MariaDB."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import Column, ColumnElement, Connection, Engine, Select, Table, Update
from sqlalchemy.dialects import sqlite
from sqlalchemy.types import TypeDecorator, TypeEngine

from onthedot.clock import Clock
from onthedot.documents.jobs import Change, Fields, Job, Lock, as_utc, new_token
from onthedot.errors import SettingsError
from onthedot.moments import from_ms

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Dialect:
    """What differs between databases."""

    clock: Callable[[bool], ColumnElement[datetime]] | None
    """The server's time, with a zone or as UTC without one; None: no server, so that this machine's clock counts."""
    keeps_zones: bool = False
    isolation_level: str | None = None
    clashes: frozenset[object] = frozenset()
    """Codes of errors that mean: another transaction was first, and this one left nothing behind."""
    is_no_date: Callable[[Column[Any]], ColumnElement[bool]] | None = None
    """What stands in a column of moments and is none; None: the database takes nothing else."""


def _postgresql_clock(with_zone: bool) -> ColumnElement[datetime]:
    # now() is the start of the transaction, and clock_timestamp() is no condition for an index.
    now = sa.func.statement_timestamp(type_=sa.DateTime(timezone=True))
    return now if with_zone else sa.func.timezone("UTC", now, type_=sa.DateTime())


def _mysql_clock(with_zone: bool) -> ColumnElement[datetime]:
    return sa.literal_column("UTC_TIMESTAMP(6)", sa.DateTime())


def _sqlite_no_date(column: Column[Any]) -> ColumnElement[bool]:
    is_text = sa.func.typeof(column) == "text"
    return sa.and_(column.is_not(None), sa.not_(sa.and_(is_text, sa.func.datetime(column).is_not(None))))


# At REPEATABLE READ, locking reads of MySQL lock the gaps as well, and those of PostgreSQL fail where they should skip.
_READ_COMMITTED = "READ COMMITTED"
_POSTGRESQL = _Dialect(_postgresql_clock, True, _READ_COMMITTED, frozenset({"40001", "40P01"}))
_MYSQL = _Dialect(_mysql_clock, False, _READ_COMMITTED, frozenset({1213, 1205, 1020}))
_DIALECTS = {
    "sqlite": _Dialect(clock=None, is_no_date=_sqlite_no_date),
    "postgresql": _POSTGRESQL,
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
}
_TRIES = 20
_NEEDED = {"sleep_until", "locked_by", "locked_until"}
_NO_DATES_EVERY_MS = 60_000
"""How often to look for texts and numbers that would never be due: it takes a look at every row that waits."""


class SqlJobStore:
    """Finds with SKIP LOCKED where there is such a thing, and locks by a conditional update everywhere."""

    def __init__(self, table: Table, engine: Engine, names: Fields, condition: Any, clock: Clock) -> None:
        self._dialect = _dialect(engine)
        level = self._dialect.isolation_level
        self._engine = engine if level is None else engine.execution_options(isolation_level=level)
        self._clock = clock
        self._names = names
        self._columns = _columns(table, names)
        self._key = _key(table)
        self._next_look_ms = 0
        self._make_statements(table, condition)

    def _make_statements(self, table: Table, condition: Any) -> None:
        key, due_at = self._key, self._columns["sleep_until"]
        token, until = self._columns["locked_by"], self._columns["locked_until"]
        now = self._now(due_at)
        free = sa.or_(until.is_(None), until <= self._now(until))
        wanted = sa.and_(free, *([] if condition is None else [_expression(condition)]))
        keys = key.in_(sa.bindparam("b_keys", expanding=True))
        ours = token == sa.bindparam("b_token")
        longer: dict[Column[Any], Any] = {until: sa.bindparam("b_until")}
        find = sa.select(key, now.label("b_now")).order_by(due_at).with_for_update(skip_locked=True, key_share=True)
        lock = sa.update(table).where(keys).values({token: sa.bindparam("b_token"), **longer})
        self._find, self._lock = find.where(due_at <= now, wanted), lock.where(due_at <= now, wanted)
        no_date = _no_date(due_at, self._dialect)
        come = sa.or_(due_at <= now, no_date)
        self._find_no_dates, self._lock_no_dates = find.where(come, wanted), lock.where(come, wanted)
        taken = sa.and_(ours, due_at <= now, until > self._now(until))
        self._find_taken = sa.select(key, now.label("b_now")).where(taken).order_by(due_at)
        self._lock_taken = sa.update(table).where(keys, taken).values(longer)
        self._lock_held = sa.update(table).where(keys, ours, until.is_not(None)).values(longer)
        self._ask_now = sa.select(now.label("b_now"))
        self._read = sa.select(table).where(keys, ours).order_by(due_at)
        held = sa.and_(key == sa.bindparam("b_key"), ours)
        still_due = due_at <= sa.bindparam("b_locked_at")
        values: dict[Column[Any], Any] = {
            due_at: sa.case(
                (sa.or_(still_due, no_date), sa.bindparam("b_sleep_until", type_=due_at.type)), else_=due_at
            ),
            until: sa.bindparam("b_until"),
        }
        if "last_error" in self._columns:
            values[self._columns["last_error"]] = sa.bindparam("b_error")
        self._end = sa.update(table).where(held).values(values)
        self._delete = sa.delete(table).where(held, still_due)
        self._owners = sa.select(key, token).where(keys)

    def _now(self, column: Column[Any]) -> ColumnElement[datetime]:
        """The time in the terms of this column."""
        if self._dialect.clock is None:
            return sa.bindparam(f"b_now_{column.key}", type_=column.type)
        return self._dialect.clock(bool(getattr(column.type, "timezone", False)))

    def lock_due(self, limit: int, lock_ms: int, *, token: str | None = None, skip: Sequence[Any] = ()) -> list[Job]:
        token = token or new_token()
        not_skipped = sa.true() if not skip else self._key.not_in(list(skip))
        find = self._find.where(not_skipped).limit(limit)
        for _ in range(_TRIES):
            jobs, found = self._again(lambda: self._try_lock(find, self._lock, token, lock_ms))
            if jobs:
                return jobs
            if not found:  # else others were faster with all that we found
                break
        if not self._shall_look_for_no_dates():
            return []
        find = self._find_no_dates.where(not_skipped).limit(limit)
        return self._again(lambda: self._try_lock(find, self._lock_no_dates, token, lock_ms))[0]

    def _shall_look_for_no_dates(self) -> bool:
        """Now and then, where nothing else is to be done."""
        now_ms = self._clock.monotonic_ms()
        if self._dialect.is_no_date is None or now_ms < self._next_look_ms:
            return False
        self._next_look_ms = now_ms + _NO_DATES_EVERY_MS
        return True

    def lock_again(self, token: str, lock_ms: int) -> list[Job]:
        jobs, _ = self._again(lambda: self._try_lock(self._find_taken, self._lock_taken, token, lock_ms))
        return jobs

    def _try_lock(self, find: Select[Any], write: Update, token: str, lock_ms: int) -> tuple[list[Job], int]:
        values = {"b_token": token, **self._machine_clock()}
        with self._engine.connect() as connection:
            found = connection.execute(find, values).all()
            if not found:
                return [], 0
            if self._dialect.clock is None:
                connection.rollback()  # a transaction of SQLite that began with a read may be unable to write
            at = as_utc(found[0].b_now)
            lock = Lock(token, at, at + timedelta(milliseconds=lock_ms))
            keys = [row[0] for row in found]
            connection.execute(write, {"b_keys": keys, "b_until": self._until(lock.until), **values})
            jobs = self._jobs(connection, keys, lock)
            connection.commit()
        return jobs, len(found)

    def renew(self, jobs: Sequence[Job], lock_ms: int) -> list[Job]:
        return self._again(lambda: self._write(lambda connection: self._renew(connection, jobs, lock_ms)))

    def _renew(self, connection: Connection, jobs: Sequence[Job], lock_ms: int) -> list[Job]:
        now = as_utc(connection.execute(self._ask_now, self._machine_clock()).scalar_one())
        until = self._until(now + timedelta(milliseconds=lock_ms))
        for token in {job.token for job in jobs}:
            keys = [job.id for job in jobs if job.token == token]
            connection.execute(self._lock_held, {"b_keys": keys, "b_token": token, "b_until": until})
        return self._lost(connection, jobs)

    def _jobs(self, connection: Connection, keys: Sequence[Any], lock: Lock) -> list[Job]:
        """What we hold of these; where a row cannot be read, all are read one by one."""
        try:
            rows = connection.execute(self._read, {"b_keys": keys, "b_token": lock.token}).mappings().all()
        except Exception as error:
            if not _is_of_the_row(error):
                raise
            if len(keys) == 1:
                return [self._unreadable(connection, keys[0], lock)]
            return [job for key in keys for job in self._jobs(connection, [key], lock)]
        return [lock.job(dict(row), row[self._key.key], self._names) for row in rows]

    def _unreadable(self, connection: Connection, key: Any, lock: Lock) -> Job:
        """Column by column: what its type cannot read comes as the text that stands there."""
        document: dict[str, Any] = {}
        bad: list[str] = []
        for column in self._key.table.c:
            this = self._key == key
            try:
                document[column.key] = connection.execute(sa.select(column).where(this)).scalar()
            except Exception as error:
                if not _is_of_the_row(error):
                    raise
                document[column.key] = connection.execute(sa.select(sa.cast(column, sa.Text)).where(this)).scalar()
                bad.append(f"{column.name} cannot be read: {document[column.key]!r}")
        return lock.unreadable(document, key, "; ".join(bad))

    def _machine_clock(self) -> dict[str, Any]:
        if self._dialect.clock is not None:
            return {}
        now, columns = from_ms(self._clock.now_ms()), (self._columns["sleep_until"], self._columns["locked_until"])
        return {f"b_now_{column.key}": self._stored(now, column) for column in columns}

    def update(self, changes: Sequence[Change]) -> list[Job]:
        return self._again(lambda: self._write(lambda connection: self._update(connection, changes)))

    def _update(self, connection: Connection, changes: Sequence[Change]) -> list[Job]:
        connection.execute(
            self._end,
            [
                {
                    **self._held(change.job),
                    "b_sleep_until": self._due_at(change.sleep_until),
                    "b_until": self._until(change.locked_until),
                    **self._error(change.last_error),
                }
                for change in changes
            ],
        )
        return self._lost(connection, [change.job for change in changes])

    def remove(self, jobs: Sequence[Job]) -> list[Job]:
        return self._again(lambda: self._write(lambda connection: self._remove(connection, jobs)))

    def _remove(self, connection: Connection, jobs: Sequence[Job]) -> list[Job]:
        removed = connection.execute(self._delete, [self._held(job) for job in jobs])
        if removed.rowcount == len(jobs):
            return []
        return self._update(connection, [Change(job, None) for job in jobs])

    def _write(self, act: Callable[[Connection], list[Job]]) -> list[Job]:
        with self._engine.begin() as connection:
            return act(connection)

    def _again(self, act: Callable[[], T]) -> T:
        """Do it, and do it again where it clashed with another transaction."""
        for _ in range(_TRIES):
            try:
                return act()
            except sa.exc.DBAPIError as error:
                if not _codes(error) & self._dialect.clashes:
                    raise
        return act()

    def _held(self, job: Job) -> dict[str, Any]:
        return {"b_key": job.id, "b_token": job.token, "b_locked_at": self._due_at(job.locked_at)}

    def _error(self, text: str | None) -> dict[str, str | None]:
        if "last_error" not in self._columns:
            return {}
        length = getattr(self._columns["last_error"].type, "length", None)
        return {"b_error": text[:length] if text and length else text}

    def _lost(self, connection: Connection, jobs: Sequence[Job]) -> list[Job]:
        rows = connection.execute(self._owners, {"b_keys": [job.id for job in jobs]})
        owners = {row[0]: row[1] for row in rows}
        return [job for job in jobs if job.id in owners and owners[job.id] != job.token]

    def _due_at(self, moment: datetime | None) -> datetime | None:
        return self._stored(moment, self._columns["sleep_until"])

    def _until(self, moment: datetime | None) -> datetime | None:
        return self._stored(moment, self._columns["locked_until"])

    def _stored(self, moment: datetime | None, column: Column[Any]) -> datetime | None:
        """As the column takes it."""
        if moment is None or _takes_zone(column.type, self._dialect):
            return moment
        return moment.astimezone(UTC).replace(tzinfo=None)


def _is_of_the_row(error: Exception) -> bool:
    """Whether a value could not be turned into Python: by the driver, or by the column's type, whoever wrote that."""
    return isinstance(error, sa.exc.DataError) or not isinstance(error, sa.exc.SQLAlchemyError)


def _codes(error: sa.exc.DBAPIError) -> set[object]:
    """The database's own: five characters of SQL, or the number that drivers of MySQL give first."""
    return {getattr(error.orig, "sqlstate", None), *getattr(error.orig, "args", ())[:1]}


def _dialect(engine: Engine) -> _Dialect:
    if not isinstance(engine, Engine):
        raise SettingsError("a table needs engine=, the SQLAlchemy Engine (not an async one) of its database")
    if engine.dialect.name not in _DIALECTS:
        known = ", ".join(sorted(_DIALECTS))
        raise SettingsError(f"tables of {engine.dialect.name} cannot be worked; there is {known}, or write a JobStore")
    return _DIALECTS[engine.dialect.name]


def _expression(condition: Any) -> ColumnElement[bool]:
    try:
        return sa.and_(condition)
    except sa.exc.ArgumentError:
        raise SettingsError(f"condition is a SQL expression, like table.c.approved, not {condition!r}") from None


def _columns(table: Table, names: Fields) -> dict[str, Column[Any]]:
    """The columns that there are, by their meaning; those nobody named may be missing, if work can do without."""
    columns: dict[str, Column[Any]] = {}
    for field in fields(names):
        name = getattr(names, field.name)
        if name in table.c:
            columns[field.name] = table.c[name]
        elif field.name in _NEEDED or name != field.default:
            there = ", ".join(table.c.keys())
            raise SettingsError(
                f"table {table.name} has no column {name!r} for {field.name}: add it, or name another "
                f"({field.name}=…) of {there}"
            )
    _check_moment(table, columns["sleep_until"])
    _check_moment(table, columns["locked_until"])
    return columns


def _check_moment(table: Table, column: Column[Any]) -> None:
    if not isinstance(column.type, sa.DateTime | TypeDecorator):
        raise SettingsError(f"column {table.name}.{column.name} is {column.type!r}; moments are kept as DateTime")


def _key(table: Table) -> Column[Any]:
    keys = list(table.primary_key.columns)
    if len(keys) != 1:
        raise SettingsError(f"table {table.name} needs a primary key of one column; it has {len(keys)}")
    return keys[0]


def _no_date(column: Column[Any], dialect: _Dialect) -> ColumnElement[bool]:
    """What is no moment here; nothing, where a type of the user's own decides what one looks like."""
    is_plain = not isinstance(column.type, TypeDecorator | sqlite.DATETIME)
    return dialect.is_no_date(column) if dialect.is_no_date is not None and is_plain else sa.false()


def _takes_zone(type_: TypeEngine[Any], dialect: _Dialect) -> bool:
    """Whether moments go in with a zone: a type of the user's own is taken to want the whole moment."""
    return isinstance(type_, TypeDecorator) or (dialect.keeps_zones and bool(getattr(type_, "timezone", False)))
