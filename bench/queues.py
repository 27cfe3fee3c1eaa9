"""Peers that keep their queue in PostgreSQL, each at its best settings: pgqueuer and Procrastinate.

Both in one process on uvloop. pgqueuer: asyncpg, its tables durable (its default), draining. Procrastinate: its worker
without waiting and without LISTEN, its pool as large as its concurrency. For each the best of several settings counts.
"""

from __future__ import annotations

import time
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.models import Job
from pgqueuer.queries import Queries
from pgqueuer.types import QueueExecutionMode
from procrastinate import App as Procrastinate
from procrastinate import PsycopgConnector

EACH = 1000


def pgqueuer(url: str, runs: int, batch: int) -> float:
    """No-op jobs a second, all enqueued before, fetched so many at a time."""
    return _run(_pgqueuer(url, runs, batch))


def procrastinate(url: str, runs: int, concurrency: int) -> float:
    """No-op jobs a second, all deferred before, so many at a time."""
    return _run(_procrastinate(url, runs, concurrency))


def _run(work: Coroutine[Any, Any, float]) -> float:
    rate: float = uvloop.run(work)
    return rate


async def _pgqueuer(url: str, runs: int, batch: int) -> float:
    async with asyncpg.create_pool(url, min_size=4, max_size=4) as pool:
        queries = Queries.from_asyncpg_pool(pool)
        await queries.install()
        for first in range(0, runs, EACH):
            count = min(EACH, runs - first)
            await queries.enqueue(["nothing"] * count, [None] * count, [0] * count)
        worker = PgQueuer.from_asyncpg_pool(pool)
        called = [0]

        @worker.entrypoint("nothing")
        async def nothing(job: Job) -> None:
            called[0] += 1

        start = time.perf_counter()
        await worker.qm.run(batch_size=batch, mode=QueueExecutionMode.drain, log_aggregation_interval=timedelta(0))
        taken = time.perf_counter() - start
        assert called[0] == runs
        return runs / taken


async def _procrastinate(url: str, runs: int, concurrency: int) -> float:
    connector = PsycopgConnector(conninfo=url, min_size=concurrency + 1, max_size=concurrency + 1)
    app = Procrastinate(connector=connector)
    called = [0]

    @app.task(name="nothing")
    async def nothing() -> None:
        called[0] += 1

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        for first in range(0, runs, EACH):
            await nothing.batch_defer_async(*[{} for _ in range(min(EACH, runs - first))])
        start = time.perf_counter()
        await app.run_worker_async(
            wait=False, concurrency=concurrency, listen_notify=False, install_signal_handlers=False
        )
        taken = time.perf_counter() - start
        assert called[0] == runs
        return runs / taken
