"""Broadcasts: flows over the nodes that live when they begin. One slot, one place, one end; a shard for each node."""

from __future__ import annotations

from typing import Any

import pytest

from onthedot.errors import Conflict
from onthedot.model.graph import BROADCAST, Graph, Step
from onthedot.model.node import Node
from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.step_status import statuses
from onthedot.model.task_info import TaskInfo
from onthedot.rules import backfill, edits
from onthedot.testing.conformance.scene import BY, DAY, HOUR, LEASE_MS, MINUTE, SECOND, START_MS, Promises, Scene


def planned(scene: Scene, node: str, **options: Any) -> Run:
    """The first tick of a schedule that goes to all nodes; it waits."""
    scene.put(route="broadcast", **options)
    scene.wait(MINUTE)
    return next(run for run in scene.plan(node) if run.schedule == "s")


def begun(scene: Scene, one: str, two: str, **options: Any) -> tuple[Run, Run, Run]:
    """The same, with a shard that runs on each of two nodes."""
    whole = planned(scene, one, **options)
    (first,), (second,) = scene.start(one), scene.start(two)
    return whole, first, second


def left(scene: Scene, whole: Run) -> int:
    """How many of its shards have not ended."""
    (step,) = statuses(BROADCAST, scene.run(whole).ledger)
    return (step.total or 0) - step.ended


def waiting_shard(scene: Scene, whole: Run) -> Run:
    """The only one that has not begun."""
    (found,) = scene.store.runs(parent=whole.id, state=State.WAITING)
    return found


