"""The store on Redis: transactions for the engine, and everything that only reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from random import uniform
from threading import Event, Lock, local
from typing import Any

from onthedot.errors import StoreError, StoreUnavailable
from onthedot.forks import leave_alone, tell_of_forks
from onthedot.model.alert import AlertState, alert_states_from, keys_of_alerts
from onthedot.model.change import Author, Change
from onthedot.model.decision import Decision
from onthedot.model.finding import Finding
from onthedot.model.freeze import Freeze
from onthedot.model.hour import Hour
from onthedot.model.log_line import LogLine
from onthedot.model.minute import Minute
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import Facet, Mode, Order, Schedule
from onthedot.model.states import State
from onthedot.model.task_info import TaskInfo
from onthedot.model.token import Session, Token
from onthedot.model.value import Value
from onthedot.stores.answerable import answerable
from onthedot.stores.answers import OLD_MS, RolledUp, Ticks
from onthedot.stores.asking import BY_THE_CLOCK
from onthedot.stores.counts import COUNTED, Demand, Load, Needed, RunCounts, ScheduleCounts
from onthedot.stores.engine import Engine
from onthedot.stores.kept_graphs import Graphs
from onthedot.stores.known_values import with_values
from onthedot.stores.plain import PlainDone, PlainStep
from onthedot.stores.prune import Pruner
from onthedot.stores.redis import flows, health, mapping, plain, queries, run_queries, schedule_queries
from onthedot.stores.redis.notify import Subscription
from onthedot.stores.redis.prune import RedisForgetting
from onthedot.stores.redis.remembered import nothing
from onthedot.stores.redis.roll_up import RedisRolling
from onthedot.stores.redis.server import Server
from onthedot.stores.redis.tables import KEYS, STAMP
from onthedot.stores.redis.transaction import RedisTransaction
from onthedot.stores.retention import MINUTES_KEPT_MS, Pruned, Retention
from onthedot.stores.roll_up import roll_up
from onthedot.stores.run_filter import RunFilter
from onthedot.stores.transaction import TryAgain
from onthedot.triggers.pinned import Use

_LONGEST_PAUSE_MS = 64
_TURN_S = 0.5


class RedisStore(Engine):
    """May be used by many threads, and be made before a fork."""

    def __init__(self, server: Server, now_ms: Callable[[], int] | None = None) -> None:
        self._server = server
        self._read_clock = now_ms
        self._listening = Subscription(server)
        self._turn = Lock()
        tell_of_forks(self)
        self._here = local()
        self._memory = nothing()
        self._graphs = Graphs()
        self._rolling = RedisRolling(server, self._named_runs)
        self._pruner = Pruner(RedisForgetting(server), self._rolling)

    def now_ms(self) -> int:
        return self._server.now_ms() if self._read_clock is None else self._read_clock()

    # transactions

    @contextmanager
    def begin(self) -> Iterator[RedisTransaction]:
        clashes: int = getattr(self._here, "clashes", 0)
        self._here.clashes = 0
        with self._one_after_the_other(clashes):
            tx = RedisTransaction(self._server, self._read_clock, self._memory, clashes, graphs=self._graphs)
            try:
                yield tx
                tx.commit()
            except TryAgain:
                tx.let_go()
                self._here.clashes = clashes + 1
                self._server.clock.wait(Event(), int(uniform(0, min(1 << clashes, _LONGEST_PAUSE_MS))))
                raise
            except StoreUnavailable:
                raise  # nobody is there to let go of anything: it passes by itself
            except BaseException:
                tx.let_go()
                raise

    @contextmanager
    def _one_after_the_other(self, clashes: int) -> Iterator[None]:
        """Threads of one process that were overtaken take turns, so that they do not overtake each other again; only
        for a while."""
        mine = clashes > 0 and self._turn.acquire(timeout=_TURN_S)
        try:
            yield
        finally:
            if mine:
                self._turn.release()

    # what is plain

    def has_short_way(self, node_id: str) -> bool:
        return True

    def held(self, run_id: str) -> Run | None:
        return plain.held(self._memory, run_id)

    def step_plainly(self, asked: PlainStep) -> PlainDone:
        tx = RedisTransaction(self._server, self._read_clock, self._memory, graphs=self._graphs)
        try:
            return plain.step(self._server, self._memory, tx, asked)
        except StoreUnavailable:
            raise  # as in `begin`
        except BaseException:
            tx.let_go()
            raise

    def after_fork(self) -> None:
        """The driver opens connections of its own; who listens, and the locks, are the parent's."""
        leave_alone(self._listening)
        self._listening, self._turn = Subscription(self._server), Lock()

    def enqueue_in(self, connection: Any, runs: Sequence[Run], by: Author | None = None) -> list[Run]:
        raise StoreError("Redis has no transactions to share with your own; leave connection= out")

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
        asked = schedule_queries.Asked(names, tag, task, mode, state, search, order, after, limit, now_ms)
        return schedule_queries.schedules(self._server, asked)

    def count_schedules(self, most: int = COUNTED, *, now_ms: int | None = None) -> ScheduleCounts:
        return schedule_queries.count_schedules(self._server, most, self.now_ms() if now_ms is None else now_ms)

    def needed(self) -> list[Needed]:
        return [Needed(each.task, each.group, each.depends_on) for each in schedule_queries.demands(self._server)]

    def demands(self, tasks: Sequence[str]) -> list[Demand]:
        return [each for each in schedule_queries.demands(self._server) if each.task in tasks]

    @answerable
    @with_values
    def overdue(self, before_ms: int, limit: int = 100) -> list[Schedule]:
        return schedule_queries.overdue(self._server, before_ms, limit)

    def count_overdue(self, before_ms: int, most: int = COUNTED) -> int:
        return schedule_queries.count_overdue(self._server, before_ms, most)

    @with_values
    def revisions(self, schedule_id: str) -> list[Schedule]:
        texts = self._server.ask("LRANGE", f"revisions:{schedule_id}", 0, -1)
        return [mapping.schedule_from(schedule_id, text) for text in texts]

    @answerable
    def changes(self, *, name: str | None = None, before: str | None = None, limit: int = 100) -> list[Change]:
        return queries.changes(self._server, name, before, limit)

    plans_ahead = True

    @with_values
    def coming(self, after_ms: int, until_ms: int, known: Mapping[str, int]) -> list[Schedule]:
        return queries.coming(self._server, self._memory.schedules, after_ms, until_ms, known)

    def upcoming(self, after_ms: int, until_ms: int) -> list[int]:
        return queries.upcoming(self._server, after_ms, until_ms)

    def find_runs(self, wanted: RunFilter) -> list[Run]:
        return run_queries.runs(self._server, wanted)

    def count_runs(self, most: int = COUNTED) -> RunCounts:
        return run_queries.count_runs(self._server, most)

    def load(self) -> list[Load]:
        return run_queries.load(self._server)

    @answerable
    def ticks(self, schedule_ids: Sequence[str], *, first_ms: int = 0, last_ms: int = 1 << 62, each: int = 24) -> Ticks:
        return run_queries.ticks(self._server, schedule_ids, run_queries.Span(first_ms, last_ms, each))

    def cancels(self, node_id: str) -> list[str]:
        return sorted(self._server.ask("SMEMBERS", f"asked:{node_id}"))

    @answerable
    def decisions(
        self, schedule_id: str, *, first_ms: int = 0, last_ms: int = 1 << 62, limit: int = 100
    ) -> list[Decision]:
        return run_queries.decisions(self._server, schedule_id, first_ms, last_ms, limit)

    def logs(self, run_id: str, *, after: int = 0, limit: int = 1000) -> list[LogLine]:
        texts = self._server.ask("LRANGE", f"log:{run_id}", after, after + limit - 1)
        return [mapping.line_from(run_id, text) for text in texts]

    def tally(self, minutes: Sequence[Minute]) -> None:
        queries.tally(self._server, self.now_ms() - MINUTES_KEPT_MS, minutes)

    @answerable
    def minutes(self, first_ms: int, last_ms: int) -> list[Minute]:
        return queries.minutes(self._server, first_ms, last_ms)

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
        return queries.nodes(self._server)

    def gone_nodes(self, limit: int = 1000) -> list[Node]:
        return queries.gone_nodes(self._server, limit)

    def tasks(self) -> list[TaskInfo]:
        return queries.tasks(self._server)

    def alert_states(self, schedule_ids: Sequence[str]) -> dict[str, AlertState]:
        keys = keys_of_alerts(schedule_ids)
        texts = self._server.ask("HMGET", KEYS.name, *keys) if keys else []
        found = zip(keys, texts, strict=True)
        return alert_states_from(
            keys, ((key, mapping.key_from(key, text[STAMP:]).state) for key, text in found if text)
        )

    def tokens(self, name: str | None = None) -> list[Token]:
        if name is None:
            found = sorted(self._server.ask("HGETALL", "tokens").items())
        else:
            found = [(name, self._server.ask("HGET", "tokens", name))]
        return [mapping.token_of(each, text) for each, text in found if text]

    def freezes(self) -> list[Freeze]:
        return mapping.freezes_of(self._server.ask("HGETALL", "freezes"))

    def values(self, use: Use | None = None, *, new: bool = False) -> list[Value]:
        return queries.values(self._server, use, new=new)

    def values_at(self, ids: Collection[str]) -> list[Value]:
        return queries.values_of(self._server, sorted(ids))

    @answerable
    @with_values
    def users(self, use: str, *, after: str = "", limit: int = 500) -> list[Schedule]:
        return schedule_queries.users(self._server, use, after, limit)

    def session(self, session_id: str) -> Session | None:
        text = self._server.ask("HGET", "sessions", session_id)
        return mapping.session_of(text) if text else None

    @answerable
    def results(self, flow_id: str, step: str, first: int = 0, limit: int = 1000) -> list[tuple[int, State, Any]]:
        return flows.results(self._server, flow_id, step, first, limit)

    def prune(self, keep: Retention, limit: int = 5000, *, thorough: bool = False) -> Pruned:
        return self._pruner.prune(self.now_ms(), keep, limit, thorough=thorough)

    # life

    def examine(self, old_ms: int = OLD_MS) -> list[Finding]:
        return health.examine(self._server)

    def listen(self, wake: Callable[[], None]) -> Callable[[], None]:
        return self._listening.add(wake)

    def notify(self) -> None:
        self._listening.tell()

    def close(self) -> None:
        self._listening.close()
        self._server.close()
