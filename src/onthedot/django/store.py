"""The store on Django's own connection: what is done inside the user's `atomic` is a part of it, and is undone with it.

Nodes have a store of their own on the same tables, with connections that are theirs. This one is for whoever calls from
a request, a command or a test: it opens nothing, so that a web process has no more connections than before, and a test
database can be dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import sqlalchemy
from django.db import Error as DjangoDatabaseError
from django.db import connections, transaction
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from onthedot.clock import SystemClock
from onthedot.django.borrowed import borrowing_engine
from onthedot.django.databases import is_in_memory, vendor_of
from onthedot.errors import Conflict, SchemaError, StoreUnavailable
from onthedot.stores.sql.dialect import Dialect
from onthedot.stores.sql.errors import in_our_words
from onthedot.stores.sql.store import SqlStore
from onthedot.stores.transaction import CutOff, Transaction, TryAgain, once_more_if_cut_off

T = TypeVar("T")

_TRIES_INSIDE = 3
"""Inside the user's transaction: after a clash its savepoint is undone, and another's run is seen the next time."""
_NOTIFY = text("SELECT pg_notify('onthedot', 'django')")


class SiteStore(SqlStore):
    """One database of the project, by its alias."""

    def __init__(self, alias: str, told: Callable[[], bool] = lambda: False) -> None:
        """`told` wakes the node of this process, if it has one, and says whether it did."""
        dialect = dialect_of(vendor_of(alias))
        now_ms = SystemClock().now_ms if dialect.clock is None else None
        super().__init__(lambda: borrowing_engine(alias), dialect, f"the database {alias!r} of this project", now_ms)
        self._alias = alias
        self._told = told

    @property
    def is_inside(self) -> bool:
        """Whether this thread is inside a transaction of the user's on it."""
        return is_inside(connections[self._alias])

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with in_our_words(self._dialect, self._place), self._borrowed() as connection, self._block():
            if self._dialect.take_write_lock is not None and self._has_tables(connection):
                connection.exec_driver_sql(self._dialect.take_write_lock)
            yield connection

    @contextmanager
    def _block(self) -> Iterator[None]:
        """A transaction, or a savepoint in the user's. `CutOff` where it could not even begin."""
        if self.is_inside:
            _begin_by_hand(connections[self._alias])
            with transaction.atomic(using=self._alias):
                yield
            return
        has_begun = False
        try:
            with transaction.atomic(using=self._alias):
                has_begun = True
                yield
        except DjangoDatabaseError as error:
            self._mistrust()
            away = StoreUnavailable(f"{self._place} does not answer: {error}")
            raise away if has_begun else CutOff(away) from error

    def _reading(self, work: Callable[[Connection], T], *, snapshot: bool = False) -> T:
        def once() -> T:
            with self._borrowed() as connection:
                if self.is_inside or not snapshot:
                    return work(connection)
                with self._block():
                    return work(connection)

        with in_our_words(self._dialect, self._place):
            if self.is_inside:
                return once()
            return once_more_if_cut_off(lambda: self._retry_while_busy(once, reads=True))

    @contextmanager
    def _borrowed(self) -> Iterator[Connection]:
        theirs = connections[self._alias]
        if theirs.errors_occurred and not theirs.in_atomic_block:
            theirs.close_if_unusable_or_obsolete()
        theirs.validate_no_broken_transaction()
        try:
            theirs.ensure_connection()
        except DjangoDatabaseError as error:
            raise StoreUnavailable(f"{self._place} does not answer: {error}") from error
        with self._opened().engine.connect() as connection:
            try:
                yield connection
            except (DBAPIError, TryAgain):
                self._mistrust()
                raise

    def _mistrust(self) -> None:
        """Django then looks whether its connection still works before it is used again."""
        connections[self._alias].errors_occurred = True

    def _transact(self, work: Callable[[Transaction], T]) -> T:
        if not self.is_inside:
            return super()._transact(work)
        for _ in range(_TRIES_INSIDE):
            try:
                return self._once(work)
            except TryAgain:
                if connections[self._alias].needs_rollback:
                    break  # the server has undone all of it
        raise Conflict(f"{self._place}: your transaction clashed with another one; roll it back and try again")

    def notify(self) -> None:
        """After the user's commit: nobody can see it before. Who commits by hand cannot be heard; nodes look by
        themselves."""
        if not commits_by_hand(connections[self._alias]):
            transaction.on_commit(self._announce, using=self._alias, robust=True)

    def _announce(self) -> None:
        if not self._told() and self._dialect.name == "postgresql":
            self._reading(lambda connection: connection.execute(_NOTIFY))

    def _has_tables(self, connection: Connection) -> bool:
        return self._is_prepared or sqlalchemy.inspect(connection).has_table("onthedot_meta")

    _is_prepared = False

    def ready(self) -> SiteStore:
        """The same, once it was seen that its tables are there; `SchemaError` with Django's own remedy else."""
        if not self._is_prepared:
            try:
                self.prepare(create=False)
            except SchemaError as error:
                if "newer" in str(error):
                    raise
                raise SchemaError(f"{self._place} lacks the tables of onthedot: run python manage.py migrate") from None
            self._is_prepared = True
        return self

    def make_tables(self) -> None:
        """What `migrate` does: make them, or bring them up to date."""
        if self._dialect.name == "sqlite" and not (is_in_memory(self._alias) or self.is_inside):
            with connections[self._alias].cursor() as cursor:
                cursor.execute("PRAGMA journal_mode = WAL")  # else nodes and requests lock each other out
        self.prepare(create=True, upgrade=True)


def dialect_of(vendor: str) -> Dialect:
    """What our store knows of such a database; only its driver is imported."""
    match vendor:
        case "sqlite":
            from onthedot.stores.sql.sqlite import SQLITE

            return SQLITE
        case "postgresql":
            from onthedot.stores.sql.postgresql import POSTGRESQL

            return POSTGRESQL
        case _:
            from onthedot.stores.sql.mysql import MYSQL

            return MYSQL


def is_inside(connection: Any) -> bool:
    """Whether what is done now waits for a commit of the user's."""
    return bool(connection.in_atomic_block) or commits_by_hand(connection)


def commits_by_hand(connection: Any) -> bool:
    """Whether it is out of any block, and without autocommit: from the first statement on it is in a transaction."""
    if connection.in_atomic_block:
        return False
    is_on = connection.settings_dict["AUTOCOMMIT"] if connection.connection is None else connection.autocommit
    return not is_on


def _begin_by_hand(connection: Any) -> None:
    """SQLite begins a transaction with the first savepoint, and would commit it with that."""
    if connection.vendor == "sqlite" and commits_by_hand(connection) and not connection.connection.in_transaction:
        connection.connection.execute("BEGIN IMMEDIATE")


def _open_blocks() -> list[str]:
    """The databases in whose transactions this thread is, the default one first."""
    opened: list[Any] = [each for each in connections.all(initialized_only=True) if is_inside(each)]
    return sorted((each.alias for each in opened), key=lambda alias: alias != "default")


def waits_for_commit(store_alias: str | None) -> str | None:
    """The database whose commit is to be waited for, before something is enqueued; None: at once, or with it."""
    blocks = _open_blocks()
    if not blocks or store_alias in blocks:
        return None
    if commits_by_hand(connections[blocks[0]]):
        raise Conflict(
            f"the database {blocks[0]!r} is without autocommit, and Django does not tell of its commits: enqueue after"
            " the commit, or inside atomic()"
        )
    return blocks[0]