class TestBroadcast(Promises):
    """Who gets a shard, and when the whole ends."""

    def test_every_node_gets_each_shard_once_and_the_last_one_ends_the_whole(self, scene: Scene) -> None:
        nodes = [scene.node(name) for name in "abc"]
        whole = planned(scene, nodes[0])
        shards = [run for node in nodes for run in scene.start(node)]
        assert sorted((run.shard, run.shards) for run in shards) == [(0, 3), (1, 3), (2, 3)]
        assert {run.owner for run in shards} == set(nodes)
        assert {run.parent_id for run in shards} == {whole.id}
        for so_far, run in enumerate(shards[:0:-1]):
            ended = scene.end(run)
            assert (ended.shard, ended.shards) == (run.shard, 3)
            parent = scene.run(whole)
            assert (parent.state, parent.owner, parent.shards) == (State.RUNNING, None, 3)
            assert left(scene, whole) == 2 - so_far
        scene.end(shards[0])
        assert scene.run(whole).state is State.SUCCEEDED

    def test_a_shard_has_the_arguments_of_its_broadcast_and_its_moment(self, scene: Scene) -> None:
        node = scene.node()
        whole = planned(scene, node, args={"day": "today", "odd": {"$item": []}})
        (shard,) = scene.start(node)
        assert shard.args == {"day": "today", "odd": {"$value": {"$item": []}}}, "what looks like a reference is none"
        assert (shard.task, shard.scheduled_ms, shard.cause) == ("job", whole.scheduled_ms, "shard")

    def test_it_waits_while_all_that_could_take_it_drain(self, scene: Scene) -> None:
        last = scene.node("last")
        planned(scene, last)
        scene.store.drain(last)
        assert scene.start(last) == []
        other = scene.node("other")
        assert [(run.shard, run.shards, run.owner) for run in scene.start(other)] == [(0, 1, other)]

    def test_a_shard_that_fails_fails_the_whole_when_all_have_ended(self, scene: Scene) -> None:
        whole, first, second = begun(scene, scene.node("one"), scene.node("two"))
        scene.end(first, "failed", error="boom")
        assert scene.run(whole).state is State.RUNNING
        scene.end(second)
        ended = scene.run(whole)
        assert (ended.state, ended.error) == (State.FAILED, "shard: 1 of 2 went wrong: boom")

    def test_a_shard_is_tried_again_by_itself_as_often_as_its_policy_says(self, scene: Scene) -> None:
        one, two = scene.node("one"), scene.node("two")
        whole, first, second = begun(scene, one, two, retries=1, backoff_ms=0)
        scene.end(second)
        assert scene.end(first, "failed").state is State.WAITING
        assert left(scene, whole) == 1
        (again,) = scene.start(one)
        assert (again.id, again.attempt, again.shard, again.shards) == (first.id, 2, first.shard, 2)
        scene.end(again)
        assert scene.run(whole).state is State.SUCCEEDED

    def test_a_shard_whose_node_died_goes_to_another_node(self, scene: Scene) -> None:
        one, two = scene.node("one"), scene.node("two")
        planned(scene, one)
        (first,) = scene.start(one)
        scene.renew(one)
        scene.wait(LEASE_MS)
        scene.renew(one)
        scene.store.take_over(two, 0)
        scene.end(first)
        assert scene.store.reroute() == 1
        (second,) = scene.start(one)
        assert {first.shard, second.shard} == {0, 1}
        scene.end(second)
        assert scene.run(second.parent_id or "").state is State.SUCCEEDED

    def test_a_shard_waits_for_its_own_node_however_busy_that_is(self, scene: Scene) -> None:
        one, two = scene.node("one"), scene.node("two")
        planned(scene, one)
        scene.end(scene.start(one)[0])
        scene.wait(HOUR)
        scene.renew(one)
        scene.renew(two)
        assert scene.store.reroute() == 0
        assert scene.start(one) == []
        assert len(scene.start(two)) == 1

    def test_shards_that_wait_for_busy_nodes_hide_nobody_whose_node_is_gone(self, scene: Scene) -> None:
        one, two = scene.node("one"), scene.node("two")
        planned(scene, one)
        scene.start(one)
        scene.wait(SECOND)
        lost = scene.waiting_run(target="nobody")
        assert scene.store.reroute(limit=1) == 1
        assert lost.id in {run.id for run in scene.start(two)}

    def test_a_shard_that_runs_is_taken_over_once_with_its_number(self, scene: Scene) -> None:
        one, two = scene.node("one"), scene.node("two")
        whole, first, second = begun(scene, one, two)
        scene.wait(LEASE_MS)
        scene.renew(one)
        assert [run.id for run in scene.store.take_over(two, 0)] == [second.id]
        scene.end(first)
        scene.store.reroute()
        (again,) = scene.start(one)
        assert (again.id, again.shard, again.fence > second.fence) == (second.id, second.shard, True)
        assert scene.is_refused(second)
        scene.end(again)
        assert scene.run(whole).state is State.SUCCEEDED

    def test_a_node_that_joins_later_has_no_part_in_it(self, scene: Scene) -> None:
        _, first, second = begun(scene, scene.node("one"), scene.node("two"))
        three = scene.node("three")
        assert scene.start(three) == []
        assert {first.shards, second.shards} == {2}

    def test_what_is_enqueued_goes_to_all_nodes_too(self, scene: Scene) -> None:
        one, two = scene.node("one"), scene.node("two")
        whole = scene.waiting_run(policy=Policy(route="broadcast"))
        shards = [*scene.start(one), *scene.start(two)]
        assert sorted(run.shard or 0 for run in shards) == [0, 1]
        for run in shards:
            scene.end(run)
        assert scene.run(whole).state is State.SUCCEEDED

    def test_the_time_that_a_shard_may_take_is_not_that_of_the_whole(self, scene: Scene) -> None:
        one, two = scene.node("one"), scene.node("two")
        whole, first, _ = begun(scene, one, two, timeout_ms=MINUTE, expires_ms=MINUTE)
        assert first.policy.timeout_ms == MINUTE
        scene.wait(HOUR)
        scene.store.tend_flows()
        assert scene.run(whole).cancel_requested_ms is None

    def test_a_shard_does_not_expire_once_its_broadcast_has_begun(self, scene: Scene) -> None:
        one, two = scene.node("one"), scene.node("two")
        planned(scene, one, expires_ms=MINUTE)
        scene.end(scene.start(one)[0])
        scene.wait(HOUR)
        scene.store.tend_flows()
        assert [run.shard for run in scene.start(two)] == [1]

    def test_each_broadcast_has_higher_fences_than_the_one_before(self, scene: Scene) -> None:
        one, two = scene.node("one"), scene.node("two")
        _, first, second = begun(scene, one, two)
        scene.end(first)
        scene.end(second)
        scene.wait(MINUTE)
        scene.plan(one)
        later = [*scene.start(one), *scene.start(two)]
        assert min(run.fence for run in later) > max(first.fence, second.fence) > 0

    def test_a_task_that_goes_to_all_nodes_does_so_as_a_step_of_a_flow(self, scene: Scene) -> None:
        tasks = [TaskInfo("job", policy={"route": "broadcast"}), TaskInfo("last"), TaskInfo("@flow")]
        names = tuple(each.name for each in tasks)
        nodes = [scene.store.join(Node(name, name, tasks=names), tasks).id for name in ("one", "two")]
        graph = Graph("flow", (Step("all", "job", {"n": 1}), Step("last", "last", after=("all",))))
        scene.store.save_graphs([graph])
        flow = scene.waiting_run(task="@flow", graph=graph.hash)
        scene.start(nodes[0], tasks=names)
        shards = [run for node in nodes for run in scene.start(node, tasks=names)]
        assert sorted(run.shard or 0 for run in shards) == [0, 1]
        scene.end(shards[0])
        assert scene.start(nodes[0], tasks=names) == []
        scene.end(shards[1])
        (last,) = scene.start(nodes[0], tasks=names)
        assert last.step == "last"
        scene.end(last)
        assert scene.run(flow).state is State.SUCCEEDED

    def test_a_broadcast_is_filled_in_as_a_broadcast(self, scene: Scene) -> None:
        one, two = scene.node("one"), scene.node("two")
        scene.put(route="broadcast")
        ticks = [backfill.Tick(START_MS - number * DAY, "") for number in (2, 1)]
        graph = backfill.graph_of(1)
        scene.store.save_graphs([graph])
        args = backfill.args_of(scene.schedule(), ticks, "missing", beside=False)
        flow = scene.waiting_run(task=backfill.TASK, graph=graph.hash, args=args, exempt=True)
        moments: list[int] = []
        while found := [run for _ in range(2) for node in (one, two) for run in scene.start(node)]:
            moments += [run.scheduled_ms for run in found]
            for run in found:
                scene.end(run)
        assert moments == [ticks[0].at_ms] * 2 + [ticks[1].at_ms] * 2
        assert scene.run(flow).state is State.SUCCEEDED


