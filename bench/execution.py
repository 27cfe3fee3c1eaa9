"""Executing: what a run costs beside the bare pool of the standard library, slow tasks beside fast ones, memory."""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from threading import Event
from typing import Any

from bench.report import Report
from onthedot import App
from onthedot.app.tasks import Task
from onthedot.clock import SystemClock
from onthedot.events import Emitter, RunStarted
from onthedot.execution.thread_pool import Sizes
from onthedot.execution.worker import Worker
from onthedot.model.outcome import Outcome
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.node.settings import NodeSettings
from onthedot.stores.memory import MemoryStore

Say = Callable[[str], None]
RUNS, IN_PROCESSES = 20_000, 2000
AT_ONCE = 100
SLOW_RUNS, SECONDS = 200, 20
MANY = int(os.environ.get("BENCH_RUNS", "200000"))
_POLICY = Policy()


def run(report: Report, say: Say) -> None:
    """All tables, one after the other."""
    say(f"{RUNS:,} no-op runs in threads and on a loop, {IN_PROCESSES:,} in processes")
    overhead(report)
    say(f"a fast task every 50 ms for {SECONDS} s, without and with {SLOW_RUNS} slow ones")
    lateness(report)
    say(f"the memory of a worker over {MANY:,} runs (BENCH_RUNS=1000000 for a million)")
    memory(report)


def nothing() -> None: ...


async def nothing_async() -> None: ...


class _Bench:
    """A worker without a store, and a count of what it has reported."""

    def __init__(self, pool: str | None = None, workers: int = 200) -> None:
        options = {} if pool is None else {"pool": pool}
        self._tasks: dict[str, Task[..., Any]] = {
            "plain": Task("plain", nothing, policies=options),
            "async": Task("async", nothing_async, policies=options),
        }
        self._left = 0
        self._done = Event()
        self._runs = 0
        emitter = Emitter(lambda event, error: None)
        self.worker = Worker(self._lookup, SystemClock(), emitter, self._note, sizes=Sizes.of(workers))

    def _lookup(self, name: str) -> Task[..., Any] | None:
        return self._tasks.get(name)

    def _note(self, outcome: Outcome) -> None:
        assert outcome.ending == "succeeded", outcome
        self._left -= 1
        if self._left <= 0:
            self._done.set()

    def execute(self, kind: str, many: int) -> None:
        """Up to so many at once, as a node does it; then the next."""
        for first in range(0, many, AT_ONCE):
            count = min(AT_ONCE, many - first)
            self._left = count
            self._done.clear()
            self.worker.begin(*(self._run(kind) for _ in range(count)))
            self._done.wait()
            if first % 10_000 == 0:
                self.worker.forget_begun(())  # as at each heartbeat

    def _run(self, kind: str) -> Run:
        self._runs += 1
        return Run(f"{self._runs}", kind, "enqueue", 0, 0, State.RUNNING, policy=_POLICY, claim_no=1)


def overhead(report: Report) -> None:
    rows = [
        ("thread", _ours("plain", RUNS), _thread_pool()),
        ("async", _ours("async", RUNS), asyncio.run(_asyncio_tasks())),
        ("process", _ours("plain", IN_PROCESSES, pool="process"), _process_pool()),
    ]
    section = report.section(
        "What a no-op run costs",
        f"Microseconds of wall time for each run, {AT_ONCE} begun at once, then waited for; best of three. onthedot: "
        "from `begin` to the reported outcome, with context and events; beside it a bare ThreadPoolExecutor, asyncio "
        "task and ProcessPoolExecutor (spawned, 2 processes) with the same no-op.",
        *("where", "onthedot", "bare"),
    )
    section.rows += rows
    thread, loop, process = rows
    report.goal("a run in a thread under 100 µs", f"{thread[1]:.0f} µs", thread[1] < 100)
    report.goal("an async run under 100 µs", f"{loop[1]:.0f} µs", loop[1] < 100)
    ratio = process[1] / process[2]
    report.goal("a run in a process at most 3 times the bare pool's", f"{ratio:.1f} times", ratio <= 3)


