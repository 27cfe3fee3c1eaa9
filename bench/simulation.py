"""What a simulated year of 100 schedules costs, in processor time, while nodes die and are started again."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import cycle
from typing import NamedTuple

from bench.report import Report
from onthedot import App, cron
from onthedot.testing import World, simulate
from onthedot.triggers.base import Trigger

Say = Callable[[str], None]
SCHEDULES, NODES, DAYS = 100, 3, 365
ALIVE, DEAD = timedelta(days=20, minutes=30), timedelta(hours=3)
"""How long all nodes live, and how long one of them is gone then."""


class Year(NamedTuple):
    """A kind of schedules."""

    name: str
    trigger: Callable[[int], Trigger]
    takes: str = "1m"
    in_bulk: bool = True
    days: int = DAYS
    goal_s: float | None = None


def daily(number: int) -> Trigger:
    """Each at a moment of its own."""
    return cron(f"{number % 60} {number % 24} * * *", tz="Europe/Berlin")


def mixed(number: int) -> Trigger:
    """Ten an hour, seventy a day, twenty a week."""
    if number < 10:
        return cron(f"{number * 6} * * * *")
    return daily(number) if number < 80 else cron(f"{number % 60} {number % 24} * * mon")


def hourly(number: int) -> Trigger:
    """All at the same moment."""
    return cron("0 * * * *")


def spread(number: int) -> Trigger:
    """Each hour, in sixty different minutes."""
    return cron(f"{number % 60} * * * *")


YEARS = (
    Year("daily", daily, goal_s=2),
    Year("ten hourly, seventy daily, twenty weekly", mixed),
    Year("hourly, all at once", hourly, goal_s=20),
    Year("hourly, in sixty minutes", spread, goal_s=20),
    Year("the same, each ten minutes long", spread, takes="10m"),
    Year("daily, step by step", daily, in_bulk=False, days=30),
    Year("hourly, all at once, step by step", hourly, in_bulk=False, days=7),
)


def run(report: Report, say: Say) -> None:
    """One table."""
    section = report.section(
        "Simulating",
        f"{SCHEDULES} schedules on {NODES} nodes; every 20 days one of them is killed, and started 3 hours later. "
        "Processor time of this process.",
        *("schedules", "days", "runs", "seconds", "µs a run"),
    )
    for year in YEARS:
        say(year.name)
        runs, seconds = measure(year)
        section.rows.append((year.name, year.days, runs, seconds, seconds / runs * 1e6))
        if year.goal_s is not None:
            text = f"a year of {SCHEDULES} schedules, {year.name}, in {year.goal_s:g} s"
            report.goal(text, f"{seconds:.1f} s", seconds <= year.goal_s)


def measure(year: Year) -> tuple[int, float]:
    """How many runs there were, and the processor time that they took."""
    app = App("memory://")

    def job() -> None: ...

    for number in range(SCHEDULES):
        app.schedule(year.trigger(number), name=f"s{number}")(job)
    with simulate(app, takes={"job": year.takes}, nodes=NODES) as world:
        world.in_bulk = year.in_bulk
        end = world.now + timedelta(days=year.days)
        began = time.process_time()
        _live_until(world, end)
        took = time.process_time() - began
        return len(world.runs()), took


def _live_until(world: World, end: datetime) -> None:
    for number in cycle(range(1, NODES + 1)):
        world.advance_to(min(world.now + ALIVE, end))
        if world.now == end:
            return
        world.kill(number)
        world.advance_to(min(world.now + DEAD, end))
        world.start(number)
