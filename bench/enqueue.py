"""What one enqueue costs a program with an event loop: one by one, over threads, in batches."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

from bench.places import opened
from bench.report import Report
from onthedot import App

Say = Callable[[str], None]
RUNS = 1000


def run(report: Report, say: Say, store: str) -> None:
    """A thousand of each way."""
    with opened(store) as place:
        app = App(place.fresh())
        app.open_store(create=True)
        section = report.section(
            f"{RUNS:,} enqueues from one loop, {place.name}",
            f"Milliseconds for each, of processor time of this process and of the clock. {place.how}",
            "way",
            "processor ms",
            "ms",
        )
        for name, way in WAYS.items():
            say(name)
            asyncio.run(way(app))  # the first ones warm what is remembered
            began, used = time.perf_counter(), time.process_time()
            asyncio.run(way(app))
            took, spent = time.perf_counter() - began, time.process_time() - used
            section.rows.append((name, round(1000 * spent / RUNS, 3), round(1000 * took / RUNS, 3)))
        app.close()


def _plain(app: App) -> None:
    app.enqueue("task", unchecked=True, delay="1h")


async def one_by_one(app: App) -> None:
    for _ in range(RUNS):
        _plain(app)


async def over_threads(app: App) -> None:
    await asyncio.gather(*(asyncio.to_thread(_plain, app) for _ in range(RUNS)))


async def awaited_one_by_one(app: App) -> None:
    for _ in range(RUNS):
        await app.aio.enqueue("task", unchecked=True, delay="1h")


async def awaited_together(app: App) -> None:
    await asyncio.gather(*(app.aio.enqueue("task", unchecked=True, delay="1h") for _ in range(RUNS)))


WAYS: dict[str, Callable[[App], Coroutine[Any, Any, None]]] = {
    "app.enqueue, one by one": one_by_one,
    "app.enqueue, over the threads of asyncio": over_threads,
    "app.aio.enqueue, one by one": awaited_one_by_one,
    "app.aio.enqueue, together": awaited_together,
}
