"""The store on MongoDB: transactions for the engine, and what a process has open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from random import randrange
from threading import Event, Lock
from typing import Any, TypeVar

import pymongo
from bson import ObjectId
from pymongo import DeleteMany, MongoClient, ReplaceOne
from pymongo.client_session import ClientSession
from pymongo.database import Database
from pymongo.errors import PyMongoError
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from onthedot.clock import SystemClock
from onthedot.errors import Conflict, SchemaError, SettingsError, StoreError, StoreUnavailable
from onthedot.forks import leave_alone, notice_fork, tell_of_forks
from onthedot.model.change import Author
from onthedot.model.finding import Finding
from onthedot.model.hour import Hour
from onthedot.model.minute import Minute
from onthedot.model.run import Run
from onthedot.stores.answerable import answerable
from onthedot.stores.answers import OLD_MS, RolledUp
from onthedot.stores.claimed_runs import ClaimedRuns
from onthedot.stores.engine import plainly
from onthedot.stores.engine.enqueuing import enqueue
from onthedot.stores.kept_graphs import Graphs
from onthedot.stores.mongo import mapping as documents
from onthedot.stores.mongo import schema
from onthedot.stores.mongo.abandoned import AbandonedTransactions
from onthedot.stores.mongo.candidates import Manners
from onthedot.stores.mongo.connect import Opened, app_name, check, connect, database_of
from onthedot.stores.mongo.errors import in_our_words, may_be_committed, may_be_repeated
from onthedot.stores.mongo.mapping import Document
from onthedot.stores.mongo.notify import ChangeStream
from onthedot.stores.mongo.prune import MongoForgetting
from onthedot.stores.mongo.queries import Queries
from onthedot.stores.mongo.reads import StoreTime, ms_of
from onthedot.stores.mongo.reservations import Reservations
from onthedot.stores.mongo.roll_up import MongoRolling
from onthedot.stores.mongo.transaction import MongoTransaction
from onthedot.stores.plain import PlainDone, PlainStep
from onthedot.stores.prune import Pruner
from onthedot.stores.retention import MINUTES_KEPT_MS, Pruned, Retention
from onthedot.stores.roll_up import roll_up
from onthedot.stores.transaction import Transaction, TryAgain

T = TypeVar("T")

_WAIT_MS = 15_000
"""How long a call tries before it says so: half a lease, so that a node can still renew after it."""
_LONGEST_MS = 20_000
"""Whatever happens in it, a call ends by then: a node gives its runs up after 25 s without a renewal."""
_ABANDONED_MS = 500
"""After clashing for so long, it looks whether somebody holds a transaction open and does nothing."""
_LONGEST_PAUSE_MS = 60
_PATIENCE = 5
"""So often a transaction waits for those who have reserved what it needs; then it is left to the clash."""
_COMMIT_MS = 5000
_MOST_CROWDED = 5


class MongoStore(Queries):
    """Connections are opened on first use in each process, so it may be made before a fork."""

    @property
    def finishes_and_starts(self) -> bool:
        """While this node is alone: where others are about, runs are reserved before the transaction begins."""
        return self._nodes == 1

    plans_ahead = True

    def __init__(self, url: str, place: str, now_ms: Callable[[], int] | None) -> None:
        self._url = url
        self._place = place
        self._read_clock = now_ms
        self._clock = SystemClock()
        self._opening = Lock()
        self._now_open: Opened | None = None
        tell_of_forks(self)
        self._wakes = self._new_wakes()
        self._nodes: int | None = None
        """How many lived when they were last read."""
        self._crowd = 0
        self._claimed_runs = ClaimedRuns()
        self._graphs = Graphs()
        self._rolling = MongoRolling(self._asking, self._in_transaction, self._named_runs)
        self._pruner = Pruner(MongoForgetting(self._asking, self._in_transaction), self._rolling)

    def now_ms(self) -> int:
        if self._read_clock is not None:
            return self._read_clock()
        return self._reading(lambda opened: _server_ms(opened.client))

    # what is plain

    def has_short_way(self, node_id: str) -> bool:
        return True

    def held(self, run_id: str) -> Run | None:
        return self._claimed_runs.get(run_id)

    def step_plainly(self, asked: PlainStep) -> PlainDone | None:
        """Nothing begins so where others live: what is due is reserved then, before a transaction begins."""
        step = asked if self._nodes == 1 else replace(asked, claim=None)
        if not step.ends and step.claim is None:
            return None
        return self._transact(lambda tx: plainly.step(tx, step, MongoTransaction.begin_plainly))

    # transactions

    def begin(self) -> AbstractContextManager[MongoTransaction]:
        return self._begun(0, str(ObjectId()))

    def _transact(self, work: Callable[[Transaction], T]) -> T:
        """Once more after a clash, after a pause that grows; and who holds on to what it has left is cut off."""
        began_ms = self._clock.monotonic_ms()
        tries = 0
        name = str(ObjectId())
        with pymongo.timeout(_LONGEST_MS / 1000):
            while True:
                try:
                    with self._begun(tries, name) as tx:
                        return work(tx)
                except TryAgain as clash:
                    waited_ms = self._clock.monotonic_ms() - began_ms
                    if waited_ms >= _WAIT_MS:
                        raise StoreUnavailable(
                            f"{self._place} was tried for {_WAIT_MS // 1000} s without success: {clash}"
                        ) from clash
                    if waited_ms >= _ABANDONED_MS:
                        self._cut_off_abandoned()
                tries += 1
                self._clock.wait(Event(), 1 + randrange(min(2 << min(tries, 10), _LONGEST_PAUSE_MS)))

    @contextmanager
    def _begun(self, tries: int, name: str) -> Iterator[MongoTransaction]:
        """One try, whose reservations are under this name."""
        opened = self._opened()
        with (
            self._learning(opened, tries) as manners,
            in_our_words(self._place),
            opened.client.start_session(causal_consistency=True) as session,
        ):
            now_ms = StoreTime(self._read_clock, lambda: _server_ms(opened.client))
            reservations = Reservations(opened.database, session, now_ms, name)
            _start(session)
            tx = MongoTransaction(
                opened.database,
                session,
                now_ms,
                reservations,
                manners,
                claimed_runs=self._claimed_runs,
                graphs=self._graphs,
            )
            try:
                yield tx
                tx.finish()
                self._commit(session)
                manners.committed = True
                self._claimed_runs.add(tx.started)
                self._claimed_runs.remove(tx.ended)
            finally:
                reservations.release(tx.written if manners.committed else ())

    @contextmanager
    def _learning(self, opened: Opened, tries: int) -> Iterator[Manners]:
        """How to treat the others this time; and what it was like is remembered for the next."""
        own = opened.gates.pop() if opened.gates else None
        gate = randrange(schema.GATES_EACH) if own is None else own
        reserves, waits = tries > 0 or self._nodes != 1, tries < _PATIENCE
        manners = Manners(gate, reserves=reserves, waits=waits, tries=tries, crowd=self._crowd)
        try:
            yield manners
        finally:
            if own is not None:
                opened.gates.append(own)
            self._learn(manners)

    def _commit(self, session: ClientSession) -> None:
        """Asked again while the answer is not known: a commit that is repeated is one commit."""
        until_ms = self._clock.monotonic_ms() + _WAIT_MS
        while True:
            try:
                return session.commit_transaction()
            except PyMongoError as error:
                if not may_be_committed(error) or self._clock.monotonic_ms() >= until_ms:
                    raise
            self._clock.wait(Event(), 50)

    def _learn(self, manners: Manners) -> None:
        if not manners.waited:
            clashed = manners.lost or not manners.committed
            self._crowd = min(max(self._crowd + (1 if clashed else -1), 0), _MOST_CROWDED)
        if manners.nodes is not None:
            self._nodes = manners.nodes
        if manners.lapsed:
            self._cut_off_abandoned()

    def _cut_off_abandoned(self) -> None:
        opened = self._opened()
        opened.abandoned.look(opened.client)

    def _reading(self, work: Callable[[Opened], T]) -> T:
        """Once more while the primary changes, up to a bound."""
        until_ms = self._clock.monotonic_ms() + _WAIT_MS
        while True:
            try:
                with in_our_words(self._place), pymongo.timeout(_LONGEST_MS / 1000):
                    return work(self._opened())
            except TryAgain as error:
                if self._clock.monotonic_ms() >= until_ms:
                    raise StoreUnavailable(f"{self._place} does not answer: {error}") from error
            self._clock.wait(Event(), 50)

    def enqueue_in(self, connection: Any, runs: Sequence[Run], by: Author | None = None) -> list[Run]:
        if not isinstance(connection, ClientSession):
            raise StoreError(f"connection= takes a PyMongo ClientSession in a transaction, not {connection!r}")
        if not connection.in_transaction:
            raise StoreError("the session of connection= is in no transaction; call session.start_transaction() first")
        name = self._opened().database.name
        database: Database[Document] = connection.client[name]
        try:
            if database[schema.META].find_one({"_id": "schema"}, session=connection) is None:
                raise SchemaError(f"the database {name} of connection= has no collections of onthedot")
            tx = self._shared(database, connection)
            stored = enqueue(tx, runs, by)
            tx.finish()
            return stored
        except TryAgain:
            raise _just_enqueued() from None
        except PyMongoError as error:
            if may_be_repeated(error):
                raise  # as it is: the driver's with_transaction repeats the caller's work for it
            try:
                with in_our_words("the database of connection="):
                    raise
            except TryAgain:
                raise _just_enqueued() from error

    def _shared(self, database: Database[Document], session: ClientSession) -> MongoTransaction:
        """The caller's own transaction, which cannot be repeated here: it waits for nobody."""
        now_ms = StoreTime(self.now_ms, self.now_ms)
        reservations = Reservations(database, session, now_ms, "")
        manners = Manners(0, reserves=False, waits=False)
        return MongoTransaction(
            database, session, now_ms, reservations, manners, claimed_runs=ClaimedRuns(), graphs=Graphs()
        )

    # the collections

    def prepare(self, *, create: bool) -> None:
        """Make sure that the server can keep our promises, and that the collections are there and of this version."""
        opened = self._opened()
        check(opened.client, self._url, self._place)
        version = self._reading(lambda opened: schema.version_of(opened.database))
        if version is not None and schema.is_current(version, self._place):
            return
        if version is None and not create:
            raise SchemaError(f"no onthedot store at {self._place}: run `onthedot migrate` or start a node")
        self._reading(lambda opened: schema.create(opened.database))

    # what nodes count, and forgetting

    def tally(self, minutes: Sequence[Minute]) -> None:
        """May be done twice, as anything that only reads."""
        oldest_ms = self.now_ms() - MINUTES_KEPT_MS
        kept = [documents.minute_document(each) for each in minutes]
        replaced = [ReplaceOne({"_id": each["_id"]}, each, upsert=True) for each in kept]
        forgotten: DeleteMany = DeleteMany({"minute_ms": {"$lt": oldest_ms}})
        self._reading(lambda opened: opened.database[schema.MINUTES].bulk_write([*replaced, forgotten]))

    def prune(self, keep: Retention, limit: int = 5000, *, thorough: bool = False) -> Pruned:
        return self._pruner.prune(self.now_ms(), keep, limit, thorough=thorough)

    def roll_up(self, limit: int = 10_000) -> RolledUp:
        return roll_up(self._rolling, self.now_ms(), limit)

    def _named_runs(self, ids: Sequence[str]) -> list[Run]:
        return self.runs(ids=ids, limit=len(ids))

    def rolled_through(self) -> int:
        return self._rolling.rolled_through()

    @answerable
    def hours(self, of: str, step: str = "", *, first_ms: int = 0, last_ms: int = 1 << 62) -> list[Hour]:
        return self._rolling.hours(of, step, first_ms, last_ms)

    def _asking(self, work: Callable[[Database[Document]], T]) -> T:
        return self._reading(lambda opened: work(opened.database))

    def _in_transaction(self, work: Callable[[Database[Document], ClientSession], T]) -> T:
        def act(rows: Transaction) -> T:
            assert isinstance(rows, MongoTransaction)
            return work(rows.database, rows.session)

        return self._transact(act)

    # life

    def examine(self, old_ms: int = OLD_MS) -> list[Finding]:
        return self._reading(lambda opened: schema.examine(opened.database))

    def listen(self, wake: Callable[[], None]) -> Callable[[], None]:
        return self._wakes.listen(wake)

    def notify(self) -> None:
        self._wakes.notify()

    def close(self) -> None:
        self._wakes.close()
        with self._opening:
            opened, self._now_open = self._now_open, None
        if opened is not None:
            opened.client.close()

    def after_fork(self) -> None:
        """The client is the parent's, and so is who listens; a lock may be held by a thread that is not here."""
        leave_alone(self._now_open, self._wakes)
        self._now_open, self._opening, self._wakes = None, Lock(), self._new_wakes()

    def _new_wakes(self) -> ChangeStream:
        return ChangeStream(lambda: self._opened().database[schema.WAKES], self._clock)

    def _opened(self) -> Opened:
        notice_fork()
        opened = self._now_open
        if opened is None:
            with self._opening:
                opened = self._now_open = self._now_open or self._open()
        return opened

    def _open(self) -> Opened:
        with in_our_words(self._place):
            try:
                client = connect(self._url)
            except ValueError as error:  # of the driver, for a port or an option
                raise SettingsError(f"{self._place}: {error}") from error
            return Opened(client, database_of(client), AbandonedTransactions(app_name(self._url), self._clock))


def open_mongodb(url: str, place: str, *, create: bool, now_ms: Callable[[], int] | None) -> MongoStore:
    """The store at this URL, which messages call `place`; `now_ms` replaces the server's clock, in tests."""
    store = MongoStore(url, place, now_ms)
    try:
        store.prepare(create=create)
    except BaseException:
        store.close()
        raise
    return store


def _start(session: ClientSession) -> None:
    """Nothing is sent yet: the snapshot is that of the first read."""
    session.start_transaction(
        read_concern=ReadConcern("snapshot"), write_concern=WriteConcern("majority"), max_commit_time_ms=_COMMIT_MS
    )


def _server_ms(client: MongoClient[Document]) -> int:
    """The primary's clock, in the cheapest of all commands."""
    return ms_of(client.admin.command("hello")["localTime"])


def _just_enqueued() -> Conflict:
    return Conflict("another transaction has just enqueued the same key; roll back and try again")