class TestPlacesOfBroadcasts(Promises):
    """The whole holds the slot of its schedule, and the place of its group."""

    def test_the_whole_holds_the_slot_until_its_last_shard_ends(self, scene: Scene) -> None:
        one, two = scene.node("one"), scene.node("two")
        _, first, second = begun(scene, one, two)
        scene.wait(MINUTE)
        (behind,) = scene.plan(one, free=5)
        assert behind.blocked
        scene.end(first)
        assert scene.start(one) == []
        scene.end(second)
        assert [run.parent_id for run in scene.start(one)] == [behind.id]

    def test_a_tick_that_finds_a_broadcast_under_way_is_left_out_where_that_is_the_rule(self, scene: Scene) -> None:
        one, two = scene.node("one"), scene.node("two")
        _, first, second = begun(scene, one, two, overlap="discard")
        scene.end(first)
        scene.wait(MINUTE)
        assert scene.plan(one) == []
        assert [each.reason for each in scene.decisions()] == ["overlap"]
        scene.end(second)
        scene.wait(MINUTE)
        assert len(scene.plan(one)) == 1

    def test_as_many_go_on_at_once_as_there_are_slots_however_many_shards_they_have(self, scene: Scene) -> None:
        nodes = [scene.node(name) for name in "abc"]
        scene.put(route="broadcast", overlap="concurrent", max_concurrent_runs=2)
        for expected in (3, 3, 0):
            scene.wait(MINUTE)
            (whole,) = scene.plan(nodes[0], free=5)
            assert sum(len(scene.start(node)) for node in nodes) == expected
        assert scene.run(whole).blocked

    def test_a_broadcast_gives_its_place_back_when_it_ends(self, scene: Scene) -> None:
        one, two = scene.node("one"), scene.node("two")
        for _ in range(3):
            _, first, second = begun(scene, one, two, limit="g:1")
            scene.end(first)
            scene.end(second)
        other = scene.waiting_run(policy=Policy(limit="g:1"))
        assert [run.id for run in scene.start(one)] == [other.id]

    def test_all_shards_start_under_the_one_place_of_their_broadcast(self, scene: Scene) -> None:
        one, two, three = (scene.node(name) for name in "abc")
        planned(scene, one, limit="g:1")
        assert sorted(run.shard or 0 for node in (one, two, three) for run in scene.start(node)) == [0, 1, 2]
        other = scene.waiting_run(policy=Policy(limit="g:1"))
        assert scene.start(one) == []
        assert scene.run(other).waits_for == "limit:g"

    def test_a_broadcast_that_began_goes_on_through_a_pause(self, scene: Scene) -> None:
        one, two = scene.node("one"), scene.node("two")
        whole = planned(scene, one)
        (first,) = scene.start(one)
        scene.edit(edits.pause(None))
        scene.end(first)
        (last,) = scene.start(two)
        scene.end(last)
        assert scene.run(whole).state is State.SUCCEEDED

    def test_a_broadcast_that_began_goes_on_when_its_schedule_is_deleted(self, scene: Scene) -> None:
        one, two = scene.node("one"), scene.node("two")
        whole = planned(scene, one)
        (first,) = scene.start(one)
        scene.end(first)
        scene.edit(edits.delete())
        scene.end(scene.start(two)[0])
        assert scene.run(whole).state is State.SUCCEEDED

    def test_who_depends_on_a_broadcast_waits_for_all_of_its_shards(self, scene: Scene) -> None:
        one, two = scene.node("one"), scene.node("two")
        scene.put("after", depends_on=("s",), within_ms=HOUR)
        _, first, second = begun(scene, one, two)
        scene.end(first)
        scene.store.sweep()
        assert scene.start(one) == []
        scene.end(second)
        assert [run.schedule for run in scene.start(one)] == ["after"]


