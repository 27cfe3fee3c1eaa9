"""How late APScheduler 3 calls functions when many jobs, kept in SQLite, are due at one instant of every second."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler

from bench.apart import apart as in_its_own_process
from bench.lateness import PATIENCE_S, WARM_S, Lateness

_noted: list[tuple[float, float]] = []
_ticks: dict[int, Iterator[int]] = {}


def apart(schedules: int, seconds: int) -> Lateness:
    """In a process of its own."""
    return Lateness(*in_its_own_process("bench.apscheduler3:measured", schedules, seconds))


def measured(schedules: int, seconds: int) -> tuple[list[float], int, int]:
    """For `apart`: the fields of what came out."""
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
    return sorted(late_ms), schedules * seconds, total - len(_noted)


def _stamp(first: float, number: int) -> None:
    """The n-th call of a job is that of its n-th second: its calls are made in order, and none is left out."""
    tick = first + next(_ticks[number])
    _noted.append((tick, max((time.time() - tick) * 1000, 0.0)))
