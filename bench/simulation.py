"""What a simulated year of 100 schedules costs, in processor time: `python -m bench.simulation [days]`."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable

from onthedot import App, cron
from onthedot.testing import simulate
from onthedot.triggers.base import Trigger

SCHEDULES = 100


def daily(number: int) -> Trigger:
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


def measure(kind: Callable[[int], Trigger], days: int) -> None:
    app = App("memory://")

    def job() -> None: ...

    for number in range(SCHEDULES):
        app.schedule(kind(number), name=f"s{number}")(job)
    with simulate(app, takes={"job": "1m"}) as world:
        began = time.process_time()
        world.advance(f"{days}d")
        took = time.process_time() - began
        runs = len(world.runs())
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    cost = f"{took:6.1f} s  {took / runs * 1e6:4.0f} µs a run  {most} MB"
    print(f"{kind.__name__:<7} {days:>4} days  {runs:>7,} runs  {cost}", flush=True)


if __name__ == "__main__":
    for each in (daily, mixed, hourly, spread):
        measure(each, int(sys.argv[1]) if len(sys.argv) > 1 else 365 if each in (daily, mixed) else 30)
