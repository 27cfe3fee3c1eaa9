"""Schedules of every kind, which storms are made of: one catalogue for real processes and for virtual ones.

Durations are in milliseconds of a quick pace; a slower one stretches them all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from onthedot import App, Context, alert, cron, every
from onthedot.testing.history import Journal
from onthedot.triggers.base import Trigger


@dataclass(frozen=True, slots=True)
class Ms:
    """A duration that is stretched with the pace."""

    ms: int


@dataclass(frozen=True, slots=True)
class Kind:
    """A sort of schedule."""

    name: str
    every_s: int
    takes_ms: int = 0
    fails: int = 0
    """Of a hundred calls so many raise."""
    task: str = "work"
    options: Mapping[str, Any] = field(default_factory=dict)
    by_cron: bool = False
    draws: Callable[[App, str, Trigger, Mapping[str, Any]], None] | None = None
    """Of a flow: what declares it."""


def _chain(app: App, name: str, trigger: Trigger, options: Mapping[str, Any]) -> None:
    """A list, a map over it whose items fail at times, a sum, and a step that closes it."""
    flow = app.flow(name, trigger, **options)
    given = flow.step("give")
    total = flow.step("add", args={"numbers": flow.map("take", given, parallel=3)})
    flow.step("tell", args={"total": total}, may_fail=True)
    flow.step("clean", on="end")


def _fork(app: App, name: str, trigger: Trigger, options: Mapping[str, Any]) -> None:
    """Two branches of which one may fail, joined; a page where it goes wrong."""
    flow = app.flow(name, trigger, **options)
    left = flow.step("give", name="left")
    right = flow.step("take", name="right", args={"number": 7})
    flow.step("add", name="join", args={"numbers": left}, after=[right])
    flow.step("clean", name="page", on="failure")


_ROUTES = ("first", "last", "round", "random", "lfu", "lru", "hash", "failover", "busyover")
_AGAIN = {"retries": 2, "backoff": Ms(400), "crash_retries": 100}
_CRASHES = {"crash_retries": 100}

KINDS: tuple[Kind, ...] = (
    Kind("plain", 1, 200, options={"overlap": "concurrent", **_CRASHES}),
    Kind("serial", 1, 1300, options={"max_waiting": 2, **_CRASHES}),
    Kind("discard", 1, 1600, options={"overlap": "discard", **_CRASHES}),
    Kind("cover", 2, 2700, options={"overlap": "cover", **_CRASHES}),
    Kind("two", 1, 2400, options={"overlap": "concurrent", "max_concurrent_runs": 2, **_CRASHES}),
    Kind("flaky", 2, 200, 30, options={"overlap": "concurrent", **_AGAIN}),
    *(Kind(f"by-{route}", 2, 300, options={"route": route, **_CRASHES}) for route in _ROUTES),
    Kind("everywhere", 4, 200, 5, options={"route": "broadcast", "overlap": "discard", **_CRASHES}),
    Kind("limited", 1, 900, options={"overlap": "concurrent", "limit": "few:2", **_CRASHES}),
    Kind("limited-too", 2, 900, 20, options={"limit": "few:2", **_AGAIN}),
    Kind("after-plain", 3, 200, options={"depends_on": "plain", "within": Ms(5000), **_CRASHES}),
    Kind("after-flaky", 3, 200, options={"depends_on": "flaky", "within": Ms(3000), **_CRASHES}),
    Kind("followed", 2, 200, 30, options={"then": ["follow"], "on_failure": ["follow"], **_AGAIN}),
    Kind(
        "watched", 2, 200, 50, options={"alerts": [alert("ops", task="page", every="1m", on=["failure", "recovery"])]}
    ),
    Kind("no-late", 1, 200, options={"misfire": "skip", "grace": Ms(1500), "overlap": "concurrent", **_CRASHES}),
    Kind("latest", 1, 200, options={"misfire": "fire_once", "grace": Ms(1000), **_CRASHES}),
    Kind(
        "all-late",
        1,
        100,
        options={
            "misfire": "catch_up",
            "max_catch_up": 3,
            "grace": Ms(1000),
            "catch_up_window": Ms(20_000),
            **_CRASHES,
        },
    ),
    Kind(
        "just-late",
        1,
        100,
        options={"misfire": "catch_up", "grace": Ms(1000), "catch_up_window": Ms(4000), "overlap": "concurrent"},
    ),
    Kind("fragile", 1, 900, options={"crash_retries": 0, "overlap": "concurrent"}),
    Kind("long", 1, 2600, options={"overlap": "concurrent", **_CRASHES}),
    Kind("at-most-once", 2, 900, 10, options={"delivery": "at_most_once", "overlap": "concurrent"}),
    Kind("once-serial", 2, 1200, options={"delivery": "at_most_once"}),
    Kind("expiring", 1, 1600, options={"expires": Ms(1500), "max_waiting": 3, **_CRASHES}),
    Kind("stale-soon", 1, 200, options={"expires": Ms(700), "grace": Ms(5000), "overlap": "concurrent", **_CRASHES}),
    Kind("jittered", 2, 200, options={"jitter": Ms(900), **_CRASHES}),
    Kind("local", 1, 200, options={"mode": "local", "overlap": "concurrent", **_CRASHES}),
    Kind("timed", 2, 700, options={"timeout": Ms(600), "overlap": "concurrent", **_AGAIN}),
    Kind("urgent", 1, 200, options={"priority": 5, "overlap": "concurrent", **_CRASHES}),
    *(
        Kind(f"some-{most}", 1, 200, options={"max_runs": most, "grace": Ms(6000), "overlap": "concurrent", **_CRASHES})
        for most in (4, 6, 9)
    ),
    Kind("hasty", 2, 900, 60, options={"retries": 4, "backoff": Ms(1), "overlap": "concurrent", **_CRASHES}),
    Kind("clockwork", 2, 200, options={"overlap": "concurrent", **_CRASHES}, by_cron=True),
    Kind("crashing", 3, 1500, options={"crash_retries": 1, "overlap": "discard"}),
    Kind("chain", 4, options={"overlap": "discard"}, draws=_chain),
    Kind("chain-behind", 3, options={"max_waiting": 1}, draws=_chain),
    Kind("fork", 4, options={"overlap": "concurrent", "max_concurrent_runs": 2}, draws=_fork),
)
"""What both kinds of storm have. Where a schedule depends on another, that one is wanted too."""
REAL: tuple[Kind, ...] = (
    Kind("looping", 1, 300, task="work_on_loop", options={"overlap": "concurrent", **_CRASHES}),
    Kind("crunching", 3, 0, task="crunch", options={"overlap": "discard", **_CRASHES}),
    Kind("commanded", 3, 0, task="nap", options={"overlap": "discard", **_CRASHES}),
    Kind("called", 2, 0, task="call", options={"overlap": "concurrent", **_AGAIN}),
)
"""What only real processes do: event loops, processes, commands, HTTP calls."""
JOURNALLED = ("work", "work_on_loop", "give", "take", "add", "clean", "follow", "page")
"""The tasks that write a journal."""


class Boom(Exception):
    """What tasks raise at times."""


def fails_now(context: Context, fails: int) -> bool:
    """The same for the same attempt of the same run, wherever it is."""
    digest = sha256(f"{context.run_id}/{context.attempt}".encode()).digest()
    return digest[0] * 100 < fails * 256


Note = Callable[[Context], AbstractContextManager[None]]


def define_tasks(app: App, journal: Journal | None, pace: int = 1, without: Collection[str] = ()) -> None:
    """The tasks that schedules of every kind are made of; those in `without` this process does not know."""
    note: Note = (lambda context: nullcontext()) if journal is None else journal.entry
    again: dict[str, Any] = {"retries": 2, "backoff": f"{300 * pace}ms", "crash_retries": 100}
    for task in _plain_tasks(note):
        if task.__name__ not in without:
            app.task(crash_retries=100)(task)
    for task in _steps(note, pace):
        if task.__name__ not in without:
            app.task(**again)(task)


def _plain_tasks(note: Note) -> list[Callable[..., Any]]:
    def work(ctx: Context, takes: int = 0, fails: int = 0) -> int:
        with note(ctx):
            ctx.sleep(f"{takes}ms")
            if fails_now(ctx, fails):
                raise Boom(f"attempt {ctx.attempt}")
            return ctx.attempt

    def follow(ctx: Context) -> None:
        with note(ctx):
            pass

    def page(ctx: Context, text: str) -> None:
        with note(ctx):
            pass

    def tell(total: int) -> None:
        if total % 2 == 0:
            raise Boom(f"{total} is even")

    return [work, follow, page, tell]


def _steps(note: Note, pace: int) -> list[Callable[..., Any]]:
    def give(ctx: Context) -> list[int]:
        with note(ctx):
            ctx.sleep(f"{50 * pace}ms")
            return list(range(4))

    def take(ctx: Context, number: int) -> int:
        with note(ctx):
            ctx.sleep(f"{100 * pace}ms")
            if fails_now(ctx, 15):
                raise Boom(f"item {number}")
            return number

    def add(ctx: Context, numbers: list[int]) -> int:
        with note(ctx):
            return sum(numbers)

    def clean(ctx: Context) -> None:
        with note(ctx):
            ctx.sleep(f"{50 * pace}ms")

    return [give, take, add, clean]


def declare(app: App, kinds: Sequence[Kind], pace: int = 1, times: int = 1, without: Collection[str] = ()) -> list[str]:
    """Declare so many schedules of each kind, whose tasks this process knows; their names."""
    names = []
    for number in range(times):
        for kind in kinds:
            if kind.task in without or (kind.draws is not None and {"give", "take", "add", "clean"} & {*without}):
                continue
            name = kind.name if number == 0 else f"{kind.name}-{number}"
            _declare(app, name, kind, pace)
            names.append(name)
    return names


def _declare(app: App, name: str, kind: Kind, pace: int) -> None:
    seconds = kind.every_s * pace
    trigger = cron(f"*/{seconds} * * * * *") if kind.by_cron else every(f"{seconds}s")
    options = {key: stretched(value, pace) for key, value in kind.options.items()}
    if kind.draws is not None:
        kind.draws(app, name, trigger, options)
        return
    args = {"takes": kind.takes_ms * pace, "fails": kind.fails} if kind.task.startswith("work") else {}
    task = app.tasks.lookup(kind.task)
    assert task is not None, kind
    app.schedule(trigger, name=name, args=args, **options)(task)


def stretched(value: Any, pace: int) -> Any:
    """A value of an option at this pace."""
    return f"{value.ms * pace}ms" if isinstance(value, Ms) else value


def with_needed(kinds: Sequence[Kind]) -> tuple[Kind, ...]:
    """These, and those that they depend on."""
    named = {kind.name: kind for kind in KINDS}
    needed = [kind.options["depends_on"] for kind in kinds if "depends_on" in kind.options]
    return tuple({kind.name: kind for kind in [*kinds, *(named[name] for name in needed)]}.values())
