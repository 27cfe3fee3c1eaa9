"""Faults that nodes survive, from end to end, on a clock that is moved by hand."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from tests.unit.node.world import START, FileWorld, World

from onthedot import App, every
from onthedot.cli import main
from onthedot.clock import ManualClock
from onthedot.events import Parked
from onthedot.insight.status import read_status
from onthedot.model.node import Node
from onthedot.model.schedule import Schedule
from onthedot.node.planner import BATCH, Planner
from onthedot.rules.plan import Decider
from onthedot.stores.memory import MemoryStore
from onthedot.triggers.codec import encode

SECOND, MINUTE, HOUR, WEEK = 1000, 60_000, 3_600_000, 7 * 86_400_000


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def file_world(tmp_path: Path) -> Iterator[FileWorld]:
    world = FileWorld(tmp_path)
    yield world
    world.store.close()


# misfire


@pytest.mark.parametrize("many", [10_000, pytest.param(50_000, marks=pytest.mark.slow)])
def test_very_many_overdue_schedules_drain_without_starving_the_ticks_that_are_on_time(many: int) -> None:
    clock = ManualClock(START)
    store = MemoryStore(clock.now_ms)
    hourly, often = encode(every("1h")), encode(every("1s"))

    def row(name: str, trigger: dict[str, object], next_run_ms: int) -> Schedule:
        return Schedule(name, name, "job", trigger, next_run_ms=next_run_ms, settled_ms=next_run_ms - 1)

    with store.begin() as rows:
        rows.save_schedules([row(f"overdue {n}", hourly, START - HOUR) for n in range(many)])
        rows.save_schedules([row(f"often {n}", often, START) for n in range(10)])
    numbers = itertools.count()
    planner = Planner(store, Decider(lambda: f"{next(numbers):08}"), lambda event: None)
    node_id = store.join(Node("n", "n"), []).id
    drained = 0
    for second in range(many // (BATCH - 10) + 1):
        planned = planner.run_once(node_id, 0)
        made = [run for effects in planned.effects for run in effects.runs]
        decided = [effects for effects in planned.effects if effects.schedule and effects.schedule.name[:5] == "often"]
        assert len(decided) == 10, f"an on-time tick was not planned in the first pass of second {second}"
        assert {effects.schedule.settled_ms for effects in decided if effects.schedule} == {clock.now_ms()}
        drained += sum(run.schedule is not None and run.schedule.startswith("overdue") for run in made)
        clock.advance(SECOND)
    assert drained == many


def test_a_row_that_somebody_has_broken_by_hand_is_parked_and_shown_and_the_others_run(file_world: FileWorld) -> None:
    world, calls = file_world, []
    world.app.task(name="work")(lambda: calls.append(1))
    for name in ("a", "broken", "z"):
        world.app.schedules.put(name, "work", every("10s"))
    world.sql("UPDATE onthedot_schedules SET definition = '{\"trigger\": {\"v\": 1, ' WHERE name = 'broken'")
    node = world.node()
    world.pass_by(10 * SECOND, node)
    world.pass_by(10 * SECOND, node)
    assert len(calls) == 4
    assert {run.schedule for run in world.runs()} == {"a", "z"}
    assert [event.schedule for event in world.events if isinstance(event, Parked)] == ["broken"]
    assert [each.name for each in read_status(world.store).parked] == ["broken"]
    printed = io.StringIO()
    with redirect_stdout(printed):
        assert main(["schedules", "show", "broken", "--store", world.url]) in (0, None)
    assert "parked" in printed.getvalue()
    world.app.schedules.put("broken", "work", every("10s"))
    world.pass_by(10 * SECOND, node)
    assert len(world.runs("broken")) == 1


def test_a_schedule_that_was_paused_for_a_week_comes_back_without_a_flood(world: World) -> None:
    world.app.task(name="work")(lambda: None)
    world.app.schedules.put("s", "work", every("10s"), misfire="catch_up")
    node = world.node()
    world.pass_by(5 * SECOND, node)
    world.app.schedules.pause("s", note="a week off")
    world.pass_by(WEEK, node)
    world.app.schedules.resume("s")
    world.pass_by(0, node)
    assert world.runs() == []
    world.pass_by(5 * SECOND, node)
    assert len(world.runs()) == 1
    (decided,) = world.store.decisions(world.app.schedules.get("s").id)
    assert (decided.reason, decided.count) == ("paused", WEEK // (10 * SECOND))


@pytest.mark.parametrize("paused_at", [-900, -1, 0, 1, 900])
@pytest.mark.parametrize("resumed_after", [1, 500, 999])
@pytest.mark.parametrize("planned", [False, True], ids=["unplanned", "planned"])
def test_a_tick_beside_a_quick_pause_and_resume_runs_once_at_most_and_is_explained(
    world: World, paused_at: int, resumed_after: int, planned: bool
) -> None:
    calls: list[int] = []
    world.app.task(name="work")(lambda: calls.append(world.clock.now_ms()))
    world.app.schedules.put("s", "work", every("10s"))
    node = world.node()
    tick = START + 10 * SECOND
    world.pass_by(10 * SECOND + paused_at, node) if planned else world.clock.advance(10 * SECOND + paused_at)
    world.app.schedules.pause("s")
    world.clock.advance(resumed_after)
    world.app.schedules.resume("s")
    world.pass_by(3 * SECOND, node)
    runs = [run for run in world.runs() if run.scheduled_ms == tick]
    assert len(runs) <= 1
    assert len(calls) == len(runs)
    decided = world.store.decisions(world.app.schedules.get("s").id, first_ms=tick, last_ms=tick)
    assert len(runs) + len(decided) == 1, "the tick vanished, or is told in two ways"
    said = str(world.app.schedules.explain("s", "2026-11-15T12:00:10Z"))
    assert ("succeeded" in said) if runs else ("paused" in said)


@pytest.mark.parametrize("max_waiting", [1, 100])
def test_when_executors_come_back_after_an_hour_they_do_not_find_sixty_stale_runs(
    world: World, max_waiting: int
) -> None:
    calls: list[int] = []
    world.app.task(name="work")(lambda: calls.append(world.clock.now_ms()))
    world.app.schedules.put("s", "work", every("1m"), max_waiting=max_waiting)
    planner = world.node("planner", app=App("memory://"))
    for _ in range(60):
        world.pass_by(MINUTE, planner)
    assert calls == []
    executor = world.node("executor")
    for _ in range(5):
        world.pass_by(SECOND, planner, executor)
    assert len(calls) == 1
    settled = world.app.schedules.get("s").settled_ms
    ticks = {run.scheduled_ms for run in world.runs()}
    decided = world.store.decisions(world.app.schedules.get("s").id)
    told = ticks | {ms for each in decided for ms in range(each.first_ms, each.last_ms + 1, MINUTE)}
    assert told == set(range(START + MINUTE, settled + 1, MINUTE)), "a tick vanished"


# execution


def test_a_run_that_fails_inside_a_pause_waits_for_the_resume(world: World) -> None:
    attempts: list[int] = []

    def fails_at_first() -> None:
        attempts.append(world.clock.now_ms())
        if len(attempts) == 1:
            world.app.schedules.pause("s")
            raise ValueError("no luck")

    world.app.task(name="work")(fails_at_first)
    world.app.schedules.put("s", "work", every("1h"), retries=3, backoff="1s")
    node = world.node()
    world.pass_by(HOUR, node)
    for _ in range(10):
        world.pass_by(MINUTE, node)
    (run,) = world.runs()
    assert (run.state, run.blocked, len(attempts)) == ("waiting", True, 1)
    world.app.schedules.resume("s")
    world.pass_by(SECOND, node)
    assert (world.app.runs.get(run.id).state, world.app.runs.get(run.id).attempt) == ("succeeded", 2)


def test_a_run_that_fails_after_its_schedule_was_deleted_ends(world: World) -> None:
    attempts: list[int] = []

    def fails() -> None:
        attempts.append(1)
        world.app.schedules.delete("s")
        raise ValueError("no luck")

    world.app.task(name="work")(fails)
    world.app.schedules.put("s", "work", every("1h"), retries=3, backoff="1s")
    node = world.node()
    world.pass_by(HOUR, node)
    for _ in range(10):
        world.pass_by(MINUTE, node)
    assert ([run.state for run in world.runs()], len(attempts)) == (["failed"], 1)


def test_a_task_that_a_node_does_not_know_is_left_for_one_that_does_and_shown_meanwhile(world: World) -> None:
    older = world.node("older", app=App("memory://"))
    world.app.schedules.put("s", "new_task", every("1h"), unchecked=True)
    enqueued = world.app.enqueue("new_task", unchecked=True)
    world.pass_by(HOUR, older)
    world.pass_by(MINUTE, older)
    assert {run.state for run in world.runs()} == {"waiting"}
    assert {each.reason for each in read_status(world.store).late} == {"no live node has the task new_task"}
    calls: list[int] = []
    world.app.task(name="new_task")(lambda: calls.append(1))
    newer = world.node("newer")
    world.pass_by(SECOND, older, newer)
    assert len(calls) == 2
    assert world.app.runs.get(enqueued.id).state == "succeeded"
    assert read_status(world.store).late == ()
