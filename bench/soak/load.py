"""A steady load of all common kinds: ticks each second, runs from outside, retries, flows, limits, commands, pauses."""

from __future__ import annotations

import asyncio
import time
from itertools import count

from onthedot import App, Context, every

PLAIN = "second-"
"""Schedules whose names begin so are due each second and may begin at once: lateness is theirs."""
PAUSED = "paused-now-and-then"
ONE_OFF = "one-off"
ENQUEUED_A_SECOND = 5


def declare(app: App, schedules: int) -> None:
    """What each node has."""
    _each_second(app, schedules)
    _one_after_the_other(app)
    _failing(app)
    _flow(app)
    _elsewhere(app)


def _each_second(app: App, schedules: int) -> None:
    @app.task(name="plain")
    def plain(ctx: Context, number: int) -> int:
        if number % 3 == 0:
            ctx.log.info("number %s, for the log", number)
        return number

    @app.task(name="async")
    async def awaiting(number: int) -> int:
        await asyncio.sleep(0.01)
        return number

    for number in range(schedules):
        name, args = f"{PLAIN}{number:03}", {"number": number}
        app.schedule(every("1s"), name=name, args=args, overlap="concurrent")(awaiting if number % 2 else plain)


def _one_after_the_other(app: App) -> None:
    """Runs that get in each other's way: each rule of overlap, and a limit that two schedules share."""

    @app.task(name="slow")
    def slow(ctx: Context) -> None:
        ctx.sleep("1500ms")

    for overlap in ("serial", "discard", "cover"):
        app.schedule(every("2s"), name=f"overlap-{overlap}", overlap=overlap)(slow)

    @app.task(name="brief")
    def brief() -> None:
        time.sleep(0.2)

    for number in range(2):
        app.schedule(every("1s"), name=f"limited-{number}", limit="one:1", overlap="discard")(brief)
    app.schedule(every("1s"), name=PAUSED)(brief)


def _failing(app: App) -> None:
    @app.task(name="second-try", retries=2, backoff="1s")
    def second_try(ctx: Context) -> int:
        if ctx.attempt == 1:
            raise RuntimeError("the first attempt always fails")
        return ctx.attempt

    @app.task(name="never", retries=1, backoff="500ms")
    async def never() -> None:
        raise RuntimeError("this one fails for good")

    app.schedule(every("3s"), name="retried")(second_try)
    app.schedule(every("10s"), name="failing")(never)


def _flow(app: App) -> None:
    @app.task(name="list")
    def listed() -> list[int]:
        return list(range(5))

    @app.task(name="load")
    async def load(number: int) -> int:
        return number * number

    @app.task(name="add")
    def add(numbers: list[int]) -> int:
        return sum(numbers)

    flow = app.flow("flow", every("5s"))
    given = flow.step(listed)
    flow.step(add, args={"numbers": flow.map(load, given, parallel=3)})


def _elsewhere(app: App) -> None:
    """On every node, in another process, in a command; and what others enqueue."""

    @app.task(name="everywhere")
    def everywhere(ctx: Context) -> int | None:
        return ctx.shard

    app.schedule(every("10s"), name="broadcast", route="broadcast")(everywhere)
    app.schedule(every("30s"), name="process")(app.task(name="reckon", pool="process")(reckon))
    app.schedule(every("15s"), name="command")(app.command("true", ["true"]))

    @app.task(name=ONE_OFF)
    def one_off(ctx: Context, number: int) -> int:
        ctx.log.info("enqueued from outside")
        return number


def reckon() -> int:
    """At the top of the module, since another process imports it."""
    return sum(number * number for number in range(100_000))


class Outside:
    """Another program on the same store: it enqueues, triggers, pauses and resumes. To be called once a second."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._numbers = count()
        self._seconds = count(1)

    def act(self) -> None:
        """One second's part."""
        second = next(self._seconds)
        for place in range(ENQUEUED_A_SECOND):
            number = next(self._numbers)
            delay = "3s" if place == 1 else None
            key = f"key-{number}" if place == 2 else None
            self._app.enqueue(ONE_OFF, args={"number": number}, delay=delay, key=key, unchecked=True)
        if second % 10 == 0:
            self._app.schedules.trigger(f"{PLAIN}000")
        if second % 60 == 20:
            self._app.schedules.pause(PAUSED, note="for some seconds")
        if second % 60 == 25:
            self._app.schedules.resume(PAUSED)
