"""Where runs go, what makes way for what, and what follows: routes, cover, groups, dependencies, chains."""

from __future__ import annotations

import pytest

from onthedot.errors import NodeNotFound
from onthedot.model.node import Node, NodeState
from onthedot.model.policy import Policy
from onthedot.model.states import State
from onthedot.model.task_info import TaskInfo
from onthedot.model.values import replace
from onthedot.rules import edits
from onthedot.testing.conformance.scene import BY, HOUR, LEASE_MS, MINUTE, SECOND, Promises, Scene


class TestRouting(Promises):
    def test_a_routed_run_is_started_by_its_node_only(self, scene: Scene) -> None:
        one, two = scene.node("one"), self._later(scene, "two")
        scene.put(route="last")
        scene.wait(MINUTE)
        (run,) = scene.plan(one, free=5)
        assert (run.state, run.target) == (State.WAITING, two)
        assert scene.start(one) == []
        assert [each.id for each in scene.start(two)] == [run.id]

    def test_a_run_that_is_routed_to_the_planning_node_begins_at_once(self, scene: Scene) -> None:
        one, _ = scene.node("one"), self._later(scene, "two")
        scene.put(route="first")
        scene.wait(MINUTE)
        (run,) = scene.plan(one, free=5)
        assert (run.state, run.owner) == (State.RUNNING, one)

    def test_a_run_of_a_group_goes_to_a_node_of_the_group(self, scene: Scene) -> None:
        plain, special = scene.node("plain"), scene.node("special", group="gpu")
        scene.put(group="gpu")
        scene.wait(MINUTE)
        (run,) = scene.plan(plain, free=5)
        assert run.state is State.WAITING
        assert scene.start(plain) == []
        assert [each.id for each in scene.start(special)] == [run.id]

    def test_a_run_whose_node_died_before_it_began_is_routed_again(self, scene: Scene) -> None:
        one, two = scene.node("one"), self._later(scene, "two")
        scene.put(route="last")
        scene.wait(MINUTE)
        scene.renew(one)
        scene.store.take_over(two, 0)
        (run,) = scene.plan(one, free=0)
        assert run.target == one
        three = self._later(scene, "three")
        scene.wait(MINUTE)
        scene.renew(one)
        scene.end(scene.start(one)[0])
        (run,) = scene.plan(one)
        assert run.target == three
        scene.wait(1)
        scene.store.leave(three)
        assert scene.start(one) == []
        assert scene.store.reroute() == 1
        assert [each.id for each in scene.start(one)] == [run.id]

    def test_a_run_that_its_node_does_not_start_in_time_is_routed_again(self, scene: Scene) -> None:
        one, two = scene.node("one"), self._later(scene, "two")
        scene.put(route="last")
        scene.wait(MINUTE)
        (run,) = scene.plan(one)
        assert run.target == two
        assert scene.store.reroute() == 0
        scene.wait(10 * SECOND)
        assert scene.store.reroute() == 1
        assert scene.start(two) == []
        assert [each.id for each in scene.start(one)] == [run.id]

    def test_a_planned_run_that_goes_by_load_goes_to_the_node_that_is_idle(self, scene: Scene) -> None:
        full, idle = self._full_and_idle(scene)
        scene.put(route="busyover")
        scene.wait(MINUTE)
        assert [run.target for run in scene.plan(full)] == [idle]

    def test_a_run_that_goes_by_load_is_routed_again_to_the_node_that_is_idle(self, scene: Scene) -> None:
        gone = scene.node("gone")
        run = scene.waiting_run(policy=Policy(route="busyover"))
        assert run.target == gone
        scene.wait(1)
        _, idle = self._full_and_idle(scene)
        scene.store.leave(gone)
        assert scene.store.reroute() == 1
        assert [each.id for each in scene.start(idle)] == [run.id]

    def _full_and_idle(self, scene: Scene) -> tuple[str, str]:
        full = scene.node("full", capacity=2)
        for _ in range(2):
            scene.waiting_run()
        assert len(scene.start(full)) == 2
        return full, self._later(scene, "idle")

    def test_what_runs_already_is_not_routed_again(self, scene: Scene) -> None:
        one, two = scene.node("one"), self._later(scene, "two")
        scene.put(route="last")
        scene.wait(MINUTE)
        scene.plan(one)
        (run,) = scene.start(two)
        scene.wait(HOUR)
        assert scene.store.reroute() == 0
        assert scene.run(run).owner == two

    @staticmethod
    def _later(scene: Scene, name: str) -> str:
        scene.wait(1)
        return scene.node(name)


