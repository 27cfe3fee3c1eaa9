"""Backfill: ticks of the past, done later as runs of their schedule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onthedot.model.graph import Graph, Step
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.rules.backfill import TASK, Tick, args_of, graph_of, tick_key
from onthedot.rules.edits import delete, pause
from onthedot.testing.conformance.scene import BY, DAY, MINUTE, START_MS, Promises, Scene

TASKS = ("job", "@etl")
PAST = [START_MS - number * DAY for number in (5, 4, 3, 2, 1)]


def fill(scene: Scene, moments: Sequence[int] = PAST, limit: int = 1, which: Any = "missing", **how: Any) -> Run:
    """A backfill of these ticks that waits to be opened."""
    graph = graph_of(limit)
    scene.store.save_graphs([graph])
    args = args_of(scene.schedule(), [Tick(each, "") for each in moments], which, beside=how.pop("beside", False))
    return scene.waiting_run(task=TASK, graph=graph.hash, args=args, exempt=True, **how)


def begin(scene: Scene, node: str) -> list[Run]:
    """What begins on the node, also what waits for a slot that has just come free."""
    return scene.start(node, 100, TASKS) or scene.start(node, 100, TASKS)


def end(scene: Scene, run: Run, ending: Any = "succeeded") -> None:
    scene.end(run, ending, flow=run.parent_id, final=True)


class TestBackfill(Promises):
    """Ticks that are filled in."""

    def test_each_tick_is_a_run_of_its_schedule_with_its_moment_and_so_many_run_at_once(self, scene: Scene) -> None:
        node = scene.node(tasks=TASKS)
        schedule = scene.put(overlap="concurrent")
        flow = fill(scene, limit=2)
        moments: list[int] = []
        while found := begin(scene, node):
            assert len(found) <= 2
            assert {(run.schedule_id, run.schedule, run.cause) for run in found} == {(schedule.id, "s", "backfill")}
            moments += sorted(run.scheduled_ms for run in found)
            for run in found:
                end(scene, run)
        assert moments == PAST
        assert scene.run(flow).state is State.SUCCEEDED
        assert sorted(run.scheduled_ms for run in scene.store.runs(schedule="s", limit=100)) == PAST
        assert len(scene.store.ticks([schedule.id], last_ms=START_MS).marks) == len(PAST)

    def test_a_filled_tick_takes_the_slot_of_its_schedule_and_waits_its_turn(self, scene: Scene) -> None:
        node = scene.node(tasks=TASKS)
        scene.put()
        by_hand = scene.trigger("by hand")
        assert [run.id for run in begin(scene, node)] == [by_hand.id]
        before = scene.schedule().version
        flow = fill(scene, PAST[:2], limit=2)
        assert scene.start(node, 0, TASKS) == []  # a backfill begins without a worker
        assert scene.schedule().version > before
        assert begin(scene, node) == []
        end(scene, scene.run(by_hand))
        [first] = begin(scene, node)
        assert (first.scheduled_ms, first.slot is not None) == (PAST[0], True)
        end(scene, first)
        [second] = begin(scene, node)
        end(scene, second)
        assert scene.run(flow).state is State.SUCCEEDED

    def test_beside_takes_no_slot_and_holds_up_nobody(self, scene: Scene) -> None:
        node = scene.node(tasks=TASKS)
        scene.put()
        fill(scene, PAST[:2], limit=2, beside=True)
        found = begin(scene, node)
        assert sorted((run.scheduled_ms, run.slot) for run in found) == [(each, None) for each in PAST[:2]]
        by_hand = scene.trigger("by hand")
        assert [run.id for run in begin(scene, node)] == [by_hand.id]

    def test_two_backfills_fill_a_missing_tick_in_once(self, scene: Scene) -> None:
        node = scene.node(tasks=TASKS)
        schedule = scene.put(overlap="concurrent")
        first, second = fill(scene, PAST[:2], limit=2), fill(scene, PAST[1:3], limit=2)
        begun: list[Run] = []
        while found := begin(scene, node):
            begun += found
            for run in found:
                end(scene, run)
        scene.store.tend_flows()
        assert sorted(run.scheduled_ms for run in begun) == PAST[:3]
        assert {scene.run(each).state for each in (first, second)} == {State.SUCCEEDED}
        [other] = [run for run in scene.store.runs(schedule="s", limit=100) if run.state is State.SKIPPED]
        assert (other.reason, other.scheduled_ms) == ("already backfilled", PAST[1])
        assert scene.waiting_run(key=tick_key(schedule.id, PAST[0])).parent_id == first.id

    def test_a_pause_holds_no_filled_tick_and_a_deleted_schedule_ends_them(self, scene: Scene) -> None:
        node = scene.node(tasks=TASKS)
        scene.put()
        flow = fill(scene, PAST[:2])
        scene.edit(pause(None))
        [run] = begin(scene, node)
        scene.edit(delete())
        end(scene, run)
        assert begin(scene, node) == []
        scene.store.tend_flows()
        assert scene.run(flow).state is State.FAILED  # so that it can be retried once the schedule is there again
        assert [run.reason for run in scene.store.runs(schedule="s", state=State.SKIPPED, limit=100)] == ["deleted"]

    def test_a_tick_that_was_left_out_once_more_is_filled_in_by_the_next_backfill(self, scene: Scene) -> None:
        node = scene.node(tasks=TASKS)
        scene.put()
        fill(scene, PAST[:2])
        [first] = begin(scene, node)
        scene.edit(delete())
        end(scene, first)
        assert begin(scene, node) == []
        scene.store.tend_flows()
        scene.put()
        flow = fill(scene, PAST[:2], limit=2)
        [run] = begin(scene, node)
        assert run.scheduled_ms == PAST[1]
        end(scene, run)
        scene.store.tend_flows()
        assert scene.run(flow).state is State.SUCCEEDED
        reasons = [run.reason for run in scene.store.runs(schedule="s", state=State.SKIPPED, limit=100)]
        assert sorted(map(str, reasons)) == ["already backfilled", "deleted"]

    def test_what_went_wrong_is_done_again_by_a_retry_and_the_rest_stays(self, scene: Scene) -> None:
        node = scene.node(tasks=TASKS)
        scene.put(overlap="concurrent")
        flow = fill(scene, PAST[:3], limit=3)
        for run in begin(scene, node):
            end(scene, run, "failed" if run.scheduled_ms == PAST[1] else "succeeded")
        assert scene.run(flow).state is State.FAILED
        scene.store.retry(flow.id, scene.run(flow).claim_no, BY)
        [again] = begin(scene, node)
        assert again.scheduled_ms == PAST[1]
        end(scene, again)
        assert scene.run(flow).state is State.SUCCEEDED

    def test_a_cancelled_backfill_makes_no_more(self, scene: Scene) -> None:
        node = scene.node(tasks=TASKS)
        scene.put()
        flow = fill(scene)
        [run] = begin(scene, node)
        scene.store.request_cancel(flow.id, "enough", BY)
        assert scene.store.cancels(node) == [run.id]
        end(scene, run, "cancelled")
        assert begin(scene, node) == []
        assert (scene.run(flow).state, len(scene.store.runs(schedule="s", limit=100))) == (State.CANCELLED, 1)

    def test_a_flow_is_filled_in_as_a_flow(self, scene: Scene) -> None:
        node = scene.node(tasks=TASKS)
        etl = Graph("etl", (Step("a", "job"), Step("b", "job", after=("a",))))
        scene.store.save_graphs([etl])
        scene.put(task="@etl", kind="flow", graph=etl.hash)
        flow = fill(scene, PAST[:2])
        names: list[str | None] = []
        while found := begin(scene, node):
            names += [run.step for run in found]
            for run in found:
                end(scene, run)
        assert names == ["a", "b", "a", "b"]
        assert scene.run(flow).state is State.SUCCEEDED

    def test_a_filled_tick_survives_the_death_of_its_node(self, scene: Scene) -> None:
        node = scene.node(tasks=TASKS)
        scene.put()
        flow = fill(scene, PAST[:2])
        [run] = begin(scene, node)
        scene.kill(node)
        other = scene.node("other", tasks=TASKS)
        [again] = begin(scene, other)
        assert (again.id, again.claim_no > run.claim_no) == (run.id, True)
        end(scene, again)
        [last] = begin(scene, other)
        end(scene, last)
        assert scene.run(flow).state is State.SUCCEEDED

    def test_filled_ticks_are_counted_and_forgotten_with_their_schedules_history(self, scene: Scene) -> None:
        node = scene.node(tasks=TASKS)
        scene.put(overlap="concurrent")
        fill(scene, PAST[:3], limit=3)
        for run in begin(scene, node):
            end(scene, run)
        scene.wait(5 * MINUTE)
        scene.prune_all(per_schedule=1)
        assert [(hour.step, hour.ended) for hour in scene.store.hours("s")] == [("", {"succeeded": 3})]
        assert len(scene.store.runs(schedule="s", limit=100)) == 1
