"""What is decided ahead is given out once, to the incarnation that it was decided for, and only where it can begin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event, Semaphore

import pytest
from tests.patience import LONGEST_S
from tests.unit.node.world import START, FileWorld, Place, World

from onthedot import at, every
from onthedot.model.node import Node
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.moments import iso
from onthedot.node.agenda import MOMENT_MS, Result
from onthedot.node.node import LONGEST_RUSH_MS, NodeRunner
from onthedot.node.planning_pass import PASS_IS_LATE_MS, QUIET_MS, TURN_MS
from onthedot.node.prepared import KEPT_FOR_MS, Prepared
from onthedot.node.settings import NodeSettings
from onthedot.rules.effects import Before, Effects, Situation
from onthedot.rules.plan import Decider
from onthedot.stores.answers import Planned
from onthedot.triggers.codec import encode

HOLD_ON_MS = NodeSettings().hold_on_ms

NODE = Node("n", "n", tasks=("job",))
TICK = START + 1000


class Places:
    """So many can begin."""

    def __init__(self, free: int) -> None:
        self.free = free

    def take(self, run: Run) -> bool:
        self.free -= 1
        return self.free >= 0


def schedule(name: str = "s", tick_ms: int = TICK, **fields: object) -> Schedule:
    made = Schedule(name, name, "job", encode(every("1s")), next_run_ms=tick_ms, settled_ms=tick_ms - 1)
    return Schedule(**{**vars(made), **fields})


def prepared_for(*schedules: Schedule) -> Prepared:
    prepared = Prepared(Decider(lambda: ""))
    prepared.put(schedules, NODE, START)
    return prepared


def taken(prepared: Prepared, now_ms: int = TICK, *, node: Node = NODE, most: int = 10, free: int = 10) -> list[str]:
    return [ahead.schedule.name for ahead in prepared.take(node, now_ms, most, Places(free))]


def test_a_tick_is_given_out_at_its_moment_and_once() -> None:
    prepared = prepared_for(schedule())
    assert taken(prepared, TICK - 1) == []
    assert taken(prepared) == ["s"]
    assert taken(prepared) == []


def test_another_incarnation_or_one_with_other_tasks_gets_nothing() -> None:
    for other in (Node("m", "n", tasks=("job",)), Node("n", "n", tasks=("job", "more"))):
        assert taken(prepared_for(schedule()), node=other) == []


def test_where_not_all_can_begin_those_of_higher_priority_do() -> None:
    prepared = prepared_for(*(schedule(f"p{each}", policy=Policy(priority=each)) for each in (1, 3, 2)))
    assert taken(prepared, most=1) == ["p3"]
    assert taken(prepared) == ["p2", "p1"]


def test_what_has_no_room_waits_for_it_in_its_turn() -> None:
    prepared = prepared_for(schedule("a"), schedule("b"), schedule("c"))
    assert taken(prepared, free=1) == ["a"]
    assert prepared.waits
    assert taken(prepared, free=0) == []
    assert taken(prepared) == ["b", "c"]
    assert not prepared.waits


def test_what_was_put_again_while_it_waited_for_room_is_given_out_as_it_is_now() -> None:
    prepared = prepared_for(schedule("a"), schedule("b"))
    assert taken(prepared, most=1) == ["a"]
    prepared.put([schedule("b", version=9, tick_ms=TICK + 1000)], NODE, START)
    assert taken(prepared) == []
    assert taken(prepared, TICK + 1000) == ["b"]


def test_what_is_late_is_left_to_the_decision_when_it_is_due() -> None:
    assert taken(prepared_for(schedule(policy=Policy(grace_ms=300))), TICK + 301) == []
    assert taken(prepared_for(schedule()), TICK + 1000) == ["s"], "its next tick is decided after it"


def test_what_comes_after_a_run_that_is_just_ending_waits_for_its_outcome_and_holds_up_no_other() -> None:
    prepared, ending = prepared_for(schedule("a"), schedule("b"), schedule("c")), {"a", "b"}

    def names() -> list[str]:
        return [each.schedule.name for each in prepared.take(NODE, TICK, 10, Places(10), ending.__contains__)]

    assert names() == ["c"]
    assert (prepared.waits, prepared.waits_for_outcomes) == (True, True)
    assert names() == []
    ending.clear()
    assert names() == ["a", "b"]
    assert (prepared.waits, prepared.waits_for_outcomes) == (False, False)


def test_what_waits_for_an_outcome_until_it_is_late_is_left_to_the_decision_then() -> None:
    prepared = prepared_for(schedule(policy=Policy(grace_ms=300)))
    assert prepared.take(NODE, TICK, 10, Places(10), lambda _: True) == []
    assert prepared.take(NODE, TICK + 301, 10, Places(10), lambda _: True) == []
    assert not prepared.waits


def test_what_has_become_a_run_goes_on_without_being_decided_anew() -> None:
    prepared = Prepared(lambda rows, situation: pytest.fail("it was decided") if decided else decide(rows, situation))
    decide, decided = Decider(lambda: ""), []
    prepared.put([schedule()], NODE, START)
    decided.append(True)
    for tick_ms in (TICK, TICK + 1000, TICK + 2000):
        (ahead,) = prepared.take(NODE, tick_ms, 10, Places(10))
        assert ahead.tick_ms == tick_ms
        moved = ahead.at(tick_ms, f"run-{tick_ms}").schedule
        assert moved is not None
        prepared.go_on([(ahead, moved)], NODE, tick_ms)


def test_what_may_be_something_else_the_next_time_is_decided_anew() -> None:
    decide, times = Decider(lambda: ""), []

    def counted(rows: Sequence[Before], situation: Situation) -> list[Effects]:
        times.append(len(rows))
        return decide(rows, situation)

    prepared = Prepared(counted)
    prepared.put([schedule(max_runs=2)], NODE, START)
    (ahead,) = prepared.take(NODE, TICK, 10, Places(10))
    moved = ahead.at(TICK, "run").schedule
    assert moved is not None
    prepared.go_on([(ahead, moved)], NODE, TICK)
    assert times == [1, 1]


def test_what_is_put_again_takes_the_place_of_what_was_known() -> None:
    prepared = prepared_for(schedule(version=1))
    prepared.put([schedule(version=2, tick_ms=TICK + 1000)], NODE, START)
    assert prepared.versions == {"s": 2}
    assert taken(prepared) == []
    assert taken(prepared, TICK + 1000) == ["s"]


def test_what_comes_much_later_is_not_kept() -> None:
    assert prepared_for(schedule(tick_ms=START + KEPT_FOR_MS + 1)).versions == {}


# in a node


def test_a_node_decides_ahead_what_it_reads_and_what_it_has_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    world, planned = World(), []
    world.app.task(name="work")(lambda: None)
    world.app.schedules.put("tick", "work", every("10s"))
    node = world.node()
    monkeypatch.setattr(world.store, "plan_due", lambda *_: pytest.fail("it was decided when it was due"))
    plan_ahead = world.store.plan_ahead

    def noted(*args: object) -> Planned:
        planned.append(answer := plan_ahead(*args))  # type: ignore[arg-type]
        return answer

    monkeypatch.setattr(world.store, "plan_ahead", noted)
    node._planner._asked.clear()
    node._pass.agenda._woken = node._pass.agenda._reread = False
    for ms in (9_000, 1_000, 10_000, 10_000):
        world.pass_by(ms, node)
    assert [len(each.effects) for each in planned] == [1, 1, 1]
    assert [run.state for run in world.runs("tick")] == ["succeeded"] * 3


@pytest.mark.parametrize("plan_ahead", [True, False])
@pytest.mark.parametrize("make_place", [lambda _: World(), FileWorld], ids=["memory", "sqlite"])
def test_every_run_is_given_the_arguments_of_its_schedule_whatever_the_one_before_made_of_them(
    make_place: Callable[[Path], Place], plan_ahead: bool, tmp_path: Path
) -> None:
    place, seen = make_place(tmp_path), []

    def spoil(items: list[int], more: dict[str, list[int]]) -> None:
        seen.append((list(items), list(more["deep"])))
        items.append(1)
        more["deep"].clear()

    place.app.task(name="work")(spoil)
    place.app.schedules.put("tick", "work", every("10s"), args={"items": [], "more": {"deep": [2]}})
    node = place.node(settings=NodeSettings(name="node", plan_ahead=plan_ahead))
    for ms in (9_000, 1_000, 10_000, 10_000):
        place.pass_by(ms, node)
    assert seen == [([], [2])] * 3


def test_after_a_death_nothing_is_taken_from_what_was_decided_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """What may have killed a process is tried one by one, and counted before."""
    world = World()
    world.app.task(name="work")(lambda: None)
    world.app.schedules.put("tick", "work", every("1s"))
    node = world.node()
    world.pass_by(500, node)
    monkeypatch.setattr(world.store, "plan_ahead", lambda *_: pytest.fail("it was not tried one by one"))
    node._suspect()
    world.clock.advance(500)
    node._suspect()
    node.plan_once()
    world.settle(node)
    assert len(world.runs("tick")) <= 1


def test_what_a_store_refuses_is_planned_as_all_else_is(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.app.task(name="work")(lambda: None)
    world.app.schedules.put("tick", "work", every("1s"))
    node = world.node()
    world.pass_by(500, node)

    def refuse(*_: object) -> Planned:
        raise ValueError("no")

    monkeypatch.setattr(world.store, "plan_ahead", refuse)
    world.pass_by(500, node)
    assert len(world.runs("tick")) == 1


def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.app.task(name="work")(lambda: None)
    world.app.schedules.put("tick", "work", every("1s"))
    monkeypatch.setattr(world.store, "plan_ahead", lambda *_: pytest.fail("it was decided ahead"))
    node = world.node(settings=NodeSettings(name="node", plan_ahead=False))
    world.pass_by(500, node)
    world.pass_by(500, node)
    assert len(world.runs("tick")) == 1


def busy_world(action: Callable[[], object], ticks: int = 5) -> tuple[World, NodeRunner]:
    """Some ticks at one moment, decided ahead, and two workers."""
    world = World()
    world.app.task(name="work")(action)
    for number in range(ticks):
        world.app.schedules.put(f"s{number}", "work", every("10s"))
    node = world.node(settings=NodeSettings(name="node", capacity=2))
    world.pass_by(9_000, node)
    world.clock.advance(1_000)
    return world, node


def test_short_tasks_take_each_other_s_workers_and_none_is_planned_to_wait() -> None:
    world, node = busy_world(lambda: None)
    while len(world.runs()) < 5:
        assert node.plan_once() in (MOMENT_MS, 1000)
        assert all(run.state != "waiting" for run in world.runs())
        assert node.worker._empty.wait(LONGEST_S)
    node.plan_once()  # nothing is due any more, for which outcomes would wait
    world.settle(node)
    assert {run.state for run in world.runs()} == {"succeeded"}


def test_where_workers_stay_busy_the_others_are_planned_to_wait_after_a_while() -> None:
    done = Event()
    world, node = busy_world(lambda: done.wait(LONGEST_S))
    assert node.plan_once() == MOMENT_MS
    assert len(world.runs()) == 2
    world.clock.advance(HOLD_ON_MS)
    node.plan_once()
    assert sorted(run.state for run in world.runs()) == ["running"] * 2 + ["waiting"] * 3
    done.set()
    for _ in range(3):
        world.settle(node)
        node.plan_once()
    world.settle(node)
    assert {run.state for run in world.runs()} == {"succeeded"}


def test_what_could_not_be_decided_ahead_waits_for_short_tasks_too() -> None:
    world = World()
    world.app.task(name="work")(lambda: None)
    for number in range(5):
        world.app.schedules.put(f"s{number}", "work", every("10s"))
    node = world.node(settings=NodeSettings(name="node", capacity=2, plan_ahead=False))
    world.app.enqueue("work")  # from which it knows how long they take
    world.pass_by(9_000, node)
    world.clock.advance(1_000)
    while len(world.runs()) < 6:
        assert node.plan_once() in (0, MOMENT_MS, 1000)
        assert all(run.state != "waiting" for run in world.runs())
        assert node.worker._empty.wait(LONGEST_S)
    node.plan_once()  # nothing is due any more, for which outcomes would wait
    world.settle(node)
    assert {run.state for run in world.runs()} == {"succeeded"}


def test_what_waits_in_the_store_has_its_turn_while_ticks_take_all_workers_as_they_come_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    world.app.task(name="work")(lambda: None)
    node = world.node()
    node.plan_once()
    waits = world.app.enqueue("work")
    monkeypatch.setattr(node._pass, "_plan", lambda: Result(holds_on=True))
    node.wake()
    node.plan_once()
    assert world.app.runs.get(waits.id).state == "waiting"
    world.clock.advance(TURN_MS)
    node.plan_once()
    assert world.app.runs.get(waits.id).state != "waiting"


def test_outcomes_wait_for_ticks_that_begin_but_not_for_ever() -> None:
    places = Semaphore(0)
    world, node = busy_world(lambda: places.acquire(timeout=LONGEST_S), ticks=9)
    assert node.plan_once() == MOMENT_MS
    places.release(2)
    assert node.worker._empty.wait(LONGEST_S)
    first_ms = node._rush_since_ms
    node.write_once()
    assert {run.state for run in world.runs()} == {"running"}
    world.clock.advance(HOLD_ON_MS - 1)
    assert node.plan_once() == MOMENT_MS
    assert node._rush_since_ms == first_ms, "each pass would make them wait anew"
    world.clock.advance(LONGEST_RUSH_MS)
    node.write_once()
    assert "succeeded" in {run.state for run in world.runs()}
    places.release(7)
    assert node.worker._empty.wait(LONGEST_S)


def test_outcomes_that_would_not_be_written_in_time_wait_for_what_is_due_after_a_quiet_time() -> None:
    world = World()
    world.app.task(name="work")(lambda: None)
    world.app.schedules.put("s", "work", every("1s"))
    node = world.node()
    node.plan_once()
    world.clock.advance(1000 - world.clock.now_ms() % 1000)
    node.plan_once()
    assert node._pass.waits_for_herd_ms(50) == 0, "a second is left"
    world.clock.advance(960)
    assert node._pass.waits_for_herd_ms(30) == 0, "it would be done by then"
    assert node._pass.waits_for_herd_ms(50) == 41
    world.clock.advance(40 + PASS_IS_LATE_MS)
    assert node._pass.waits_for_herd_ms(50) == 0, "for a pass that does not come"


def test_outcomes_do_not_wait_where_moments_follow_each_other_closely() -> None:
    world = World()
    world.app.task(name="work")(lambda: None)
    world.app.schedules.put("s", "work", every("1s"))
    node = world.node()
    node.plan_once()
    world.clock.advance(1000 - world.clock.now_ms() % 1000)
    node.plan_once()
    for soon_ms, waits_ms in ((QUIET_MS - 1, 0), (QUIET_MS + 1, 11)):
        world.app.schedules.put(f"soon-{soon_ms}", "work", at(iso(world.clock.now_ms() + soon_ms)))
        node.wake()
        node.plan_once()
        world.clock.advance(soon_ms - 10)
        assert node._pass.waits_for_herd_ms(50) == waits_ms
        world.clock.advance(10)
        node.plan_once()


def test_a_full_pool_is_nothing_to_wait_for_where_nothing_is_due() -> None:
    world = World()
    done = Event()
    world.app.task(name="work")(lambda: done.wait(LONGEST_S) and None)
    node = world.node(settings=NodeSettings(name="node", capacity=1))
    world.app.enqueue("work")
    node.plan_once()
    node.wake()
    assert node.plan_once() > MOMENT_MS, "it would look again all the time"
    done.set()
    assert node.worker._empty.wait(LONGEST_S)


def test_a_tick_after_a_run_that_is_over_and_not_recorded_is_no_run_that_waits() -> None:
    world = World()
    world.app.task(name="work")(lambda: None)
    world.app.schedules.put("s", "work", every("1s"))
    node = world.node()
    world.pass_by(500, node)
    world.clock.advance(500)
    node.plan_once()
    assert node.worker.wait_empty(LONGEST_S * 1000)
    world.clock.advance(1000)
    assert node.plan_once() == MOMENT_MS, "how the run before has ended is on its way"
    assert [run.state for run in world.runs("s")] == ["running"]
    assert node._rush_since_ms is None, "or it would not be written"
    node.write_once()
    node.plan_once()
    world.settle(node)
    assert [(run.state, run.waits_for) for run in world.runs("s")] == [("succeeded", None)] * 2
    assert node._pass._latest == {}
