"""The worker by itself: what goes wrong around a task, without a node or a store."""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest
from tests.patience import LONGEST_S

from onthedot.app.tasks import Task
from onthedot.clock import ManualClock, SystemClock
from onthedot.events import Emitter
from onthedot.execution.thread_pool import Sizes
from onthedot.execution.worker import QUEUED_MS, SOON_MS, Execution, Worker
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.model.states import State


class Broken(BaseException):
    """Of ours, not of the task."""


@pytest.fixture
def reported() -> list[Outcome]:
    return []


@pytest.fixture
def worker(reported: list[Outcome], monkeypatch: pytest.MonkeyPatch) -> Worker:
    """One that breaks when a task is to be called."""

    def work() -> None: ...

    task: Task[..., Any] = Task("work", work)
    emitter = Emitter(lambda event, error: None)
    worker = Worker(lambda name: task, SystemClock(), emitter, reported.append, sizes=Sizes(1, 1, 1, 1))

    def breaks(execution: Execution) -> Outcome:
        raise Broken("out of memory, say")

    monkeypatch.setattr(worker, "_execute", breaks)
    return worker


def work(worker: Worker) -> None:
    execution = worker._take(Run("r", "work", "enqueue", 0, 0, State.RUNNING, claim_no=1))
    assert execution is not None
    worker._work(execution)


def test_whatever_goes_wrong_in_the_midst_of_a_run_becomes_its_outcome(worker: Worker, reported: list[Outcome]) -> None:
    work(worker)
    (outcome,) = reported
    assert (outcome.run_id, outcome.ending, "out of memory" in (outcome.error or "")) == ("r", "failed", True)
    assert worker.executing() == {}


def test_the_place_of_a_run_is_given_back_whatever_goes_wrong(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    def leaves_nothing(*_: object) -> None:
        raise Broken("again")

    monkeypatch.setattr(worker, "_break_off", leaves_nothing)
    with pytest.raises(Broken):
        work(worker)
    assert worker.pools.free_in("fast") == 1


def test_what_has_just_reported_how_it_ended_is_not_handed_back(worker: Worker, reported: list[Outcome]) -> None:
    """It ends at the end of the drain: its thread has reported, and not left yet."""
    execution = worker._take(Run("r", "work", "enqueue", 0, 0, State.RUNNING, claim_no=1))
    assert execution is not None
    execution.entered = execution.given_up = True
    worker.hand_back(entered=True)
    assert reported == []


class Held:
    """A worker with one place, whose task is done quickly, until it hangs."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.reported: list[Outcome] = []
        self.inside, self.go_on, self.ended = Event(), Event(), Event()
        task: Task[..., Any] = Task("work", self.hang)
        emitter = Emitter(lambda event, error: None)
        self.worker = Worker(lambda name: task, self.clock, emitter, self.report, sizes=Sizes(1, 9, 1, 1))
        self.worker.pools.note("work", 0)

    def hang(self) -> None:
        self.inside.set()
        assert self.go_on.wait(LONGEST_S)

    def report(self, outcome: Outcome) -> None:
        self.reported.append(outcome)
        if outcome.ending == "succeeded":
            self.ended.set()

    def begin(self, *names: str) -> None:
        self.worker.begin(*(Run(name, "work", "tick", 0, 0, State.RUNNING, claim_no=1) for name in names))
        assert self.inside.wait(LONGEST_S)

    def end(self) -> None:
        self.go_on.set()
        assert self.ended.wait(LONGEST_S)
        self.worker.close()


def test_what_took_next_to_no_time_and_hangs_now_is_not_about_to_end() -> None:
    held = Held()
    held.begin("first", "second")
    assert held.worker.is_about_to_end(("first", 1))
    assert not held.worker.is_about_to_end(("first", 2))
    held.clock.advance(SOON_MS)
    assert not held.worker.is_about_to_end(("first", 1))
    assert held.worker.is_about_to_end(("second", 1)), "it has not begun"
    held.clock.advance(QUEUED_MS)
    assert not held.worker.is_about_to_end(("second", 1)), "it waits for one that hangs"
    held.end()


def test_what_waits_behind_one_that_hangs_is_handed_back_and_the_rest_is_not() -> None:
    held = Held()
    held.begin("first", "second")
    held.clock.advance(QUEUED_MS - 1)
    held.worker.hand_back_stuck()
    assert held.reported == []
    held.clock.advance(1)
    held.worker.hand_back_stuck()
    assert [(each.run_id, each.ending, each.entered) for each in held.reported] == [("second", "handed_back", False)]
    held.end()
    assert [(each.run_id, each.ending) for each in held.reported[1:]] == [("first", "succeeded")]


def test_where_places_come_free_nothing_is_handed_back() -> None:
    held = Held()
    held.begin("first", "second", "third")
    held.clock.advance(QUEUED_MS)
    held.worker.pools.take("fast")
    held.worker.pools.give_back("fast")
    held.worker.hand_back_stuck()
    assert held.reported == []
    held.end()
