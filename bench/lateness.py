"""How late functions are called when many schedules are due in the same instant of every second."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from threading import Event

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler

from bench.measure import part
from onthedot import App, Context, every
from onthedot.events import Misfired
from onthedot.node.settings import NodeSettings
from onthedot.triggers.base import Trigger

WARM_S = 3
"""Seconds that are not counted, since connections are opened and caches filled in them."""
PATIENCE_S = 60


@dataclass(frozen=True, slots=True)
class Lateness:
    """What became of the ticks of the seconds that count."""

    late_ms: list[float]
    """Of each call, ascending."""
    expected: int
    lost: int
    """Of all ticks, also those of the seconds that do not count: neither called nor in a decision."""
    left_out: int = 0
    """Not called, but recorded as a decision with its reason."""

    def at(self, of: float) -> float:
        return part(self.late_ms, of)

    def row(self, who: str) -> tuple[str, int, int, float, float, float, int, int]:
        """For a table with `COLUMNS`."""
        most = self.late_ms[-1] if self.late_ms else 0.0
        return who, len(self.late_ms), self.expected, self.at(0.5), self.at(0.99), most, self.left_out, self.lost


COLUMNS = ("who", "called", "of", "p50", "p99", "most", "left out", "lost")


class _Calls:
    """Notes by how much each call was late, and when all are accounted for."""

    def __init__(self, first_s: int, schedules: int, seconds: int) -> None:
        self._from_s = first_s + WARM_S
        self.total = schedules * (WARM_S + seconds)
        self.called = self.left_out = 0
        self.late_ms: list[float] = []
        self.all_done = Event()

    def note(self, scheduled_s: float) -> None:
        late_ms = (time.time() - scheduled_s) * 1000
        self.called += 1
        if scheduled_s >= self._from_s:
            self.late_ms.append(late_ms)
        self._look()

    def leave_out(self, ticks: int) -> None:
        self.left_out += ticks
        self._look()

    def _look(self) -> None:
        if self.called + self.left_out >= self.total:
            self.all_done.set()


def ours(
    url: str,
    schedules: int,
    seconds: int,
    beside: Callable[[App], Callable[[], None]] = lambda app: lambda: None,
    node: NodeSettings | None = None,
) -> Lateness:
    """A node as a user has it: embedded, with default settings, and schedules that are declared in code.

    What it does `beside` is declared first, and begun, by what that gives, when the node has started.
    """
    app = App(url, node=node)
    begin_beside = beside(app)
    first_s = int(time.time()) + 5 + schedules // 100
    calls = _Calls(first_s, schedules, seconds)

    @app.on("misfire")
    def leave_out(event: Misfired) -> None:
        calls.leave_out(event.count or 0)

    @app.on("run_skipped")
    def leave_one_out(event: object) -> None:
        calls.leave_out(1)

    first = datetime.fromtimestamp(first_s, UTC)
    trigger = every("1s", starts_at=first, repeat_until=first + timedelta(seconds=WARM_S + seconds - 1))
    for number in range(schedules):
        _declare(app, f"every-second-{number}", trigger, calls)
    app.start()
    begin_beside()
    calls.all_done.wait(first_s - time.time() + WARM_S + seconds + PATIENCE_S)
    app.stop()
    app.close()
    lost = calls.total - calls.called - calls.left_out
    return Lateness(sorted(calls.late_ms), schedules * seconds, lost, calls.left_out)


def _declare(app: App, name: str, trigger: Trigger, calls: _Calls) -> None:
    @app.schedule(trigger, name=name)
    def note(ctx: Context) -> None:
        calls.note(ctx.scheduled_at.timestamp())


# APScheduler 3


_noted: list[tuple[float, float]] = []
_ticks: dict[int, Iterator[int]] = {}


def theirs(schedules: int, seconds: int) -> Lateness:
    """APScheduler 3 in this process, with its jobs in SQLite."""
    _noted.clear()
    _ticks.update({number: count() for number in range(schedules)})
    with tempfile.TemporaryDirectory() as folder:
        scheduler = BackgroundScheduler(
            jobstores={"default": SQLAlchemyJobStore(url=f"sqlite:///{Path(folder) / 'aps.db'}")},
            executors={"default": ThreadPoolExecutor(50)},
            job_defaults={"misfire_grace_time": 3600, "coalesce": False, "max_instances": 1000},
            timezone="UTC",
        )
        scheduler.start(paused=True)
        first = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=20)
        last = first + timedelta(seconds=WARM_S + seconds - 1)
        for number in range(schedules):
            scheduler.add_job(
                *(_stamp, "interval"), seconds=1, start_date=first, end_date=last, args=[first.timestamp(), number]
            )
        scheduler.resume()
        total, end = schedules * (WARM_S + seconds), last.timestamp() + PATIENCE_S
        while len(_noted) < total and time.time() < end:
            time.sleep(0.1)
        scheduler.shutdown(wait=False)
    late_ms = [late for tick, late in list(_noted) if tick >= first.timestamp() + WARM_S]
    return Lateness(sorted(late_ms), schedules * seconds, total - len(_noted))


def _stamp(first: float, number: int) -> None:
    """The n-th call of a job is that of its n-th second: its calls are made in order, and none is left out."""
    tick = first + next(_ticks[number])
    _noted.append((tick, max((time.time() - tick) * 1000, 0.0)))
