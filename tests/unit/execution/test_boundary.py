"""One bad run stops nothing else: whatever a task returns or raises is its outcome, and its place is given back."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from threading import enumerate as threads
from typing import Any

import pytest
from tests.unit.execution import bad_behaviour as bad
from tests.unit.execution.places import app_in_memory, done, ended, until

from onthedot import App, Context, StoreUnavailable
from onthedot.app.tasks import Task
from onthedot.clock import ManualClock, SystemClock
from onthedot.events import TOPICS, Event, Failure
from onthedot.execution import thread_pool
from onthedot.execution.deadlines import Deadlines
from onthedot.execution.worker import Execution
from onthedot.model.outcome import Outcome
from onthedot.model.policy import Policy
from onthedot.model.run import Run, UnreadableRun
from onthedot.model.states import State
from onthedot.model.values import make
from onthedot.node.settings import NodeSettings
from onthedot.storable import MOST_BYTES
from onthedot.stores.memory import MemoryStore

NO_JSON = "its result is no JSON value: "

OUTCOMES = {
    "nested too deep": ("failed", f"{NO_JSON}it is nested deeper than 100 levels"),
    "nested a little too deep": ("failed", f"{NO_JSON}it is nested deeper than 100 levels"),
    "items raises": ("failed", f"{NO_JSON}RuntimeError: no items"),
    "items raises later": ("succeeded", None),
    "items exits": ("failed", f"{NO_JSON}SystemExit: 2"),
    "a mapping without a text": ("failed", f"{NO_JSON}Object of type Shy is not JSON serializable"),
    "not a number": ("failed", f"{NO_JSON}NaN and infinities are no numbers of JSON"),
    "infinity": ("failed", f"{NO_JSON}NaN and infinities are no numbers of JSON"),
    "a set": ("failed", f"{NO_JSON}Object of type set is not JSON serializable"),
    "a very long number": ("failed", f"{NO_JSON}Exceeds the limit"),
    "unshowable": ("failed", "Unshowable"),
    "unshowable skip": ("skipped", "a UnshowableSkip that cannot be shown"),
    "untraceable": (
        "failed",
        "Untraceable: x" if sys.version_info >= (3, 13) else "Untraceable that cannot be shown: RuntimeError",
    ),
    "unclassed": ("failed", "it raised a Unclassed that cannot be shown: RuntimeError"),
    "exit": ("failed", "SystemExit: 1"),
    "interrupt": ("failed", "KeyboardInterrupt"),
    "generator exit": ("failed", "GeneratorExit"),
    "own base exception": ("failed", "Own: mine"),
    "cancelled though nobody asked": ("failed", "CancelledError"),
    "stop iteration": ("failed", "StopIteration"),
    "too long an error": ("failed", "xxxx"),
    "too long a reason": ("skipped", "yyyy"),
    "nul and surrogates in a result": ("succeeded", None),
    "nul and surrogates in an error": ("failed", "bad \ufffd text \\ud800"),
}
WELL_BEHAVED = {
    "fast": "well_behaved_in_a_thread",
    "loop": "well_behaved_on_the_loop",
    "process": "well_behaved_in_a_process",
}


@pytest.fixture(scope="module")
def app() -> Iterator[App]:
    with bad.app.running():
        yield bad.app


def all_places_are_free(app: App) -> bool:
    assert app.runner is not None
    pools = app.runner.worker.pools
    return all(pools.free_in(pool) == pools.sizes.of_pool(pool) for pool in thread_pool.POOLS)


@pytest.mark.parametrize("task", bad.TASKS, ids=lambda task: task.name)
def test_whatever_a_task_returns_or_raises_is_its_outcome_and_its_pool_goes_on(app: App, task: Task[..., Any]) -> None:
    runs = {how: app.enqueue(task, args={"how": how}) for how in bad.BEHAVIOURS}
    assert app.runner is not None
    good = app.enqueue(WELL_BEHAVED[app.runner.worker.pools.pool_of(runs["exit"])])
    for how, (state, said) in OUTCOMES.items():
        run = ended(app, runs[how])
        assert (run.state, (said or "") in f"{run.error}{run.reason}") == (state, True), (how, run.error, run.reason)
        assert len((run.error or "").encode()) <= MOST_BYTES
        assert len((run.reason or "").encode()) <= MOST_BYTES
    assert ended(app, good).result == "done"
    until(lambda: all_places_are_free(app))


def test_texts_inside_a_result_are_repaired(app: App) -> None:
    run = done(app, bad.in_a_thread, args={"how": "nul and surrogates in a result"})
    assert run.result == {"k\ufffd\\ud800": ["v\ufffd", {"\\udfff": 1}], "fine": "😀"}


def test_what_the_store_gets_is_a_copy_that_can_no_longer_surprise(app: App) -> None:
    run = done(app, bad.in_a_thread, args={"how": "items raises later"})
    assert (type(run.result), run.result) == (dict, {"a": 1})


def test_a_retry_that_forgot_to_say_after_how_long_is_tried_at_once(app: App) -> None:
    assert done(app, bad.asks_carelessly_for_a_retry).result == 2


def test_a_loop_outlives_a_task_of_asyncio_that_exits_when_nobody_waits_for_it(app: App) -> None:
    assert done(app, bad.forgets_a_task_that_exits).state == "succeeded"
    assert ended(app, app.enqueue("well_behaved_on_the_loop")).result == "done"


# what fails is ours


@pytest.fixture
def small() -> Iterator[App]:
    """One place in each pool."""
    app = app_in_memory(node=NodeSettings(capacity=1, poll_ms=50))
    app.task(name="works", pool="fast")(lambda: "done")

    @app.task
    async def waits() -> str:
        return "done"

    with app.running():
        yield app


@pytest.mark.parametrize("task", ["works", "waits"])
def test_a_report_that_fails_costs_neither_a_thread_nor_a_place(
    small: App, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    assert small.runner is not None
    worker, lost = small.runner.worker, list[str]()
    report = worker._report

    def fails_once(outcome: Outcome) -> None:
        if not lost:
            lost.append(outcome.run_id)
            raise MemoryError("no room for an outcome")
        report(outcome)

    monkeypatch.setattr(worker, "_report", fails_once)
    first = small.enqueue(task)
    until(lambda: lost == [first.id] and not worker.executing())
    assert ended(small, small.enqueue(task)).result == "done"
    until(lambda: all_places_are_free(small))


@pytest.mark.parametrize("task", ["works", "waits"])
@pytest.mark.parametrize("where", ["RunStarted", "RunFinished"])
def test_an_event_that_cannot_be_told_costs_neither_a_thread_nor_a_place(
    small: App, monkeypatch: pytest.MonkeyPatch, task: str, where: str
) -> None:
    assert small.runner is not None
    emitter, raised = small.runner.worker._emitter, list[Event]()
    emit = emitter.emit
    emitter.subscribe(next(kind for kind in TOPICS.values() if kind.__name__ == where), lambda event: None)

    def fails_once(event: Event) -> None:
        if type(event).__name__ == where and not raised:
            raised.append(event)
            raise SystemExit("a subscriber of ours has gone mad")
        emit(event)

    monkeypatch.setattr(emitter, "emit", fails_once)
    first = ended(small, small.enqueue(task))
    assert first.state == ("failed" if where == "RunStarted" else "succeeded")
    assert ended(small, small.enqueue(task)).result == "done"
    until(lambda: all_places_are_free(small))


def test_a_store_that_is_away_when_a_task_has_completed_itself_costs_no_thread() -> None:
    class Away(MemoryStore):
        away = False

        def runs(self, **wanted: Any) -> list[Run]:
            if self.away:
                self.away = False
                raise StoreUnavailable("gone for a moment")
            return super().runs(**wanted)

    store = Away(SystemClock().now_ms)
    app = App("memory://", store=store, node=NodeSettings(capacity=1, poll_ms=50))
    failures: list[Failure] = []
    app.events.subscribe(Failure, failures.append)

    @app.task
    def completes(ctx: Context) -> None:
        ctx.completed = True
        store.away = True

    app.task(name="works")(lambda: "done")
    with app.running():
        run = app.enqueue(completes)
        until(lambda: failures)
        assert ended(app, app.enqueue("works")).result == "done"
        last = ended(app, run)
    assert (last.state, last.error) == ("failed", "ctx.complete() was called, but its transaction was not committed")


def test_a_run_for_which_no_thread_can_be_started_is_given_back_and_the_others_go_on(
    small: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert small.runner is not None
    worker, refused = small.runner.worker, list[int]()

    class NoThread:
        def __init__(self, **_: Any) -> None: ...

        def start(self) -> None:
            refused.append(1)
            if len(refused) == 3:
                monkeypatch.undo()
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(thread_pool, "Thread", NoThread)
    run = small.enqueue("works")
    assert ended(small, run).result == "done"
    assert len(refused) == 3
    assert ended(small, run).attempt == 1
    until(lambda: all_places_are_free(small))
    assert worker.executing() == {}


def test_a_run_whose_row_cannot_be_read_is_not_begun_and_ends_with_the_reason(
    small: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert small.runner is not None
    worker, reported = small.runner.worker, list[Outcome]()
    monkeypatch.setattr(worker, "_report", reported.append)
    blank = Run("r", "works", "enqueue", 0, 0, State.RUNNING, claim_no=3, error="the row cannot be read")
    worker.begin(make(UnreadableRun, blank.__dict__))
    assert worker.executing() == {}
    assert reported == [Outcome("r", 3, "failed", error="the row cannot be read", final=True)]


def test_a_thread_outlives_its_items() -> None:
    told: list[BaseException] = []
    seen: list[int] = []

    def work(item: int) -> None:
        seen.append(item)
        raise SystemExit(item) if item % 2 else ValueError(item)

    pool: thread_pool.ThreadPool[int] = thread_pool.ThreadPool("items", 1, work, told.append)
    for item in range(10):
        pool.put(item)
    until(lambda: len(told) == 10)
    assert seen == list(range(10))
    assert [thread.name for thread in threads() if thread.name.startswith("onthedot-items")] == ["onthedot-items-1"]
    pool.close()


def test_a_place_is_given_back_once_however_often_it_is_asked_for(small: App) -> None:
    assert small.runner is not None
    worker = small.runner.worker
    owner = small.runner.node.id
    execution = worker._take(Run("r", "works", "enqueue", 0, 0, State.RUNNING, owner=owner, claim_no=1))
    assert isinstance(execution, Execution)
    worker.give_up("r", 1)
    for _ in range(3):
        worker._work(execution)
    assert worker.pools.free_in("fast") == 1


def _broken() -> None:
    raise ZeroDivisionError("division by zero")


def test_one_time_out_that_goes_wrong_does_not_keep_the_others_from_coming(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onthedot.loop.Loop.start", lambda self: None)
    told: list[str] = []
    clock = ManualClock(0)
    deadlines = Deadlines(clock, lambda stage, error: told.append(f"{stage}: {error}"))
    contexts = [Context(Run(f"{n}", "t", "enqueue", 0, 0, policy=Policy(timeout_ms=10))) for n in range(3)]
    watched = [deadlines.watch(context, lambda place: None, stops_itself=True) for context in contexts]
    contexts[0].when_stopped(_broken)
    clock.advance(20)
    deadlines.run_once()
    assert [context.timed_out for context in contexts] == [True] * 3
    assert told == ["timeouts: division by zero"]
    assert len(watched) == 3
