"""The store in an SQL database: transactions for the engine, and everything that only reads."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event, Lock
from typing import Any, TypeVar

import sqlalchemy
from sqlalchemy import Connection

from onthedot.clock import SystemClock
from onthedot.errors import Conflict, NodeDead, SchemaError, StoreError, StoreUnavailable
from onthedot.forks import leave_alone, notice_fork, tell_of_forks
from onthedot.model.alert import AlertState, alert_states_from, keys_of_alerts
from onthedot.model.change import Author, Change
from onthedot.model.decision import Decision
from onthedot.model.finding import Finding
from onthedot.model.freeze import Freeze
from onthedot.model.graph import Graph
from onthedot.model.hour import Hour
from onthedot.model.log_line import LogLine
from onthedot.model.minute import Minute
from onthedot.model.node import Node
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.model.schedule import Facet, Mode, Order, Schedule
from onthedot.model.states import State
from onthedot.model.task_info import TaskInfo
from onthedot.model.token import Session, Token
from onthedot.model.value import Value, ValueState
from onthedot.rules.ahead import Ahead
from onthedot.stores import mapping
from onthedot.stores.answerable import answerable
from onthedot.stores.answers import OLD_MS, Planned, RolledUp, Ticks
from onthedot.stores.asking import BY_THE_CLOCK, since
from onthedot.stores.claimed_runs import ClaimedRuns
from onthedot.stores.counts import COUNTED, Demand, Load, Needed, RunCounts, ScheduleCounts
from onthedot.stores.engine import Engine, enqueuing, finishing
from onthedot.stores.kept_graphs import Graphs
from onthedot.stores.known_values import with_values
from onthedot.stores.open_flows import OpenFlows
from onthedot.stores.plain import PlainDone, PlainStep
from onthedot.stores.prune import Pruner
from onthedot.stores.retention import Pruned, Retention
from onthedot.stores.roll_up import roll_up
from onthedot.stores.run_filter import RunFilter
from onthedot.stores.sql import counts, driver, health, lane_statements, queries, schema, statements, ticks
from onthedot.stores.sql.batches import DIALECT
from onthedot.stores.sql.dialect import Dialect
from onthedot.stores.sql.due_floor import LAG_MS, NO_FLOOR, Floor, Floors
from onthedot.stores.sql.errors import in_our_words, is_busy, was_cut_off
from onthedot.stores.sql.notify import NotifyChannel
from onthedot.stores.sql.prune import SqlForgetting
from onthedot.stores.sql.roll_up import SqlRolling
from onthedot.stores.sql.transaction import SqlTransaction, in_chunks
from onthedot.stores.transaction import CutOff, Transaction, TryAgain, once_more_if_cut_off
from onthedot.triggers.pinned import Use

T = TypeVar("T")

_WAIT_MS = 15_000
"""How long a writer waits for others before it says so: half a lease, so that a node can still renew after it."""
_PAUSE_MS = 10
_CLASH_MS = 10
_CREATION_PAUSE_MS = 500
"""After a clash with another who makes the tables, so that one of them gets ahead."""
_CREATIONS = 5
"""So often one goes on making the tables after its connection was cut off."""


@dataclass(frozen=True, slots=True)
class _Opened:
    """What one process has open."""

    engine: sqlalchemy.Engine
    turn: Lock | None
    """Where a database has one lock for all, writers of one process queue here, in order, instead of polling for it."""
    channel: NotifyChannel | None


_MOST_COMING = 20_000
_FEW = 10
"""So many are looked up without asking first whether there is anything to be found."""


class SqlStore(Engine):
    """Connections are opened on first use in each process, so it may be made before a fork."""

    def __init__(
        self,
        make_engine: Callable[[], sqlalchemy.Engine],
        dialect: Dialect,
        place: str,
        now_ms: Callable[[], int] | None,
        *,
        schema: str | None = None,
        channel: Callable[[sqlalchemy.Engine, str | None, Callable[[], None]], NotifyChannel] | None = None,
    ) -> None:
        self._make_engine = make_engine
        self._dialect = dialect
        self._place = place
        self._read_clock = now_ms  # None: the server's is asked
        self._schema = schema
        self._make_channel = channel
        self._clock = SystemClock()
        self._opening = Lock()
        self._now_open: _Opened | None = None
        tell_of_forks(self)
        self._listeners: list[Callable[[], None]] = []
        self._claimed_runs = ClaimedRuns()
        self._open_flows = OpenFlows()
        self._graphs = Graphs()
        self._floors = Floors(self._clock)
        self._rolling = SqlRolling(self._reading, self._changing, dialect, self._named_runs)
        self._pruner = Pruner(SqlForgetting(self._reading, self._changing, dialect), self._rolling)

    def now_ms(self) -> int:
        return self._reading(self._server_ms) if self._read_clock is None else self._read_clock()

    def _server_ms(self, connection: Connection) -> int:
        known_ms = self._known_ms()
        if known_ms is not None:
            return known_ms
        ((now_ms,),) = driver.fetch(connection, statements.clock_of(self._dialect))
        return int(now_ms)

    def _known_ms(self) -> int | None:
        """The time of the store; None where only its server tells it."""
        if self._read_clock is None and self._dialect.clock is not None:
            return None
        return (self._read_clock or self._clock.now_ms)()

    # transactions

    @contextmanager
    def begin(self) -> Iterator[SqlTransaction]:
        with self._changing() as connection:
            tx = self._transaction(connection, self._floors.now())
            yield tx
        self._claimed_runs.add(tx.started)
        self._claimed_runs.remove(tx.ended)
        self._open_flows.add(tx.moved_flows)
        self._open_flows.remove(tx.ended)
        self._floors.lower(tx.due_schedules_ms, tx.due_runs_ms)

    @property
    def hands_places_on(self) -> bool:
        return self._dialect.plain is not None and self._dialect.plain.hands_places_on

    def has_short_way(self, node_id: str) -> bool:
        return self._dialect.plain is not None

    def held(self, run_id: str) -> Run | None:
        return self._claimed_runs.get(run_id)

    def step_plainly(self, asked: PlainStep) -> PlainDone | None:
        plain, floor_ms = self._dialect.plain, self._floors.now().runs_ms
        assert plain is not None
        known_ms = self._known_ms()

        def work(connection: Connection) -> PlainDone:
            return plain.step(connection, asked, known_ms, floor_ms)

        try:
            done = self._at_once(work) if plain.at_once else once_more_if_cut_off(lambda: self._in_transaction(work))
        except TryAgain:
            return None
        self._claimed_runs.remove(run.id for run in done.ended)
        self._claimed_runs.add(done.begun or ())
        return done

    def _in_transaction(self, work: Callable[[Connection], T]) -> T:
        with self._changing() as connection:
            return work(connection)

    def _at_once(self, work: Callable[[Connection], T]) -> T:
        """One statement, without a transaction around it: if the connection is lost, nobody knows what became of it."""
        with (
            in_our_words(self._dialect, self._place),
            self._opened().engine.connect() as connection,
            connection.begin(),
        ):
            return work(connection)

    @contextmanager
    def _changing(self) -> Iterator[Connection]:
        """`CutOff` where the connection is lost before the commit; afterwards nobody knows what became of it."""
        lost = False
        try:
            with self._writing() as connection:
                try:
                    yield connection
                except sqlalchemy.exc.DBAPIError as error:
                    lost = was_cut_off(error, self._dialect)
                    raise
        except StoreUnavailable as error:
            if lost:
                raise CutOff(error) from error
            raise

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        opened = self._opened()
        with self._in_turn(opened.turn), in_our_words(self._dialect, self._place):
            transaction = self._retry_while_busy(lambda: _begun(opened.engine, self._dialect.begin_writing))
            with transaction.connection as connection, transaction:
                yield connection

    @contextmanager
    def _in_turn(self, turn: Lock | None) -> Iterator[None]:
        if turn is None:
            try:
                yield
            except TryAgain:
                self._clock.wait(Event(), random.randint(0, _CLASH_MS))  # those who clashed shall not meet again
                raise
            return
        if not turn.acquire(timeout=_WAIT_MS / 1000):
            raise StoreUnavailable(f"{self._place}: another thread of this process has been writing for too long")
        try:
            yield
        finally:
            turn.release()

    def _reading(self, work: Callable[[Connection], T], *, snapshot: bool = False) -> T:
        """One read; or several that all see one state.

        Made again where the server has cut it off, which it does where this process does something else for 2 s.
        """

        def once() -> T:
            with self._opened().engine.connect() as connection, connection.begin():
                if snapshot and self._dialect.begin_snapshot is not None:
                    connection.exec_driver_sql(self._dialect.begin_snapshot)
                return work(connection)

        with in_our_words(self._dialect, self._place):
            return self._retry_while_busy(once, reads=True)

    def _retry_while_busy(self, act: Callable[[], T], *, reads: bool = False) -> T:
        """Once more while somebody else is in the way, or a read was cut off, up to a bound."""
        until_ms = self._clock.monotonic_ms() + _WAIT_MS
        while True:
            try:
                return act()
            except sqlalchemy.exc.DBAPIError as error:
                once_more = is_busy(error, self._dialect) or (reads and was_cut_off(error, self._dialect))
                if not once_more or self._clock.monotonic_ms() >= until_ms:
                    raise
            self._clock.wait(Event(), _PAUSE_MS)

    def enqueue_in(self, connection: Any, runs: Sequence[Run], by: Author | None = None) -> list[Run]:
        with self._shared(connection) as tx:
            try:
                return enqueuing.enqueue(tx, runs, by)
            except TryAgain:
                raise Conflict("another transaction has just enqueued the same key; roll back and try again") from None

    def save_graphs(self, graphs: Sequence[Graph], connection: Any = None) -> None:
        if connection is None or self._dialect.take_write_lock is None:  # nobody waits for the caller's own transaction
            super().save_graphs(graphs)
            return
        with self._shared(connection) as tx:
            tx.save_graphs(graphs)

    def finish_in(self, connection: Any, node_id: str, outcome: Outcome) -> bool:
        with self._shared(connection) as tx:
            # The node's row stays unlocked: the caller may take its time, and the node must renew meanwhile. The run's
            # own row is locked, so a takeover comes wholly before this (another claim number) or finds the run ended.
            if not any(node.id == node_id for node in tx.nodes()):
                return False
            try:
                done = finishing.record(tx, node_id, [outcome], self.tasks)
            except TryAgain:
                raise Conflict("another run of its schedule ends just now; roll back and try again") from None
        return bool(done.finished.recorded)

    @contextmanager
    def _shared(self, connection: Any) -> Iterator[SqlTransaction]:
        """The caller's own transaction, which the caller ends."""
        if not isinstance(connection, Connection):
            raise StoreError(f"connection= takes a SQLAlchemy Connection (session.connection()), not {connection!r}")
        if not self._dialect.is_of(connection):
            raise StoreError(f"connection= goes to {connection.dialect.name}, but the store is {self._place}")
        with in_our_words(self._dialect, "the database of connection="), _in_schema(connection, self._schema):
            connection.execution_options(**{DIALECT: self._dialect})
            if self._dialect.take_write_lock is not None:
                connection.exec_driver_sql(self._dialect.take_write_lock)
            yield self._transaction(connection, NO_FLOOR)

    def _transaction(self, connection: Connection, floor: Floor) -> SqlTransaction:
        known_ms, claimed = self._known_ms(), self._claimed_runs
        return SqlTransaction(
            connection, self._dialect, known_ms, claimed, floor, graphs=self._graphs, open_flows=self._open_flows
        )

    # the tables

    def prepare_or_close(self, *, create: bool, upgrade: bool = False) -> None:
        """`prepare`, and nothing stays open if that fails."""
        try:
            self.prepare(create=create, upgrade=upgrade)
        except BaseException:
            self.close()
            raise

    def prepare(
        self, *, create: bool, upgrade: bool = False, before_creation: Callable[[], None] = lambda: None
    ) -> None:
        """Make sure that the tables are there and of this version; whoever comes first makes them, under a lock.

        Older tables are changed only where the database has one machine's nodes, or where `upgrade` says so.
        """
        version = self._reading(lambda connection: schema.version_of(connection, self._dialect), snapshot=True)
        if version is not None and schema.is_current(version, self._place):
            return
        if version is None and not create:
            raise SchemaError(f"no onthedot store at {self._place}: run `onthedot migrate` or start a node")
        if version is not None and not (upgrade or self._dialect.upgrades_itself):
            raise SchemaError(
                f"{self._place} has the tables of an older onthedot (schema {version}, needed here: {schema.HEAD}); "
                "run `onthedot migrate`"
            )
        with in_our_words(self._dialect, self._place):
            self._retry_while_busy(before_creation)
        self._make_tables()

    def _make_tables(self) -> None:
        """One statement of it may take longer than the URL lets any take (`read_timeout`): then it is gone on with.

        So it is where another makes them through another server of a cluster: what clashes is there, and whoever is
        last finds all of it.
        """
        until_ms = self._clock.monotonic_ms() + schema.LONGEST_CREATION_S * 1000
        left = _CREATIONS
        while True:
            is_mine = False
            try:
                with self._writing() as connection, schema.being_made(connection, self._dialect, self._place):
                    is_mine = True
                    self._bring_up_to_date(connection)
                return
            except StoreUnavailable:
                left -= 1
                if not is_mine or not left:
                    raise
            except TryAgain as clash:
                if self._clock.monotonic_ms() >= until_ms:
                    raise StoreUnavailable(f"{self._place}: others make the tables as well: {clash}") from clash
                self._clock.wait(Event(), random.randint(1, _CREATION_PAUSE_MS))

    def _bring_up_to_date(self, connection: Connection) -> None:
        version = schema.version_of(connection, self._dialect)  # somebody may have been first
        if version is None:
            schema.create(connection, self._schema)
        elif not schema.is_current(version, self._place):
            schema.upgrade(connection, self._schema)

    # reading

    @answerable
    @with_values
    def schedules(
        self,
        *,
        names: Sequence[str] | None = None,
        tag: str | None = None,
        task: str | None = None,
        mode: Mode | None = None,
        state: Facet | None = None,
        search: str = "",
        order: Order = "name",
        after: str = "",
        limit: int = 100,
    ) -> list[Schedule]:
        now_ms = self.now_ms() if state in BY_THE_CLOCK else 0
        wanted = queries.WantedSchedules(_set_of(names), tag, task, mode, state, search, order, after, limit, now_ms)
        nested = self._dialect.nests_limits
        return self._reading(
            lambda connection: queries.schedules(connection, wanted, nested=nested), snapshot=order == "next"
        )

    def count_schedules(self, most: int = COUNTED, *, now_ms: int | None = None) -> ScheduleCounts:
        now_ms = self.now_ms() if now_ms is None else now_ms
        (row,) = self._all(counts.SCHEDULE_COUNTS, {"most": most, **since(now_ms)._asdict()})
        found = counts.schedule_counts(row, most)
        if not found.frozen:
            return found
        frozen = counts.frozen_now(self._all(counts.FREEZING), now_ms)
        return replace(found, frozen=min(sum(frozen.values()), most))

    def needed(self) -> list[Needed]:
        return counts.needed(self._all(counts.NEEDED))

    def demands(self, tasks: Sequence[str]) -> list[Demand]:
        return counts.demands(self._all(counts.DEMANDS, {"tasks": tasks}))

    @answerable
    @with_values
    def overdue(self, before_ms: int, limit: int = 100) -> list[Schedule]:
        rows = self._all(statements.OVERDUE, {"before_ms": before_ms, "most": limit})
        return [mapping.schedule_from(row) for row in rows]

    def count_overdue(self, before_ms: int, most: int = COUNTED) -> int:
        ((found,),) = self._all(counts.OVERDUE, {"before_ms": before_ms, "most": most})
        return int(found)

    @with_values
    def revisions(self, schedule_id: str) -> list[Schedule]:
        texts = self._all(statements.REVISIONS, {"schedule_id": schedule_id})
        return [mapping.revision_from(schedule_id, text) for (text,) in texts]

    @answerable
    def changes(self, *, name: str | None = None, before: str | None = None, limit: int = 100) -> list[Change]:
        given = {"schedule": name, "before": before}
        statement = statements.CHANGES_ASKED_BY[tuple(word for word, value in given.items() if value is not None)]
        asked = {word: value for word, value in given.items() if value is not None}
        return [mapping.change_from(row) for row in self._all(statement, {**asked, "most": limit})]

    def awaited_of(self, whats: Collection[str]) -> set[str]:
        def ask(connection: Connection) -> set[str]:
            if len(whats) > _FEW and not driver.fetch(connection, lane_statements.IS_ANYTHING_AWAITED):
                return set()
            most = self._dialect.most_values
            return {what for (what,) in in_chunks(connection, lane_statements.ARE_AWAITED, whats, most=most)}

        return self._reading(ask)

    plans_ahead = True

    def plan_ahead(self, node_id: str, ahead: Sequence[Ahead], make_id: Callable[[], str]) -> Planned:
        write = self._dialect.plan_ahead
        if write is None or not ahead:
            return super().plan_ahead(node_id, ahead, make_id)
        given, known_ms, floor_ms = (
            [(each, make_id()) for each in ahead],
            self._known_ms(),
            self._floors.now().schedules_ms,
        )
        try:
            done = self._at_once(lambda connection: write(connection, node_id, given, known_ms, floor_ms))
        except TryAgain:
            return super().plan_ahead(node_id, ahead, make_id)
        if done.now_ms is None:
            raise NodeDead(node_id)
        effects = tuple(each.at(done.now_ms, run_id) for each, run_id in given if each.schedule.id in done.begun)
        moved = [each.schedule.next_run_ms for each in effects if each.schedule is not None]
        self._floors.lower([moment for moment in moved if moment is not None], [])
        self._claimed_runs.add(run for each in effects for run in each.runs)
        return Planned(effects, more=done.more, now_ms=done.now_ms)

    @with_values
    def coming(self, after_ms: int, until_ms: int, known: Mapping[str, int]) -> list[Schedule]:
        asked = {"from_ms": after_ms + 1, "until_ms": until_ms, "most": _MOST_COMING}
        found = self._all(statements.COMING, asked)
        new = [schedule_id for schedule_id, version in found if known.get(schedule_id) != version]
        parts = [new[first : first + statements.CHUNK] for first in range(0, len(new), statements.CHUNK)]
        rows = [row for part in parts for row in self._all(statements.SCHEDULES_BY_ID, {"ids": part})]
        return [mapping.schedule_from(row) for row in rows]

    def upcoming(self, after_ms: int, until_ms: int) -> list[int]:
        """Reads what is overdue without a floor, and so lays the one for the claims that follow."""
        with self._floors.looking() as look:
            found = self._all(statements.UPCOMING, {"from_ms": after_ms + 1, "until_ms": until_ms})
            look.found = _floor_under(found, after_ms - LAG_MS)
        moments = sorted({moment for _, moment in found if moment is not None and moment <= until_ms})
        overdue = [moment for moment in moments if moment <= after_ms]
        return overdue[:1] + moments[len(overdue) :]

    def find_runs(self, wanted: RunFilter) -> list[Run]:
        return self._reading(lambda connection: queries.runs(connection, wanted), snapshot=True)

    @answerable
    def results(self, flow_id: str, step: str, first: int = 0, limit: int = 1000) -> list[tuple[int, State, Any]]:
        asked = {"flow_id": flow_id, "step": step, "first_item": first, "most": limit}
        return self._reading(lambda connection: queries.results(connection, asked), snapshot=True)

    def graph(self, graph_hash: str) -> Graph | None:
        known = self._graphs.among([graph_hash])
        return known[graph_hash] if known else super().graph(graph_hash)

    def count_runs(self, most: int = COUNTED) -> RunCounts:
        (row,) = self._all(counts.RUN_COUNTS, {"most": most})
        return counts.run_counts(row, most, lambda: self._all(counts.RUN_COUNTS_WITHOUT_STEPS, {"most": most}))

    def load(self) -> list[Load]:
        return [Load(*row) for row in self._all(counts.LOAD_BY_POOL)]

    @answerable
    def ticks(self, schedule_ids: Sequence[str], *, first_ms: int = 0, last_ms: int = 1 << 62, each: int = 24) -> Ticks:
        asked = {"first_ms": first_ms, "last_ms": last_ms, "most": each}
        nested = self._dialect.nests_limits
        return self._reading(lambda connection: ticks.ticks(connection, schedule_ids, asked, nested=nested))

    def cancels(self, node_id: str) -> list[str]:
        return [run_id for (run_id,) in self._all(statements.CANCELS, {"node_id": node_id})]

    @answerable
    def decisions(
        self, schedule_id: str, *, first_ms: int = 0, last_ms: int = 1 << 62, limit: int = 100
    ) -> list[Decision]:
        asked = {"schedule_id": schedule_id, "first_ms": first_ms, "last_ms": last_ms, "most": limit}
        return [Decision(*row) for row in self._all(statements.DECISIONS, asked)]

    def logs(self, run_id: str, *, after: int = 0, limit: int = 1000) -> list[LogLine]:
        asked = {"run_id": run_id, "skip": after, "most": limit}
        return [LogLine(*row) for row in self._all(statements.LOGS, asked)]

    def tally(self, minutes: Sequence[Minute]) -> None:
        def save(tx: Transaction) -> None:
            assert isinstance(tx, SqlTransaction)
            tx.save_minutes(minutes)

        self._transact(save)

    @answerable
    def minutes(self, first_ms: int, last_ms: int) -> list[Minute]:
        rows = self._all(statements.MINUTES, {"first_ms": first_ms, "last_ms": last_ms})
        return [mapping.minute_from(row) for row in rows]

    def roll_up(self, limit: int = 10_000) -> RolledUp:
        return roll_up(self._rolling, self.now_ms(), limit)

    def _named_runs(self, ids: Sequence[str]) -> list[Run]:
        return self.runs(ids=ids, limit=len(ids))

    def rolled_through(self) -> int:
        return self._rolling.rolled_through()

    @answerable
    def hours(self, of: str, step: str = "", *, first_ms: int = 0, last_ms: int = 1 << 62) -> list[Hour]:
        return self._rolling.hours(of, step, first_ms, last_ms)

    def nodes(self) -> list[Node]:
        return [mapping.node_from(row) for row in self._all(statements.NODES)]

    def gone_nodes(self, limit: int = 1000) -> list[Node]:
        return [mapping.node_from(row) for row in self._all(statements.GONE_NODES, {"most": limit})]

    def tasks(self) -> list[TaskInfo]:
        published = {task.name: task for task in map(mapping.task_from, self._all(statements.TASKS))}
        return [published[name] for name in sorted(published)]

    def alert_states(self, schedule_ids: Sequence[str]) -> dict[str, AlertState]:
        keys = keys_of_alerts(schedule_ids)
        most = self._dialect.most_values
        found = self._reading(lambda connection: [*in_chunks(connection, statements.KEYS, keys, most=most)])
        return alert_states_from(keys, ((row[0], row[3]) for row in found))

    def tokens(self, name: str | None = None) -> list[Token]:
        rows = self._all(statements.TOKENS) if name is None else self._all(statements.TOKEN, {"name": name})
        return [mapping.token_from(row) for row in rows]

    def freezes(self) -> list[Freeze]:
        return [mapping.freeze_from(*row) for row in self._all(statements.FREEZES)]

    def values(self, use: Use | None = None, *, new: bool = False) -> list[Value]:
        if use is None:
            rows = self._all(statements.NEW_VALUES if new else statements.HEADS)
        else:
            rows = self._all(statements.HEAD, {"kind": use.kind, "name": use.name})
        found = (each for each in map(mapping.value_from, rows) if each.is_there)
        # Sorted here: to MySQL blanks at the end of a name are nothing.
        return sorted((each for each in found if not new or each.state is ValueState.NEW), key=lambda each: each.use)

    def values_at(self, ids: Collection[str]) -> list[Value]:
        most = self._dialect.most_values
        rows = self._reading(lambda each: [*in_chunks(each, statements.VALUES_BY_ID, ids, most=most)])
        return [mapping.value_from(row) for row in rows]

    @answerable
    @with_values
    def users(self, use: str, *, after: str = "", limit: int = 500) -> list[Schedule]:
        found = self._reading(lambda connection: connection.execute(queries.users(use, after, limit)).all())
        return [mapping.schedule_from(row) for row in found]

    def session(self, session_id: str) -> Session | None:
        rows = self._all(statements.SESSION, {"session_id": session_id})
        return Session(*rows[0]) if rows else None

    def _all(
        self,
        statement: sqlalchemy.Select[Any] | sqlalchemy.CompoundSelect[Any],
        parameters: dict[str, Any] | None = None,
    ) -> Sequence[Any]:
        return self._reading(lambda connection: driver.fetch(connection, statement, parameters))

    def prune(self, keep: Retention, limit: int = 5000, *, thorough: bool = False) -> Pruned:
        return self._pruner.prune(self.now_ms(), keep, limit, thorough=thorough)

    # life

    def examine(self, old_ms: int = OLD_MS) -> list[Finding]:
        return self._reading(
            lambda connection: health.examine(connection, self._dialect, self._schema, old_ms), snapshot=True
        )

    def listen(self, wake: Callable[[], None]) -> Callable[[], None]:
        self._listeners.append(wake)
        channel = self._opened().channel
        if channel is not None:
            channel.listen()

        def end() -> None:
            if wake in self._listeners:
                self._listeners.remove(wake)
            if channel is not None and not self._listeners:
                channel.unlisten()

        return end

    def notify(self) -> None:
        self._wake_here()
        channel = self._opened().channel
        if channel is not None:
            channel.announce()

    def _wake_here(self) -> None:
        for wake in list(self._listeners):
            wake()

    def close(self) -> None:
        with self._opening:
            opened, self._now_open = self._now_open, None
        if opened is not None:
            if opened.channel is not None:
                opened.channel.close()
            opened.engine.dispose()

    def after_fork(self) -> None:
        """The connections are the parent's, and so is who listens; a lock may be held by a thread that is not here."""
        leave_alone(self._now_open)
        self._now_open, self._opening, self._listeners = None, Lock(), []

    def _opened(self) -> _Opened:
        notice_fork()
        opened = self._now_open
        if opened is None:
            with self._opening:
                opened = self._now_open = self._now_open or self._open()
        return opened

    def _open(self) -> _Opened:
        engine = self._make_engine()
        engine.update_execution_options(**{DIALECT: self._dialect})
        return _Opened(
            engine,
            turn=Lock() if self._dialect.exclusive else None,
            channel=None if self._make_channel is None else self._make_channel(engine, self._schema, self._wake_here),
        )


def _set_of(texts: Sequence[str] | None) -> frozenset[str] | None:
    return None if texts is None else frozenset(texts)


def _floor_under(found: Sequence[Any], highest_ms: int) -> Floor:
    """Below all that was found, of each kind."""
    lowest = {"schedule": highest_ms, "run": highest_ms}
    for what, moment in found:
        if moment is not None:
            lowest[what] = min(lowest[what], moment)
    return Floor(lowest["schedule"], lowest["run"])


def _begun(engine: sqlalchemy.Engine, begin_writing: str | None) -> sqlalchemy.RootTransaction:
    connection = engine.connect()
    try:
        transaction = connection.begin()
        if begin_writing is not None:
            driver.write_text(connection, begin_writing, [()])
        return transaction
    except BaseException:
        connection.close()
        raise


@contextmanager
def _in_schema(connection: Connection, schema: str | None) -> Iterator[None]:
    """Our tables are in our schema, wherever the caller's connection has its own."""
    theirs = connection.get_execution_options().get("schema_translate_map")
    if schema is None and theirs is None:
        yield
        return
    connection.execution_options(schema_translate_map={None: schema})
    try:
        yield
    finally:
        connection.execution_options(schema_translate_map=theirs or {})
