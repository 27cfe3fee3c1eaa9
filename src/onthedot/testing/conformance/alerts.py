"""Who is told when schedules go wrong: once, in the transaction in which it happens, no more often than was asked."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from onthedot.model.alert import Alert
from onthedot.model.freeze import Window
from onthedot.model.outcome import Ending, Outcome
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.rules.edits import delete, pause, resume
from onthedot.testing.conformance.scene import DAY, HOUR, LEASE_MS, MINUTE, SECOND, Promises, Scene

_TASKS = ("job", "hook")


def alert(*on: str, **fields: Any) -> Alert:
    """One that tells of each of these, as often as it happens."""
    return Alert("ops", "hook", on or ("failure",), **{"every_ms": 0, **fields})  # type: ignore[arg-type]


def sent(scene: Scene) -> list[Run]:
    """All alerts, oldest first."""
    return [run for run in reversed(scene.store.runs(task="hook", limit=1000)) if run.cause == "alert"]


def told(scene: Scene) -> list[tuple[str, int, int]]:
    """Of each alert what it tells of, how many ends were bad, and how many alerts were held back."""
    return [(run.args["on"], run.args["in_a_row"], run.args["held_back"]) for run in sent(scene)]


def end_next(scene: Scene, node: str, *endings: Ending) -> list[Run]:
    """Ticks of the schedule, each a minute after the other, that end like this."""
    ended = []
    for ending in endings:
        scene.wait(MINUTE)
        (run,) = scene.plan(node, free=1)
        ended.append(scene.end(run, ending, error="it broke" if ending == "failed" else None))
    return ended


class TestAlerts(Promises):
    def test_a_failure_is_told_with_its_end_once(self, scene: Scene) -> None:
        node = scene.node(tasks=_TASKS)
        run = scene.running(node, alerts=(alert(),))
        scene.end(run, "failed", error="Traceback\nValueError: it broke")
        assert scene.is_refused(run, "failed")
        (one,) = scene.start(node, tasks=("hook",))
        assert (one.cause, one.parent_id, one.schedule_id, one.state) == ("alert", run.id, None, State.RUNNING)
        assert one.args == {
            "alert": "ops",
            "on": "failure",
            "schedule": "s",
            "moment": "2027-01-15T08:01:00Z",
            "run_id": run.id,
            "error": "ValueError: it broke",
            "in_a_row": 1,
            "held_back": 0,
            "missed": 0,
            "text": "s of 2027-01-15T08:01:00Z failed: ValueError: it broke",
        }

    def test_a_failure_is_told_after_so_many_bad_ends_in_a_row_and_once_for_all_of_them(self, scene: Scene) -> None:
        node = scene.node(tasks=_TASKS)
        scene.put(alerts=(alert(after=3),))
        end_next(scene, node, "failed", "failed", "succeeded", "failed", "timed_out")
        assert told(scene) == []
        last = end_next(scene, node, "failed", "failed", "failed")
        assert told(scene) == [("failure", 3, 0)]
        assert sent(scene)[0].parent_id == last[0].id

    def test_a_recovery_is_told_of_what_was_told(self, scene: Scene) -> None:
        node = scene.node(tasks=_TASKS)
        scene.put(alerts=(alert("failure", "recovery", after=2),))
        end_next(scene, node, "failed", "succeeded", "failed", "failed", "failed", "succeeded", "succeeded")
        assert told(scene) == [("failure", 2, 0), ("recovery", 3, 0)]

    def test_a_recovery_alone_is_told_after_enough_bad_ends(self, scene: Scene) -> None:
        node = scene.node(tasks=_TASKS)
        scene.put(alerts=(alert("recovery", after=2),))
        end_next(scene, node, "failed", "succeeded", "failed", "failed", "succeeded", "succeeded")
        assert told(scene) == [("recovery", 2, 0)]

    def test_alerts_that_come_too_soon_are_held_back_and_counted(self, scene: Scene) -> None:
        node = scene.node(tasks=_TASKS)
        scene.put(alerts=(alert(every_ms=10 * MINUTE),))
        ended = end_next(scene, node, "failed", "succeeded", "failed", "succeeded", "failed", "succeeded")
        assert told(scene) == [("failure", 1, 0)]
        assert [len(scene.store.logs(run.id)) for run in ended] == [0, 0, 1, 0, 1, 0]
        scene.wait(10 * MINUTE)
        scene.plan(node)
        for run in scene.start(node):
            scene.end(run, "failed")
        assert told(scene) == [("failure", 1, 0), ("failure", 1, 2)]

    def test_what_was_held_back_is_told_later_if_it_goes_on(self, scene: Scene) -> None:
        node = scene.node(tasks=_TASKS)
        scene.put(alerts=(alert("failure", "recovery", every_ms=4 * MINUTE),))
        end_next(scene, node, "failed", "succeeded", "failed", "failed", "failed", "failed", "succeeded")
        assert told(scene) == [("failure", 1, 0), ("recovery", 1, 0), ("failure", 3, 2), ("recovery", 4, 0)]

    def test_only_the_last_attempt_is_an_end(self, scene: Scene) -> None:
        node = scene.node(tasks=_TASKS)
        run = scene.running(node, alerts=(alert(),), retries=1, backoff_ms=SECOND)
        scene.end(run, "failed")
        assert told(scene) == []
        scene.wait(SECOND)
        (again,) = scene.start(node)
        scene.end(again, "failed")
        assert told(scene) == [("failure", 1, 0)]

    def test_what_is_cancelled_or_left_out_is_neither_good_nor_bad(self, scene: Scene) -> None:
        node = scene.node(tasks=_TASKS)
        scene.put(alerts=(alert("failure", "recovery", after=2),))
        end_next(scene, node, "failed", "cancelled", "skipped", "failed")
        assert told(scene) == [("failure", 2, 0)]

    def test_a_run_that_is_lost_with_its_node_is_told_by_who_takes_over(self, scene: Scene) -> None:
        one, two = scene.node("one", tasks=_TASKS), scene.node("two", tasks=_TASKS)
        scene.running(one, alerts=(alert(),), delivery="at_most_once")
        scene.wait(LEASE_MS)
        scene.renew(two)
        scene.store.take_over(one, 0)
        scene.store.take_over(one, 0)
        assert told(scene) == [("failure", 1, 0)]

    def test_ends_at_the_same_time_are_counted_one_after_the_other(self, scene: Scene) -> None:
        nodes = [scene.node(name, tasks=_TASKS) for name in ("one", "two", "three")]
        scene.put(alerts=(alert(after=3),), overlap="concurrent", max_concurrent_runs=3)
        runs = []
        for node in nodes:
            scene.wait(MINUTE)
            for each in nodes:
                scene.renew(each)
            runs += scene.plan(node, free=1)
        barrier = Barrier(len(runs))

        def fail(run: Run) -> None:
            barrier.wait()
            finished = scene.store.finish(run.owner or "", [Outcome(run.id, run.claim_no, "failed")])
            while finished.again:
                finished = scene.store.finish(run.owner or "", [Outcome(run.id, run.claim_no, "failed")])

        with ThreadPoolExecutor(len(runs)) as threads:
            list(threads.map(fail, runs))
        assert told(scene) == [("failure", 3, 0)]

    def test_a_crowd_of_bad_ends_in_the_hands_of_several_is_told_once_and_counted_whole(self, scene: Scene) -> None:
        nodes = [scene.node(name, tasks=_TASKS) for name in ("one", "two", "three")]
        scene.put(alerts=(alert("failure", "recovery"),), overlap="concurrent", max_concurrent_runs=None)
        for number in range(60):
            scene.trigger(f"run-{number:02}")
        shares = [scene.start(node, limit=20) for node in nodes]
        barrier = Barrier(len(shares))

        def fail(share: list[Run]) -> None:
            barrier.wait()
            outcomes = [Outcome(run.id, run.claim_no, "failed") for run in share]
            while outcomes:
                finished = scene.store.finish(share[0].owner or "", outcomes)
                outcomes = [each for each in outcomes if each.run_id in finished.again]

        with ThreadPoolExecutor(len(shares)) as threads:
            list(threads.map(fail, shares))
        assert told(scene) == [("failure", 1, 0)]
        end_next(scene, nodes[0], "succeeded")
        assert told(scene)[1:] == [("recovery", 60, 0)]

    def test_ticks_that_are_noticed_too_late_are_told_when_they_are_left_out(self, scene: Scene) -> None:
        node = scene.node(tasks=_TASKS)
        scene.put(alerts=(alert("misfire", every_ms=HOUR),))
        scene.wait(5 * MINUTE)
        scene.plan(node, free=1)
        assert [(run.args["missed"], run.args["moment"]) for run in sent(scene)] == [(4, "2027-01-15T08:04:00Z")]
        scene.wait(10 * MINUTE)
        scene.plan(node)
        assert len(sent(scene)) == 1
        schedule = scene.schedule()
        state = scene.store.alert_states([schedule.id])[schedule.id]
        assert (state.told["ops"].held, state.told["ops"].sent_ms is not None) == (1, True)

    def test_each_alert_of_a_schedule_goes_by_its_own_rules(self, scene: Scene) -> None:
        node = scene.node(tasks=("job", "hook", "pager"))
        pager = Alert("pager", "pager", after=2)
        scene.put(alerts=(alert("misfire"), alert(), pager))
        end_next(scene, node, "failed", "failed")
        assert sorted(run.task for run in scene.start(node, tasks=("hook", "pager"))) == ["hook", "pager"]

    def test_an_alert_whose_task_nobody_has_waits_for_it(self, scene: Scene) -> None:
        node = scene.node(tasks=("job",))
        scene.end(scene.running(node, alerts=(alert(),)), "failed")
        assert scene.start(node, tasks=("job",)) == []
        later = scene.node("later", tasks=("hook",))
        assert [run.cause for run in scene.start(later, tasks=("hook",))] == ["alert"]


class TestOverdue(Promises):
    def test_a_schedule_without_success_for_too_long_is_told_once(self, scene: Scene) -> None:
        node = scene.node(tasks=_TASKS, lease_ms=DAY)
        scene.put(alerts=(alert("overdue", "recovery", overdue_ms=HOUR),))
        end_next(scene, node, "succeeded", "failed")
        look(scene, HOUR - MINUTE - 1)
        assert told(scene) == []
        look(scene, 1)
        look(scene, 2 * MINUTE, 5 * MINUTE)
        assert [(run.args["on"], run.args["moment"]) for run in sent(scene)] == [("overdue", "2027-01-15T08:01:00Z")]
        (run,) = scene.start(node) or scene.plan(node, free=1)
        scene.end(run)
        assert told(scene)[1:] == [("recovery", 1, 0)]
        look(scene, MINUTE, HOUR - 2 * MINUTE)
        assert len(sent(scene)) == 2
        look(scene, 2 * MINUTE)
        assert [on for on, *_ in told(scene)] == ["overdue", "recovery", "overdue"]

    def test_who_recovers_and_is_overdue_again_within_a_minute_is_told_of_again(self, scene: Scene) -> None:
        node = scene.node(tasks=_TASKS, lease_ms=DAY)
        scene.put(alerts=(alert("overdue", overdue_ms=6 * SECOND),))
        look(scene, MINUTE - SECOND)
        assert len(sent(scene)) == 1
        scene.wait(SECOND)
        (run,) = scene.plan(node, free=1)
        scene.end(run)
        look(scene, 5 * SECOND, SECOND)
        assert [on for on, *_ in told(scene)] == ["overdue", "overdue"]

    def test_two_who_look_at_the_same_time_tell_once(self, scene: Scene) -> None:
        scene.node(tasks=_TASKS, lease_ms=DAY)
        scene.put(alerts=(alert("overdue", overdue_ms=HOUR),))
        scene.wait(HOUR)
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda _: scene.store.sweep(), range(4)))
        assert len(sent(scene)) == 1

    def test_what_is_paused_or_deleted_is_not_overdue(self, scene: Scene) -> None:
        scene.node(tasks=_TASKS, lease_ms=DAY)
        scene.put(alerts=(alert("overdue", overdue_ms=HOUR),))
        scene.edit(pause(None))
        look(scene, 2 * HOUR)
        scene.edit(resume())
        look(scene, HOUR - 1)
        assert told(scene) == []
        look(scene, 1)
        assert len(sent(scene)) == 1
        scene.edit(delete())
        look(scene, DAY)
        scene.put(alerts=(alert("overdue", overdue_ms=HOUR),))
        look(scene, HOUR - 1)
        assert len(sent(scene)) == 1

    def test_what_is_frozen_is_not_overdue_and_has_the_whole_time_again_after_it(self, scene: Scene) -> None:
        scene.node(tasks=_TASKS, lease_ms=DAY)
        scene.put(alerts=(alert("overdue", overdue_ms=HOUR),))
        window = Window("xmas", scene.now_ms + 30 * MINUTE, scene.now_ms + 5 * HOUR)
        scene.overwrite(frozen=(window,))
        look(scene, HOUR, HOUR, 3 * HOUR + 59 * MINUTE)
        assert told(scene) == []
        look(scene, MINUTE)
        assert len(sent(scene)) == 1

    def test_each_alert_has_its_own_patience_and_a_change_begins_none_anew(self, scene: Scene) -> None:
        scene.node(tasks=("job", "hook", "pager"), lease_ms=DAY)
        both = (alert("overdue", overdue_ms=HOUR), Alert("pager", "pager", ("overdue",), overdue_ms=3 * HOUR))
        scene.put(alerts=both[:1])
        scene.wait(MINUTE)
        scene.put(alerts=both)
        look(scene, HOUR - MINUTE)
        assert [run.task for run in alerts_of(scene)] == ["hook"]
        look(scene, 2 * HOUR)
        assert [run.task for run in alerts_of(scene)] == ["hook", "pager"]

    def test_what_has_come_to_its_end_is_not_overdue(self, scene: Scene) -> None:
        node = scene.node(tasks=_TASKS, lease_ms=DAY)
        scene.put(alerts=(alert("overdue", overdue_ms=HOUR),), max_runs=1)
        end_next(scene, node, "succeeded")
        look(scene, HOUR, HOUR)
        assert told(scene) == []


def look(scene: Scene, *waits: int) -> None:
    """After each of these waits somebody looks."""
    for ms in waits:
        scene.wait(ms)
        scene.store.sweep()


def alerts_of(scene: Scene) -> Sequence[Run]:
    """All alerts of any task, oldest first."""
    return [run for run in reversed(scene.store.runs(limit=1000)) if run.cause == "alert"]
