"""Time-outs of plain functions, in real threads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from queue import Queue
from threading import Event
from typing import Any

import pytest
from tests.patience import LONGEST_S

from onthedot.clock import SystemClock
from onthedot.events import Emitter
from onthedot.execution import deadlines, worker
from onthedot.execution.context import Context, TimedOut
from onthedot.execution.engines.engine import Call
from onthedot.execution.thread_pool import Sizes
from onthedot.execution.worker import Worker
from onthedot.model.outcome import Outcome
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.states import State

Action = Callable[[Context], Any]


@dataclass
class Plain:
    """A task that is a plain function."""

    action: Action
    is_async: bool = False
    stops_itself: bool = False
    pool: str | None = None
    engine: str | None = None

    def elsewhere(self, context: Context) -> Call:
        raise AssertionError("it is done here")

    def call(self, context: Context, args: Mapping[str, Any]) -> Any:
        return self.action(context)


class Bench:
    """A worker, and what it reports."""

    def __init__(self, capacity: int = 4) -> None:
        self.tasks: dict[str, Plain] = {}
        self.outcomes: Queue[Outcome] = Queue()
        emitter = Emitter(lambda event, error: None)
        self.worker = Worker(self.tasks.get, SystemClock(), emitter, self.outcomes.put, sizes=Sizes.of(capacity))

    def begin(self, run_id: str, action: Action, timeout_ms: int | None = 50, *, is_async: bool = False) -> None:
        self.tasks[run_id] = Plain(action, is_async)
        policy = Policy(timeout_ms=timeout_ms)
        self.worker.begin(Run(run_id, run_id, "enqueue", 0, 0, State.RUNNING, policy=policy, claim_no=1))

    def outcome(self) -> Outcome:
        return self.outcomes.get(timeout=LONGEST_S)


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.worker.close()


def test_a_function_that_never_ends_is_stopped_at_its_time_out(bench: Bench) -> None:
    def forever(ctx: Context) -> None:
        while True:
            pass

    bench.begin("r", forever)
    outcome = bench.outcome()
    assert (outcome.run_id, outcome.ending) == ("r", "timed_out")
    assert "TimedOut" in (outcome.error or "")
    assert "in forever" in (outcome.error or ""), "it does not say where the time was spent"


def test_sleep_and_check_raise_at_the_time_out(bench: Bench) -> None:
    heard: list[type[BaseException]] = []

    def sleeps(ctx: Context) -> None:
        try:
            ctx.sleep("1h")
        except TimedOut as error:
            heard.append(type(error))
        ctx.check()

    bench.begin("r", sleeps)
    assert bench.outcome().ending == "timed_out"
    assert heard == [TimedOut]


def test_a_function_that_ends_in_time_is_left_alone(bench: Bench) -> None:
    bench.begin("r", lambda ctx: 42, timeout_ms=60_000)
    outcome = bench.outcome()
    assert (outcome.ending, outcome.result, outcome.reason) == ("succeeded", 42, None)


def test_what_comes_to_its_end_after_its_time_out_has_succeeded_and_says_so(bench: Bench) -> None:
    def stubborn(ctx: Context) -> str:
        with suppress(TimedOut):
            ctx.sleep("1h")
        return "done"

    bench.begin("r", stubborn)
    outcome = bench.outcome()
    assert (outcome.ending, outcome.result) == ("succeeded", "done")
    assert "after its time-out" in (outcome.reason or "")


def test_what_cannot_be_stopped_is_reported_with_its_place_and_its_thread_is_not_counted_as_free(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadlines, "LAST_CHANCE_MS", 20)
    let_go = Event()
    bench.begin("r", lambda ctx: let_go.wait())
    outcome = bench.outcome()
    assert outcome.ending == "timed_out"
    assert "could not be stopped" in (outcome.error or "")
    assert "threading.py" in (outcome.error or "")
    assert (bench.worker.executing(), bench.worker.pools.free_in("fast")) == ({}, 3)
    let_go.set()
    bench.begin("next", lambda ctx: None, timeout_ms=None)
    assert bench.outcome().run_id == "next", "the one that came back was reported twice"
    while bench.worker.pools.free_in("fast") < 4:
        Event().wait(0.01)


def test_a_time_out_that_comes_just_as_a_function_ends_harms_neither_the_thread_nor_the_next_run() -> None:
    bench = Bench(capacity=2)
    clock = SystemClock()

    def about_as_long_as_its_time_out(ctx: Context) -> None:
        end_ms = clock.monotonic_ms() + 2
        while clock.monotonic_ms() < end_ms:
            pass

    for number in range(300):
        bench.begin(f"r{number}", about_as_long_as_its_time_out, timeout_ms=2)
    outcomes = [bench.outcome() for _ in range(300)]
    assert {outcome.run_id for outcome in outcomes} == {f"r{number}" for number in range(300)}
    assert {outcome.ending for outcome in outcomes} <= {"succeeded", "timed_out"}
    bench.begin("last", lambda ctx: "fine", timeout_ms=None)
    assert bench.outcome().result == "fine"
    bench.worker.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # it may hit somebody's gc callback
def test_a_task_that_logs_all_the_time_is_stopped_and_logging_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(capacity=2)
    log = logging.getLogger("chatter")

    over = Event()

    def chatters(ctx: Context) -> None:
        while not over.is_set():  # one whose interruption was swallowed must not go on for the rest of the suite
            log.warning("still here")

    for number in range(20):
        bench.begin(f"r{number}", chatters, timeout_ms=10)
    assert {bench.outcome().ending for _ in range(20)} == {"timed_out"}
    over.set()
    written = Event()

    def says_one_thing(ctx: Context) -> None:
        log.warning("last")
        written.set()

    bench.begin("last", says_one_thing, timeout_ms=None)
    assert written.wait(LONGEST_S), "a lock of the logging module was left taken"
    bench.worker.close()


def test_who_swallows_the_first_interruption_gets_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "LAST_CHANCE_MS", 200)
    bench, left = Bench(), Event()

    def swallows_some(ctx: Context) -> None:
        swallowed = 0
        try:
            while swallowed < 4:
                try:
                    while True:
                        pass
                except TimedOut:
                    swallowed += 1
        finally:
            left.set()

    bench.begin("r", swallows_some)
    assert bench.outcome().ending == "timed_out"
    assert left.wait(LONGEST_S), "it goes on for ever"


# cancelled


def test_a_cancelled_function_may_see_it_by_itself() -> None:
    bench, inside = Bench(), Event()

    def sees(ctx: Context) -> str:
        inside.set()
        while not ctx.cancelled:
            pass
        return "by itself"

    bench.begin("r", sees, timeout_ms=None)
    assert inside.wait(LONGEST_S)
    bench.worker.cancel("r")
    assert bench.outcome().result == "by itself"


@pytest.mark.parametrize("timeout_ms", [None, 3_600_000])
def test_a_cancelled_function_is_interrupted_as_by_its_time_out(timeout_ms: int | None) -> None:
    bench, inside = Bench(), Event()

    def spins(ctx: Context) -> None:
        inside.set()
        while True:
            pass

    bench.begin("r", spins, timeout_ms=timeout_ms)
    assert inside.wait(LONGEST_S)
    bench.worker.cancel("r")
    outcome = bench.outcome()
    assert (outcome.ending, outcome.reason) == ("cancelled", "cancelled")


def test_one_that_is_no_longer_this_node_s_is_interrupted_too() -> None:
    bench, inside, left = Bench(), Event(), Event()

    def spins(ctx: Context) -> None:
        inside.set()
        try:
            while True:
                pass
        finally:
            left.set()

    bench.begin("r", spins, timeout_ms=None)
    assert inside.wait(LONGEST_S)
    bench.worker.give_up("r", 1)
    assert left.wait(LONGEST_S)
    assert bench.outcomes.empty()


def test_a_cancelled_function_that_cannot_be_interrupted_is_reported_with_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(deadlines, "LAST_CHANCE_MS", 200)
    bench, inside, goes_on = Bench(), Event(), Event()

    def waits_in_the_system(ctx: Context) -> None:
        inside.set()
        goes_on.wait(LONGEST_S)

    bench.begin("r", waits_in_the_system, timeout_ms=None)
    assert inside.wait(LONGEST_S)
    bench.worker.cancel("r")
    outcome = bench.outcome()
    assert outcome.ending == "cancelled"
    assert "could not be stopped: its thread is still at" in (outcome.error or "")
    goes_on.set()


# on the event loop


async def swallows(ctx: Context) -> None:
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)


def test_an_async_task_that_swallows_its_time_out_ends_with_it_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "LAST_CHANCE_MS", 200)
    bench = Bench()
    bench.begin("r", swallows, is_async=True)
    outcome = bench.outcome()
    assert outcome.ending == "timed_out"
    assert "did not end when it was cancelled" in (outcome.error or "")
    assert bench.worker.executing() == {}


def test_one_that_swallows_its_cancellation_ends_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "LAST_CHANCE_MS", 200)
    bench, inside = Bench(), Event()

    async def never_stops(ctx: Context) -> None:
        inside.set()
        await swallows(ctx)

    bench.begin("r", never_stops, timeout_ms=None, is_async=True)
    assert inside.wait(LONGEST_S)
    bench.worker.cancel("r")
    assert bench.outcome().ending == "cancelled"


def test_the_very_first_async_task_that_blocks_is_named_with_its_place() -> None:
    bench, goes_on = Bench(), Event()

    async def blocks(ctx: Context) -> None:
        goes_on.wait(LONGEST_S)

    bench.begin("r", blocks, timeout_ms=None, is_async=True)
    while not bench.worker.problems(1):
        SystemClock().wait(Event(), 10)
    (problem,) = bench.worker.problems(1)
    assert bench.worker.problems(3_600_000) == []
    assert " by the task r, an async def that blocks, at " in problem
    assert "nowhere" not in problem
    goes_on.set()
    assert bench.outcome().ending == "succeeded"
    bench.worker.close()


def test_one_that_holds_up_the_loop_is_named_and_ends_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "LAST_CHANCE_MS", 200)
    monkeypatch.setattr(worker, "HELD_UP_MS", 50)
    bench, goes_on = Bench(), Event()

    async def blocks(ctx: Context) -> None:
        goes_on.wait(LONGEST_S)

    async def innocent(ctx: Context) -> None:
        return None

    bench.begin("quick", innocent, is_async=True)
    assert bench.outcome().ending == "succeeded"
    assert bench.worker.problems() == []
    bench.begin("r", blocks, is_async=True)
    while not bench.worker.problems():
        SystemClock().wait(Event(), 10)
    (problem,) = bench.worker.problems()
    assert "the event loop has been held up for" in problem
    assert "in wait" in problem
    outcome = bench.outcome()
    assert (outcome.run_id, outcome.ending) == ("r", "timed_out")
    assert "its event loop is still at" in (outcome.error or "")
    bench.begin("behind", innocent, is_async=True)
    goes_on.set()
    assert bench.outcome().run_id == "behind"
    while bench.worker.problems():
        SystemClock().wait(Event(), 10)
    bench.worker.close()
