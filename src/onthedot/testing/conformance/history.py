"""What is kept, how it is read, and that forgetting it brings nothing back."""

from __future__ import annotations

from onthedot.model.states import State
from onthedot.rules import edits
from onthedot.stores.base import LogLine, Retention
from onthedot.testing.conformance.scene import DAY, HOUR, MINUTE, SECOND, START_MS, Promises, Scene
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
        assert scene.store.prune(Retention(history_ms=0)) >= 1
        assert scene.runs() == []
        scene.plan(node)
        scene.wait(-30 * SECOND)
        scene.plan(node)
        scene.wait(30 * SECOND)
        scene.plan(node)
        assert scene.runs() == []

    def test_only_what_is_old_enough_is_forgotten_and_nothing_that_lives(self, scene: Scene) -> None:
        node = scene.node()
        old = scene.end(scene.running(node))
        scene.wait(DAY)
        waiting = scene.waiting_run()
        (running,) = scene.start(node, limit=1)
        recent_run = scene.waiting_run()
        recent = scene.end(scene.start(node)[0])
        assert recent.id == recent_run.id
        assert scene.store.prune(Retention(history_ms=DAY)) == 1
        assert {run.id for run in scene.store.runs()} == {waiting.id, running.id, recent.id}
        assert old.id not in {run.id for run in scene.store.runs()}
        assert scene.store.prune(Retention(history_ms=DAY)) == 0

    def test_of_each_schedule_so_many_are_kept(self, scene: Scene) -> None:
        node = scene.node()
        scene.put("a")
        scene.put("b", every("5m"))
        for _ in range(5):
            scene.wait(MINUTE)
            for run in scene.plan(node, free=5):
                scene.end(run)
        scene.store.prune(Retention(per_schedule=2))
        assert scene.ticks("a") == [240, 300]
        assert scene.ticks("b") == [300]

    def test_no_more_is_forgotten_in_one_pass_than_asked(self, scene: Scene) -> None:
        node = scene.node()
        for _ in range(5):
            scene.waiting_run(key=f"k:job:{scene.now_ms}")
            scene.wait(1)
        for run in scene.start(node):
            scene.end(run)
        scene.wait(DAY)
        assert [scene.store.prune(Retention(history_ms=0), limit=2) for _ in range(4)] == [2, 2, 1, 0]

    def test_old_decisions_are_forgotten_and_the_schedule_goes_on(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(misfire="skip")
        scene.wait(10 * MINUTE + 30 * SECOND)
        scene.plan(node)
        assert len(scene.decisions()) == 1
        scene.wait(20 * SECOND)
        assert scene.store.prune(Retention(history_ms=10 * SECOND)) == 1
        assert scene.decisions() == []
        scene.wait(10 * SECOND)
        scene.plan(node)
        assert scene.ticks() == [660]

    def test_a_log_goes_with_its_run(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.running(node)
        scene.store.log(node, [LogLine(run.id, run.claim_no, scene.now_ms, "info", "x")])
        scene.end(run)
        scene.wait(SECOND)
        scene.store.prune(Retention(history_ms=0))
        assert scene.store.logs(run.id) == []

    def test_revisions_and_changes_are_kept(self, scene: Scene) -> None:
        schedule = scene.put()
        scene.wait(365 * DAY)
        scene.store.prune(Retention(history_ms=0))
        assert len(scene.store.revisions(schedule.id)) == 1
        assert len(scene.store.changes()) == 1
