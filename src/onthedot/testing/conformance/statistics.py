"""Statistics: ends are counted into hours, each once, before they are forgotten."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from onthedot.model.histogram import bucket_of
from onthedot.model.hour import EVERYTHING, Hour
from onthedot.model.ids import new_id
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.rules.counting import End
from onthedot.rules.counting import counted as hours_of
from onthedot.stores import roll_up
from onthedot.stores.answers import RolledUp
from onthedot.stores.base import Store
from onthedot.stores.retention import ROLL_UP_AFTER_MS, Pruned, Retention
from onthedot.testing.conformance.concurrency import together
from onthedot.testing.conformance.flow_rows import flow, steps, tell
from onthedot.testing.conformance.scene import BY, DAY, HOUR, MINUTE, SECOND, START_MS, Promises, Scene


def counted(store: Store, of: str = EVERYTHING) -> dict[str, int]:
    """How many were counted, by how they ended."""
    total: dict[str, int] = {}
    for hour in store.hours(of):
        for how, count in hour.ended.items():
            total[how] = total.get(how, 0) + count
    return total


class TestStatistics(Promises):
    def test_an_end_is_counted_into_its_hour_with_how_it_ended_how_late_it_began_and_how_long_it_took(
        self, scene: Scene
    ) -> None:
        node = scene.node()
        scene.put()
        scene.wait(MINUTE + 300)
        (run,) = scene.plan(node, free=1)
        scene.wait(2 * SECOND)
        scene.end(run, "failed", error="Traceback\n  …\nOSError: [Errno 5] disk 17 is gone at 0x7f3a")
        scene.wait(ROLL_UP_AFTER_MS)
        assert scene.store.roll_up() == RolledUp(1)
        found = scene.store.hours("s")
        late, long = {bucket_of(300): 1}, {bucket_of(2 * SECOND): 1}
        wrong = {"OSError: [Errno #] disk # is gone at #": 1}
        assert found == [Hour("s", "", START_MS, {"failed": 1}, late, long, wrong)]
        assert scene.store.hours(EVERYTHING) == [Hour(EVERYTHING, "", START_MS, {"failed": 1}, late, long, wrong)]

    def test_runs_without_a_schedule_are_counted_by_their_task(self, scene: Scene) -> None:
        scene.ended_runs(3)
        skipped = scene.waiting_run(task="other")
        scene.store.request_cancel(skipped.id, "no", BY)
        scene.wait(ROLL_UP_AFTER_MS)
        assert scene.store.roll_up().ends == 4
        assert counted(scene.store, "/job") == {"succeeded": 3}
        (other,) = scene.store.hours("/other")
        assert (other.ended, other.lateness, other.duration, other.errors) == ({"cancelled": 1}, {}, {}, {})
        assert counted(scene.store) == {"succeeded": 3, "cancelled": 1}

    def test_an_end_is_not_counted_before_a_minute_has_passed(self, scene: Scene) -> None:
        (run,) = scene.ended_runs(1)
        scene.wait(ROLL_UP_AFTER_MS - 1)
        assert (scene.store.roll_up(), scene.store.rolled_through()) == (RolledUp(), 0)
        scene.wait(1)
        assert scene.store.roll_up() == RolledUp(1)
        assert scene.store.rolled_through() == run.finished_ms

    def test_each_end_is_counted_once_however_often_and_in_however_small_parts_that_is_done(self, scene: Scene) -> None:
        for _ in range(3):
            scene.ended_runs(4)
            scene.wait(HOUR - 7 * SECOND)
            scene.ended_runs(3)
        scene.wait(ROLL_UP_AFTER_MS)
        ends = []
        while (rolled := scene.store.roll_up(limit=2)).more:
            ends.append(rolled.ends)
        assert sum(ends) + rolled.ends == 21
        assert [scene.store.roll_up(), scene.store.roll_up(limit=1)] == [RolledUp(), RolledUp()]
        assert counted(scene.store, "/job") == counted(scene.store) == {"succeeded": 21}
        hours = scene.store.hours("/job")
        assert [each.hour_ms for each in hours] == [START_MS + number * HOUR for number in range(len(hours))]
        assert sum(sum(each.duration.values()) for each in hours) == 21

    def test_what_ended_at_one_moment_is_counted_together_however_much_it_is(self, scene: Scene) -> None:
        runs = scene.store.enqueue([scene.new_run() for _ in range(7)])
        for run in runs:
            scene.store.request_cancel(run.id, "no", BY)
        scene.wait(1)
        scene.store.request_cancel(scene.waiting_run().id, "no", BY)
        scene.wait(ROLL_UP_AFTER_MS)
        assert scene.store.roll_up(limit=3) == RolledUp(7, more=True)
        assert scene.store.roll_up(limit=3) == RolledUp(1)

    def test_of_many_who_count_at_once_each_end_is_counted_by_one(self, scene: Scene) -> None:
        made = [scene.store.enqueue([scene.new_run()])[0] for _ in range(60)]
        for run in made:
            scene.store.request_cancel(run.id, "no", BY)
            scene.wait(1)
        scene.wait(ROLL_UP_AFTER_MS)

        def count(_: int) -> int:
            done = 0
            while (rolled := scene.store.roll_up(limit=5)).more:
                done += rolled.ends
            return done + rolled.ends

        assert sum(together(count, 4)) == 60
        assert counted(scene.store) == {"cancelled": 60}
        assert counted(scene.store, "/job") == {"cancelled": 60}

    def test_who_comes_second_with_the_same_ends_counts_nothing(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        scene.ended_runs(2)
        scene.wait(ROLL_UP_AFTER_MS)
        scene.store.roll_up()
        scene.ended_runs(5)
        scene.wait(ROLL_UP_AFTER_MS)
        inside: list[bool] = []

        def overtaken(ends: Sequence[End]) -> list[Hour]:
            """Somebody else counts, when ours are read and not kept yet."""
            if not inside:
                inside.append(True)
                assert scene.store.roll_up() == RolledUp(5)
            return hours_of(ends)

        monkeypatch.setattr(roll_up, "counted", overtaken)
        assert scene.store.roll_up() == RolledUp()
        assert inside
        assert counted(scene.store) == counted(scene.store, "/job") == {"succeeded": 7}

    def test_steps_are_counted_by_their_name_as_those_of_the_outermost_flow_and_not_among_its_runs(
        self, scene: Scene
    ) -> None:
        outer = flow(scene, schedule="etl", schedule_id="s1")
        inner = flow(scene, parent_id=outer.id, step="part")
        ends = {"state": State.SUCCEEDED, "finished_ms": scene.now_ms}
        steps(scene, outer, 3, "load", **ends)
        steps(scene, inner, 2, "sum", **ends)
        assert len([*tell(scene, outer), *tell(scene, inner)]) == 5
        scene.wait(ROLL_UP_AFTER_MS)
        assert scene.store.roll_up() == RolledUp(5)
        assert [hour.ended for hour in scene.store.hours("etl", "load")] == [{"succeeded": 3}]
        assert [hour.ended for hour in scene.store.hours("etl", "sum")] == [{"succeeded": 2}]
        assert counted(scene.store) == counted(scene.store, "etl") == counted(scene.store, "/job") == {}

    def test_a_crash_before_the_commit_leaves_everything_to_be_counted(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        scene.ended_runs(5)
        scene.wait(ROLL_UP_AFTER_MS)

        def die(ends: Sequence[End]) -> list[Hour]:
            raise KeyboardInterrupt

        with monkeypatch.context() as dying:
            dying.setattr(roll_up, "counted", die)
            with pytest.raises(KeyboardInterrupt):
                scene.store.roll_up()
        assert (scene.store.rolled_through(), scene.store.hours("/job")) == (0, [])
        assert scene.store.roll_up() == RolledUp(5)
        assert counted(scene.store) == {"succeeded": 5}

    def test_a_run_is_not_forgotten_before_it_is_counted(self, scene: Scene) -> None:
        scene.ended_runs(5)
        assert scene.prune(history_ms=0) == Pruned()
        assert scene.prune(per_schedule=1) == Pruned()
        scene.wait(ROLL_UP_AFTER_MS)
        assert scene.prune(history_ms=0, per_schedule=1).runs == 5
        assert counted(scene.store, "/job") == {"succeeded": 5}

    def test_a_run_that_is_too_many_is_forgotten_though_newer_ones_are_not_counted_yet(self, scene: Scene) -> None:
        first = scene.ended_runs(3)
        scene.wait(ROLL_UP_AFTER_MS)
        later = scene.ended_runs(12)
        assert scene.store.prune(Retention(per_schedule=2), limit=4).runs == 3
        left = {run.id for run in scene.store.runs(limit=50)}
        assert left == {run.id for run in later}
        assert not left & {run.id for run in first}

    def test_a_run_that_an_operator_revives_ends_twice(self, scene: Scene) -> None:
        node = scene.node()
        scene.waiting_run()
        (run,) = scene.start(node)
        failed = scene.end(run, "failed", error="no")
        scene.wait(ROLL_UP_AFTER_MS)
        scene.store.roll_up()
        scene.store.retry(failed.id, failed.claim_no, BY)
        node = scene.node("second")
        (again,) = scene.start(node)
        scene.end(again)
        scene.wait(ROLL_UP_AFTER_MS)
        scene.store.roll_up()
        assert counted(scene.store) == {"failed": 1, "succeeded": 1}

    def test_hours_are_asked_for_by_whom_and_when(self, scene: Scene) -> None:
        for _ in range(3):
            scene.ended_runs(1)
            scene.wait(HOUR)
        scene.store.roll_up()
        first, second, third = scene.store.hours("/job")
        assert scene.store.hours("/job", first_ms=START_MS + 1, last_ms=START_MS + HOUR) == [second]
        assert scene.store.hours("/job", first_ms=START_MS, last_ms=START_MS + 2 * HOUR) == [first, second, third]
        assert scene.store.hours("/job", "step") == scene.store.hours("job") == scene.store.hours("/JOB") == []

    def test_old_hours_are_forgotten_and_counting_goes_on(self, scene: Scene) -> None:
        scene.ended_runs(1)
        scene.wait(HOUR)
        scene.ended_runs(1)
        scene.wait(HOUR)
        assert scene.store.roll_up().ends == 2
        scene.wait(30 * DAY - 90 * MINUTE)
        assert scene.prune(history_ms=1 << 50).hours == 2  # of the task, and of everything
        assert [hour.hour_ms for hour in scene.store.hours("/job")] == [START_MS + HOUR]
        scene.ended_runs(1)
        scene.wait(HOUR)
        assert scene.prune_all(history_ms=1 << 50).hours == 2
        assert counted(scene.store, "/job") == {"succeeded": 1}

    def test_groups_of_errors_beyond_the_largest_are_counted_as_one(self, scene: Scene) -> None:
        node = scene.node()
        for number in range(25):
            for _ in range(2 if number < 5 else 1):
                scene.waiting_run()
                (run,) = scene.start(node)
                scene.end(run, "failed", error=f"no {chr(97 + number)}")
        scene.wait(ROLL_UP_AFTER_MS)
        scene.store.roll_up(limit=100)
        (hour,) = scene.store.hours("/job")
        assert [*hour.errors.items()][:6] == [*((f"no {name}", 2) for name in "abcde"), ("no f", 1)]
        assert (len(hour.errors), hour.errors[""], sum(hour.errors.values())) == (21, 5, 30)

    def test_what_is_still_live_is_not_counted(self, scene: Scene) -> None:
        node = scene.node()
        scene.waiting_run()
        (running,) = scene.start(node)
        waiting = Run(new_id(scene.now_ms), "job", "enqueue", scene.now_ms + DAY, scene.now_ms + DAY)
        scene.store.enqueue([waiting])
        scene.wait(HOUR)
        assert scene.store.roll_up() == RolledUp()
        assert scene.run(running).state is State.RUNNING