class TestDraining(Promises):
    def test_a_node_that_is_drained_learns_of_it_and_stays_so(self, scene: Scene) -> None:
        node = scene.node()
        assert scene.store.drain(node).state is NodeState.DRAINING
        assert scene.store.drain(node).state is NodeState.DRAINING
        assert scene.renew(node, state=NodeState.ALIVE).node.state is NodeState.DRAINING

    def test_nothing_is_routed_to_a_node_that_drains(self, scene: Scene) -> None:
        one = scene.node("one")
        scene.wait(1)
        two = scene.node("two")
        scene.store.drain(two)
        scene.put(route="last")
        scene.wait(MINUTE)
        (run,) = scene.plan(one)
        assert run.target == one

    def test_who_is_gone_cannot_be_drained(self, scene: Scene) -> None:
        node = scene.node()
        scene.store.leave(node)
        with pytest.raises(NodeNotFound):
            scene.store.drain(node)


class TestCover(Promises):
    def test_a_newer_tick_asks_the_holder_to_stop_and_never_starts_beside_it(self, scene: Scene) -> None:
        node = scene.node()
        holder = scene.running(node, overlap="cover")
        scene.wait(MINUTE)
        newer = next(run for run in scene.plan(node, free=5) if run.id != holder.id)
        assert scene.store.cancels(node) == [holder.id]
        assert newer.blocked
        assert scene.start(node) == []
        scene.end(holder, "cancelled")
        assert [run.id for run in scene.start(node)] == [newer.id]

    def test_a_waiting_tick_is_replaced_by_a_newer_one(self, scene: Scene) -> None:
        node = scene.node()
        holder = scene.running(node, overlap="cover")
        scene.wait(MINUTE)
        scene.plan(node)
        scene.wait(MINUTE)
        scene.plan(node)
        scene.end(holder, "cancelled")
        (started,) = scene.start(node)
        states = [(run.state, run.reason) for run in scene.runs()]
        assert states[0][0] is State.CANCELLED
        assert states[1] == (State.SKIPPED, "covered")
        assert started.scheduled_ms == scene.now_ms

    def test_a_run_that_finds_the_slot_taken_when_it_would_start_asks_the_holder_to_stop(self, scene: Scene) -> None:
        node = scene.node()
        holder = scene.running(node, overlap="cover")
        scene.trigger("by-hand")
        assert scene.start(node) == []
        assert scene.store.cancels(node) == [holder.id]
        scene.end(holder, "cancelled")
        assert [run.id for run in scene.start(node)] == ["by-hand"]

    def test_a_manual_run_is_not_replaced(self, scene: Scene) -> None:
        node = scene.node()
        holder = scene.running(node, overlap="cover")
        scene.trigger("by-hand")
        scene.wait(MINUTE)
        scene.plan(node)
        scene.end(holder, "cancelled")
        assert scene.run("by-hand").state is State.WAITING


