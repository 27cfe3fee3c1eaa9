"""Putting, pausing, rescheduling, deleting; what is kept of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onthedot.errors import Conflict, ScheduleNotFound
from onthedot.model.change import Author
from onthedot.model.policy import Policy
from onthedot.model.states import State
from onthedot.rules import edits
from onthedot.rules.edits import AffectedRuns
from onthedot.rules.effects import Before, Effects
from onthedot.testing.conformance.scene import BY, DAY, HOUR, MINUTE, SECOND, START_MS, Promises, Scene, definition
from onthedot.triggers.at import At
from onthedot.triggers.codec import encode
from onthedot.triggers.every import every


class TestPutting(Promises):
    def test_a_new_schedule_promises_nothing_of_the_past(self, scene: Scene) -> None:
        put = scene.put()
        assert (put.settled_ms, put.next_run_ms) == (START_MS, START_MS + MINUTE)
        assert (put.revision, put.enabled, put.created_ms) == (1, True, START_MS)

    def test_what_is_put_comes_back_whole(self, scene: Scene) -> None:
        put = scene.put(
            "überall/☂",
            every("90s", anchor="2027-01-01T00:00:10Z"),
            task="report.daily",
            args={"to": ["a", "b"], "deep": {"n": 1, "x": None, "ratio": 0.5}},
            given=("misfire", "retries"),
            tags=("eu", "nightly"),
            origin="file",
            max_runs=9,
            auto_remove=True,
            then=("next",),
            on_failure=("alarm",),
            declared_hash="abc",
            misfire="catch_up",
            retries=4,
            timeout_ms=90_000,
            delivery="at_most_once",
            priority=7,
        )
        assert scene.schedule("überall/☂") == put
        assert put.policy == Policy(
            misfire="catch_up", retries=4, timeout_ms=90_000, delivery="at_most_once", priority=7
        )

    def test_a_single_moment_that_is_just_past_is_still_run(self, scene: Scene) -> None:
        scene.put(trigger=At(START_MS - 5))
        scene.plan(scene.node())
        assert [run.scheduled_ms for run in scene.runs()] == [START_MS - 5]

    def test_putting_the_same_again_changes_nothing(self, scene: Scene) -> None:
        first = scene.put(args={"a": 1})
        scene.wait(5 * SECOND)
        assert scene.put(args={"a": 1}) == first
        assert scene.schedule() == first
        assert len(scene.store.changes(name="s")) == 1
        assert len(scene.store.revisions(first.id)) == 1

    def test_other_arguments_leave_the_next_moment_alone(self, scene: Scene) -> None:
        first = scene.put(args={"a": 1})
        scene.wait(90 * SECOND)
        second = scene.put(args={"a": 2})
        assert (second.id, second.revision) == (first.id, 2)
        assert (second.next_run_ms, second.settled_ms) == (first.next_run_ms, first.settled_ms)

    def test_another_trigger_goes_on_after_now_and_accounts_for_what_it_replaced(self, scene: Scene) -> None:
        scene.put()
        scene.wait(150 * SECOND)
        second = scene.put(trigger=every("40s"))
        assert (second.settled_ms, second.next_run_ms) == (START_MS + 150_000, START_MS + 160_000)
        assert scene.ranges() == [("replaced", 60, 120, 2)]

    def test_a_paused_schedule_stays_paused_when_its_definition_changes(self, scene: Scene) -> None:
        scene.put()
        scene.edit(edits.pause("repairs"))
        scene.wait(150 * SECOND)
        changed = scene.put(trigger=every("2m"))
        assert not changed.enabled
        assert scene.ranges() == [("paused", 60, 120, 2)]
        scene.wait(10 * MINUTE)
        assert scene.plan(scene.node()) == []

    def test_a_clock_that_was_set_back_does_not_move_the_watermark_back(self, scene: Scene) -> None:
        scene.put()
        node = scene.node()
        scene.wait(10 * MINUTE)
        scene.plan(node)
        settled = scene.schedule().settled_ms
        scene.wait(-5 * MINUTE)
        again = scene.put(trigger=every("30s"))
        assert again.settled_ms == settled
        assert again.next_run_ms is not None
        assert again.next_run_ms > settled

    def test_an_edit_sees_the_row_and_the_live_runs_as_they_are(self, scene: Scene) -> None:
        run = scene.running(scene.node())
        seen: list[Before] = []

        def look(before: Before, now_ms: int) -> Effects:
            seen.append(before)
            return Effects(answer=now_ms)

        assert scene.edit(look) == scene.now_ms
        assert seen[-1].schedule == scene.schedule()
        assert seen[-1].live == (run,)
        scene.edit(look, "nobody")
        assert seen[-1] == Before("nobody", None, ())

    def test_a_change_of_several_names_happens_to_all_or_to_none(self, scene: Scene) -> None:
        scene.put("a")
        before = scene.schedule("a")

        def edit(row: Before, now_ms: int) -> Effects:
            if row.name == "c":
                raise Conflict("no")
            return edits.put(definition(every("5m")))(row, now_ms)

        with pytest.raises(Conflict):
            scene.store.change(["a", "b", "c"], edit, BY)
        assert scene.schedule("a") == before
        assert not scene.exists("b")
        assert len(scene.store.changes()) == 1

    def test_many_schedules_are_put_in_one_change(self, scene: Scene) -> None:
        names = [f"s{number:03}" for number in range(200)]
        done = scene.store.change(names, edits.put(definition()), BY)
        assert [effects.answer.name for effects in done] == names
        assert len(scene.store.schedules(limit=1000)) == 200

    def test_more_runs_are_planned_when_their_greatest_number_is_raised(self, scene: Scene) -> None:
        scene.put(max_runs=1, overlap="concurrent")
        node = scene.node()
        scene.wait(MINUTE)
        scene.plan(node)
        assert scene.schedule().next_run_ms is None
        scene.put(max_runs=2, overlap="concurrent")
        scene.wait(MINUTE)
        scene.plan(node)
        assert scene.ticks() == [60, 120]


class TestListing(Promises):
    def test_schedules_are_listed_by_name_page_by_page(self, scene: Scene) -> None:
        for name in ("c", "a", "d", "b"):
            scene.put(name)
        assert [each.name for each in scene.store.schedules(limit=3)] == ["a", "b", "c"]
        assert [each.name for each in scene.store.schedules(limit=3, after="c")] == ["d"]

    def test_schedules_are_found_by_name_and_by_tag(self, scene: Scene) -> None:
        scene.put("a", tags=("eu", "x"))
        scene.put("b", tags=("eux",))
        scene.put("c", tags=("eu",))
        assert [each.name for each in scene.store.schedules(tag="eu")] == ["a", "c"]
        assert [each.name for each in scene.store.schedules(names=["c", "b", "none"])] == ["b", "c"]
        assert [each.name for each in scene.store.schedules(names=["b", "c"], tag="eu")] == ["c"]
        assert scene.store.schedules(names=[]) == []

    def test_schedules_are_found_by_mode(self, scene: Scene) -> None:
        scene.put("b", mode="local", tags=("x",))
        scene.put("a", mode="local")
        scene.put("c")
        scene.put("d", mode="local")
        scene.edit(edits.delete(), "d")
        found = [row.name for row in scene.store.schedules(mode="local")]
        assert found == ["a", "b"]
        assert [row.name for row in scene.store.schedules(mode="local", after="a")] == ["b"]
        assert [row.name for row in scene.store.schedules(mode="local", tag="x")] == ["b"]
        assert [row.name for row in scene.store.schedules(mode="durable")] == ["c"]

    def test_coming_moments_are_those_of_schedules_and_waiting_runs(self, scene: Scene) -> None:
        scene.put()
        scene.put("beside")
        scene.put("far", every("1d"))
        paused = scene.put("paused")
        scene.edit(edits.pause(None), paused.name)
        scene.waiting_run(delay_ms=10 * SECOND)
        scene.waiting_run(delay_ms=HOUR)
        assert scene.store.upcoming(START_MS, START_MS + MINUTE) == [START_MS + 10 * SECOND, START_MS + MINUTE]
        assert scene.store.upcoming(START_MS, START_MS + MINUTE - 1) == [START_MS + 10 * SECOND]

    def test_of_what_is_overdue_the_earliest_moment_is_among_the_coming_ones(self, scene: Scene) -> None:
        scene.waiting_run(delay_ms=10 * SECOND)
        scene.put()
        scene.waiting_run(delay_ms=MINUTE + 5 * SECOND)
        due_ms = START_MS + MINUTE
        assert scene.store.upcoming(due_ms, due_ms + 5 * SECOND) == [START_MS + 10 * SECOND, due_ms + 5 * SECOND]
        scene.wait(DAY)
        assert scene.store.upcoming(scene.now_ms, scene.now_ms) == [START_MS + 10 * SECOND]


class TestPausing(Promises):
    def test_no_tick_run_is_planned_or_started_after_a_pause(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        scene.wait(MINUTE)
        (run,) = scene.plan(node)
        _, paused = scene.edit(edits.pause("repairs"))
        assert paused == AffectedRuns(skipped=1, running=0)
        scene.wait(5 * MINUTE)
        assert scene.plan(node, free=5) == []
        assert scene.start(node) == []
        assert (scene.run(run).state, scene.run(run).reason) == (State.SKIPPED, "paused")
        assert scene.schedule().paused_note == "repairs"

    def test_a_pause_says_how_many_runs_are_still_running(self, scene: Scene) -> None:
        run = scene.running(scene.node(), max_waiting=2)
        scene.wait(MINUTE)
        scene.plan(run.owner or "")
        _, paused = scene.edit(edits.pause(None))
        assert paused == AffectedRuns(skipped=1, running=1)
        assert scene.end(run).state is State.SUCCEEDED

    def test_ticks_inside_a_pause_are_paused_and_never_misfires(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        scene.edit(edits.pause(None))
        scene.wait(7 * DAY + 30 * SECOND)
        resumed = scene.edit(edits.resume())
        assert (resumed.enabled, resumed.paused_note) == (True, None)
        assert resumed.settled_ms == scene.now_ms
        assert resumed.next_run_ms == scene.now_ms + 30 * SECOND
        assert scene.plan(node) == []
        assert scene.ranges() == [("paused", 60, 7 * 86_400, 7 * 1440)]

    def test_a_run_that_had_begun_and_must_be_retried_waits_for_the_resume(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.running(node, retries=1, backoff_ms=SECOND)
        scene.edit(edits.pause(None))
        assert scene.end(run, "failed").state is State.WAITING
        scene.wait(MINUTE)
        scene.store.sweep()
        assert scene.start(node) == []
        scene.edit(edits.resume())
        (again,) = scene.start(node)
        assert (again.id, again.attempt) == (run.id, 2)

    def test_a_retry_that_waits_already_when_the_pause_comes_waits_for_the_resume(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.running(node, retries=1, backoff_ms=SECOND)
        scene.end(run, "failed")
        _, paused = scene.edit(edits.pause(None))
        assert paused == AffectedRuns(skipped=0, running=0)
        scene.wait(MINUTE)
        assert scene.start(node) == []
        assert scene.store.upcoming(scene.now_ms, scene.now_ms) == []
        scene.edit(edits.resume())
        assert [again.id for again in scene.start(node)] == [run.id]

    def test_a_run_handed_back_inside_a_pause_before_it_began_is_skipped(self, scene: Scene) -> None:
        run = scene.running(scene.node())
        scene.edit(edits.pause(None))
        back = scene.end(run, "handed_back")
        assert (back.state, back.reason) == (State.SKIPPED, "paused")

    def test_a_manual_run_starts_inside_a_pause(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        scene.edit(edits.pause(None))
        scene.trigger("manual-1", args={"n": 1})
        (run,) = scene.start(node)
        assert (run.id, run.cause, run.args) == ("manual-1", "manual", {"n": 1})

    def test_a_manual_run_behind_a_slot_starts_inside_a_pause_when_the_slot_comes_free(self, scene: Scene) -> None:
        node = scene.node()
        first = scene.running(node)
        scene.edit(edits.pause(None))
        scene.trigger("manual-1")
        assert scene.start(node) == []
        scene.end(first)
        assert [run.id for run in scene.start(node)] == ["manual-1"]

    def test_pausing_twice_is_pausing_once_and_resuming_twice_too(self, scene: Scene) -> None:
        scene.put()
        scene.edit(edits.pause("a"))
        scene.edit(edits.pause("b"))
        assert scene.schedule().paused_note == "b"
        first = scene.edit(edits.resume())
        scene.wait(5 * MINUTE)
        assert scene.edit(edits.resume()) == first
        assert scene.ranges() == []

    def test_a_tick_beside_a_quick_pause_and_resume_is_run_once_or_explained(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        scene.wait(MINUTE + 100)
        scene.edit(edits.pause(None))
        scene.wait(500)
        scene.edit(edits.resume())
        scene.plan(node)
        assert scene.ticks() == []
        assert scene.ranges() == [("paused", 60, 60, 1)]

    def test_what_does_not_exist_cannot_be_paused(self, scene: Scene) -> None:
        for edit in (edits.pause(None), edits.resume(), edits.reschedule(START_MS + 1)):
            with pytest.raises(ScheduleNotFound):
                scene.edit(edit)


class TestRescheduling(Promises):
    def test_a_rescheduled_schedule_runs_at_that_moment_and_then_by_its_trigger(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        scene.edit(edits.reschedule(START_MS + 95 * SECOND))
        scene.wait(70 * SECOND)
        assert scene.plan(node) == []
        scene.wait(25 * SECOND)
        scene.plan(node)
        assert scene.ticks() == [95]
        assert scene.schedule().next_run_ms == START_MS + 2 * MINUTE
        assert scene.ranges() == [("rescheduled", 60, 60, 1)]

    def test_ticks_already_past_are_recorded_with_the_change(self, scene: Scene) -> None:
        scene.put()
        scene.wait(130 * SECOND)
        after = scene.edit(edits.reschedule(START_MS + 300 * SECOND))
        assert after.settled_ms == scene.now_ms
        assert scene.ranges() == [("rescheduled", 60, 120, 2)]

    def test_a_moment_that_is_not_ahead_is_refused(self, scene: Scene) -> None:
        before = scene.put()
        with pytest.raises(Conflict, match="use trigger"):
            scene.edit(edits.reschedule(START_MS))
        assert scene.schedule() == before

    def test_a_schedule_that_has_had_all_its_runs_is_not_rescheduled(self, scene: Scene) -> None:
        scene.put(max_runs=1)
        scene.wait(MINUTE)
        scene.plan(scene.node())
        with pytest.raises(Conflict, match="all of its 1 runs"):
            scene.edit(edits.reschedule(scene.now_ms + HOUR))
        assert scene.schedule().next_run_ms is None

    def test_a_moment_behind_the_watermark_is_refused_after_the_clock_was_set_back(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(overlap="concurrent")
        scene.wait(5 * MINUTE)
        scene.plan(node)
        scene.wait(-2 * MINUTE)
        with pytest.raises(Conflict):
            scene.edit(edits.reschedule(scene.now_ms + MINUTE))
        scene.wait(3 * MINUTE)
        assert len(scene.plan(node)) == 1

    def test_a_rescheduled_moment_that_was_missed_is_recorded_even_if_it_is_no_tick(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        scene.edit(edits.reschedule(START_MS + 95 * SECOND))
        scene.wait(130 * SECOND)
        scene.plan(node)
        assert scene.ticks() == [120]
        assert scene.ranges() == [("rescheduled", 60, 60, 1), ("misfire", 95, 95, 1)]

    def test_a_schedule_rescheduled_inside_a_pause_runs_at_that_moment_after_the_resume(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        scene.edit(edits.pause(None))
        scene.edit(edits.reschedule(START_MS + 95 * SECOND))
        scene.wait(65 * SECOND)
        scene.edit(edits.resume())
        scene.wait(30 * SECOND)
        scene.plan(node)
        assert scene.ticks() == [95]
        assert scene.ranges() == [("paused", 60, 60, 1)]


class TestDeleting(Promises):
    def test_a_deleted_schedule_leaves_a_tombstone_that_keeps_identity_watermark_and_fence(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.running(node)
        scene.end(run)
        old = scene.schedule()
        scene.wait(90 * SECOND)
        assert scene.edit(edits.delete()) == AffectedRuns(0, 0)
        assert scene.store.schedules() == []
        scene.wait(10 * MINUTE)
        assert scene.plan(node) == []
        new = scene.put(trigger=every("2m"))
        assert (new.id, new.fence, new.revision) == (old.id, old.fence, old.revision + 1)
        assert (new.settled_ms, new.deleted, new.enabled) == (scene.now_ms, False, True)
        assert scene.ranges() == [("deleted", 120, 120, 1)]

    def test_the_same_definition_revives_a_deleted_schedule(self, scene: Scene) -> None:
        scene.put()
        scene.edit(edits.delete())
        scene.wait(3 * MINUTE)
        assert scene.put().deleted is False
        assert scene.exists()
        scene.wait(MINUTE)
        scene.plan(scene.node())
        assert scene.ticks() == [240]

    def test_a_schedule_deleted_while_paused_is_enabled_when_it_is_put_again(self, scene: Scene) -> None:
        scene.put()
        scene.edit(edits.pause("repairs"))
        scene.wait(MINUTE)
        scene.edit(edits.delete())
        again = scene.put()
        assert (again.enabled, again.paused_note) == (True, None)
        assert scene.ranges() == [("paused", 60, 60, 1)]

    def test_no_tick_comes_back_when_a_schedule_is_deleted_and_put_again(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        scene.wait(MINUTE)
        scene.plan(node)
        scene.edit(edits.delete())
        scene.put()
        assert scene.plan(node) == []
        scene.wait(-30 * SECOND)
        scene.edit(edits.delete())
        scene.put()
        scene.wait(40 * SECOND)
        scene.plan(node)
        assert scene.ticks() == [60]

    def test_counted_runs_are_counted_anew_after_a_deletion(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(max_runs=1)
        scene.wait(MINUTE)
        scene.plan(node)
        scene.edit(edits.delete())
        scene.put(max_runs=1)
        scene.wait(MINUTE)
        scene.plan(node)
        assert scene.ticks() == [60, 120]

    def test_one_time_work_can_be_put_again_under_the_same_name(self, scene: Scene) -> None:
        node = scene.node()
        for _ in range(2):
            scene.put(trigger=At(scene.now_ms), auto_remove=True)
            scene.wait(10)
            (run,) = scene.plan(node, free=1)
            scene.end(run)
            assert not scene.exists()
            scene.wait(SECOND)
            scene.clock.pass_by(1)

    def test_waiting_runs_are_skipped_and_running_ones_counted(self, scene: Scene) -> None:
        run = scene.running(scene.node())
        scene.wait(MINUTE)
        (behind,) = scene.plan(run.owner or "")
        assert scene.edit(edits.delete()) == AffectedRuns(skipped=1, running=1)
        assert (scene.run(behind).state, scene.run(behind).reason) == (State.SKIPPED, "deleted")
        assert scene.run(run).state is State.RUNNING

    def test_a_running_run_of_a_deleted_schedule_is_not_tried_again(self, scene: Scene) -> None:
        run = scene.running(scene.node(), retries=5)
        scene.edit(edits.delete())
        assert scene.end(run, "failed").state is State.FAILED

    def test_a_run_handed_back_after_the_deletion_is_skipped(self, scene: Scene) -> None:
        run = scene.running(scene.node())
        scene.edit(edits.delete())
        back = scene.end(run, "handed_back")
        assert (back.state, back.reason) == (State.SKIPPED, "deleted")

    def test_a_run_of_a_deleted_schedule_whose_node_died_is_lost(self, scene: Scene) -> None:
        run = scene.running(scene.node())
        scene.edit(edits.delete())
        scene.kill(run.owner or "")
        assert scene.run(run).state is State.LOST

    def test_deleting_what_is_not_there_is_no_error(self, scene: Scene) -> None:
        assert scene.edit(edits.delete()) is None
        scene.put()
        scene.edit(edits.delete())
        assert scene.edit(edits.delete()) is None

    def test_a_self_removing_schedule_goes_after_its_last_run_has_ended(self, scene: Scene) -> None:
        run = scene.running(scene.node(), trigger=At(START_MS + MINUTE), auto_remove=True)
        assert scene.schedule().next_run_ms is None
        scene.end(run)
        assert not scene.exists()

    def test_a_self_removing_schedule_goes_when_its_last_run_is_cancelled(self, scene: Scene) -> None:
        scene.put(trigger=At(START_MS + MINUTE), auto_remove=True)
        scene.wait(MINUTE)
        (run,) = scene.plan(scene.node())
        assert scene.exists()
        scene.store.request_cancel(run.id, "not needed", BY)
        assert not scene.exists()

    def test_a_self_removing_schedule_goes_when_a_pause_skips_its_last_run(self, scene: Scene) -> None:
        scene.put(trigger=At(START_MS + MINUTE), auto_remove=True)
        scene.wait(MINUTE)
        scene.plan(scene.node())
        paused, done = scene.edit(edits.pause(None))
        assert (paused.deleted, done) == (True, AffectedRuns(skipped=1, running=0))
        assert not scene.exists()

    def test_a_self_removing_schedule_that_is_still_to_run_stays_through_a_pause(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(trigger=At(START_MS + MINUTE), auto_remove=True)
        scene.edit(edits.pause(None))
        assert scene.exists()
        scene.edit(edits.resume())
        scene.wait(MINUTE)
        (run,) = scene.plan(node, free=1)
        scene.edit(edits.pause(None))
        assert scene.exists()
        scene.end(run)
        assert not scene.exists()

    def test_a_self_removing_schedule_without_a_run_goes_when_its_last_tick_is_decided(self, scene: Scene) -> None:
        scene.put(trigger=At(START_MS + MINUTE), auto_remove=True, misfire="skip")
        scene.wait(HOUR)
        assert scene.plan(scene.node()) == []
        assert not scene.exists()


class TestAudit(Promises):
    def test_every_change_is_kept_with_who_made_it_and_what_differs(self, scene: Scene) -> None:
        first = scene.put()
        scene.wait(5 * SECOND)
        scene.edit(edits.pause("repairs"), by=Author("ada", "cli", "pause"))
        newest, oldest = scene.store.changes(name="s")
        assert (newest.by, newest.at_ms) == (Author("ada", "cli", "pause"), START_MS + 5 * SECOND)
        assert (newest.schedule_id, newest.schedule, newest.revision) == (first.id, "s", 1)
        assert (newest.before["enabled"], newest.after["enabled"]) == (True, False)
        assert newest.after["paused_note"] == "repairs"
        assert "task" not in newest.after
        assert (oldest.by, dict(oldest.before), oldest.after["task"]) == (BY, {}, "job")

    def test_what_a_pause_and_a_deletion_did_to_runs_is_kept_with_them(self, scene: Scene) -> None:
        node = scene.node()
        scene.running(node)
        scene.wait(MINUTE)
        scene.plan(node)
        scene.edit(edits.pause(None))
        paused = scene.store.changes(name="s")[0]
        assert (paused.after["skipped"], paused.after["running"]) == (1, 1)
        scene.edit(edits.delete())
        assert scene.store.changes(name="s")[0].after["running"] == 1

    def test_changes_come_newest_first_and_by_name(self, scene: Scene) -> None:
        for name in ("a", "b", "a"):
            scene.put(name, args={"at": scene.now_ms})
            scene.wait(SECOND)
        assert [each.schedule for each in scene.store.changes()] == ["a", "b", "a"]
        assert [each.schedule for each in scene.store.changes(limit=2)] == ["a", "b"]
        assert [each.revision for each in scene.store.changes(name="a")] == [2, 1]

    def test_each_definition_that_a_schedule_ever_had_is_kept(self, scene: Scene) -> None:
        first = scene.put()
        scene.edit(edits.pause(None))
        second = scene.put(trigger=every("2m"))
        scene.edit(edits.delete())
        third = scene.put(trigger=every("3m"))
        kept = scene.store.revisions(first.id)
        assert [(each.revision, each.trigger) for each in kept] == [
            (1, encode(every("1m"))),
            (2, encode(every("2m"))),
            (3, encode(every("3m"))),
        ]
        assert [each.revision for each in (first, second, third)] == [1, 2, 3]

    def test_planning_and_running_are_no_changes(self, scene: Scene) -> None:
        run = scene.running(scene.node())
        scene.end(run)
        assert len(scene.store.changes()) == 1

    def test_an_edit_that_only_looks_leaves_no_trace(self, scene: Scene) -> None:
        scene.put()
        row = scene.schedule()
        scene.edit(lambda before, now_ms: Effects())
        scene.edit(lambda before, now_ms: Effects(schedule=replace(row)))
        assert scene.schedule() == row
        assert len(scene.store.changes()) == 1

    def test_a_run_that_is_triggered_cancelled_or_retried_is_kept_with_who_asked(self, scene: Scene) -> None:
        schedule = scene.put()
        run = scene.trigger("r", args={"a": 2})
        cancelled = scene.store.request_cancel(run.id, "not now", Author("ada", "cli", "cancel"))
        scene.wait(SECOND)
        scene.store.retry(run.id, cancelled.claim_no, Author("bob", "http", "retry"))
        retried, stopped, triggered, _ = scene.store.changes(name="s")
        assert {each.schedule_id for each in (retried, stopped, triggered)} == {schedule.id}
        assert {each.after["run"] for each in (retried, stopped, triggered)} == {"r"}
        assert (triggered.by, dict(triggered.before), triggered.after["args"]) == (BY, {}, {"a": 2})
        assert (stopped.by, dict(stopped.before)) == (
            Author("ada", "cli", "cancel"),
            {"state": "waiting", "reason": None},
        )
        assert (stopped.after["state"], stopped.after["reason"]) == ("cancelled", "not now")
        assert (retried.by, retried.at_ms) == (Author("bob", "http", "retry"), START_MS + SECOND)
        assert (retried.before["state"], retried.after["state"]) == ("cancelled", "waiting")

    def test_a_running_run_that_is_asked_to_stop_is_kept_with_who_asked(self, scene: Scene) -> None:
        run = scene.running(scene.node())
        scene.store.request_cancel(run.id, "stop it", Author("ada", "cli", "cancel"))
        newest = scene.store.changes(name="s")[0]
        assert (newest.by.who, newest.after["cancel_requested_ms"]) == ("ada", scene.now_ms)

    def test_one_off_work_is_in_the_audit_without_a_schedule(self, scene: Scene) -> None:
        run = scene.waiting_run()
        assert scene.store.changes() == []
        scene.store.request_cancel(run.id, "no", BY)
        (change,) = scene.store.changes()
        assert (change.schedule_id, change.schedule, change.revision) == ("", "", 0)
        assert (change.after["run"], change.after["task"]) == (run.id, "job")

    def test_what_changes_nothing_leaves_no_line(self, scene: Scene) -> None:
        scene.put()
        run = scene.trigger("r", token="once")
        scene.trigger("again", token="once")
        ended = scene.store.request_cancel(run.id, "no", BY)
        scene.store.request_cancel(run.id, "no", BY)
        with pytest.raises(Conflict):
            scene.store.retry(run.id, ended.claim_no + 1, BY)
        assert len(scene.store.changes()) == 3
