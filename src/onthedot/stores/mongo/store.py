"""The store on MongoDB: transactions for the engine, and everything that only reads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from random import randrange
from threading import Event, Lock
from typing import Any, TypeVar

from bson import ObjectId
from pymongo import MongoClient
from pymongo.client_session import ClientSession
from pymongo.database import Database
from pymongo.errors import PyMongoError
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from onthedot.clock import SystemClock
from onthedot.errors import Conflict, SchemaError, SettingsError, StoreError, StoreUnavailable
from onthedot.model.decision import Decision
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.stores.base import Change, Keep, LogLine, TaskInfo
from onthedot.stores.engine import Engine
from onthedot.stores.mongo import documents, pruning, reading, schema
from onthedot.stores.mongo.connecting import app_name, check, connect, database_of
from onthedot.stores.mongo.documents import Document
from onthedot.stores.mongo.faults import in_our_words, may_be_committed, may_be_repeated
from onthedot.stores.mongo.hints import Hints
from onthedot.stores.mongo.rows import GATES, Manners, MongoRows
from onthedot.stores.mongo.stuck import Stuck
from onthedot.stores.mongo.wakes import Wakes
from onthedot.stores.rows import Rows, TryAgain

T = TypeVar("T")

_WAIT_MS = 15_000
"""How long a call tries before it says so: half a lease, so that a node can still renew after it."""
_STUCK_MS = 500
"""After clashing for so long, it looks whether somebody holds a transaction open and does nothing."""
_LONGEST_PAUSE_MS = 60
_COMMIT_MS = 5000
_MOST_CROWDED = 5

_left_alone: list[object] = []
"""Clients inherited by fork: they are the parent's, so they are neither used nor closed here."""


@dataclass(frozen=True, slots=True)
class _Opened:
    """What one process has open."""

    client: MongoClient[Document]
    database: Database[Document]
    stuck: Stuck
    gates: list[int] = field(default_factory=lambda: list(range(GATES)))
    """Those that no transaction of this process passes just now."""
    pid: int = field(default_factory=os.getpid)


