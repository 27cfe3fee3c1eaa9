"""Statements given to the driver itself: SQLAlchemy compiles each once, and is passed by from then on.

What it does around one execution takes longer than most of ours do. Who listens to its events (a tracer, a test) hears
of all statements: as long as there is one, they go its way. So do those that it must write anew for each execution.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, Dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.base import Executable
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ClauseElement

Row = Sequence[Any]
Given = Mapping[str, Any]
Encode = Callable[[Any], Any]
MakeCursor = Callable[[Any], Any]
T = TypeVar("T")


class _Compiled(NamedTuple):
    """A statement in the database's own words, and what it is given."""

    text: str
    names: tuple[str, ...]
    constants: Given
    encoded: tuple[tuple[str, Encode], ...]
    by_position: bool
    make_cursor: MakeCursor

    def values(self, given: Given) -> Any:
        """What the driver is given."""
        values = {**self.constants, **given} if self.constants else dict(given)
        for name, encode in self.encoded:
            values[name] = encode(values[name])
        return tuple(values[name] for name in self.names) if self.by_position else values


def fetch(connection: Connection, statement: Executable, given: Given | None = None) -> Sequence[Row]:
    """All rows that the statement finds. The statement is remembered: to be one of a few."""
    compiled = None if _is_heard(connection) else _compiled(connection, statement)
    if compiled is None:
        return connection.execute(statement, given or {}).fetchall()
    return _run(connection, compiled.text, compiled.values(given or {}), _all, make_cursor=compiled.make_cursor)


def write(connection: Connection, statement: Executable, given: Given) -> int:
    """How many rows the statement has written. It is remembered, too."""
    compiled = None if _is_heard(connection) else _compiled(connection, statement)
    if compiled is None:
        return connection.execute(statement, given).rowcount
    return _run(connection, compiled.text, compiled.values(given), _count, make_cursor=compiled.make_cursor)


def write_text(connection: Connection, text: str, rows: Sequence[Row]) -> int:
    """How many rows a statement in the database's own words has written, which is run for each of those given."""
    if _is_heard(connection):
        return connection.exec_driver_sql(text, [tuple(row) for row in rows]).rowcount
    if len(rows) == 1:
        return _run(connection, text, rows[0], _count)
    return _run(connection, text, rows, _count, many=True)


def _all(cursor: Any) -> Sequence[Row]:
    rows: Sequence[Row] = cursor.fetchall()
    return rows


def _count(cursor: Any) -> int:
    return int(cursor.rowcount)


def _is_heard(connection: Connection) -> bool:
    return bool(connection.dispatch.before_cursor_execute or connection.dispatch.after_cursor_execute)


def _own_cursor(held: Any) -> Any:
    return held.cursor()


def _run(
    connection: Connection,
    text: str,
    values: Any,
    answer: Callable[[Any], T],
    *,
    many: bool = False,
    make_cursor: MakeCursor = _own_cursor,
) -> T:
    held = connection.connection
    cursor = make_cursor(held)
    try:
        if many:
            cursor.executemany(text, values)
        else:
            cursor.execute(text, values)
        return answer(cursor)
    except connection.dialect.loaded_dbapi.Error as error:
        lost = connection.dialect.is_disconnect(error, held, cursor)
        if lost:
            connection.invalidate(error)
        raise DBAPIError.instance(
            text,
            values,
            error,
            connection.dialect.loaded_dbapi.Error,
            connection_invalidated=lost,
            dialect=connection.dialect,
        ) from error
    except BaseException as error:
        if not isinstance(error, Exception):  # raised from outside, in the midst of an answer
            connection.invalidate(error)
        raise
    finally:
        if not connection.invalidated:
            cursor.close()


_known: dict[tuple[object, str, bool, bool, str | None], _Compiled | None] = {}


def _compiled(connection: Connection, statement: Executable) -> _Compiled | None:
    schemas = connection.get_execution_options().get("schema_translate_map")
    key = (statement, *_flavour(connection.dialect), schemas[None] if schemas else None)
    try:
        return _known[key]
    except KeyError:
        return _known.setdefault(key, _compile(connection, statement, schemas))


def _flavour(dialect: Dialect) -> tuple[str, bool, bool]:
    """What statements are written for. MariaDB and MySQL share their driver, and not their SQL; those who await it have
    cursors of their own."""
    return dialect.driver, dialect.is_async, getattr(dialect, "is_mariadb", False)


def _compile(connection: Connection, statement: Executable, schemas: Any) -> _Compiled | None:
    """None if the statement is not the same for all that it can be given."""
    assert isinstance(statement, ClauseElement)
    dialect, make_cursor = connection.dialect, _own_cursor
    if dialect.driver == "psycopg" and not dialect.is_async:
        dialect, make_cursor = _numbering(dialect), _raw_cursor
    translated: dict[str, Any] = {"schema_translate_map": schemas, "render_schema_translate": True} if schemas else {}
    compiled = statement.compile(dialect=dialect, **translated)
    assert isinstance(compiled, SQLCompiler)
    if compiled.literal_execute_params or compiled.post_compile_params:
        return None
    encoders = {
        name: bind.type.dialect_impl(dialect).bind_processor(dialect) for bind, name in compiled.bind_names.items()
    }
    constants = {name: value for name, value in compiled.params.items() if not _is_given(compiled, name)}
    return _Compiled(
        str(compiled),
        tuple(compiled.positiontup or ()),
        constants,
        tuple((name, encode) for name, encode in encoders.items() if encode is not None),
        bool(compiled.positional),
        make_cursor,
    )


def _numbering(dialect: Dialect) -> Dialect:
    """The same for psycopg's raw cursors, which take a statement as the server does: with $1 and $2.

    Its others look for %s in it; in one as long as our longest they do that each time that it is run.
    """
    numbering = copy(dialect)
    numbering.paramstyle, numbering.positional = "numeric_dollar", True
    numbering.identifier_preparer = numbering.preparer(numbering)
    return numbering


def _raw_cursor(held: Any) -> Any:
    from psycopg import RawCursor  # here, since it needs the driver

    return RawCursor(held.driver_connection)


def _is_given(compiled: SQLCompiler, name: str) -> bool:
    return compiled.binds[name].required