class TestGroupLimits(Promises):
    def test_no_more_runs_of_a_group_run_at_once_than_it_has_places(self, scene: Scene) -> None:
        node = scene.node()
        for name in ("a", "b", "c"):
            scene.put(name, limit="mail:2", overlap="concurrent")
        scene.wait(MINUTE)
        scene.plan(node, free=10)
        first = scene.start(node)
        assert len(first) == 2
        assert scene.start(node) == []
        scene.end(first[0])
        (third,) = scene.start(node)
        assert scene.start(node) == []
        scene.end(first[1])
        scene.end(third)
        assert {run.state for name in "abc" for run in scene.runs(name)} == {State.SUCCEEDED}

    def test_where_a_limit_was_lowered_nothing_starts_beside_what_still_runs(self, scene: Scene) -> None:
        node = scene.node()
        for _ in range(7):
            scene.waiting_run(policy=Policy(limit="mail:7"))
        running = scene.start(node)
        assert len(running) == 7
        for _ in range(2):
            scene.waiting_run(policy=Policy(limit="mail:2"))
        while len(running) > 1:
            assert scene.start(node) == [], f"{len(running)} still run"
            scene.end(running.pop())
        assert len(scene.start(node)) == 1
        assert scene.start(node) == []
        scene.end(running.pop())
        assert len(scene.start(node)) == 1

    def test_one_off_runs_and_schedules_share_the_places_of_a_group(self, scene: Scene) -> None:
        node = scene.node()
        held = [scene.waiting_run(policy=Policy(limit="mail:1")) for _ in range(3)]
        scene.put(limit="mail:1")
        scene.waiting_run(policy=Policy(limit="other:1"))
        scene.wait(MINUTE)
        scene.plan(node, free=5)
        begun = scene.start(node)
        assert sorted(run.policy.limit or "" for run in begun) == ["mail:1", "other:1"]
        done = 0
        mine = next(run for run in begun if run.policy.limit == "mail:1")
        while True:
            done += 1
            scene.end(mine)
            following = scene.start(node)
            assert len(following) <= 1
            if not following:
                break
            mine = following[0]
        assert done == len(held) + 1

    def test_a_place_is_given_back_by_a_retry_and_by_a_takeover(self, scene: Scene) -> None:
        one, two = scene.node("one"), scene.node("two")
        scene.waiting_run(policy=Policy(limit="mail:1", retries=1, backoff_ms=HOUR))
        (run,) = scene.start(one)
        other = scene.waiting_run(policy=Policy(limit="mail:1"))
        assert scene.start(two) == []
        scene.end(run, "failed")
        (begun,) = scene.start(one)
        assert begun.id == other.id
        third = scene.waiting_run(policy=Policy(limit="mail:1"))
        assert scene.start(two) == []
        scene.wait(LEASE_MS)
        scene.renew(two)
        scene.store.take_over(one, 0)
        assert len(scene.start(two)) == 1
        assert {scene.run(other).state, scene.run(third).state} == {State.RUNNING, State.WAITING}

    def test_runs_that_wait_for_a_place_do_not_hide_those_that_can_start(self, scene: Scene) -> None:
        node = scene.node()
        scene.waiting_run(policy=Policy(limit="mail:1"))
        (holder,) = scene.start(node)
        for _ in range(20):
            scene.waiting_run(policy=Policy(limit="mail:1"))
        scene.wait(1)
        free = scene.waiting_run()
        started = [run.id for _ in range(8) for run in scene.start(node, limit=5)]
        assert started == [free.id]
        scene.end(holder)
        assert len(scene.start(node)) == 1

    def test_a_place_goes_to_the_foremost_of_those_that_wait_for_it(self, scene: Scene) -> None:
        node = scene.node()
        scene.waiting_run(policy=Policy(limit="mail:1"))
        (holder,) = scene.start(node)
        scene.put(limit="mail:1", priority=5)
        for priority in (-1, 0, 7, 0):
            scene.waiting_run(policy=Policy(limit="mail:1", priority=priority))
        scene.wait(MINUTE)
        scene.plan(node)
        assert scene.start(node) == []
        order = []
        for _ in range(5):
            scene.end(holder)
            (holder,) = scene.start(node)
            order.append(holder.policy.priority)
        assert order == [7, 5, 0, 0, -1]

    def test_the_places_that_are_free_go_to_the_foremost(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(limit="mail:2", priority=1)
        scene.wait(MINUTE)
        scene.plan(node)
        for priority in (0, -1, 2):
            scene.waiting_run(policy=Policy(limit="mail:2", priority=priority))
        assert [run.policy.priority for run in scene.start(node)] == [2, 1]


class TestDependencies(Promises):
    def test_a_run_waits_for_the_success_that_it_depends_on(self, scene: Scene) -> None:
        node = scene.node()
        scene.put("before")
        scene.put("after", depends_on=("before",), within_ms=30 * SECOND)
        scene.wait(MINUTE)
        scene.plan(node)
        (first,) = scene.start(node)
        assert first.schedule == "before"
        scene.end(first)
        scene.store.sweep()
        assert [run.schedule for run in scene.start(node)] == ["after"]

    def test_a_success_wakes_who_waits_for_it(self, scene: Scene) -> None:
        node = scene.node()
        scene.put("before")
        scene.put("after", depends_on=("before",), within_ms=30 * SECOND)
        scene.wait(MINUTE)
        scene.plan(node)
        (first,) = scene.start(node)
        scene.end(first, "failed")
        assert scene.start(node) == [], "it has ended, but not well"
        scene.trigger("again", "before")
        (second,) = scene.start(node)
        scene.end(second)
        assert [run.schedule for run in scene.start(node)] == ["after"]

    def test_a_success_that_is_too_old_does_not_count(self, scene: Scene) -> None:
        node = scene.node()
        scene.put("before")
        scene.wait(MINUTE)
        scene.end(scene.plan(node, free=1)[0])
        scene.edit(edits.pause(None), "before")
        scene.put("after", depends_on=("before",), within_ms=30 * SECOND)
        scene.wait(MINUTE)
        assert [run.state for run in scene.plan(node, free=1)] == [State.WAITING]
        assert scene.start(node) == []

    def test_a_run_whose_dependency_does_not_come_in_time_is_skipped(self, scene: Scene) -> None:
        node = scene.node()
        scene.put("after", depends_on=("before",), within_ms=30 * SECOND)
        scene.wait(MINUTE)
        (run,) = scene.plan(node)
        assert scene.start(node) == []
        scene.wait(30 * SECOND + 1)
        scene.store.sweep()
        assert scene.start(node) == []
        assert (scene.run(run).state, scene.run(run).reason) == (State.SKIPPED, "dependency")

    def test_where_nobody_can_take_it_a_run_whose_dependency_does_not_come_is_skipped_all_the_same(
        self, scene: Scene
    ) -> None:
        node = scene.node()
        scene.put("after", task="nobodys", depends_on=("before",), within_ms=30 * SECOND)
        scene.wait(MINUTE)
        (run,) = scene.plan(node)
        scene.wait(30 * SECOND)
        assert scene.store.tend_flows() == 0
        scene.wait(1)
        assert scene.store.tend_flows() == 1
        assert (scene.run(run).state, scene.run(run).reason) == (State.SKIPPED, "dependency")

    def test_once_its_dependency_has_succeeded_a_run_may_wait_for_other_things_as_long_as_it_likes(
        self, scene: Scene
    ) -> None:
        node = scene.node()
        scene.put("before")
        scene.put("after", task="nobodys", depends_on=("before",), within_ms=5 * MINUTE)
        scene.wait(MINUTE)
        scene.plan(node)
        scene.wait(4 * MINUTE)
        scene.renew(node)
        scene.end(scene.start(node)[0])
        scene.wait(2 * MINUTE)
        scene.store.tend_flows()
        (run,) = scene.runs("after")
        assert (run.state, run.until_ms) == (State.WAITING, None)

    def test_a_run_that_had_begun_is_not_judged_again(self, scene: Scene) -> None:
        node = scene.node()
        scene.put("before")
        scene.put("after", depends_on=("before",), within_ms=30 * SECOND, retries=1, backoff_ms=60 * SECOND)
        scene.wait(MINUTE)
        scene.plan(node)
        scene.end(scene.start(node)[0])
        (run,) = scene.start(node)
        scene.edit(edits.pause(None), "before")
        scene.end(run, "failed")
        scene.wait(2 * MINUTE)
        assert [each.id for each in scene.start(node)] == [run.id]

    def test_a_manual_run_waits_for_nobody(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(depends_on=("before",))
        run = scene.trigger("by-hand")
        assert [each.id for each in scene.start(node)] == [run.id]


class TestExpiry(Promises):
    def test_a_run_that_waits_longer_than_it_is_worth_is_skipped_by_anybodys_poll(self, scene: Scene) -> None:
        """Also where nobody can take it: it frees its place."""
        node = scene.node()
        scene.put(task="nobodys", expires_ms=30 * SECOND, grace_ms=0)
        scene.wait(MINUTE)
        (run,) = scene.plan(node)
        assert run.until_ms == run.due_ms + 30 * SECOND
        scene.wait(30 * SECOND - 1)
        assert scene.store.tend_flows() == 0
        scene.wait(1)
        assert scene.store.tend_flows() == 1
        assert (scene.run(run).state, scene.run(run).reason) == (State.SKIPPED, "expired")
        assert scene.store.tend_flows() == 0

    def test_an_expired_run_is_not_started(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(expires_ms=30 * SECOND)
        alone = scene.waiting_run(policy=Policy(expires_ms=10 * SECOND))
        scene.wait(MINUTE)
        (run,) = scene.plan(node)
        scene.wait(30 * SECOND)
        assert scene.start(node) == []
        assert [scene.run(each).reason for each in (run, alone)] == ["expired", "expired"]

    def test_a_tick_that_is_planned_later_than_it_is_worth_is_not_begun(self, scene: Scene) -> None:
        """Whoever comes first after an outage plans it, and could begin it at once."""
        node = scene.node()
        scene.put(expires_ms=20 * SECOND)
        scene.wait(MINUTE + 20 * SECOND)
        (run,) = scene.plan(node, free=1)
        assert (run.state, run.attempt) == (State.WAITING, 0)
        assert scene.start(node) == []
        assert (scene.run(run).state, scene.run(run).reason) == (State.SKIPPED, "expired")
        scene.wait(MINUTE - 1)
        (following,) = scene.plan(node, free=1)
        assert following.state is State.RUNNING

    def test_what_has_begun_expires_no_more(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(expires_ms=30 * SECOND, retries=1, backoff_ms=MINUTE)
        scene.wait(MINUTE)
        scene.plan(node)
        (run,) = scene.start(node)
        assert run.until_ms is None
        scene.end(run, "failed")
        scene.wait(2 * MINUTE)
        scene.renew(node)
        scene.store.tend_flows()
        assert run.id in [each.id for each in scene.start(node)]

    def test_what_is_handed_back_before_it_was_entered_expires_as_before(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(expires_ms=30 * SECOND)
        scene.wait(MINUTE)
        (run,) = scene.plan(node, free=1)
        asked = scene.store.retry(*self._skipped(scene), BY)
        (again,) = scene.start(node)
        assert again.id == asked.id
        given = [scene.end(each, "handed_back") for each in (run, again)]
        assert [each.until_ms for each in given] == [run.due_ms + 30 * SECOND, None]
        scene.wait(30 * SECOND)
        assert [each.id for each in scene.start(node)] == [asked.id]
        assert (scene.run(run).state, scene.run(run).reason) == (State.SKIPPED, "expired")

    def _skipped(self, scene: Scene) -> tuple[str, int]:
        """A run that has expired."""
        run = scene.waiting_run(policy=Policy(expires_ms=1))
        scene.wait(1)
        assert scene.store.tend_flows() == 1
        return run.id, scene.run(run).claim_no

    def test_what_somebody_asks_for_expires_too_and_can_be_asked_for_again(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(expires_ms=30 * SECOND, task="nobodys")
        run = scene.trigger("by-hand")
        scene.wait(30 * SECOND)
        assert scene.store.tend_flows() == 1
        retried = scene.store.retry(run.id, scene.run(run).claim_no, BY)
        assert (retried.state, retried.until_ms) == (State.WAITING, None)
        assert scene.start(node) == []  # nobody's still


class TestChains(Promises):
    def test_what_follows_a_success_is_enqueued_with_its_outcome_once(self, scene: Scene) -> None:
        node = scene.node(tasks=("job", "notify", "page"))
        run = scene.running(node, then=("notify",), on_failure=("page",))
        scene.end(run)
        assert scene.is_refused(run)
        (following,) = scene.start(node, tasks=("notify", "page"))
        assert (following.task, following.cause, following.parent_id) == ("notify", "chain", run.id)

    def test_a_run_and_what_follows_it_remember_where_it_was_asked_for(self, scene: Scene) -> None:
        node = scene.node(tasks=("job", "notify"))
        scene.put(then=("notify",))
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        scene.store.enqueue([replace(edits.manual_run(scene.schedule(), "r-1", None, None, scene.now_ms), trace=trace)])
        (run,) = scene.start(node)
        scene.end(run)
        (following,) = scene.start(node, tasks=("notify",))
        assert (run.trace, scene.run(run).trace, following.trace) == (trace, trace, trace)

    def test_what_follows_a_failure_waits_for_the_last_attempt(self, scene: Scene) -> None:
        node = scene.node(tasks=("job", "notify", "page"))
        run = scene.running(node, then=("notify",), on_failure=("page",), retries=1, backoff_ms=SECOND)
        scene.end(run, "failed")
        assert scene.start(node, tasks=("notify", "page")) == []
        scene.wait(SECOND)
        (again,) = scene.start(node)
        scene.end(again, "failed")
        assert [each.task for each in scene.start(node, tasks=("notify", "page"))] == ["page"]

    def test_a_run_that_is_lost_with_its_node_is_a_failure(self, scene: Scene) -> None:
        one, two = scene.node("one", tasks=("job", "page")), scene.node("two", tasks=("job", "page"))
        scene.running(one, on_failure=("page",), delivery="at_most_once")
        scene.wait(LEASE_MS)
        scene.renew(two)
        scene.store.take_over(one, 0)
        assert [each.task for each in scene.start(two, tasks=("page",))] == ["page"]

    def test_what_follows_has_the_policies_that_its_task_was_published_with(self, scene: Scene) -> None:
        node = Node("n", "n", tasks=("job", "notify"))
        scene.store.join(node, [TaskInfo("job"), TaskInfo("notify", policy={"retries": 7})])
        scene.end(scene.running("n", then=("notify",)))
        (following,) = scene.start("n", tasks=("notify",))
        assert following.policy.retries == 7