def _timed(act: Callable[[], None], many: int) -> float:
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        act()
        best = min(best, time.perf_counter() - start)
    return best / many * 1e6


def _ours(kind: str, many: int, pool: str | None = None) -> float:
    bench = _Bench(pool, workers=2 if pool else 200)
    bench.execute(kind, 2)
    took = _timed(lambda: bench.execute(kind, many), many)
    bench.worker.close()
    return took


def _thread_pool() -> float:
    with ThreadPoolExecutor(200) as pool:

        def act() -> None:
            for _ in range(0, RUNS, AT_ONCE):
                for future in [pool.submit(nothing) for _ in range(AT_ONCE)]:
                    future.result()

        return _timed(act, RUNS)


async def _asyncio_tasks() -> float:
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        for _ in range(0, RUNS, AT_ONCE):
            await asyncio.gather(*(asyncio.create_task(nothing_async()) for _ in range(AT_ONCE)))
        best = min(best, time.perf_counter() - start)
    return best / RUNS * 1e6


def _process_pool() -> float:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        pool.submit(nothing).result()

        def act() -> None:
            for _ in range(0, IN_PROCESSES, AT_ONCE):
                for future in [pool.submit(nothing) for _ in range(AT_ONCE)]:
                    future.result()

        return _timed(act, IN_PROCESSES)


# slow tasks beside fast ones


def lateness(report: Report) -> None:
    alone, beside = _lateness(0), _lateness(SLOW_RUNS)
    section = report.section(
        "Fast tasks beside slow ones",
        f"Lateness in ms of a plain task enqueued every 50 ms for {SECONDS} s on a node with default pools, in memory; "
        f"alone, and beside {SLOW_RUNS} runs of a plain task that takes a second and comes again and again.",
        *("beside", "runs", "p50", "p99"),
    )
    section.rows += [
        (name, len(late), _at(late, 0.5), _at(late, 0.99))
        for name, late in (("nothing", alone), (f"{SLOW_RUNS} slow runs", beside))
    ]
    ratio = (_at(beside, 0.5) + 1) / (_at(alone, 0.5) + 1)
    report.goal(
        "fast tasks at most twice as late beside slow ones (p50, of whole ms)", f"{ratio:.1f} times", ratio <= 2
    )


def _lateness(slow_runs: int) -> list[float]:
    late: list[float] = []
    app = App("memory://", store=MemoryStore(SystemClock().now_ms), node=NodeSettings())

    @app.task
    def fast() -> None: ...

    @app.task
    def slow() -> None:
        time.sleep(1)

    counting = Event()

    @app.on("run_started")
    def note(event: RunStarted) -> None:
        if event.task == "fast" and counting.is_set():
            late.append(float(event.lateness_ms))

    @app.on("run_finished")
    def again(event: object) -> None:
        if getattr(event, "task", "") == "slow" and counting.is_set():
            app.enqueue("slow")

    with app.running():
        counting.set()
        for _ in range(slow_runs):
            app.enqueue("slow")
        time.sleep(3 if slow_runs else 0)
        late.clear()
        for _ in range(SECONDS * 20):
            app.enqueue(fast)
            time.sleep(0.05)
        counting.clear()
    return sorted(late)


def _at(ordered: list[float], part: float) -> float:
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)] if ordered else 0.0


# memory


def memory(report: Report) -> None:
    bench = _Bench()
    for kind in ("plain", "async"):
        bench.execute(kind, 10_000)
    before = _resident_mb()
    for kind in ("plain", "async"):
        bench.execute(kind, MANY // 2)
    after = _resident_mb()
    bench.worker.close()
    section = report.section(
        "Memory of a worker", f"Resident memory in MB after 20,000 runs and after {MANY:,} more.", "after", "MB"
    )
    section.rows += [("20,000 runs", before), (f"{MANY:,} more", after)]
    growth = after / before - 1
    report.goal("no growth beyond 20 %", f"{growth:.1%}", growth <= 0.2)


def _resident_mb() -> float:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
