"""What is kept, how it is read, and that forgetting it brings nothing back."""

from __future__ import annotations

import pytest

from onthedot.errors import NodeDead
from onthedot.insight.explain import explain
from onthedot.model.log_line import LogLine
from onthedot.model.states import State
from onthedot.rules import edits
from onthedot.stores.prune import prune_all
from onthedot.stores.retention import ROLL_UP_AFTER_MS, Pruned, Retention
from onthedot.testing.conformance.scene import BY, DAY, HOUR, LEASE_MS, MINUTE, SECOND, START_MS, Promises, Scene
from onthedot.triggers.every import every


class TestRunsThatAreListed(Promises):
    def test_runs_come_newest_first_page_by_page_live_and_ended_together(self, scene: Scene) -> None:
        node = scene.node()
        ids = []
        for _ in range(5):
            ids.append(scene.waiting_run().id)
            scene.wait(1)
        for run in scene.start(node, limit=2):
            scene.end(run)
        newest = ids[::-1]
        assert [run.id for run in scene.store.runs()] == newest
        assert [run.id for run in scene.store.runs(limit=2)] == newest[:2]
        assert [run.id for run in scene.store.runs(limit=2, before=newest[1])] == newest[2:4]
        assert [run.id for run in scene.store.runs(before=newest[3])] == newest[4:]

    def test_runs_are_found_by_id_schedule_and_state(self, scene: Scene) -> None:
        node = scene.node()
        done = scene.end(scene.running(node))
        lone = scene.waiting_run()
        assert [run.id for run in scene.store.runs(schedule="s")] == [done.id]
        assert [run.id for run in scene.store.runs(state=State.WAITING)] == [lone.id]
        assert [run.id for run in scene.store.runs(state=State.SUCCEEDED, schedule="s")] == [done.id]
        assert scene.store.runs(state=State.FAILED) == []
        assert {run.id for run in scene.store.runs(ids=[done.id, lone.id, "nobody"])} == {done.id, lone.id}
        assert scene.store.runs(ids=[]) == []


