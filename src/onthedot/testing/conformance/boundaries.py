"""What stands beside what: slots and places that are given back, old things before new, nothing left behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from onthedot.model.policy import Policy
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.moments import from_ms
from onthedot.rules import edits
from onthedot.testing.conformance.scene import BY, HOUR, MINUTE, SECOND, START_MS, Promises, Scene
from onthedot.triggers.at import at
from onthedot.triggers.every import every


class TestSlotsAfterEdits(Promises):
    def test_a_lower_number_of_concurrent_runs_starts_nothing_beside_what_runs(self, scene: Scene) -> None:
        node = scene.node()
        runs = self._running(scene, node, 3, max_concurrent_runs=3)
        scene.put(overlap="concurrent", max_concurrent_runs=1, grace_ms=HOUR)
        scene.end(runs[0])  # the one with the lowest slot
        scene.wait(MINUTE)
        assert [run.state for run in scene.plan(node, free=5)] == [State.WAITING]
        assert scene.start(node) == []
        scene.end(runs[1])
        assert scene.start(node) == []
        scene.end(runs[2])
        assert len(scene.start(node)) == 1

    def test_going_to_serial_starts_nothing_beside_what_runs_without_a_slot(self, scene: Scene) -> None:
        node = scene.node()
        runs = self._running(scene, node, 2)
        scene.put(grace_ms=HOUR)
        scene.trigger("by-hand")
        assert scene.start(node) == []
        for run in runs:
            assert scene.start(node) == []
            scene.end(run)
        assert [run.id for run in scene.start(node)] == ["by-hand"]

    def test_a_higher_number_of_concurrent_runs_lets_what_waits_start(self, scene: Scene) -> None:
        node = scene.node()
        self._running(scene, node, 1, max_concurrent_runs=1)
        scene.trigger("by-hand")
        assert scene.start(node) == []
        scene.put(overlap="concurrent", max_concurrent_runs=2, grace_ms=HOUR)
        assert [run.id for run in scene.start(node)] == ["by-hand"]

    @staticmethod
    def _running(scene: Scene, node: str, count: int, **options: Any) -> list[Run]:
        scene.put(overlap="concurrent", grace_ms=HOUR, **options)
        runs: list[Run] = []
        for _ in range(count):
            scene.wait(MINUTE)
            runs += scene.plan(node, free=1)
        assert [run.state for run in runs] == [State.RUNNING] * count
        return runs


class TestOldBeforeNew(Promises):
    def test_a_serial_run_whose_node_crashed_is_done_before_later_ticks(self, scene: Scene) -> None:
        node, peer = scene.node("a"), scene.node("b")
        crashed = scene.running(node, grace_ms=HOUR)
        scene.wait(MINUTE)
        scene.renew(peer)
        (later,) = scene.plan(peer, free=1)
        scene.wait(SECOND)
        scene.store.take_over(node, 0)
        (first,) = scene.start(peer)
        assert (first.id, first.crashes) == (crashed.id, 1)
        scene.end(first)
        assert [run.id for run in scene.start(peer)] == [later.id]

    def test_the_clock_set_back_an_hour_delays_no_takeover(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.running(node)
        scene.wait(-HOUR)
        assert [each.id for each in scene.store.take_over(node, 0)] == [run.id]


class TestAtNow(Promises):
    def test_at_now_fires_on_a_known_name(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(overlap="concurrent")
        scene.wait(MINUTE + 10 * SECOND)
        scene.plan(node)
        scene.put(trigger=at(from_ms(scene.now_ms)), overlap="concurrent")
        scene.wait(1)
        assert [run.scheduled_ms for run in scene.plan(node)] == [scene.now_ms]
        scene.wait(10 * SECOND)
        scene.put(trigger=at(from_ms(scene.now_ms)), overlap="concurrent")
        assert [run.scheduled_ms for run in scene.plan(node)] == [scene.now_ms]

    def test_at_now_fires_on_a_name_that_was_deleted(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        scene.wait(90 * SECOND)
        scene.edit(edits.delete())
        scene.put(trigger=at(from_ms(scene.now_ms)))
        scene.wait(1)
        assert len(scene.plan(node)) == 1
        scene.edit(edits.delete())
        scene.put(trigger=at(from_ms(scene.now_ms - 500)))  # by a clock that is a little behind the store's
        scene.wait(1)
        assert len(scene.plan(node)) == 1

    def test_a_moment_long_past_does_not_fire_on_a_known_name(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        scene.wait(HOUR)
        scene.plan(node)
        scene.put(trigger=at(from_ms(START_MS + MINUTE)))
        scene.wait(1)
        assert scene.plan(node) == []


class TestEveryTickIsDecided(Promises):
    def test_ticks_of_a_parked_schedule_are_a_decision_when_it_is_put_anew(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        scene.overwrite(trigger={"v": 1, "type": "nonsense"})
        scene.wait(MINUTE)
        scene.plan(node)
        assert scene.schedule().error is not None
        scene.wait(3 * MINUTE + SECOND)
        scene.put()
        ((reason, first, last, _),) = scene.ranges()
        assert (reason, first <= 60, last >= 240) == ("parked", True, True)

    def test_ticks_beyond_the_most_runs_are_a_decision(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(max_runs=2, misfire="catch_up", overlap="concurrent")
        scene.wait(5 * MINUTE)
        scene.plan(node, free=5)
        assert scene.ticks() == [60, 120]
        assert scene.ranges() == [("max_runs", 180, 300, 3)]
        assert scene.schedule().next_run_ms is None

    def test_ticks_after_the_last_run_are_a_decision_when_more_are_allowed(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(max_runs=1)
        scene.wait(MINUTE)
        scene.end(scene.plan(node, free=1)[0])
        scene.wait(5 * MINUTE + SECOND)
        scene.put(max_runs=2)
        assert scene.ranges() == [("max_runs", 120, 360, 5)]

    def test_consecutive_decisions_for_one_reason_are_one_growing_range(self, scene: Scene) -> None:
        node = scene.node()
        scene.running(node, overlap="discard")
        for _ in range(5):
            scene.wait(MINUTE)
            scene.plan(node, free=5)
        assert scene.ranges() == [("overlap", 120, 360, 5)]
        assert len(scene.store.decisions(scene.schedule().id, first_ms=START_MS + 4 * MINUTE)) == 1


class TestSelfRemoval(Promises):
    def test_a_put_while_the_last_run_ends_is_not_removed(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(trigger=at(from_ms(START_MS + MINUTE)), auto_remove=True)
        scene.wait(MINUTE)
        (run,) = scene.plan(node, free=1)
        scene.put(trigger=every("1m"), auto_remove=True)
        scene.end(run)
        assert scene.exists()
        scene.wait(MINUTE)
        assert len(scene.plan(node)) == 1

    def test_it_stays_while_another_run_of_it_lives(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.running(node, trigger=at(from_ms(START_MS + MINUTE)), auto_remove=True, overlap="concurrent")
        scene.trigger("by-hand")
        (other,) = scene.start(node)
        scene.end(run)
        assert scene.exists()
        scene.end(other)
        assert not scene.exists()


class TestVersions(Promises):
    """Whoever adds, starts, revives or unblocks a run of a schedule raises its version."""

    def test_a_run_that_is_enqueued(self, scene: Scene) -> None:
        scene.put()
        with self._is_raised(scene):
            scene.trigger("by-hand")

    def test_a_run_that_is_planned(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        scene.wait(MINUTE)
        with self._is_raised(scene):
            assert len(scene.plan(node)) == 1

    def test_a_run_that_is_started(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        scene.trigger("by-hand")
        with self._is_raised(scene):
            assert len(scene.start(node)) == 1

    def test_a_run_that_is_left_behind_a_slot(self, scene: Scene) -> None:
        node = scene.node()
        scene.running(node)
        scene.trigger("by-hand")
        with self._is_raised(scene):
            assert scene.start(node) == []

    def test_a_run_that_is_tried_again(self, scene: Scene) -> None:
        run = scene.running(scene.node(), retries=1, backoff_ms=SECOND)
        with self._is_raised(scene):
            assert scene.end(run, "failed").state is State.WAITING

    def test_a_run_that_is_handed_back(self, scene: Scene) -> None:
        run = scene.running(scene.node())
        with self._is_raised(scene):
            scene.end(run, "handed_back")

    def test_a_run_that_is_woken(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.running(node)
        scene.trigger("by-hand")
        scene.start(node)
        with self._is_raised(scene):
            scene.end(run)
        assert not scene.run("by-hand").blocked

    def test_a_run_that_an_operator_retries(self, scene: Scene) -> None:
        ended = scene.end(scene.running(scene.node()), "failed")
        with self._is_raised(scene):
            scene.store.retry(ended.id, ended.claim_no, BY)

    def test_a_run_whose_node_is_gone(self, scene: Scene) -> None:
        first, second = scene.node("a"), scene.node("b")
        scene.running(first)
        with self._is_raised(scene):
            scene.store.leave(first)
        scene.start(second)
        with self._is_raised(scene):
            assert len(scene.kill(second)) == 1

    def test_a_run_that_is_held_by_a_pause_or_freed_by_its_end(self, scene: Scene) -> None:
        run = scene.running(scene.node(), retries=1, backoff_ms=SECOND)
        scene.end(run, "failed")
        for edit in (edits.pause(None), edits.resume()):
            with self._is_raised(scene):
                scene.edit(edit)

    @staticmethod
    @contextmanager
    def _is_raised(scene: Scene) -> Iterator[None]:
        before = scene.schedule().version
        yield
        assert scene.schedule().version > before


class TestCrowds(Promises):
    def test_runs_of_other_groups_do_not_hide_those_of_mine(self, scene: Scene) -> None:
        node = scene.node(group="mine")
        scene.node("other", group="other")
        scene.store.enqueue([scene.new_run(policy=Policy(group="other")) for _ in range(300)])
        scene.wait(1)
        mine = scene.waiting_run(policy=Policy(group="mine"))
        anybody = scene.waiting_run()
        assert {run.id for run in scene.start(node, limit=5)} == {mine.id, anybody.id}

    def test_a_run_that_nobody_can_take_keeps_its_schedule_and_no_other(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(task="renamed", misfire="catch_up", max_waiting=50)
        scene.wait(MINUTE)
        scene.plan(node)
        scene.put(misfire="catch_up", max_waiting=50)
        for _ in range(12):
            scene.wait(MINUTE)
            scene.plan(node)
        innocent = scene.waiting_run()
        started = [run.id for _ in range(6) for run in scene.start(node, limit=4)]
        assert started == [innocent.id]
        able = scene.node("able", tasks=("renamed",))
        (oldest,) = scene.start(able, tasks=("renamed",))
        scene.end(oldest)
        assert len(scene.start(node, limit=4)) == 1

    def test_a_crowd_behind_a_limit_that_nobody_can_take_does_not_keep_the_place(self, scene: Scene) -> None:
        gone, node = scene.node("gone", tasks=("old",)), scene.node()
        scene.waiting_run(policy=Policy(limit="g:1"))
        (holder,) = scene.start(node)
        scene.store.enqueue([scene.new_run(task="old", policy=Policy(limit="g:1")) for _ in range(150)])
        for _ in range(4):
            assert scene.start(gone, tasks=("old",)) == []
        scene.wait(1)
        mine = scene.waiting_run(policy=Policy(limit="g:1"))
        assert scene.start(node) == []
        scene.store.leave(gone)
        scene.end(holder)
        assert [run.id for run in scene.start(node)] == [mine.id]

    def test_a_success_lets_all_go_on_that_waited_for_it(self, scene: Scene) -> None:
        node = scene.node()
        scene.put("before")
        names = [f"after-{number:03}" for number in range(120)]
        for name in names:
            scene.put(name, depends_on=("before",), within_ms=30 * SECOND)
        scene.wait(MINUTE)
        scene.plan(node, limit=200)
        (first,) = scene.start(node, limit=200)
        scene.end(first)
        assert len(scene.start(node, limit=200)) == len(names)

    def test_a_place_is_free_again_also_where_the_clock_was_set_back(self, scene: Scene) -> None:
        node = scene.node()
        scene.waiting_run(policy=Policy(limit="g:1"))
        scene.end(scene.start(node)[0])
        scene.wait(-HOUR)
        other = scene.waiting_run(policy=Policy(limit="g:1"))
        assert [run.id for run in scene.start(node)] == [other.id]

    def test_runs_of_unknown_tasks_do_not_hide_those_that_are_known(self, scene: Scene) -> None:
        node = scene.node()
        scene.store.enqueue([scene.new_run(task="unknown") for _ in range(300)])
        scene.wait(1)
        mine = scene.waiting_run()
        assert [run.id for run in scene.start(node, limit=5)] == [mine.id]

    def test_a_crowd_of_one_serial_schedule_is_done_in_order(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        for number in range(60):
            scene.trigger(f"r{number:02}")
        done: list[str] = []
        for _ in range(60):
            (run,) = scene.start(node, limit=50)
            assert scene.start(node, limit=50) == []
            done.append(run.id)
            scene.end(run)
        assert done == [f"r{number:02}" for number in range(60)]

    def test_runs_that_name_their_pool_are_claimed_for_that_pool(self, scene: Scene) -> None:
        node = scene.node(tasks=("quick", "long"))
        scene.put("slow", task="quick", pool="slow")
        scene.trigger("by-hand", "slow")
        quick = scene.waiting_run(task="quick")
        known = ("quick", "long")
        fast = scene.store.start_due(node, ["quick"], 10, pools=["fast"], known=known).runs
        assert [run.id for run in fast] == [quick.id]
        slow = scene.store.start_due(node, ["long"], 10, pools=["slow"], known=known).runs
        assert [run.id for run in slow] == ["by-hand"]

    def test_an_enqueued_run_that_goes_by_load_goes_to_the_node_that_is_idle(self, scene: Scene) -> None:
        full = scene.node("full", capacity=2)
        scene.wait(1)
        idle = scene.node("idle", capacity=2)
        scene.store.enqueue([scene.new_run() for _ in range(2)])
        assert len(scene.start(full)) == 2
        assert scene.waiting_run(policy=Policy(route="busyover")).target == idle

    def test_routes_by_use_go_around_all_nodes_whichever_plans(self, scene: Scene) -> None:
        for route in ("lru", "lfu"):
            nodes = [scene.node(f"{route}-{name}", group=route) for name in "abc"]
            scene.put(route, route=route, group=route, overlap="concurrent", grace_ms=HOUR)
            for number in range(6):
                scene.wait(MINUTE)
                scene.plan(nodes[number % 3])
            targets = [run.target for run in scene.runs(route)]
            assert sorted(map(str, targets)) == sorted(nodes * 2)
