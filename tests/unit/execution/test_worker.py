"""The worker by itself: what goes wrong around a task, without a node or a store."""

from __future__ import annotations

from typing import Any

import pytest

from onthedot.app.tasks import Task
from onthedot.clock import SystemClock
from onthedot.events import Emitter
from onthedot.execution.thread_pool import Sizes
from onthedot.execution.worker import Execution, Worker
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
