"""No-op runs on Redis, beside Huey and arq; and on MongoDB, beside PostgreSQL."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from threading import Event
from typing import Any

from arq import create_pool
from arq.connections import RedisSettings
from arq.worker import Worker, func
from huey import RedisHuey
from tests.servers.redis import RedisServer, fresh, running

from bench import calm, places
from bench.places import Place
from bench.report import Report
from onthedot import App
from onthedot.model.ids import new_id
from onthedot.model.node import Node
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.node.settings import NodeSettings
from onthedot.stores.open import open_store

Say = Callable[[str], None]
Rates = dict[str, float]
TURNS = 3
RUNS, BATCH, FEW = 10_000, 500, 2000
ONE_BY_ONE = 300
"""Where each run costs two commits that reach the disk."""
NODE, STORE, ONE = "onthedot, a whole node", "onthedot, its store in batches of 500", "onthedot, its store one by one"
HUEY, ARQ = "Huey", "arq"
MONGODB_GOAL = 6_000


def run(report: Report, say: Say) -> None:
    """All tables, one after the other."""
    say(f"no-op runs on Redis, {TURNS} turns")
    with running() as server:
        no_ops(report, say, server)
    with places.opened("mongodb") as mongodb, places.opened("postgresql") as postgresql:
        say(f"no-op runs on MongoDB and PostgreSQL, {TURNS} turns")
        side_by_side(report, say, (mongodb, postgresql))


def no_ops(report: Report, say: Say, server: RedisServer) -> None:
    """Taken in turn, the best of each: a busy moment of the machine hits all alike."""
    ways = {name: _on_redis(way) for name, way in WAYS.items()}
    ways |= {HUEY: _huey, ARQ: lambda server: asyncio.run(_arq(server))}
    rates: Rates = dict.fromkeys(ways, 0.0)
    for _ in range(TURNS):
        for name, way in ways.items():
            calm.wait(say)
            rates[name] = max(rates[name], way(server))
    section = report.section(
        "No-op runs on Redis",
        "Enqueued before, then executed by one process, on one server with appendonly yes; runs a second, best of "
        f"{TURNS} turns. The store alone: start and finish, without the call of a function. Huey: its consumer's loop "
        "called directly, without threads and results. arq: its worker in burst mode, a thousand jobs at once.",
        *("who", "a second"),
    )
    section.rows += list(rates.items())
    peers = {peer: rates[peer] for peer in (HUEY, ARQ)}
    report.beside("no-op runs a second on Redis, in batches", peers, max(rates[STORE], rates[NODE]))
    for peer, times in ((HUEY, 5), (ARQ, 12)):
        ratio = rates[STORE] / rates[peer]
        report.goal(f"no-op runs on Redis in batches: {times} times {peer}", f"{ratio:.1f} times", ratio >= times)


def _on_redis(way: Callable[[str], float]) -> Callable[[RedisServer], float]:
    return lambda server: way(fresh(server.url))


def side_by_side(report: Report, say: Say, on: tuple[Place, ...]) -> None:
    """Taken in turn, the best of each."""
    rates: dict[str, Rates] = {name: dict.fromkeys([place.kind for place in on], 0.0) for name in WAYS}
    ways = WAYS | {ONE: lambda url: _store(url, ONE_BY_ONE, 1)}
    for _ in range(TURNS):
        for name, way in ways.items():
            for place in on:
                calm.wait(say)
                rates[name][place.kind] = max(rates[name][place.kind], way(place.fresh()))
    section = report.section(
        f"No-op runs on {' and '.join(place.name for place in on)}",
        "Enqueued before, then executed by one process; runs a second, best of "
        f"{TURNS} turns. {'; '.join(f'{place.name}: {place.how}' for place in on)}.",
        *("who", *(place.name for place in on)),
    )
    section.rows += [(name, *found.values()) for name, found in rates.items()]
    rate = rates[STORE]["mongodb"]
    report.goal(f"no-op runs on MongoDB in batches: {MONGODB_GOAL:,} a second", f"{rate:,.0f}", rate >= MONGODB_GOAL)


def _node(url: str) -> float:
    app = App(url, node=NodeSettings(capacity=1000))
    store = app.open_store(create=True)
    finished, done = [0], Event()

    @app.task
    def nothing() -> None: ...

    now_ms = store.now_ms()
    first = app.enqueue("nothing")
    for _ in range(0, RUNS, BATCH):
        store.enqueue([replace(first, id=new_id(now_ms)) for _ in range(BATCH)])

    @app.on("run_finished")
    def count(event: object) -> None:
        finished[0] += 1
        if finished[0] > RUNS:
            done.set()

    start = time.perf_counter()
    app.start()
    done.wait()
    app.stop()
    rate = finished[0] / (time.perf_counter() - start)
    app.close()
    return rate


def _batches(url: str) -> float:
    return _store(url, RUNS, BATCH)


def _one_by_one(url: str) -> float:
    return _store(url, FEW, 1)


def _store(url: str, runs: int, batch: int) -> float:
    store = open_store(url, create=True)
    now_ms = store.now_ms()
    node = store.join(Node(new_id(now_ms), "node", tasks=("nothing",)), [])
    for first in range(0, runs, BATCH):
        count = min(BATCH, runs - first)
        store.enqueue([Run(new_id(now_ms), "nothing", "enqueue", now_ms, now_ms) for _ in range(count)])
    start = time.perf_counter()
    for _ in range(0, runs, batch):
        begun = store.start_due(node.id, ["nothing"], batch).runs
        store.finish(node.id, [Outcome(each.id, each.claim_no, "succeeded") for each in begun])
    rate = runs / (time.perf_counter() - start)
    store.close()
    return rate


WAYS: dict[str, Callable[[str], float]] = {NODE: _node, STORE: _batches, ONE: _one_by_one}


def _huey(server: RedisServer) -> float:
    huey = RedisHuey(f"bench-{time.time_ns()}", host="127.0.0.1", port=server.port, results=False)

    @huey.task()  # type: ignore[untyped-decorator]
    def nothing() -> None: ...

    for _ in range(FEW):
        nothing()
    start = time.perf_counter()
    for _ in range(FEW):
        huey.execute(huey.dequeue())
    return FEW / (time.perf_counter() - start)


async def _arq(server: RedisServer) -> float:
    async def nothing(ctx: dict[Any, Any], *args: Any, **kwargs: Any) -> None: ...

    name = f"bench-{time.time_ns()}"
    pool = await create_pool(RedisSettings(host="127.0.0.1", port=server.port), default_queue_name=name)
    for _ in range(FEW):
        await pool.enqueue_job("nothing")
    worker = Worker(
        [func(nothing, name="nothing")],
        queue_name=name,
        redis_pool=pool,
        burst=True,
        max_jobs=1000,
        queue_read_limit=1000,
        poll_delay=0.01,
        keep_result=0,
        handle_signals=False,
    )
    start = time.perf_counter()
    await worker.async_run()
    rate = FEW / (time.perf_counter() - start)
    await worker.close()
    return rate
