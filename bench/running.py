"""Running on SQLite with synchronous FULL: no-op runs a second beside Huey, and lateness beside APScheduler 3."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from huey import SqliteHuey

from bench.report import Report
from onthedot import App, every
from onthedot.app.node import NodeSettings
from onthedot.app.schedules import Put
from onthedot.events import RunStarted
from onthedot.model.ids import new_id

Say = Callable[[str], None]
RUNS = 20_000
SCHEDULES, SECONDS = 1000, 30


def run(report: Report, say: Say) -> None:
    """All tables, one after the other."""
    say(f"{RUNS:,} no-op runs")
    no_ops(report)
    say(f"{SCHEDULES:,} schedules every second for {SECONDS} s, twice")
    lateness(report)
    say("an idle node with 10,000 schedules for 20 s")
    idle(report)


# no-op runs


def no_ops(report: Report) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ours = {name: _ours(folder, name) for name in ("async", "plain")}
        theirs = _huey(folder)
    section = report.section(
        "No-op runs on SQLite",
        f"{RUNS:,} runs enqueued before, then executed by one process; synchronous FULL for all; runs a second. "
        "Huey: its consumer's loop called directly, without threads, which is its fastest way.",
        *("who", "a second"),
    )
    section.rows += [(f"onthedot, {name} def tasks", rate) for name, rate in ours.items()]
    section.rows.append(("Huey", theirs))
    ratio = max(ours.values()) / theirs
    report.goal("no-op runs on SQLite: 8 times Huey", f"{ratio:.1f} times", ratio >= 8)


def _ours(folder: str, kind: str) -> float:
    app = App(f"sqlite:///{Path(folder) / kind}.db", node=NodeSettings(capacity=1000))
    app.open_store(create=True)
    finished, done = [0], Event()

    if kind == "async":

        @app.task(name="nothing")
        async def nothing() -> None: ...
    else:

        @app.task(name="nothing")
        def nothing_plain() -> None: ...

    store = app.open_store()
    first = app.enqueue("nothing")
    for _ in range(0, RUNS, 1000):
        store.enqueue([replace(first, id=new_id(store.now_ms())) for _ in range(1000)])

    @app.on("run_finished")
    def count(event: object) -> None:
        finished[0] += 1
        if finished[0] >= RUNS:
            done.set()

    start = time.perf_counter()
    app.start()
    done.wait()
    app.stop()
    return finished[0] / (time.perf_counter() - start)


def _huey(folder: str) -> float:
    huey = SqliteHuey(filename=str(Path(folder) / "huey.db"), fsync=True, results=False)

    @huey.task()  # type: ignore[untyped-decorator]
    def nothing() -> None: ...

    for _ in range(2000):
        nothing()
    start = time.perf_counter()
    for _ in range(2000):
        huey.execute(huey.dequeue())
    return 2000 / (time.perf_counter() - start)


# lateness


def lateness(report: Report) -> None:
    section = report.section(
        f"{SCHEDULES:,} schedules every second for {SECONDS} s",
        "Lateness of the call of a no-op function, in ms, after the first three seconds; both on SQLite.",
        *("who", "fired", "of", "p50", "p99", "most"),
    )
    ours, theirs = _our_lateness(), _their_lateness()
    for name, late in (("onthedot", ours), ("APScheduler 3", theirs)):
        section.rows.append(
            (name, len(late), SCHEDULES * SECONDS, _at(late, 0.5), _at(late, 0.99), late[-1] if late else 0.0)
        )
    report.goal(
        "1,000 schedules a second: none lost",
        f"{len(ours):,} of {SCHEDULES * SECONDS:,}",
        len(ours) >= SCHEDULES * SECONDS,
    )
    report.goal("p99 lateness under 75 ms", f"{_at(ours, 0.99):.0f} ms", _at(ours, 0.99) < 75)
    ratio = _at(ours, 0.99) / _at(theirs, 0.99)
    report.goal("p99 lateness at most a tenth of APScheduler 3's", f"{ratio:.3f} of it", ratio <= 0.1)


def _our_lateness() -> list[float]:
    late: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        app = App(f"sqlite:///{Path(folder) / 'late.db'}", node=NodeSettings(capacity=2000))
        app.open_store(create=True)

        @app.task
        async def nothing() -> None: ...

        counting = Event()

        @app.on("run_started")
        def note(event: RunStarted) -> None:
            if counting.is_set():
                late.append(float(event.late_ms))

        app.schedules.put_many(
            [Put(f"s{n}", nothing, every("1s"), None, {"overlap": "concurrent"}) for n in range(SCHEDULES)]
        )
        app.start()
        time.sleep(3.5 - time.time() % 1)
        counting.set()
        time.sleep(SECONDS)
        counting.clear()
        app.stop()
    return sorted(late)


_noted: list[float] = []


def _their_lateness() -> list[float]:
    _noted.clear()
    with tempfile.TemporaryDirectory() as folder:
        scheduler = BackgroundScheduler(
            jobstores={"default": SQLAlchemyJobStore(url=f"sqlite:///{Path(folder) / 'aps.db'}")},
            executors={"default": ThreadPoolExecutor(50)},
            job_defaults={"misfire_grace_time": 3600, "coalesce": False, "max_instances": 1000},
            timezone="UTC",
        )
        scheduler.start(paused=True)
        first = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=20)
        for number in range(SCHEDULES):
            scheduler.add_job(
                _stamp, "interval", seconds=1, start_date=first, args=[first.timestamp()], id=f"s{number}"
            )
        scheduler.resume()
        while datetime.now(UTC) < first + timedelta(seconds=3.5):
            time.sleep(0.1)
        _noted.clear()
        time.sleep(SECONDS)
        found = list(_noted)
        scheduler.shutdown(wait=False)
    return sorted(found)


_calls: dict[int, int] = {}


def _stamp(first: float) -> None:
    """Jobs of one store fire in turn: the n-th thousand of calls belongs to the n-th second."""
    _calls[0] = _calls.get(0, 0) + 1
    tick = first + (_calls[0] - 1) // SCHEDULES
    _noted.append(max((time.time() - tick) * 1000, 0.0))


def _at(ordered: list[float], part: float) -> float:
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)] if ordered else 0.0


# idling


def idle(report: Report) -> None:
    with tempfile.TemporaryDirectory() as folder:
        app = App(f"sqlite:///{Path(folder) / 'idle.db'}")
        app.open_store(create=True)

        @app.task
        def nothing() -> None: ...

        app.schedules.put_many([Put(f"s{n}", nothing, every("30d")) for n in range(10_000)])
        app.start()
        time.sleep(2)
        cpu, wall = time.process_time(), time.perf_counter()
        time.sleep(20)
        part = (time.process_time() - cpu) / (time.perf_counter() - wall)
        app.stop()
    section = report.section(
        "An idle node with 10,000 schedules", "Processor time of the whole process over 20 s.", "who", "% of a core"
    )
    section.rows.append(("onthedot", part * 100))
    report.goal("an idle node with 10,000 schedules under 1 % of a core", f"{part * 100:.2f} %", part < 0.01)