class TestDecisions(Promises):
    def test_a_decision_says_what_was_not_run_and_why(self, scene: Scene) -> None:
        schedule = scene.put()
        scene.wait(10 * MINUTE)
        scene.plan(scene.node())
        (decision,) = scene.decisions()
        assert (decision.schedule_id, decision.schedule, decision.revision) == (schedule.id, "s", 1)
        assert (decision.reason, decision.count, decision.decided_ms) == ("misfire", 9, scene.now_ms)
        assert (decision.first_ms, decision.last_ms) == (START_MS + MINUTE, START_MS + 9 * MINUTE)

    def test_decisions_are_found_by_the_moments_that_they_touch(self, scene: Scene) -> None:
        node = scene.node()
        schedule = scene.put(misfire="skip")
        scene.put("other", misfire="skip")
        for _ in range(3):
            scene.wait(10 * MINUTE + 30 * SECOND)
            scene.plan(node)
            scene.wait(30 * SECOND)
            scene.plan(node)  # on time: what is left out before and after it are two decisions
        found = scene.store.decisions(schedule.id)
        assert [each.decided_ms for each in found] == sorted((each.decided_ms for each in found), reverse=True)
        assert len(found) == 3
        middle = found[1]
        for first, last in ((middle.first_ms, middle.first_ms), (middle.last_ms, middle.last_ms)):
            assert scene.store.decisions(schedule.id, first_ms=first, last_ms=last) == [middle]
        assert scene.store.decisions(schedule.id, last_ms=middle.last_ms) == found[1:]
        assert scene.store.decisions(schedule.id, first_ms=middle.last_ms + 1) == found[:1]
        assert scene.store.decisions(schedule.id, limit=1) == found[:1]

    def test_each_tick_is_a_run_or_in_a_decision_of_the_revision_then_in_force(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(misfire="skip")
        scene.wait(90 * SECOND)
        scene.plan(node)
        scene.wait(HOUR)
        scene.put(trigger=every("7m"))
        scene.wait(30 * MINUTE)
        scene.edit(edits.pause(None))
        scene.wait(30 * MINUTE)
        scene.edit(edits.resume())
        assert [(each.revision, each.reason) for each in reversed(scene.decisions())] == [
            (1, "misfire"),
            (1, "replaced"),
            (2, "paused"),
        ]
        # 2 h 1 min 30 s: each minute for 61 minutes, then each 7 minutes
        assert [each.count for each in reversed(scene.decisions())] == [1, 60, 8]


class TestLogs(Promises):
    def test_lines_come_back_in_order_and_in_parts(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.running(node)
        lines = [LogLine(run.id, run.claim_no, scene.now_ms + number, "info", f"line {number}") for number in range(5)]
        assert scene.store.log(node, lines[:3]) == 3
        assert scene.store.log(node, lines[3:]) == 2
        assert scene.store.logs(run.id) == lines
        assert scene.store.logs(run.id, after=2, limit=2) == lines[2:4]
        assert scene.store.logs(run.id, after=5) == []
        assert scene.store.logs("nobody") == []

    def test_only_the_owner_under_its_latest_claim_can_log(self, scene: Scene) -> None:
        node, other = scene.node("a"), scene.node("b")
        run = scene.running(node)
        line = LogLine(run.id, run.claim_no, scene.now_ms, "info", "mine")
        stale = LogLine(run.id, run.claim_no - 1, scene.now_ms, "info", "stale")
        ghost = LogLine("nobody", 1, scene.now_ms, "info", "ghost")
        assert scene.store.log(other, [line]) == 0
        assert scene.store.log(node, [stale, line, ghost]) == 1
        scene.end(run)
        assert scene.store.log(node, [line]) == 0
        assert scene.store.logs(run.id) == [line]


class TestPruning(Promises):
    def test_pruned_history_does_not_bring_a_tick_back(self, scene: Scene) -> None:
        node = scene.node()
        scene.end(scene.running(node))
        scene.wait(ROLL_UP_AFTER_MS)
        assert scene.prune(history_ms=0).runs == 1
        assert scene.runs() == []
        scene.plan(node)
        scene.wait(-90 * SECOND)
        scene.plan(node)
        scene.wait(90 * SECOND)
        scene.plan(node)
        assert scene.ticks() == [120]

    def test_only_what_is_old_enough_is_forgotten_and_nothing_that_lives(self, scene: Scene) -> None:
        node = scene.node()
        old = scene.end(scene.running(node))
        scene.wait(DAY)
        waiting = scene.waiting_run()
        (running,) = scene.start(node, limit=1)
        recent_run = scene.waiting_run()
        recent = scene.end(scene.start(node)[0])
        assert recent.id == recent_run.id
        assert scene.prune(history_ms=DAY) == Pruned(runs=1)
        assert {run.id for run in scene.store.runs()} == {waiting.id, running.id, recent.id}
        assert old.id not in {run.id for run in scene.store.runs()}
        assert scene.prune(history_ms=DAY) == Pruned()

    def test_of_each_schedule_so_many_are_kept(self, scene: Scene) -> None:
        node = scene.node()
        scene.put("a")
        scene.put("b", every("5m"))
        for _ in range(5):
            scene.wait(MINUTE)
            for run in scene.plan(node, free=5):
                scene.end(run)
        assert scene.prune(per_schedule=2) == Pruned(runs=3)
        assert scene.ticks("a") == [240, 300]
        assert scene.ticks("b") == [300]

    def test_of_each_task_without_a_schedule_so_many_are_kept(self, scene: Scene) -> None:
        ended = scene.ended_runs(5)
        scene.wait(ROLL_UP_AFTER_MS)
        assert scene.prune(per_schedule=2) == Pruned(runs=3)
        assert [run.id for run in scene.store.runs()] == [run.id for run in ended[:2:-1]]

    def test_a_crowd_of_schedules_is_gone_through_however_many_there_are(self, scene: Scene) -> None:
        node = scene.node()
        names = [f"s{number:02}" for number in range(35)]
        for name in names:
            scene.put(name)
        for _ in range(2):
            scene.wait(MINUTE)
            for run in scene.plan(node, free=len(names), limit=len(names)):
                scene.end(run)
        assert prune_all(scene.store, Retention(per_schedule=1)) == Pruned(runs=35)
        assert [len(scene.runs(name)) for name in names] == [1] * 35

    def test_no_more_is_forgotten_in_one_pass_than_asked_and_it_says_that_more_is_left(self, scene: Scene) -> None:
        scene.ended_runs(5)
        scene.wait(ROLL_UP_AFTER_MS)
        passes = [scene.store.prune(Retention(history_ms=0), limit=2) for _ in range(4)]
        assert [(each.runs, each.more) for each in passes] == [(2, True), (2, True), (1, False), (0, False)]

    def test_a_flood_of_one_kind_delays_no_other(self, scene: Scene) -> None:
        node = scene.node("gone")
        scene.put(misfire="skip")
        scene.wait(10 * MINUTE + 30 * SECOND)
        scene.plan(node)
        scene.put(trigger=every("7m"), misfire="skip")
        scene.store.leave(node)
        for number in range(60):
            run = scene.waiting_run(key=f"k:job:{number}")
            scene.store.request_cancel(run.id, "no", BY)  # a run, a key and a line of the audit, sixty times
        scene.wait(31 * DAY)
        keep = Retention(history_ms=DAY, changes_ms=DAY)
        first = scene.store.prune(keep, limit=40)
        assert (first.decisions, first.nodes) == (1, 1)
        assert min(first.runs, first.keys, first.changes) >= 10
        assert (first.total, first.more) == (40, True)
        done = first + scene.prune_all(history_ms=DAY, changes_ms=DAY)
        assert (done.runs, done.keys, done.changes, done.revisions) == (60, 60, 62, 1)

    def test_old_decisions_are_forgotten_and_the_schedule_goes_on(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(misfire="skip")
        scene.wait(10 * MINUTE + 30 * SECOND)
        scene.plan(node)
        assert len(scene.decisions()) == 1
        scene.wait(20 * SECOND)
        assert scene.prune(history_ms=10 * SECOND) == Pruned(decisions=1)
        assert scene.decisions() == []
        scene.wait(10 * SECOND)
        scene.plan(node)
        assert scene.ticks() == [660]

    def test_of_each_schedule_so_many_decisions_are_kept(self, scene: Scene) -> None:
        schedule, other = scene.put(), scene.put("other")
        scene.decide(schedule, 5)
        scene.decide(other, 2)
        newest = scene.decisions()[:2]
        assert scene.prune(decisions_per_schedule=2) == Pruned(decisions=3)
        assert scene.decisions() == newest
        assert len(scene.decisions("other")) == 2

    def test_a_log_goes_with_its_run_however_long_it_is(self, scene: Scene) -> None:
        node = scene.node()
        scene.waiting_run()
        scene.waiting_run()
        run, brief = scene.start(node)
        lines = [LogLine(run.id, run.claim_no, scene.now_ms, "info", f"line {number}") for number in range(2500)]
        scene.store.log(node, [*lines, LogLine(brief.id, brief.claim_no, scene.now_ms, "info", "x")])
        scene.end(run)
        scene.end(brief)
        scene.wait(ROLL_UP_AFTER_MS)
        done = scene.prune_all(history_ms=0)
        assert (done.runs, done.logs) == (2, 2501)
        assert scene.store.runs() == []
        assert [*scene.store.logs(run.id), *scene.store.logs(brief.id)] == []

    def test_expired_keys_are_forgotten(self, scene: Scene) -> None:
        first = scene.waiting_run(key="k:job:first")
        scene.store.request_cancel(first.id, "no", BY)
        scene.wait(DAY)
        second = scene.waiting_run(key="k:job:second")
        scene.store.request_cancel(second.id, "no", BY)
        scene.wait(29 * DAY)
        assert scene.prune(history_ms=90 * DAY) == Pruned(keys=1)
        assert scene.waiting_run(key="k:job:second").id == second.id
        assert scene.waiting_run(key="k:job:first").id != first.id

    def test_an_expired_key_that_was_taken_anew_stays(self, scene: Scene) -> None:
        first = scene.waiting_run(key="k:job:a")
        scene.store.request_cancel(first.id, "no", BY)
        scene.wait(31 * DAY)
        second = scene.waiting_run(key="k:job:a")
        assert scene.prune().keys == 0
        assert scene.waiting_run(key="k:job:a") == second

    def test_a_run_that_an_operator_has_revived_stays(self, scene: Scene) -> None:
        run = scene.waiting_run()
        cancelled = scene.store.request_cancel(run.id, "no", BY)
        scene.wait(40 * DAY)
        waiting = scene.store.retry(run.id, cancelled.claim_no, BY)
        assert scene.prune().runs == 0
        assert scene.store.runs() == [waiting]

    def test_the_audit_is_kept_for_a_while_and_in_bounds(self, scene: Scene) -> None:
        scene.put("a")
        scene.wait(DAY)
        for name in "bcde":
            scene.put(name)
        assert scene.prune(changes_ms=DAY) == Pruned(changes=1)
        assert [change.schedule for change in scene.store.changes()] == ["e", "d", "c", "b"]
        assert scene.store.changes(name="a") == []
        assert scene.prune(changes_ms=DAY, most_changes=2) == Pruned(changes=2)
        assert [change.schedule for change in scene.store.changes()] == ["e", "d"]
        assert [len(scene.store.changes(name=name)) for name in "bcde"] == [0, 0, 1, 1]

    def test_everything_has_a_rule_by_default(self, scene: Scene) -> None:
        node = scene.node()
        scene.end(scene.running(node))
        scene.put(trigger=every("7m"))
        scene.store.leave(node)
        scene.wait(366 * DAY)
        scene.edit(edits.delete())
        scene.wait(366 * DAY)
        done = scene.prune_all()
        assert (done.runs, done.tombstones, done.nodes) == (1, 1, 1)
        assert min(done.decisions, done.changes, done.revisions) >= 1


class TestPruningDefinitions(Promises):
    def test_the_definition_of_a_schedule_is_never_forgotten(self, scene: Scene) -> None:
        schedule = scene.put()
        scene.wait(365 * DAY)
        scene.prune(history_ms=0)
        assert len(scene.store.revisions(schedule.id)) == 1

    def test_a_definition_is_forgotten_when_it_was_replaced_before_all_history(self, scene: Scene) -> None:
        schedule = scene.put()
        for minutes in (2, 3, 4):
            scene.wait(10 * DAY)
            scene.put(trigger=every(f"{minutes}m"))
        scene.wait(9 * DAY)
        scene.prune_all(history_ms=15 * DAY)
        # in force 15 days ago was the third; it was replaced 9 days ago
        assert [each.revision for each in scene.store.revisions(schedule.id)] == [3, 4]
        scene.prune_all(history_ms=9 * DAY)
        assert [each.revision for each in scene.store.revisions(schedule.id)] == [4]

    def test_the_definition_then_in_force_explains_all_that_history_has(self, scene: Scene) -> None:
        schedule = scene.put(trigger=every("1m"))
        scene.wait(10 * DAY)
        scene.put(trigger=every("7m"))
        scene.wait(5 * DAY)
        scene.prune_all(history_ms=8 * DAY)
        moment_ms = START_MS + 9 * DAY + MINUTE
        assert "the schedule was changed" in explain(scene.store, scene.schedule(), moment_ms).text
        scene.wait(4 * DAY)
        scene.prune_all(history_ms=8 * DAY)
        assert len(scene.store.revisions(schedule.id)) == 1
        assert "pruned" in explain(scene.store, scene.schedule(), moment_ms).text

    def test_a_definition_is_kept_as_long_as_a_run_of_it(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.running(node)
        scene.put(trigger=every("7m"))
        scene.wait(40 * DAY)
        scene.renew(node)
        scene.prune()
        assert [each.revision for each in scene.store.revisions(run.schedule_id or "")] == [1, 2]
        scene.end(run)
        scene.prune()
        assert [each.revision for each in scene.store.revisions(run.schedule_id or "")] == [1, 2]
        scene.wait(40 * DAY)
        assert scene.prune_all().runs == 1
        assert [each.revision for each in scene.store.revisions(run.schedule_id or "")] == [2]

    def test_a_definition_is_kept_as_long_as_a_decision_about_its_time(self, scene: Scene) -> None:
        schedule = scene.put()
        scene.wait(HOUR)
        scene.put(trigger=every("7m"))
        scene.decide(schedule, 1, first_ms=START_MS)
        scene.wait(40 * DAY)
        scene.decide(schedule, 1, first_ms=START_MS + 30 * MINUTE)
        assert scene.prune_all().decisions == 2
        assert [each.revision for each in scene.store.revisions(schedule.id)] == [1, 2]
        scene.wait(40 * DAY)
        assert scene.prune_all().decisions == 1
        assert [each.revision for each in scene.store.revisions(schedule.id)] == [2]

    def test_a_schedule_that_is_edited_all_the_time_keeps_no_more_than_history_needs(self, scene: Scene) -> None:
        schedule = scene.put()
        for number in range(250):
            scene.wait(1)
            scene.put(args={"n": number})
        scene.wait(DAY)
        scene.put(args={"n": "last"})
        scene.put("other")
        scene.wait(DAY)
        while scene.store.prune(Retention(history_ms=HOUR), limit=100).more:
            pass
        assert [each.revision for each in scene.store.revisions(schedule.id)] == [252]


class TestPruningTombstones(Promises):
    def test_a_name_put_again_within_a_year_goes_on_from_its_tombstone(self, scene: Scene) -> None:
        node = scene.node()
        before = scene.end(scene.running(node))
        scene.edit(edits.delete())
        scene.wait(364 * DAY)
        scene.prune_all()
        assert scene.runs() == []
        again = scene.put()
        assert (again.id, again.revision) == (before.schedule_id, 2)
        assert again.settled_ms >= before.scheduled_ms
        scene.wait(MINUTE)
        (run,) = scene.plan(scene.node("b"), free=1)
        assert run.fence > before.fence

    def test_a_tombstone_is_forgotten_after_a_year_with_all_that_was_left_of_it(self, scene: Scene) -> None:
        schedule = scene.put()
        scene.keep_key(schedule, f"t:{schedule.id}:{START_MS}")
        other = scene.put("other")
        scene.keep_key(other, f"t:{other.id}:{START_MS}", run_id="another's")
        scene.edit(edits.delete())
        scene.wait(365 * DAY - 1)
        assert scene.prune().tombstones == 0
        assert scene.waiting_run(key=f"t:{schedule.id}:{START_MS}").id == "backfilled"
        scene.wait(1)
        done = scene.prune()
        assert (done.tombstones, done.keys, done.revisions) == (1, 1, 1)
        assert scene.store.revisions(schedule.id) == []
        assert scene.waiting_run(key=f"t:{other.id}:{START_MS}").id == "another's"
        again = scene.put()
        assert again.id != schedule.id
        assert (again.revision, again.fence) == (1, 0)
        assert again.next_run_ms is not None
        assert again.settled_ms >= scene.now_ms, "a tick of before could run again"

    def test_a_tombstone_outlives_the_history_of_its_schedule(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.running(node)
        scene.edit(edits.delete())
        scene.wait(DAY)
        assert scene.prune(tombstones_ms=0, history_ms=0).tombstones == 0, "a run of it is still under way"
        scene.renew(node)
        scene.end(run)
        assert scene.prune(tombstones_ms=0, per_schedule=1000).tombstones == 0, "its history is kept"
        scene.wait(DAY)
        assert scene.prune_all(history_ms=DAY, tombstones_ms=0).tombstones == 1
        assert scene.put().id != run.schedule_id

    def test_a_schedule_that_lives_or_was_revived_is_no_tombstone(self, scene: Scene) -> None:
        scene.put("old")
        scene.put("revived")
        scene.edit(edits.delete(), "revived")
        scene.put("revived")
        scene.wait(500 * DAY)
        assert scene.prune(history_ms=0, tombstones_ms=0).tombstones == 0
        assert [row.name for row in scene.store.schedules()] == ["old", "revived"]

    def test_the_many_keys_of_a_tombstone_go_before_it(self, scene: Scene) -> None:
        schedule = scene.put()
        for number in range(30):
            keys = [f"t:{schedule.id}:{START_MS + 100 * number + each}" for each in range(100)]
            scene.keep_key(schedule, *keys)
        scene.edit(edits.delete())
        scene.wait(400 * DAY)
        done = scene.prune_all()
        assert (done.keys, done.tombstones) == (3000, 1)


class TestPruningNodes(Promises):
    def test_nodes_that_are_gone_are_forgotten_with_history_and_live_ones_never(self, scene: Scene) -> None:
        stopped, dead, lives = scene.node("stopped"), scene.node("dead"), scene.node("lives")
        scene.store.leave(stopped)
        scene.kill(dead)
        scene.wait(30 * DAY - LEASE_MS - 1)
        assert scene.prune().nodes == 0
        scene.wait(DAY)
        assert scene.prune() == Pruned(nodes=2)
        assert [node.id for node in scene.store.nodes()] == [lives]
        assert scene.prune() == Pruned()
        with pytest.raises(NodeDead):
            scene.plan(dead)
