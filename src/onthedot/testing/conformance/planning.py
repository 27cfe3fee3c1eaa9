"""Which ticks become runs: once each, ever; and what is recorded of the others."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from onthedot.errors import NodeDead
from onthedot.model.states import State
from onthedot.rules import edits
from onthedot.rules.effects import Before, Effects, Situation
from onthedot.testing.conformance.scene import DAY, HOUR, MINUTE, SECOND, START_MS, Promises, Scene
from onthedot.triggers.at import At
from onthedot.triggers.every import every


class TestPlanning(Promises):
    def test_a_tick_becomes_one_run_however_often_it_is_planned(self, scene: Scene) -> None:
        nodes = [scene.node("a"), scene.node("b")]
        scene.put()
        scene.wait(MINUTE)
        for node in nodes * 2:
            scene.plan(node)
        assert scene.ticks() == [60]

    def test_nothing_is_planned_before_its_moment(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        scene.wait(MINUTE - 1)
        assert scene.plan(node) == []
        scene.wait(1)
        assert [run.scheduled_ms for run in scene.plan(node)] == [START_MS + MINUTE]

    def test_a_planned_run_carries_what_its_schedule_said(self, scene: Scene) -> None:
        put = scene.put(args={"to": ["x"]}, retries=3, priority=4)
        scene.wait(MINUTE + 7)
        (run,) = scene.plan(scene.node())
        assert scene.run(run) == run
        assert (run.task, run.args, run.policy, run.cause) == ("job", {"to": ["x"]}, put.policy, "tick")
        assert (run.schedule_id, run.schedule, run.revision) == (put.id, "s", 1)
        assert (run.scheduled_ms, run.due_ms, run.created_ms) == (START_MS + MINUTE, START_MS + MINUTE, scene.now_ms)
        assert (run.state, run.owner, run.attempt, run.claim_no) == (State.WAITING, None, 0, 0)

    def test_planning_moves_the_watermark_and_the_next_moment_together(self, scene: Scene) -> None:
        node = scene.node()
        before = scene.put()
        scene.wait(MINUTE + 7)
        scene.plan(node)
        after = scene.schedule()
        assert (after.settled_ms, after.next_run_ms) == (scene.now_ms, START_MS + 2 * MINUTE)
        assert (after.planned_runs, after.last_enqueued_ms) == (1, scene.now_ms)
        assert (after.revision, after.version > before.version) == (before.revision, True)

    def test_a_run_is_born_running_where_a_worker_is_free(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        scene.wait(MINUTE)
        (run,) = scene.plan(node, free=1)
        assert (run.state, run.owner, run.attempt, run.claim_no) == (State.RUNNING, node, 1, 1)
        assert (run.started_ms, run.slot, run.fence) == (scene.now_ms, f"{run.schedule_id}/0", 1)
        assert scene.schedule().last_run_ms == scene.now_ms
        assert scene.store.start_due(node, ["job"], 10).runs == ()

    def test_no_more_runs_are_born_running_than_workers_are_free(self, scene: Scene) -> None:
        for number in range(5):
            scene.put(f"s{number}")
        scene.wait(MINUTE)
        runs = scene.plan(scene.node(), free=2)
        assert sorted(run.state for run in runs) == [State.RUNNING] * 2 + [State.WAITING] * 3

    def test_a_run_of_an_unknown_task_waits_for_a_node_that_knows_it(self, scene: Scene) -> None:
        old, new = scene.node("old", tasks=["other"]), scene.node("new")
        scene.put()
        scene.wait(MINUTE)
        (run,) = scene.plan(old, free=5)
        assert run.state is State.WAITING
        assert scene.start(old, tasks=["other"]) == []
        assert [started.id for started in scene.start(new)] == [run.id]

    def test_where_few_workers_are_free_ticks_of_higher_priority_begin_at_once(self, scene: Scene) -> None:
        node = scene.node()
        for name, priority in (("a", -1), ("b", 0), ("c", 3), ("d", 2)):
            scene.put(name, priority=priority)
        scene.wait(MINUTE)
        planned = scene.plan(node, free=2)
        assert {run.schedule for run in planned if run.state is State.RUNNING} == {"c", "d"}

    def test_a_node_that_only_plans_leaves_its_runs_waiting(self, scene: Scene) -> None:
        scene.put()
        scene.wait(MINUTE)
        (run,) = scene.plan(scene.node(roles=("plan",)), free=5)
        assert run.state is State.WAITING

    def test_the_fence_grows_with_every_start(self, scene: Scene) -> None:
        node = scene.node()
        first = scene.running(node, retries=1, backoff_ms=0)
        scene.end(first, "failed")
        (second,) = scene.start(node)
        scene.end(second)
        scene.wait(MINUTE)
        (third,) = scene.plan(node, free=1)
        assert [first.fence, second.fence, third.fence] == [1, 2, 3]

    def test_on_time_schedules_come_before_overdue_ones(self, scene: Scene) -> None:
        for number in range(5):
            scene.put(f"overdue-{number}", every("1h"))
        scene.wait(HOUR)
        scene.put("on-time", At(scene.now_ms + MINUTE))
        scene.wait(MINUTE)
        node = scene.node()
        first = scene.planned(node, limit=2)
        assert (len(first.effects), first.more) == (2, True)
        assert "on-time" in {run.schedule for effects in first.effects for run in effects.runs}
        scene.plan(node, limit=10)
        assert len(scene.store.runs()) == 6

    def test_a_pass_says_whether_more_is_due(self, scene: Scene) -> None:
        for number in range(3):
            scene.put(f"s{number}")
        scene.wait(MINUTE)
        node = scene.node()
        assert scene.planned(node, limit=2).more
        last = scene.planned(node, limit=2)
        assert (len(last.effects), last.more) == (1, False)
        assert scene.planned(node, limit=2).effects == ()

    def test_a_pass_writes_all_or_nothing(self, scene: Scene) -> None:
        scene.put("a")
        scene.put("b")
        scene.wait(MINUTE)
        node = scene.node()
        decider = scene.decider()

        class Broken(Exception):
            """No clash, no bad row: a fault of the process."""

        def breaks(rows: Sequence[Before], situation: Situation) -> list[Effects]:
            decider(rows, situation)
            raise Broken

        with pytest.raises(Broken):
            scene.store.plan_due(node, 10, 5, breaks)
        assert scene.store.runs() == []
        assert len(scene.plan(node)) == 2

    def test_what_is_decided_rests_on_the_node_its_workers_and_its_peers(self, scene: Scene) -> None:
        node, other = scene.node("a"), scene.node("b")
        scene.put()
        scene.wait(MINUTE)
        seen: list[Situation] = []

        def look(rows: Sequence[Before], situation: Situation) -> list[Effects]:
            seen.append(situation)
            return [Effects() for _ in rows]

        scene.store.plan_due(node, 10, 7, look)
        assert (seen[-1].now_ms, seen[-1].node.id, seen[-1].free_workers) == (scene.now_ms, node, 7)
        assert {each.id for each in seen[-1].nodes} == {node, other}

    def test_a_dead_or_unknown_node_cannot_plan(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        scene.wait(MINUTE)
        scene.kill(node)
        for dead in (node, "nobody"):
            with pytest.raises(NodeDead):
                scene.plan(dead)
        assert scene.runs() == []
        with pytest.raises(NodeDead):
            scene.plan_one(node, scene.schedule())

    def test_runs_of_a_lost_reply_are_in_the_next_renewal(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        scene.wait(MINUTE)
        scene.plan(node, free=1)
        (mine,) = scene.runs()
        assert scene.renew(node).own == (mine,)

    def test_a_schedule_ends_after_its_greatest_number_of_runs(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(max_runs=2, overlap="concurrent")
        for _ in range(4):
            scene.wait(MINUTE)
            scene.plan(node)
        assert scene.ticks() == [60, 120]
        assert scene.schedule().next_run_ms is None

    def test_a_trigger_that_is_over_leaves_a_schedule_without_a_next_moment(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(trigger=every("1m", repeat_until="2027-01-15T08:02:00Z"), overlap="concurrent")
        for _ in range(4):
            scene.wait(MINUTE)
            scene.plan(node)
        assert scene.ticks() == [60, 120]
        assert scene.schedule().next_run_ms is None
        assert scene.exists()

    def test_jitter_delays_the_start_but_not_the_tick_and_stays_before_the_next(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(jitter_ms=10 * MINUTE)
        scene.wait(MINUTE)
        (run,) = scene.plan(node, free=1)
        assert run.scheduled_ms == START_MS + MINUTE
        assert START_MS + MINUTE < run.due_ms < START_MS + 2 * MINUTE
        assert run.state is State.WAITING
        scene.clock.now_ms = run.due_ms - 1
        assert scene.start(node) == []
        scene.clock.now_ms = run.due_ms
        assert [started.id for started in scene.start(node)] == [run.id]

    def test_a_jittered_run_is_a_coming_moment_also_while_another_runs(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(jitter_ms=30 * SECOND)
        scene.trigger("manual")
        (busy,) = scene.start(node)
        scene.wait(MINUTE)
        (run,) = scene.plan(node, free=1)
        assert run.due_ms > scene.now_ms
        scene.end(busy)
        assert run.due_ms in scene.store.upcoming(scene.now_ms, run.due_ms)
        scene.clock.now_ms = run.due_ms
        assert [started.id for started in scene.start(node)] == [run.id]


class TestMisfire(Promises):
    def test_lateness_within_grace_is_no_misfire(self, scene: Scene) -> None:
        scene.put(misfire="skip")
        scene.wait(MINUTE + 10 * SECOND)
        scene.plan(scene.node())
        assert (scene.ticks(), scene.ranges()) == ([60], [])

    def test_fire_once_runs_the_latest_and_records_the_rest_as_one_range(self, scene: Scene) -> None:
        scene.put()
        scene.wait(10_080 * MINUTE + 3 * SECOND)
        scene.plan(scene.node())
        assert scene.ticks() == [10_080 * 60]
        assert scene.ranges() == [("misfire", 60, 10_079 * 60, 10_079)]
        assert scene.schedule().settled_ms == scene.now_ms

    def test_fire_once_runs_a_single_late_tick_without_a_decision(self, scene: Scene) -> None:
        scene.put(trigger=every("1d"))
        scene.wait(DAY + HOUR)
        scene.plan(scene.node())
        assert len(scene.runs()) == 1
        assert scene.ranges() == []

    def test_skip_keeps_what_is_within_grace(self, scene: Scene) -> None:
        scene.put(misfire="skip", grace_ms=90 * SECOND, overlap="concurrent")
        scene.wait(10 * MINUTE)
        scene.plan(scene.node())
        assert scene.ticks() == [540, 600]
        assert scene.ranges() == [("misfire", 60, 480, 8)]

    def test_skip_runs_nothing_where_nothing_is_within_grace(self, scene: Scene) -> None:
        scene.put(misfire="skip")
        scene.wait(10 * MINUTE + 30 * SECOND)
        scene.plan(scene.node())
        assert scene.ticks() == []
        assert scene.ranges() == [("misfire", 60, 600, 10)]

    def test_skip_loses_none_of_very_many_ticks_within_grace(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(trigger=every("1s"), misfire="skip", grace_ms=HOUR, overlap="concurrent")
        scene.wait(HOUR + 100 * SECOND)
        while scene.plan(node):
            pass
        assert scene.ticks() == list(range(100, 3701))
        assert scene.ranges() == [("misfire", 1, 99, 99)]

    def test_catch_up_runs_the_latest_up_to_its_cap_and_records_what_it_dropped(self, scene: Scene) -> None:
        scene.put(misfire="catch_up", max_catch_up=3, overlap="concurrent")
        scene.wait(10 * MINUTE + SECOND)
        scene.plan(scene.node())
        assert scene.ticks() == [480, 540, 600]
        assert scene.ranges() == [("misfire", 60, 420, 7)]

    def test_catch_up_keeps_to_its_window(self, scene: Scene) -> None:
        scene.put(misfire="catch_up", catch_up_window_ms=2 * MINUTE, overlap="concurrent")
        scene.wait(10 * MINUTE + SECOND)
        scene.plan(scene.node())
        assert scene.ticks() == [540, 600]
        assert scene.ranges() == [("misfire", 60, 480, 8)]

    def test_catch_up_makes_them_all_where_there_is_room(self, scene: Scene) -> None:
        scene.put(misfire="catch_up", overlap="concurrent")
        scene.wait(10 * MINUTE)
        scene.plan(scene.node())
        assert scene.ticks() == list(range(60, 601, 60))
        assert scene.ranges() == []

    def test_what_is_caught_up_waits_its_turn_behind_a_slot(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(misfire="catch_up")
        scene.wait(5 * MINUTE)
        assert len(scene.plan(node, free=10)) == 5
        for _ in range(5):
            (run,) = [each for each in scene.runs() if each.state is State.RUNNING] or scene.start(node)
            scene.end(run)
        assert scene.ticks() == [60, 120, 180, 240, 300]
        assert scene.ranges() == []

    def test_catch_up_runs_a_missed_rescheduled_moment_that_is_no_tick(self, scene: Scene) -> None:
        scene.put(misfire="catch_up", overlap="concurrent")
        scene.edit(edits.reschedule(START_MS + 95 * SECOND))
        scene.wait(3 * MINUTE)
        scene.plan(scene.node())
        assert scene.ticks() == [95, 120, 180]
        assert scene.ranges() == [("rescheduled", 60, 60, 1)]

    def test_an_interval_stays_on_its_lattice_however_late_it_is_planned(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(overlap="concurrent")
        for late in (7, 1, 29, 0):
            scene.wait(MINUTE + late * SECOND)
            scene.plan(node)
        assert all(tick % 60 == 0 for tick in scene.ticks())
        assert (scene.schedule().next_run_ms or 0) % MINUTE == 0

    def test_a_stale_waiting_run_gives_way_to_a_newer_tick_with_the_reason_why_it_could_not_start(
        self, scene: Scene
    ) -> None:
        node = scene.node()
        scene.put(max_waiting=60)
        for _ in range(60):
            scene.wait(MINUTE)
            scene.plan(node)
        started = scene.store.start_due(node, ["job"], 100)
        assert [run.scheduled_ms for run in started.runs] == [scene.now_ms]
        skipped = [run for run in scene.runs() if run.state is State.SKIPPED]
        assert len(skipped) == 59
        assert {run.reason for run in skipped} == {"misfire: no worker took it in time"}

    def test_what_nobody_can_take_gives_way_and_a_node_that_comes_runs_the_newest(self, scene: Scene) -> None:
        planner = scene.node()
        scene.put(task="renamed")
        for _ in range(5):
            scene.wait(MINUTE)
            scene.plan(planner, free=5)
        able = scene.node("able", tasks=("renamed",))
        assert [run.scheduled_ms for run in scene.store.start_due(able, ["renamed"], 10).runs] == [scene.now_ms]
        gone = [run.reason for run in scene.runs() if run.state is State.SKIPPED]
        assert gone == ["misfire: no live node has the task renamed"] * 4
        assert scene.ranges() == [], "none was left out for want of room to wait"

    def test_what_waits_behind_a_long_run_gives_way_and_the_newest_follows_it(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.running(node)
        for _ in range(3):
            scene.wait(MINUTE)
            scene.plan(node, free=5)
        gone = [each.reason for each in scene.runs() if each.state is State.SKIPPED]
        assert gone == ["misfire: an earlier run was still under way"] * 2
        scene.end(run)
        assert [each.scheduled_ms for each in scene.start(node)] == [START_MS + 4 * MINUTE]

    def test_a_stale_waiting_run_is_skipped_at_its_start_where_a_newer_one_waits_too(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(max_waiting=2, grace_ms=90 * SECOND)
        for _ in range(2):
            scene.wait(MINUTE)
            scene.plan(node)
        scene.wait(40 * SECOND)
        started = scene.store.start_due(node, ["job"], 100)
        assert [run.scheduled_ms for run in started.runs] == [START_MS + 2 * MINUTE]
        assert [run.state for run in started.skipped] == [State.SKIPPED]
        assert [(run.reason or "").partition(":")[0] for run in started.skipped] == ["misfire"]

    def test_a_manual_run_and_a_retry_do_not_give_way_to_newer_ticks(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.running(node, retries=1, backoff_ms=SECOND)
        scene.end(run, "failed")
        scene.trigger("by-hand")
        for _ in range(3):
            scene.wait(MINUTE)
            scene.plan(node)
        assert (scene.run(run).state, scene.run("by-hand").state) == (State.WAITING, State.WAITING)
        (again,) = scene.start(node)
        scene.end(again)
        assert {again.id, *(each.id for each in scene.start(node))} == {run.id, "by-hand"}

    def test_caught_up_ticks_wait_behind_what_runs(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.running(node, misfire="catch_up", max_waiting=1)
        for _ in range(3):
            scene.wait(MINUTE)
            scene.plan(node)
        assert scene.ranges() == []
        scene.end(run)
        for tick in (120, 180, 240):
            (again,) = scene.start(node)
            assert again.scheduled_ms == START_MS + tick * SECOND
            scene.end(again)

    def test_stale_waiting_runs_of_catch_up_are_all_kept(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(max_waiting=60, misfire="catch_up")
        for _ in range(5):
            scene.wait(MINUTE)
            scene.plan(node)
        for tick in (60, 120, 180, 240, 300):
            (run,) = scene.start(node)
            assert run.scheduled_ms == START_MS + tick * SECOND
            scene.end(run)


class TestOverlapWhenPlanned(Promises):
    def test_serial_lets_the_next_wait_and_records_the_rest(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.running(node, grace_ms=HOUR)
        for _ in range(3):
            scene.wait(MINUTE)
            scene.plan(node, free=5)
        assert [(each.state, each.blocked) for each in scene.runs()] == [(State.RUNNING, False), (State.WAITING, True)]
        assert scene.ranges() == [("overlap", 180, 240, 2)]
        scene.end(run)
        assert [started.scheduled_ms for started in scene.start(node)] == [START_MS + 2 * MINUTE]

    def test_serial_lets_as_many_wait_as_it_was_told(self, scene: Scene) -> None:
        node = scene.node()
        scene.running(node, max_waiting=2, grace_ms=HOUR)
        for _ in range(4):
            scene.wait(MINUTE)
            scene.plan(node, free=5)
        assert [run.state for run in scene.runs()] == [State.RUNNING, State.WAITING, State.WAITING]
        assert scene.ranges() == [("overlap", 240, 300, 2)]

    def test_of_several_ticks_in_one_pass_only_so_many_wait_behind_what_ran_then(self, scene: Scene) -> None:
        node = scene.node()
        scene.running(node, grace_ms=HOUR, max_waiting=1)
        scene.wait(4 * MINUTE)
        scene.plan(node, free=5)
        assert scene.ticks() == [60, 120]
        assert scene.ranges() == [("overlap", 180, 300, 3)]

    def test_ticks_that_were_only_planned_late_all_run_one_after_the_other(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(grace_ms=HOUR, max_waiting=1)
        scene.wait(5 * MINUTE)
        scene.plan(node, free=5)
        assert scene.ticks() == [60, 120, 180, 240, 300]
        assert scene.ranges() == []
        for _ in range(5):
            (running,) = [run for run in scene.runs() if run.state is State.RUNNING]
            scene.end(running)
            scene.start(node)
        assert {run.state for run in scene.runs()} == {State.SUCCEEDED}

    def test_a_tick_run_does_not_overtake_one_that_waits(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(max_waiting=5, grace_ms=HOUR)
        scene.wait(MINUTE)
        (older,) = scene.plan(node, free=0)
        scene.wait(MINUTE)
        (younger,) = scene.plan(node, free=5)
        assert younger.state is State.WAITING
        assert [run.id for run in scene.start(node)][:1] != [older.id] or scene.run(younger).state is State.WAITING

    def test_discard_records_a_tick_that_finds_another_running(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.running(node, overlap="discard")
        scene.wait(MINUTE)
        assert scene.plan(node, free=5) == []
        assert scene.ranges() == [("overlap", 120, 120, 1)]
        scene.end(run)
        scene.wait(MINUTE)
        assert [each.state for each in scene.plan(node, free=5)] == [State.RUNNING]

    def test_concurrent_takes_a_slot_of_its_number_and_lets_the_next_wait(self, scene: Scene) -> None:
        node = scene.node()
        scene.running(node, overlap="concurrent", max_concurrent_runs=2, grace_ms=HOUR)
        for _ in range(3):
            scene.wait(MINUTE)
            scene.plan(node, free=5)
        runs = scene.runs()
        assert [run.state for run in runs] == [State.RUNNING, State.RUNNING, State.WAITING]
        schedule_id = scene.schedule().id
        assert [run.slot for run in runs] == [f"{schedule_id}/0", f"{schedule_id}/1", None]
        assert scene.ranges() == [("overlap", 240, 240, 1)]

    def test_concurrent_without_a_number_runs_any_number(self, scene: Scene) -> None:
        node = scene.node()
        scene.running(node, overlap="concurrent")
        for _ in range(10):
            scene.wait(MINUTE)
            scene.plan(node, free=1)
        assert {(run.state, run.slot) for run in scene.runs()} == {(State.RUNNING, None)}
        assert len(scene.runs()) == 11


class TestBadRows(Promises):
    def test_a_row_that_cannot_be_planned_is_parked_and_the_rest_of_its_batch_runs(self, scene: Scene) -> None:
        node = scene.node()
        for name in ("a", "bad", "z"):
            scene.put(name)
        bad = scene.overwrite("bad", trigger={"v": 1, "type": "nonsense"})
        scene.wait(MINUTE)
        assert sorted(run.schedule or "" for run in scene.plan(node)) == ["a", "z"]
        parked = scene.schedule("bad")
        assert "nonsense" in (parked.error or "")
        assert (parked.trigger, parked.settled_ms) == (bad.trigger, bad.settled_ms)
        assert scene.planned(node).effects == ()
        assert parked.next_run_ms == scene.now_ms
        scene.start(node)
        assert scene.store.upcoming(scene.now_ms, scene.now_ms) == []

    def test_a_parked_schedule_is_repaired_by_a_put(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        scene.overwrite(trigger={"v": 1, "type": "nonsense"})
        scene.wait(MINUTE)
        scene.plan(node)
        repaired = scene.put()
        assert (repaired.error, repaired.next_run_ms) == (None, START_MS + 2 * MINUTE)
        scene.wait(MINUTE)
        scene.plan(node)
        assert scene.ticks() == [120]

    def test_a_parked_schedule_can_be_deleted(self, scene: Scene) -> None:
        scene.put()
        scene.overwrite(trigger={"v": 1, "type": "nonsense"})
        scene.wait(MINUTE)
        scene.plan(scene.node())
        scene.edit(edits.delete())
        assert not scene.exists()

    def test_a_trigger_of_a_newer_version_is_left_alone(self, scene: Scene) -> None:
        node = scene.node()
        scene.put("new")
        scene.put("z")
        newer = scene.overwrite("new", trigger={"v": 99, "type": "lunar", "phase": ["full"]})
        scene.wait(MINUTE)
        assert [run.schedule for run in scene.plan(node)] == ["z"]
        assert scene.schedule("new") == newer

    def test_triggers_of_a_newer_version_do_not_hide_the_others(self, scene: Scene) -> None:
        node = scene.node()
        for name in ("a", "b", "c"):
            scene.put(name)
            scene.overwrite(name, trigger={"v": 99, "type": "lunar"})
        scene.wait(SECOND)
        scene.put("z")
        scene.wait(MINUTE)
        for _ in range(5):
            scene.plan(node, limit=3)
        assert scene.ticks("z") == [60]


class TestLocalTicks(Promises):
    def test_a_local_schedule_is_not_planned_with_the_others(self, scene: Scene) -> None:
        node = scene.node()
        local = scene.put(mode="local")
        scene.wait(MINUTE)
        assert scene.plan(node) == []
        effects = scene.plan_one(node, local)
        assert effects is not None
        assert [run.state for run in effects.runs] == [State.WAITING]
        assert scene.ticks() == [60]

    def test_whoever_comes_second_decides_nothing(self, scene: Scene) -> None:
        first, second = scene.node("a"), scene.node("b")
        local = scene.put(mode="local")
        scene.wait(MINUTE)
        scene.plan_one(first, local)
        effects = scene.plan_one(second, local)
        assert effects is not None
        assert effects.runs == ()
        assert scene.ticks() == [60]

    def test_planning_one_and_planning_all_do_not_make_two_runs_of_a_tick(self, scene: Scene) -> None:
        node = scene.node()
        durable = scene.put()
        scene.wait(MINUTE)
        scene.plan_one(node, durable)
        scene.plan(node)
        scene.wait(MINUTE)
        scene.plan(node)
        scene.plan_one(node, durable)
        assert scene.ticks() == [60, 120]
        assert scene.ranges() == []

    def test_nothing_is_planned_early_or_for_another_revision_or_inside_a_pause(self, scene: Scene) -> None:
        node = scene.node()
        local = scene.put(mode="local")
        scene.wait(MINUTE - 1)
        early = scene.plan_one(node, local)
        assert early is not None
        assert early.runs == ()
        scene.wait(1)
        changed = scene.put(mode="local", args={"a": 2})
        assert scene.plan_one(node, local) is None
        scene.edit(edits.pause(None))
        assert scene.plan_one(node, changed) is None
        scene.edit(edits.delete())
        assert scene.plan_one(node, changed) is None
        assert scene.store.plan_one(node, "nobody", 1, scene.decider()) is None
        assert scene.runs() == []

    def test_a_parked_schedule_is_not_planned_alone_either(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        broken = scene.overwrite(error="it killed its planner three times")
        scene.wait(MINUTE)
        assert scene.plan_one(node, broken) is None