class TestRetryingBroadcasts(Promises):
    """What is done again, and when."""

    def test_a_retried_shard_counts_once(self, scene: Scene) -> None:
        one, two = scene.node("one"), scene.node("two")
        whole, first, second = begun(scene, one, two)
        scene.end(first, "failed", final=True)
        scene.store.retry(first.id, scene.run(first).claim_no, BY)
        (again,) = scene.start(one)
        scene.end(again)
        assert scene.run(whole).state is State.RUNNING, "the other shard has not ended"
        scene.end(second)
        assert (scene.run(whole).state, scene.run(whole).error) == (State.SUCCEEDED, None)

    def test_a_broadcast_waits_for_a_shard_that_is_retried(self, scene: Scene) -> None:
        one, two = scene.node("one"), scene.node("two")
        whole, first, second = begun(scene, one, two)
        scene.end(first, "failed", final=True)
        scene.store.retry(first.id, scene.run(first).claim_no, BY)
        scene.end(second)
        assert (scene.run(whole).state, left(scene, whole)) == (State.RUNNING, 1)
        scene.end(scene.start(one)[0])
        assert scene.run(whole).state is State.SUCCEEDED

    def test_a_shard_of_a_broadcast_that_has_ended_is_retried_with_it(self, scene: Scene) -> None:
        one, two = scene.node("one"), scene.node("two")
        whole, first, second = begun(scene, one, two)
        scene.end(first, "failed", final=True)
        scene.end(second)
        with pytest.raises(Conflict, match=f"retry its flow, {whole.id}"):
            scene.store.retry(first.id, scene.run(first).claim_no, BY)
        assert scene.run(first).state is State.FAILED

    def test_only_the_shards_that_went_wrong_are_done_again_and_in_the_slot(self, scene: Scene) -> None:
        one, two = scene.node("one"), scene.node("two")
        whole, first, second = begun(scene, one, two)
        scene.end(first, "failed", final=True)
        scene.end(second)
        scene.wait(MINUTE)
        (next_one,) = scene.plan(one)
        before = scene.start(one)
        scene.store.retry(whole.id, scene.run(whole).claim_no, BY)
        assert [*scene.start(one), *scene.start(two)] == [
            run for run in scene.store.runs(parent=next_one.id) if run.owner == two
        ], "another broadcast has the slot"
        for run in (*before, *scene.store.runs(parent=next_one.id, node=two)):
            scene.end(run)
        again = [run for _ in range(2) for run in scene.start(one)]
        assert [(run.id, run.shard, run.shards) for run in again] == [(first.id, first.shard, 2)]
        assert scene.start(two) == []
        scene.end(again[0])
        assert (scene.run(whole).state, scene.run(whole).error) == (State.SUCCEEDED, None)

    def test_a_shard_that_is_done_again_goes_elsewhere_where_its_node_is_gone(self, scene: Scene) -> None:
        one, two = scene.node("one"), scene.node("two")
        whole, first, second = begun(scene, one, two)
        scene.end(first)
        scene.end(second, "failed", final=True)
        scene.store.leave(two)
        three = scene.node("three")
        scene.store.retry(whole.id, scene.run(whole).claim_no, BY)
        for _ in range(2):
            assert scene.start(three) == []
        assert scene.store.reroute() == 1
        (again,) = scene.start(three)
        assert (again.id, again.shard) == (second.id, second.shard)
        scene.end(again)
        assert scene.run(whole).state is State.SUCCEEDED


