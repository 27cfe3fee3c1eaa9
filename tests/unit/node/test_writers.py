"""Outcomes: nothing is forgotten until the store has taken or refused it."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event, Thread, current_thread

import pytest
from tests.patience import LONGEST_S
from tests.unit.node.world import World

from onthedot import App
from onthedot.errors import StoreUnavailable
from onthedot.events import OutcomeRefused
from onthedot.model.outcome import Outcome
from onthedot.node.node import NodeRunner
from onthedot.node.settings import NodeSettings
from onthedot.node.writers import OutcomeWriter
from onthedot.stores.answers import Finished


@pytest.fixture
def world() -> World:
    return World()


def done(world: World) -> tuple[NodeRunner, str]:
    """A node that has executed a run, and not yet reported it."""
    world.app.task(name="work")(lambda: None)
    node = world.node()
    run = world.app.enqueue("work")
    node.plan_once()
    assert node.worker.wait_empty(20_000)
    return node, run.id


def test_an_outcome_that_could_not_be_written_is_written_again(world: World) -> None:
    node, run_id = done(world)
    world.store.away = True
    with pytest.raises(StoreUnavailable):
        node.write_once()
    world.store.away = False
    node.write_once()
    assert world.app.runs.get(run_id).state == "succeeded"


def test_an_outcome_is_on_its_way_until_the_store_has_answered(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A renewal meanwhile must find it, or it would take the run to have ended without an outcome."""
    node, run_id = done(world)
    seen: list[set[tuple[str, int]]] = []
    finish = world.store.finish

    def note(*args: object) -> object:
        seen.append(node._outcomes.pending())
        return finish(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(world.store, "finish", note)
    node.write_once()
    assert seen == [{(run_id, 1)}]
    assert node._outcomes.pending() == set()


def test_an_outcome_is_written_by_the_incarnation_under_which_it_was_made(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new one does not own the run: its report would be refused, or, worse, believed."""
    node, run_id = done(world)
    old_id = node.node.id
    world.clock.advance(25_001)
    node.heartbeat_once()
    assert node.node.id != old_id
    node._outcomes.add(Outcome("other", 1, "succeeded"))
    said: list[tuple[str, list[str]]] = []
    finish = world.store.finish

    def note(node_id: str, outcomes: list[Outcome]) -> object:
        said.append((node_id, [outcome.run_id for outcome in outcomes]))
        return finish(node_id, outcomes)

    monkeypatch.setattr(world.store, "finish", note)
    for _ in range(2):
        node.write_once()
    assert said == [(old_id, [run_id]), (node.node.id, ["other"])]
    assert OutcomeRefused(run_id) in world.events


def test_who_writes_outcomes_is_woken_once_for_all_that_end_until_it_looks() -> None:
    """While it holds on for what is due, each further wake-up would take the time of just that."""
    woken: list[str] = []
    writer = OutcomeWriter(
        lambda node_id, outcomes: Finished(),
        lambda: "node",
        lambda finished, outcomes: None,
        wake=lambda: woken.append("again"),
    )
    for number in range(3):
        writer.add(Outcome(f"run-{number}", 1, "succeeded"))
    assert woken == ["again"]
    writer.run_once()
    writer.add(Outcome("late", 1, "succeeded"))
    assert woken == ["again", "again"]


def test_the_thread_of_a_run_that_others_wait_for_writes_how_it_ended_and_goes_on_with_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One run at a time: no other thread is woken in between."""
    app = App("memory://", node=NodeSettings(capacity=1))
    all_done, called_in, written_in = Event(), list[str](), list[str]()

    @app.task
    def work(number: int) -> None:
        called_in.append(current_thread().name)
        if number == 9:
            all_done.set()

    store = app.open_store()
    finish_and_start = store.finish_and_start

    def note(*args: object, **named: object) -> object:
        written_in.append(current_thread().name)
        return finish_and_start(*args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "finish_and_start", note)
    for number in range(10):
        app.enqueue(work, args={"number": number})
    app.start()
    assert all_done.wait(LONGEST_S)
    app.stop()
    assert set(called_in) == {"onthedot-fast-1"}
    assert written_in.count("onthedot-fast-1") >= 8, "only the first may meet the pass that began it"
    assert {run.state for run in app.runs.list().items} == {"succeeded"}


def test_two_that_write_at_once_bring_each_outcome_once() -> None:
    brought: list[str] = []
    others: list[Thread] = []

    def finish(node_id: str, outcomes: Sequence[Outcome]) -> Finished:
        brought.extend(each.run_id for each in outcomes)
        if writer.is_writing:  # the other one waits until this is over
            others.append(Thread(target=writer.run_once, daemon=True))
            others[-1].start()
        else:
            writer.run_once()
        return Finished()

    writer = OutcomeWriter(finish, lambda: "node", lambda finished, outcomes: None)
    writer.add(Outcome("run", 1, "succeeded"))
    writer.run_once()
    for each in others:
        each.join(LONGEST_S)
    assert brought == ["run"]


def test_what_may_wait_for_a_user_s_transaction_is_written_apart_and_after_the_others() -> None:
    told: list[list[str]] = []

    def finish(_: str, outcomes: Sequence[Outcome]) -> Finished:
        told.append([each.run_id for each in outcomes])
        if outcomes[0].contested and len(told) < 3:
            raise StoreUnavailable("somebody has it locked")
        return Finished()

    writer = OutcomeWriter(finish, lambda: "me", lambda finished, outcomes: None)
    for run_id, contested in (("a", True), ("b", False), ("c", True), ("d", False)):
        writer.add(Outcome(run_id, 1, "failed", contested=contested))
    with pytest.raises(StoreUnavailable):
        writer.run_once()
    while writer.run_once() is not None:
        pass
    assert told == [["a", "c"], ["b", "d"], ["a", "c"]]
