"""What a tick, a look, a renewal and a row cost PostgreSQL: by processor time, which a busy machine changes little."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial

import psycopg

from bench import calm
from bench.filling import fill, fill_history, schedule_at, settle
from bench.measure import MICRO
from bench.planners import decided_before
from bench.planning import BATCH, LATER_MS, Bench, crowd
from bench.scaling import Costs
from onthedot.errors import StoreUnavailable
from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.model.outcome import Outcome
from onthedot.rules.ahead import Ahead
from onthedot.stores.sql import tables

Say = Callable[[str], None]
SCHEDULES, DUE, ROUNDS, LOOKS, RENEWALS, READINGS, HISTORY = 100_000, 1000, 20, 500, 200, 20, 20_000
NODES = (10, 100, 1000)
_TRIES = 5


@dataclass(slots=True)
class Spent:
    """Seconds of processor time, and how much there was to do."""

    server: float = 0.0
    node: float = 0.0
    count: int = 0

    def on(self, count: int, action: Callable[[], object]) -> None:
        """Do it, and count what it took here, and in the server that this process has started."""
        here, all_of_us = time.process_time(), calm.own()
        action()
        own = time.process_time() - here
        self.node += own
        self.server += max(calm.own() - all_of_us - own, 0.0)
        self.count += count

    @property
    def server_us(self) -> float:
        return self.server / max(self.count, 1) * MICRO

    @property
    def node_us(self) -> float:
        return self.node / max(self.count, 1) * MICRO


@dataclass(frozen=True, slots=True)
class Measured:
    """All of it, by what it was spent on."""

    read: Spent
    plan: Spent
    finish: Spent
    moments: Spent
    look: Spent
    renewals: dict[int, Spent]
    """By how many nodes were alive."""
    schedule_bytes: float
    run_bytes: float
    wal_bytes: float

    @property
    def costs(self) -> Costs:
        """Of a renewal: a line through those with the fewest and the most nodes."""
        few, many = min(self.renewals), max(self.renewals)
        slope = (self.renewals[many].server_us - self.renewals[few].server_us) / (many - few)
        peer_us = max(slope, 0.0)
        return Costs(
            plan_us=self.plan.server_us,
            finish_us=self.finish.server_us,
            read_us=self.read.server_us,
            moment_us=self.moments.server_us,
            poll_us=self.look.server_us,
            renew_us=max(self.renewals[few].server_us - few * peer_us, 0.0),
            renew_peer_us=peer_us,
            schedule_bytes=self.schedule_bytes,
            run_bytes=self.run_bytes,
            wal_bytes=self.wal_bytes,
        )


def measure(url: str, say: Say) -> Measured:
    """On one PostgreSQL that this process has started."""
    with psycopg.connect(url, autocommit=True) as looking:
        bench = Bench(url)
        with closing(bench.store):
            say(f"filling in {SCHEDULES:,} schedules")
            crowd(bench, "postgresql", url, SCHEDULES, 0)
            schedule_bytes = _size(looking, tables.schedules.name) / SCHEDULES
            say(f"{ROUNDS} times {DUE:,} ticks: read, written, ended")
            ticks = _Ticks(bench, looking)
            for number in range(ROUNDS):
                ticks.round(number)
            say("looks and renewals")
            look, renewals, moments = _looks(bench), _renewals(bench), _moments(bench)
            fill_history(bench.store, HISTORY)
        settle(url, tables.history)
        run_bytes = _size(looking, tables.history.name) / (ROUNDS * DUE + HISTORY)
    return Measured(
        read=ticks.read,
        plan=ticks.plan,
        finish=ticks.finish,
        moments=moments,
        look=look,
        renewals=renewals,
        schedule_bytes=schedule_bytes,
        run_bytes=run_bytes,
        wal_bytes=ticks.wal_bytes / (ROUNDS * DUE),
    )


class _Ticks:
    """A thousand at a time, from what is read ahead of them to their outcomes."""

    def __init__(self, bench: Bench, looking: psycopg.Connection) -> None:
        self.read, self.plan, self.finish = Spent(), Spent(), Spent()
        self.wal_bytes = 0.0
        self._bench = bench
        self._looking = looking
        self._ahead: list[Ahead] = []
        self._outcomes: list[Outcome] = []

    def round(self, number: int) -> None:
        fill(self._bench.store, DUE, schedule_at(self._bench.store.now_ms() - 1000), f"due-{number}")
        self.read.on(DUE, self._read)
        assert len(self._ahead) == DUE
        before = self._written()
        self.plan.on(DUE, self._plan)
        assert len(self._outcomes) == DUE
        self.finish.on(DUE, self._finish)
        self.wal_bytes += self._written() - before

    def _read(self) -> None:
        self._ahead = decided_before(self._bench.store, self._bench.node, self._bench.decide)

    def _plan(self) -> None:
        self._outcomes = []
        for first in range(0, DUE, BATCH):
            done = self._bench.store.plan_ahead("node", self._ahead[first : first + BATCH], self._bench.make_id)
            runs = [run for effects in done.effects for run in effects.runs]
            self._outcomes += [Outcome(run.id, run.claim_no, "succeeded") for run in runs]

    def _finish(self) -> None:
        for first in range(0, DUE, BATCH):
            self._bench.store.finish("node", self._outcomes[first : first + BATCH])

    def _written(self) -> float:
        row = self._looking.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn").fetchone()
        assert row is not None
        return float(row[0])


def _looks(bench: Bench) -> Spent:
    """What a node asks once a second where nothing is due."""

    def look() -> None:
        for _ in range(LOOKS):
            now_ms = bench.store.now_ms()
            bench.store.upcoming(now_ms, now_ms + 5000)
            bench.store.coming(now_ms, now_ms + 2500, {})
            bench.store.start_due("node", ("task",), BATCH)

    spent = Spent()
    spent.on(LOOKS, look)
    return spent


def _moments(bench: Bench) -> Spent:
    """Of all that is due in an hour, each time."""
    first_ms = bench.now_ms + LATER_MS - 1000

    def read() -> None:
        for _ in range(READINGS):
            bench.store.upcoming(first_ms, first_ms + 5000)

    spent = Spent()
    spent.on(READINGS * SCHEDULES, read)
    return spent


def _renewals(bench: Bench) -> dict[int, Spent]:
    found: dict[int, Spent] = {}
    alive = 1
    for nodes in NODES:
        for _ in range(nodes - alive):
            peer = Node(new_id(bench.now_ms), "peer", tasks=("task",))
            _patiently(partial(bench.store.join, peer, []))
        alive = nodes
        spent = found[nodes] = Spent()
        spent.on(RENEWALS, lambda: [_patiently(lambda: bench.store.renew(bench.node)) for _ in range(RENEWALS)])
    return found


def _patiently(action: Callable[[], object]) -> object:
    """Once more where a busy machine let a transaction stand still for so long that the server ended it."""
    for _ in range(_TRIES - 1):
        with suppress(StoreUnavailable):
            return action()
    return action()


def _size(looking: psycopg.Connection, table: str) -> float:
    row = looking.execute("SELECT pg_total_relation_size(%s)", (table,)).fetchone()
    assert row is not None
    return float(row[0])