class TestStoppingBroadcasts(Promises):
    """Cancelled, covered, and what follows."""

    def test_cancelling_the_whole_cancels_its_shards(self, scene: Scene) -> None:
        one, two = scene.node("one"), scene.node("two")
        whole = planned(scene, one)
        (first,) = scene.start(one)
        assert scene.store.request_cancel(whole.id, "enough", BY).cancel_requested_ms == scene.now_ms
        assert scene.start(two) == []
        assert scene.store.cancels(one) == [first.id]
        scene.end(first, "cancelled")
        assert scene.run(whole).state is State.CANCELLED

    def test_cover_reaches_the_shards(self, scene: Scene) -> None:
        one, two = scene.node("one"), scene.node("two")
        whole, first, second = begun(scene, one, two, overlap="cover")
        scene.wait(MINUTE)
        scene.plan(one)
        assert (scene.store.cancels(one), scene.store.cancels(two)) == ([first.id], [second.id])
        scene.end(first, "cancelled")
        scene.end(second, "cancelled")
        assert scene.run(whole).state is State.CANCELLED
        assert [run.shard for run in scene.start(one)] == [0]

    def test_a_shard_that_waits_does_not_begin_once_a_newer_run_covers_its_broadcast(self, scene: Scene) -> None:
        one, two = scene.node("one"), scene.node("two")
        whole = planned(scene, one, overlap="cover")
        (first,) = scene.start(one)
        waiting = waiting_shard(scene, whole)
        scene.wait(MINUTE)
        (newer,) = scene.plan(two)
        assert scene.start(two) == []
        assert scene.run(waiting).state is State.CANCELLED
        scene.end(first, "cancelled")
        assert scene.run(whole).state is State.CANCELLED
        assert [run.parent_id for run in scene.start(two)] == [newer.id]

    def test_a_run_by_hand_that_finds_a_broadcast_under_way_covers_it(self, scene: Scene) -> None:
        one, two = scene.node("one"), scene.node("two")
        whole, first, second = begun(scene, one, two, overlap="cover")
        scene.trigger("by-hand")
        assert scene.start(two) == []
        assert (scene.store.cancels(one), scene.store.cancels(two)) == ([first.id], [second.id])
        scene.end(first, "cancelled")
        scene.end(second, "cancelled")
        assert scene.run(whole).state is State.CANCELLED
        assert [run.parent_id for run in scene.start(two)] == ["by-hand"]

    def test_a_shard_that_is_cancelled_alone_before_it_began_fails_the_whole(self, scene: Scene) -> None:
        one, two = scene.node("one", tasks=("job", "page")), scene.node("two", tasks=("job", "page"))
        whole = planned(scene, one, on_failure=("page",))
        (first,) = scene.start(one)
        scene.end(first)
        scene.store.request_cancel(waiting_shard(scene, whole).id, "enough", BY)
        assert scene.run(whole).state is State.FAILED
        assert [run.task for run in scene.start(two, tasks=("page",))] == ["page"]

    def test_a_broadcast_is_followed_once(self, scene: Scene) -> None:
        one, two = scene.node("one", tasks=("job", "notify")), scene.node("two", tasks=("job", "notify"))
        _, first, second = begun(scene, one, two, then=("notify",))
        scene.end(first)
        scene.end(second)
        assert len(scene.start(one, tasks=("notify",))) == 1
