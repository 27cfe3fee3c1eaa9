"""What was decided before its moment: written where it still holds, and nowhere else."""

from __future__ import annotations

import pytest

from onthedot.errors import NodeDead
from onthedot.model.ids import new_id
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.rules import edits
from onthedot.rules.ahead import Ahead, decided_ahead
from onthedot.stores.answers import Planned
from onthedot.stores.base import Store
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance.scene import BY, HOUR, MINUTE, START_MS, Promises, Scene
from onthedot.triggers.every import every


def ahead_of(scene: Scene, node_id: str, *names: str) -> list[Ahead]:
    """The next ticks of these schedules, decided now."""
    node = next(node for node in scene.store.nodes() if node.id == node_id)
    schedules = [scene.schedule(name) for name in names or ("s",)]
    found = decided_ahead(schedules, node, scene.decider())
    assert len(found) == len(schedules)
    return found


def plan_ahead(scene: Scene, node_id: str, ahead: list[Ahead]) -> Planned:
    return scene.store.plan_ahead(node_id, ahead, lambda: new_id(scene.now_ms))


def runs_of(planned: Planned) -> list[Run]:
    return [run for effects in planned.effects for run in effects.runs]


class TestPlanningAhead(Promises):
    @pytest.fixture
    def scene(self, store: Store, clock: ManualClock) -> Scene:
        if not store.plans_ahead:
            pytest.skip("it decides every tick when it is due")
        return Scene(store, clock)

    def test_a_tick_that_was_decided_ahead_is_what_it_is_when_decided_at_its_moment(self, scene: Scene) -> None:
        node = scene.node()
        scene.put("early", max_runs=5, tags=("t",))
        scene.put("late", max_runs=5, tags=("t",))
        ahead = ahead_of(scene, node, "early")
        scene.wait(MINUTE + 300)
        (early,) = runs_of(plan_ahead(scene, node, ahead))
        (late,) = scene.plan(node, free=1)
        own = {"id", "schedule_id", "schedule", "slot"}
        assert [scene.run(early), scene.run(late)] == [early, late]
        assert _but(early, own) == _but(late, own)
        assert _but(scene.schedule("early"), {"id", "name"}) == _but(scene.schedule("late"), {"id", "name"})
        assert early.owner == node
        assert scene.end(early).state is State.SUCCEEDED

    def test_a_tick_is_planned_once_whichever_way_and_how_often(self, scene: Scene) -> None:
        one, two = scene.node("one"), scene.node("two")
        scene.put()
        ahead = {node: ahead_of(scene, node) for node in (one, two)}
        scene.wait(MINUTE)
        (run,) = runs_of(plan_ahead(scene, one, ahead[one]))
        for is_live in (True, False):
            assert runs_of(plan_ahead(scene, one, ahead[one])) == []
            assert runs_of(plan_ahead(scene, two, ahead[two])) == []
            assert scene.plan(two, free=1) == []
            if is_live:
                scene.end(run)  # now only the version tells
        assert scene.ticks() == [60]

    def test_it_is_never_planned_early_nor_when_it_is_late(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(grace_ms=5000)
        scene.put("often", every("2s"))
        ahead = ahead_of(scene, node, "s", "often")
        scene.wait(1999)
        assert runs_of(plan_ahead(scene, node, ahead)) == []
        scene.wait(MINUTE)
        scene.wait(3002)
        planned = plan_ahead(scene, node, ahead)
        assert (runs_of(planned), planned.more) == ([], True)

    def test_where_further_ticks_are_due_too_they_are_left_to_be_decided_after_it(self, scene: Scene) -> None:
        node = scene.node()
        scene.put("often", every("2s"))
        ahead = ahead_of(scene, node, "often")
        scene.wait(6500)
        planned = plan_ahead(scene, node, ahead)
        (first,) = runs_of(planned)
        assert planned.more
        left = scene.schedule("often")
        assert [each.schedule for each in planned.effects] == [left]
        assert (left.settled_ms, left.next_run_ms) == (START_MS + 3999, START_MS + 4000)
        scene.end(first)
        scene.plan(node, free=9)
        assert scene.ticks("often") == [2, 4, 6]
        assert scene.decisions("often") == []

    @pytest.mark.parametrize("what", ["put", "pause", "delete", "reschedule", "trigger", "planned", "retried"])
    def test_whatever_happened_to_the_schedule_since_makes_it_void(self, scene: Scene, what: str) -> None:
        node, other = scene.node(), scene.node("other")
        if what == "retried":
            failed = scene.end(scene.running(other), "failed")
        else:
            scene.put()
        ahead = ahead_of(scene, node)
        match what:
            case "put":
                scene.put(max_waiting=7)
            case "pause":
                scene.edit(edits.pause(None))
            case "delete":
                scene.edit(edits.delete())
            case "reschedule":
                scene.edit(edits.reschedule(scene.now_ms + HOUR))
            case "trigger":
                scene.trigger("by-hand")
            case "retried":
                scene.store.retry(failed.id, failed.claim_no, BY)
            case "planned":
                scene.wait(MINUTE)
                scene.plan(other)
                scene.wait(-MINUTE)
        scene.wait(MINUTE)
        assert runs_of(plan_ahead(scene, node, ahead)) == []

    def test_beside_a_run_that_is_still_live_it_is_decided_anew(self, scene: Scene) -> None:
        node = scene.node()
        first = scene.running(node)
        ahead = ahead_of(scene, node)
        scene.wait(MINUTE)
        planned = plan_ahead(scene, node, ahead)
        assert (runs_of(planned), planned.more) == ([], True)
        (second,) = scene.plan(node, free=1)
        assert second.state is State.WAITING
        scene.end(first)
        assert len(scene.start(node)) == 1

    def test_what_else_is_due_is_told_of(self, scene: Scene) -> None:
        node = scene.node()
        scene.put("ahead")
        scene.put("other")
        ahead = ahead_of(scene, node, "ahead")
        scene.wait(MINUTE)
        planned = plan_ahead(scene, node, ahead)
        assert [run.schedule for run in runs_of(planned)] == ["ahead"]
        assert (planned.more, planned.now_ms) == (True, START_MS + MINUTE)
        scene.plan(node, free=1)
        assert not plan_ahead(scene, node, []).more

    def test_a_dead_node_plans_nothing_that_it_has_decided(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(grace_ms=HOUR)
        ahead = ahead_of(scene, node)
        scene.wait(MINUTE)
        scene.store.take_over(node, 0)
        with pytest.raises(NodeDead):
            plan_ahead(scene, node, ahead)
        assert scene.runs() == []

    def test_what_comes_is_told_of_unless_it_is_known_as_it_is(self, scene: Scene) -> None:
        scene.put("soon", every("2s"))
        scene.put("later", every("1h"))
        scene.put("paused", every("2s"))
        scene.edit(edits.pause(None), "paused")
        soon = scene.schedule("soon")
        assert scene.store.coming(START_MS, START_MS + 5000, {}) == [soon]
        assert scene.store.coming(START_MS, START_MS + 5000, {soon.id: soon.version}) == []
        assert scene.store.coming(START_MS, START_MS + 5000, {soon.id: soon.version - 1}) == [soon]


def _but(value: object, names: set[str]) -> dict[str, object]:
    return {name: each for name, each in vars(value).items() if name not in names}
