"""A database's errors in our words: one clear line each, that says what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import assert_never

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from onthedot.errors import SchemaError, StoreError, StoreUnavailable
from onthedot.stores.sql.dialect import Dialect, Fault
from onthedot.stores.transaction import TryAgain


@contextmanager
def in_our_words(dialect: Dialect, place: str) -> Iterator[None]:
    """What the database raises inside becomes `TryAgain` or a `StoreError`."""
    try:
        yield
    except DBAPIError as error:
        raise _meaning(dialect.fault(error), place, error) from error
    except PoolTimeout as error:
        raise StoreUnavailable(f"{place}: all connections of this process are in use") from error


def is_busy(error: BaseException, dialect: Dialect) -> bool:
    """Whether the same may work a moment later, because somebody else was writing."""
    return isinstance(error, DBAPIError) and dialect.fault(error) is Fault.BUSY


def was_cut_off(error: BaseException, dialect: Dialect) -> bool:
    """Whether the server has ended a connection that it had: what only read can be asked again on another."""
    return isinstance(error, DBAPIError) and error.connection_invalidated and dialect.fault(error) is Fault.AWAY


def _said(error: DBAPIError) -> str:
    """The driver's words, without its number, in one line."""
    arguments = getattr(error.orig, "args", ())
    return " ".join(str(arguments[-1] if arguments else error.orig).split())


def _meaning(fault: Fault, place: str, error: DBAPIError) -> Exception:
    said = _said(error)
    match fault:
        case Fault.CLASH:
            return TryAgain(said)
        case Fault.BUSY:
            return StoreUnavailable(f"{place} has been locked by another process for too long; is one of them stopped?")
        case Fault.READ_FIRST:
            return StoreError(
                "this transaction began with a read and somebody else has written since, so it cannot write any more; "
                "enqueue first, or begin it with BEGIN IMMEDIATE"
            )
        case Fault.AWAY:
            return StoreUnavailable(f"{place} does not answer: {said}")
        case Fault.READ_ONLY:
            return StoreError(f"{place} cannot be written: {said}; give this user the permission to write it")
        case Fault.NO_TABLES:
            return SchemaError(f"{place} has no tables of onthedot ({said}); run `onthedot migrate`")
        case Fault.NO_DATABASE:
            return StoreError(f"{place} is no database, or a damaged one: {said}")
        case Fault.NOT_LET_IN:
            return StoreError(f"{place} does not let us in: {said}; check user and password")
        case Fault.POOLED:
            return StoreError(f"{place} is behind PgBouncer ({said}); add pgbouncer=transaction to the URL")
        case Fault.OTHER:
            return StoreError(f"{place}: {said}")
        case _:
            assert_never(fault)