class MongoStore(Engine):
    """Connections are opened on first use in each process, so it may be made before a fork."""

    def __init__(self, url: str, place: str, now_ms: Callable[[], int] | None) -> None:
        self._url = url
        self._place = place
        self._read_clock = now_ms
        self._clock = SystemClock()
        self._opening = Lock()
        self._now_open: _Opened | None = None
        self._wakes = Wakes(lambda: self._opened().database[schema.WAKES], self._clock)
        self._nodes: int | None = None
        """How many lived when they were last read."""
        self._crowd = 0

    def now_ms(self) -> int:
        if self._read_clock is not None:
            return self._read_clock()
        return self._reading(lambda opened: _server_ms(opened.client))

    # transactions

    def begin(self) -> AbstractContextManager[MongoRows]:
        return self._begun(0)

    def _transact(self, work: Callable[[Rows], T]) -> T:
        """Once more after a clash, after a pause that grows; and who is stuck meanwhile is cut off."""
        began_ms = self._clock.monotonic_ms()
        tries = 0
        while True:
            try:
                with self._begun(tries) as rows:
                    return work(rows)
            except TryAgain as clash:
                waited_ms = self._clock.monotonic_ms() - began_ms
                if waited_ms >= _WAIT_MS:
                    raise StoreUnavailable(
                        f"{self._place}: a transaction clashed with others for {_WAIT_MS // 1000} s ({clash})"
                    ) from clash
                if waited_ms >= _STUCK_MS:
                    self._cut_off_stuck()
            tries += 1
            self._clock.wait(Event(), 1 + randrange(min(2 << min(tries, 10), _LONGEST_PAUSE_MS)))

    @contextmanager
    def _begun(self, tries: int) -> Iterator[MongoRows]:
        opened = self._opened()
        gate = _any_gate(opened.gates)
        manners = Manners(gate, hints=tries > 0 or self._nodes != 1, tries=tries, crowd=self._crowd)
        clashed = True
        try:
            with in_our_words(self._place), opened.client.start_session(causal_consistency=True) as session:
                now_ms = _server_ms(opened.client) if self._read_clock is None else self._read_clock()
                hints = Hints(opened.database, session, now_ms, str(ObjectId()))
                _start(session)
                rows = MongoRows(opened.database, session, now_ms, hints, manners)
                try:
                    yield rows
                    rows.finish()
                    self._commit(session)
                    clashed = False
                finally:
                    hints.release(() if clashed else rows.written)
        finally:
            opened.gates.append(gate)
            self._learn(manners, clashed=clashed)

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

    def _learn(self, manners: Manners, *, clashed: bool) -> None:
        step = 1 if clashed or manners.lost else -1
        self._crowd = min(max(self._crowd + step, 0), _MOST_CROWDED)
        if manners.nodes is not None:
            self._nodes = manners.nodes
        if manners.lapsed:
            self._cut_off_stuck()

    def _cut_off_stuck(self) -> None:
        opened = self._opened()
        opened.stuck.look(opened.client)

    def _reading(self, work: Callable[[_Opened], T]) -> T:
        """Once more while the primary changes, up to a bound."""
        until_ms = self._clock.monotonic_ms() + _WAIT_MS
        while True:
            try:
                with in_our_words(self._place):
                    return work(self._opened())
            except TryAgain as error:
                if self._clock.monotonic_ms() >= until_ms:
                    raise StoreUnavailable(f"{self._place} does not answer: {error}") from error
            self._clock.wait(Event(), 50)

    def enqueue_in(self, connection: Any, runs: Sequence[Run]) -> list[Run]:
        if not isinstance(connection, ClientSession):
            raise StoreError(f"connection= takes a PyMongo ClientSession in a transaction, not {connection!r}")
        if not connection.in_transaction:
            raise StoreError("the session of connection= is in no transaction; call session.start_transaction() first")
        name = self._opened().database.name
        database: Database[Document] = connection.client[name]
        try:
            if database[schema.META].find_one({"_id": "schema"}, session=connection) is None:
                raise SchemaError(f"the database {name} of connection= has no collections of onthedot")
            now_ms = self.now_ms()
            hints = Hints(database, connection, now_ms, "")
            rows = MongoRows(database, connection, now_ms, hints, Manners(0, hints=False))
            stored = self._enqueue(rows, runs)
            rows.finish()
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

    # reading

    def schedules(
        self, *, names: Sequence[str] | None = None, tag: str | None = None, after: str = "", limit: int = 100
    ) -> list[Schedule]:
        return self._reading(lambda opened: reading.schedules(opened.database, names, tag, after, limit))

    def revisions(self, schedule_id: str) -> list[Schedule]:
        found = self._all(schema.REVISIONS, {"schedule_id": schedule_id}, [("revision", 1), ("seq", 1)])
        return [documents.revision_from(each) for each in found]

    def changes(self, *, name: str | None = None, limit: int = 100) -> list[Change]:
        wanted = {} if name is None else {"schedule": name}
        return [documents.change_from(each) for each in self._all(schema.CHANGES, wanted, [("seq", -1)], limit)]

    def upcoming(self, until_ms: int, limit: int) -> list[tuple[str, int, int]]:
        return self._reading(lambda opened: reading.upcoming(opened.database, until_ms, limit))

    def runs(
        self,
        *,
        ids: Sequence[str] | None = None,
        schedule: str | None = None,
        state: State | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> list[Run]:
        wanted = reading.Wanted(ids, schedule, state, before, limit)

        def read(opened: _Opened) -> list[Run]:
            with opened.client.start_session(snapshot=True) as session:
                return reading.runs(opened.database, session, wanted)

        return self._reading(read)

    def cancels(self, node_id: str) -> list[str]:
        asked = {"owner": node_id, "state": State.RUNNING.value, "cancel_requested_ms": {"$ne": None}}
        return [each["_id"] for each in self._all(schema.RUNS, asked, [("_id", 1)])]

    def decisions(
        self, schedule_id: str, *, first_ms: int = 0, last_ms: int = 1 << 62, limit: int = 100
    ) -> list[Decision]:
        wanted = {"schedule_id": schedule_id, "first_ms": {"$lte": last_ms}, "last_ms": {"$gte": first_ms}}
        return [documents.decision_from(each) for each in self._all(schema.DECISIONS, wanted, [("seq", -1)], limit)]

    def logs(self, run_id: str, *, after: int = 0, limit: int = 1000) -> list[LogLine]:
        found = self._all(schema.LOGS, {"run_id": run_id}, [("seq", 1)], limit, after)
        return [documents.log_from(each) for each in found]

    def nodes(self) -> list[Node]:
        living = {"state": {"$in": ["alive", "draining"]}}
        return [documents.node_from(each) for each in self._all(schema.NODES, living, [("started_ms", 1), ("_id", 1)])]

    def tasks(self) -> list[TaskInfo]:
        nodes = [node.id for node in self.nodes()]
        found = self._all(schema.TASKS, {"_id": {"$in": nodes}}, [("_id", 1)])
        published = {task.name: task for each in found for task in documents.tasks_from(each)}
        return [published[name] for name in sorted(published)]

    def _all(
        self, collection: str, wanted: Document, order: list[tuple[str, int]], limit: int = 0, skip: int = 0
    ) -> list[Document]:
        """`limit` 0 is none."""
        return self._reading(
            lambda opened: list(opened.database[collection].find(wanted).sort(order).skip(skip).limit(limit))
        )

    def prune(self, keep: Keep, limit: int = 1000) -> int:
        now_ms = self.now_ms()
        old = self._reading(lambda opened: pruning.find(opened.database, now_ms, keep, limit))
        if not old:
            return 0

        def remove(rows: Rows) -> int:
            assert isinstance(rows, MongoRows)
            return pruning.remove(rows.database, rows.session, old, now_ms)

        return self._transact(remove)

    # life

    def listen(self, wake: Callable[[], None]) -> Callable[[], None]:
        return self._wakes.listen(wake)

    def notify(self) -> None:
        self._wakes.notify()

    def close(self) -> None:
        self._wakes.close()
        with self._opening:
            opened, self._now_open = self._now_open, None
        if opened is None:
            return
        if opened.pid == os.getpid():
            opened.client.close()
        else:
            _left_alone.append(opened)

    def _opened(self) -> _Opened:
        opened = self._now_open
        if opened is not None and opened.pid == os.getpid():
            return opened
        if opened is not None:
            self._opening = Lock()  # the parent's may be held by a thread that does not exist here
        with self._opening:
            if self._now_open is opened:
                if opened is not None:
                    _left_alone.append(opened)
                self._now_open = self._open()
            return self._now_open or self._open()

    def _open(self) -> _Opened:
        with in_our_words(self._place):
            try:
                client = connect(self._url)
            except ValueError as error:  # of the driver, for a port or an option
                raise SettingsError(f"{self._place}: {error}") from error
            return _Opened(client, database_of(client), Stuck(app_name(self._url), self._clock))


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
    moment = client.admin.command("hello")["localTime"]
    return int(moment.timestamp() * 1000 + 0.5)


def _any_gate(free: list[int]) -> int:
    try:
        return free.pop()
    except IndexError:
        return randrange(GATES)


def _just_enqueued() -> Conflict:
    return Conflict("another transaction has just enqueued the same key; roll back and try again")
