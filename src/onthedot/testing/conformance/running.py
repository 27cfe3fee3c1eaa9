"""Starting, ending, trying again, cancelling: whoever holds the latest claim number holds the run."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from onthedot.errors import Conflict, NodeDead, RunNotFound, StoreUnavailable
from onthedot.model.outcome import Outcome
from onthedot.model.policy import Policy
from onthedot.model.run import for_slot
from onthedot.model.states import State
from onthedot.rules import edits
from onthedot.testing.conformance.scene import BY, HOUR, MINUTE, SECOND, START_MS, Promises, Scene


class TestStarting(Promises):
    def test_a_waiting_run_is_started_by_one_node_only(self, scene: Scene) -> None:
        first, second = scene.node("a"), scene.node("b")
        run = scene.waiting_run()
        (started,) = scene.start(first)
        assert (started.id, started.state, started.owner) == (run.id, State.RUNNING, first)
        assert (started.claim_no, started.attempt, started.started_ms) == (1, 1, scene.now_ms)
        assert scene.run(run) == started
        assert scene.start(second) == []
        assert scene.start(first) == []

    def test_nothing_starts_before_it_is_due(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.waiting_run(delay_ms=MINUTE)
        scene.wait(MINUTE - 1)
        assert scene.start(node) == []
        scene.wait(1)
        assert [started.id for started in scene.start(node)] == [run.id]

    def test_a_run_that_is_not_due_yet_holds_up_nothing_and_is_not_judged(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.running(node, retries=1, backoff_ms=2 * MINUTE, grace_ms=HOUR)
        again = scene.end(run, "failed")
        assert again.due_ms >= scene.now_ms + MINUTE
        scene.wait(MINUTE)
        (tick,) = scene.plan(node, free=1)
        assert tick.state is State.RUNNING, "what waits for later does not keep it from beginning"
        scene.trigger("by-hand")
        assert scene.start(node) == []
        assert not scene.run(run).blocked, "it is judged when its moment has come"
        scene.end(tick)
        scene.end(scene.start(node)[0])
        scene.clock.now_ms = again.due_ms
        assert [each.id for each in scene.start(node)] == [run.id]

    def test_only_known_tasks_are_started(self, scene: Scene) -> None:
        node = scene.node()
        scene.waiting_run(task="other")
        mine = scene.waiting_run(task="job")
        assert [run.id for run in scene.start(node)] == [mine.id]
        assert scene.start(node, tasks=[]) == []

    def test_a_run_that_was_routed_starts_only_on_its_node(self, scene: Scene) -> None:
        first, second = scene.node("a"), scene.node("b")
        run = scene.waiting_run(target=second)
        assert scene.start(first) == []
        assert [started.id for started in scene.start(second)] == [run.id]

    def test_the_oldest_come_first_and_at_one_moment_those_of_higher_priority(self, scene: Scene) -> None:
        node = scene.node()
        young = scene.waiting_run(delay_ms=2)
        low = scene.waiting_run(delay_ms=1, policy=Policy(priority=-1))
        plain = scene.waiting_run(delay_ms=1)
        high = scene.waiting_run(delay_ms=1, policy=Policy(priority=5))
        scene.wait(MINUTE)
        order = [run.id for _ in range(4) for run in scene.start(node, limit=1)]
        assert order == [high.id, plain.id, young.id, low.id]

    def test_no_more_than_the_limit_are_started(self, scene: Scene) -> None:
        node = scene.node()
        for _ in range(5):
            scene.waiting_run()
        scene.put()
        scene.wait(MINUTE)
        scene.plan(node)
        assert scene.start(node, limit=0) == []
        assert [len(scene.start(node, limit=4)) for _ in range(3)] == [4, 2, 0]

    def test_runs_behind_a_busy_slot_do_not_hide_those_that_can_start(self, scene: Scene) -> None:
        node = scene.node()
        scene.running(node)
        for number in range(30):
            scene.trigger(f"behind-{number:02}")
        scene.wait(1)
        free = scene.waiting_run()
        started = [run.id for _ in range(8) for run in scene.start(node, limit=5)]
        assert started == [free.id]
        assert scene.store.upcoming(scene.now_ms, scene.now_ms + SECOND) == []

    def test_a_deleted_or_paused_schedule_is_noticed_at_the_start(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        scene.wait(MINUTE)
        (run,) = scene.plan(node)
        scene.overwrite(enabled=False)  # as if the pause had not seen this run
        started = scene.store.start_due(node, ["job"], 10)
        assert started.runs == ()
        assert [(each.id, each.state, each.reason) for each in started.skipped] == [(run.id, State.SKIPPED, "paused")]
        scene.trigger("manual")
        scene.overwrite(deleted=True)
        started = scene.store.start_due(node, ["job"], 10)
        assert [(each.id, each.reason) for each in started.skipped] == [("manual", "deleted")]

    def test_a_dead_or_unknown_node_cannot_start(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.waiting_run()
        scene.kill(node)
        for dead in (node, "nobody"):
            with pytest.raises(NodeDead):
                scene.start(dead)
        assert scene.run(run) == run

    def test_runs_of_a_lost_reply_are_in_the_next_renewal(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.waiting_run()
        scene.start(node)
        assert [own.id for own in scene.renew(node).own] == [run.id]


class TestPriorities(Promises):
    """A level of priority is worth a minute of waiting, where not all that are due can start."""

    def test_a_higher_priority_overtakes_those_that_are_older_by_less_than_it_is_worth(self, scene: Scene) -> None:
        node = scene.node()
        oldest = scene.waiting_run()
        scene.wait(1)
        older = [scene.waiting_run() for _ in range(5)]
        high = scene.waiting_run(delay_ms=2 * MINUTE - 1, policy=Policy(priority=2))
        scene.wait(HOUR)
        assert [run.id for run in scene.start(node, limit=2)] == [oldest.id, high.id]
        assert [run.id for run in scene.start(node)] == [run.id for run in older]

    def test_a_low_priority_is_late_and_never_starved(self, scene: Scene) -> None:
        node = scene.node()
        low = scene.waiting_run(policy=Policy(priority=-3))
        passed: list[str] = []
        for _ in range(15):  # two come where one can start
            for _ in range(2):
                scene.waiting_run()
            passed += [run.id for run in scene.start(node, limit=1)]
            scene.wait(30 * SECOND)
        assert passed.index(low.id) == 12  # after those of its first three minutes

    def test_a_high_priority_that_goes_on_starves_nobody(self, scene: Scene) -> None:
        node = scene.node()
        plain = scene.waiting_run()
        started: list[str] = []
        for _ in range(8):
            scene.wait(30 * SECOND)
            for _ in range(2):
                scene.waiting_run(policy=Policy(priority=2))
            started += [run.id for run in scene.start(node, limit=1)]
        assert plain.id in started

    def test_a_run_of_the_future_is_not_started_early_and_hides_nothing(self, scene: Scene) -> None:
        node = scene.node()
        priorities = (-9, 0, 9, 1_000_000)
        for priority in priorities * 3:
            scene.waiting_run(delay_ms=HOUR, policy=Policy(priority=priority))
        due = [scene.waiting_run(policy=Policy(priority=priority)) for priority in (-9, 0, 9)]
        assert [run.id for _ in range(5) for run in scene.start(node, limit=1)] == [run.id for run in due[::-1]]
        scene.wait(HOUR)
        started = [run.policy.priority for _ in range(6) for run in scene.start(node, limit=2)]
        assert started == [each for each in priorities[::-1] for _ in range(3)]

    def test_a_crowd_of_low_priority_does_not_hide_the_others(self, scene: Scene) -> None:
        node = scene.node()
        crowd = [scene.waiting_run(policy=Policy(priority=-5)) for _ in range(20)]
        lower = [scene.waiting_run(policy=Policy(priority=-6)) for _ in range(3)]
        scene.wait(MINUTE)
        plain = [scene.waiting_run() for _ in range(4)]
        assert [run.id for run in scene.start(node, limit=3)] == [run.id for run in plain[:3]]
        first, *others = scene.start(node, limit=3)
        assert (first.id, {run.id for run in others}) == (plain[3].id, {run.id for run in crowd[:2]})
        assert [run.id for run in scene.start(node)] == [run.id for run in crowd[2:] + lower]

    def test_those_of_least_precedence_are_chosen_of_any_mixture(self, scene: Scene) -> None:
        node, other = scene.node("a", ["job", "mail"]), scene.node("b")
        dice = Random(7)
        runs = []
        for _ in range(60):
            policy = Policy(priority=dice.choice((0, 0, -2, -1, 1, 2, 5)))
            task, target = dice.choice(("job", "job", "mail", "unknown")), dice.choice((None, None, node, other))
            moved = 1000 * dice.randrange(400)
            runs.append(scene.waiting_run(task=task, target=target, delay_ms=moved, policy=policy))
        scene.wait(300 * SECOND)
        mine = [run for run in runs if run.task != "unknown" and run.target != other and run.due_ms <= scene.now_ms]
        in_turn = sorted(mine, key=lambda run: (run.due_ms - MINUTE * run.policy.priority, run.id))
        started: list[str] = []
        for limit in (1, 2, 3, 5, 100):
            batch = scene.start(node, limit, ["job", "mail"])
            assert [run.id for run in batch] == [run.id for run in in_turn[len(started) :][:limit]]
            started += [run.id for run in batch]
        assert len(started) == len(mine) > 12

    def test_schedules_runs_are_taken_in_turn_with_the_others(self, scene: Scene) -> None:
        node = scene.node()
        for name, priority in (("low", -1), ("high", 4), ("plain", 0)):
            scene.put(name, priority=priority)
        scene.wait(MINUTE)
        scene.plan(node)
        alone = scene.waiting_run(policy=Policy(priority=3))
        started = scene.start(node)
        assert [run.schedule or run.id for run in started] == ["high", alone.id, "plain", "low"]


class TestOverlapWhenStarted(Promises):
    def test_a_manual_run_waits_for_the_slot_too(self, scene: Scene) -> None:
        node = scene.node()
        first = scene.running(node)
        scene.trigger("manual")
        assert scene.start(node) == []
        assert scene.run("manual").blocked
        scene.end(first)
        (second,) = scene.start(node)
        assert (second.id, second.slot) == ("manual", first.slot)

    def test_of_two_that_wait_only_one_gets_the_slot_and_the_older_first(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        scene.trigger("a")
        scene.wait(1)
        scene.trigger("b")
        assert [run.id for run in scene.start(node)] == ["a"]
        assert scene.start(scene.node("other")) == []
        scene.end(scene.run("a"))
        assert [run.id for run in scene.start(node)] == ["b"]

    def test_a_younger_run_does_not_overtake_one_that_this_node_cannot_run(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(task="other", max_waiting=5)
        scene.wait(MINUTE)
        (older,) = scene.plan(node)
        scene.put(task="job", max_waiting=5)
        scene.wait(5 * SECOND)
        scene.trigger("younger")
        assert scene.start(node) == []
        assert [run.id for run in scene.start(scene.node("b", ["other"]), tasks=["other"])] == [older.id]

    def test_concurrent_starts_as_many_as_there_are_slots(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(overlap="concurrent", max_concurrent_runs=2)
        for number in range(4):
            scene.trigger(f"r{number}")
        started = scene.start(node)
        assert sorted(run.slot or "" for run in started) == [f"{scene.schedule().id}/{number}" for number in (0, 1)]
        assert sum(run.blocked for run in scene.runs()) == 2

    def test_discard_skips_a_tick_run_that_finds_the_slot_taken_when_it_would_start(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(overlap="discard")
        scene.trigger("manual")
        scene.wait(MINUTE)
        (tick,) = scene.plan(node)
        assert [run.id for run in scene.start(node, limit=1)] == ["manual"]
        started = scene.store.start_due(node, ["job"], 5)
        known = scene.run(tick)
        assert started.runs == ()
        assert (known.state, known.reason) == (State.SKIPPED, "overlap")

    def test_a_retry_of_discard_waits_for_the_slot(self, scene: Scene) -> None:
        node = scene.node()
        first = scene.running(node, overlap="discard", retries=1, backoff_ms=SECOND)
        scene.end(first, "failed")
        scene.trigger("manual")
        (manual,) = scene.start(node)
        scene.wait(MINUTE)
        assert scene.start(node) == []
        scene.end(manual)
        assert [run.id for run in scene.start(node)] == [first.id]

    def test_no_two_live_runs_have_one_slot_whoever_writes_them(self, scene: Scene) -> None:
        """The net under the schedule's lock."""
        first = scene.waiting_run(slot="somebody/0")
        with pytest.raises(StoreUnavailable):
            scene.waiting_run(slot="somebody/0")
        assert [run.id for run in scene.store.runs()] == [first.id]


class TestWaking(Promises):
    def test_whoever_frees_a_slot_wakes_the_oldest_behind_it(self, scene: Scene) -> None:
        node = scene.node()
        first = scene.running(node)
        for name in ("a", "b"):
            scene.trigger(name)
            scene.wait(1)
        assert scene.start(node) == []
        finished = scene.store.finish(node, [Outcome(first.id, first.claim_no, "succeeded")])
        assert finished.woken == 1
        assert (scene.run("a").blocked, scene.run("b").blocked) == (False, True)

    def test_as_many_are_woken_as_slots_came_free(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(overlap="concurrent", max_concurrent_runs=3)
        for number in range(6):
            scene.trigger(f"r{number}")
        running = scene.start(node)
        finished = scene.store.finish(node, [Outcome(run.id, run.claim_no, "succeeded") for run in running[:2]])
        assert finished.woken == 2
        assert len(scene.start(node)) == 2

    def test_a_run_is_woken_by_a_takeover_and_by_a_node_that_leaves(self, scene: Scene) -> None:
        node, other = scene.node("a"), scene.node("b")
        first = scene.running(node, delivery="at_most_once")
        scene.trigger("next")
        scene.start(other)
        assert scene.run("next").blocked
        scene.store.leave(node)
        assert scene.run(first).state is State.LOST
        assert [run.id for run in scene.start(other)] == ["next"]

    def test_a_run_is_woken_when_the_one_before_it_is_cancelled(self, scene: Scene) -> None:
        node = scene.node()
        first = scene.running(node)
        for name in ("a", "b"):
            scene.trigger(name)
            scene.wait(1)
        scene.start(node)
        scene.end(first)
        scene.store.request_cancel("a", "no", BY)
        assert [run.id for run in scene.start(node)] == ["b"]

    def test_a_sweep_finds_what_a_lost_wake_up_left_behind(self, scene: Scene) -> None:
        node = scene.node()
        first = scene.running(node)
        scene.trigger("next")
        scene.start(node)
        assert scene.store.sweep() == 0
        scene.end(first)
        scene.start(node)
        # A run that nobody woke: blocked, while its slot is free.
        scene.end(scene.run("next"))
        schedule = scene.schedule()
        scene.waiting_run(schedule_id=schedule.id, schedule=schedule.name, waits_for=for_slot(schedule.id))
        assert scene.start(node) == []
        assert scene.store.sweep() == 1
        assert len(scene.start(node)) == 1

    def test_a_crowd_that_cannot_start_does_not_hide_from_the_sweep_what_can(self, scene: Scene) -> None:
        node = scene.node()
        for number in range(10):
            busy = scene.put(f"busy-{number}")
            scene.trigger(f"r-{number}", busy.name)
            assert len(scene.start(node)) == 1
            scene.waiting_run(schedule_id=busy.id, schedule=busy.name, waits_for=for_slot(busy.id))
        scene.wait(1)
        idle = scene.put("idle")
        last = scene.waiting_run(schedule_id=idle.id, schedule=idle.name, waits_for=for_slot(idle.id))
        assert [scene.store.sweep(limit=3) for _ in range(4)] == [0, 0, 0, 1]
        assert not scene.run(last).blocked
        scene.store.request_cancel(last.id, "out of the way", BY)
        scene.waiting_run(schedule_id=idle.id, schedule=idle.name, waits_for=for_slot(idle.id))
        assert sum(scene.store.sweep(limit=3) for _ in range(8)) == 1, "it begins anew when it has come to the end"

    def test_a_sweep_leaves_alone_what_a_pause_holds(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.running(node, retries=1, backoff_ms=SECOND)
        scene.edit(edits.pause(None))
        scene.end(run, "failed")
        scene.wait(HOUR)
        assert scene.store.sweep() == 0
        assert scene.run(run).blocked

    def test_a_free_slot_goes_to_the_oldest_at_once_where_a_younger_run_has_just_come(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(overlap="serial")
        first, second, third = (scene.trigger(each) for each in ("1st", "2nd", "3rd"))
        assert [run.id for run in scene.start(node, 10)] == [first.id]
        assert scene.run(second).blocked
        fourth = scene.trigger("4th")  # nobody has judged it yet: it is due, and waits for nothing
        scene.end(scene.run(first))
        for run in (second, third, fourth):
            assert [each.id for each in scene.start(node, 10)] == [run.id]
            scene.end(scene.run(run))

    def test_where_the_oldest_must_begin_elsewhere_those_who_listen_hear_of_it(self, scene: Scene) -> None:
        here, there = scene.node(), scene.node(name="there")
        scene.put(overlap="serial")
        first = scene.trigger("1st")
        assert [run.id for run in scene.start(here, 10)] == [first.id]
        (second,) = scene.store.enqueue([replace(first, id="2nd", target=there)])
        assert scene.start(there, 10) == []
        scene.trigger("3rd")
        scene.end(scene.run(first))
        heard: list[str] = []
        stop = scene.store.listen(lambda: heard.append("now"))
        assert scene.start(here, 10) == []
        stop()
        assert heard
        assert [run.id for run in scene.start(there, 10)] == [second.id]

    def test_who_stands_behind_a_limit_stays_there_while_others_of_its_schedule_are_judged(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(overlap="concurrent", limit="g:1")
        first, second = scene.trigger("1st"), scene.trigger("2nd")
        assert [run.id for run in scene.start(node, 10)] == [first.id]
        third = scene.trigger("3rd")  # nobody has judged it yet
        assert scene.start(node, 10) == []
        assert (scene.run(second).blocked, scene.run(third).blocked) == (True, True)

    def test_those_who_listen_hear_of_new_work(self, scene: Scene) -> None:
        heard: list[str] = []
        stop = scene.store.listen(lambda: heard.append("now"))
        scene.waiting_run()
        assert heard
        stop()
        heard.clear()
        scene.waiting_run()
        assert heard == []


class TestFinishing(Promises):
    def test_an_outcome_is_recorded_with_what_came_of_it(self, scene: Scene) -> None:
        run = scene.running(scene.node())
        scene.wait(5 * SECOND)
        ended = scene.end(run, "succeeded", result={"rows": [1, 2, None]})
        assert scene.run(run) == ended
        assert (ended.state, ended.result, ended.finished_ms) == (
            State.SUCCEEDED,
            {"rows": [1, 2, None]},
            scene.now_ms,
        )
        assert (ended.slot, ended.owner) == (None, run.owner)

    @pytest.mark.parametrize("ending", ["failed", "timed_out", "cancelled", "skipped"])
    def test_a_run_ends_as_its_owner_says(self, scene: Scene, ending: str) -> None:
        run = scene.running(scene.node())
        ended = scene.end(run, ending, error="no", reason="because")  # type: ignore[arg-type]
        assert (ended.state, ended.error, ended.reason) == (State(ending), "no", "because")

    def test_a_repeated_outcome_is_refused_and_changes_nothing(self, scene: Scene) -> None:
        run = scene.running(scene.node())
        scene.end(run, result=1)
        scene.wait(SECOND)
        assert scene.is_refused(run, "failed")
        assert scene.is_refused(run, "succeeded")

    def test_an_outcome_counts_only_from_the_owner_under_its_latest_claim(self, scene: Scene) -> None:
        node, other = scene.node("a"), scene.node("b")
        run = scene.running(node, retries=3, backoff_ms=0)
        assert scene.is_refused(run, by=other)
        scene.end(run, "failed")
        assert scene.is_refused(run)
        (again,) = scene.start(node)
        assert again.claim_no > run.claim_no
        assert scene.is_refused(run)
        assert scene.end(again).state is State.SUCCEEDED

    def test_outcomes_stand_or_are_refused_one_by_one(self, scene: Scene) -> None:
        node = scene.node()
        runs = [scene.waiting_run() for _ in range(3)]
        a, b, c = sorted(scene.start(node), key=lambda run: [each.id for each in runs].index(run.id))
        outcomes = [
            Outcome(a.id, a.claim_no, "succeeded"),
            Outcome(b.id, b.claim_no + 1, "succeeded"),
            Outcome("nobody", 1, "succeeded"),
            Outcome(c.id, c.claim_no, "failed"),
            Outcome(c.id, c.claim_no, "succeeded"),
        ]
        finished = scene.store.finish(node, outcomes)
        assert [(run.id, run.state) for run in finished.recorded] == [(a.id, State.SUCCEEDED), (c.id, State.FAILED)]
        assert finished.refused == (b.id, "nobody", c.id)
        assert scene.run(b) == b

    def test_a_failed_run_with_retries_waits_again_for_its_back_off(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.running(node, retries=2, backoff_ms=10 * SECOND)
        first = scene.end(run, "failed", error="boom")
        assert (first.state, first.claim_no, first.attempt, first.error) == (State.WAITING, 2, 1, "boom")
        assert (first.owner, first.slot) == (None, None)
        assert 5 * SECOND <= first.due_ms - scene.now_ms <= 10 * SECOND
        assert scene.start(node) == []
        scene.clock.now_ms = first.due_ms
        (again,) = scene.start(node)
        assert (again.id, again.attempt, again.claim_no) == (run.id, 2, 3)
        second = scene.end(again, "timed_out")
        assert 10 * SECOND <= second.due_ms - scene.now_ms <= 20 * SECOND
        scene.clock.now_ms = second.due_ms
        (last,) = scene.start(node)
        assert scene.end(last, "failed").state is State.FAILED

    def test_a_task_may_say_when_to_be_tried_again_or_never(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.running(node)
        asked = scene.end(run, "failed", retry_after_ms=7 * SECOND)
        assert (asked.state, asked.due_ms) == (State.WAITING, scene.now_ms + 7 * SECOND)
        scene.wait(7 * SECOND)
        (again,) = scene.start(node)
        assert scene.end(again, "failed", final=True, retry_after_ms=1).state is State.FAILED

    def test_a_run_handed_back_before_it_was_entered_has_not_been_tried(self, scene: Scene) -> None:
        node, other = scene.node("a"), scene.node("b")
        run = scene.running(node)
        back = scene.end(run, "handed_back")
        assert (back.state, back.attempt, back.claim_no, back.due_ms) == (State.WAITING, 0, 2, run.due_ms)
        assert scene.is_refused(run)
        (again,) = scene.start(other)
        assert (again.attempt, again.claim_no) == (1, 3)

    def test_at_most_once_is_lost_when_it_is_handed_back_after_it_was_entered(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.running(node, delivery="at_most_once")
        back = scene.end(run, "handed_back")
        assert (back.state, back.attempt) == (State.WAITING, 0), "its task was not called"
        (again,) = scene.start(node)
        assert scene.end(again, "handed_back", entered=True).state is State.LOST
        assert scene.start(node) == []

    def test_a_dead_node_cannot_record(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.running(node)
        scene.kill(node)
        assert scene.is_refused(run)
        (again,) = scene.start(scene.node("b"))
        assert scene.is_refused(run)
        assert scene.run(run) == again


class TestCancelling(Promises):
    def test_a_waiting_run_is_cancelled_at_once(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.waiting_run()
        cancelled = scene.store.request_cancel(run.id, "not needed", BY)
        assert (cancelled.state, cancelled.reason, cancelled.finished_ms) == (
            State.CANCELLED,
            "not needed",
            scene.now_ms,
        )
        assert scene.run(run) == cancelled
        assert scene.start(node) == []

    def test_a_running_run_is_marked_for_its_owner_to_see(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.running(node)
        asked = scene.store.request_cancel(run.id, "stop it", BY)
        assert (asked.state, asked.cancel_requested_ms, asked.claim_no) == (State.RUNNING, scene.now_ms, run.claim_no)
        (own,) = scene.renew(node).own
        assert own.cancel_requested_ms == scene.now_ms
        assert scene.store.cancels(node) == [run.id]
        assert scene.store.cancels(scene.node("other")) == []
        ended = scene.end(run, "cancelled")
        assert (ended.state, ended.reason) == (State.CANCELLED, "stop it")
        assert scene.store.cancels(node) == []

    def test_the_moment_of_the_first_request_stays(self, scene: Scene) -> None:
        run = scene.running(scene.node())
        first = scene.store.request_cancel(run.id, "a", BY)
        scene.wait(SECOND)
        assert scene.store.request_cancel(run.id, "b", BY).cancel_requested_ms == first.cancel_requested_ms

    @pytest.mark.parametrize("ending", ["failed", "handed_back"])
    def test_a_run_that_was_asked_to_stop_does_not_wait_again(self, scene: Scene, ending: str) -> None:
        run = scene.running(scene.node(), retries=5)
        scene.store.request_cancel(run.id, "stop it", BY)
        ended = scene.end(run, ending)  # type: ignore[arg-type]
        assert (ended.state, ended.reason) == (State.CANCELLED, "stop it")
        assert scene.run(run) == ended

    def test_a_run_that_was_asked_to_stop_is_cancelled_when_its_node_dies(self, scene: Scene) -> None:
        run = scene.running(scene.node())
        scene.store.request_cancel(run.id, "stop it", BY)
        scene.kill(run.owner or "")
        assert scene.run(run).state is State.CANCELLED

    def test_an_ended_run_is_left_as_it_is(self, scene: Scene) -> None:
        ended = scene.end(scene.running(scene.node()))
        assert scene.store.request_cancel(ended.id, "too late", BY) == ended
        assert scene.run(ended) == ended

    def test_what_never_was_cannot_be_cancelled(self, scene: Scene) -> None:
        with pytest.raises(RunNotFound):
            scene.store.request_cancel("nobody", "no", BY)


class TestOperatorsRetry(Promises):
    @pytest.mark.parametrize("ending", ["failed", "timed_out", "cancelled", "skipped"])
    def test_an_ended_run_waits_again_under_the_same_id(self, scene: Scene, ending: str) -> None:
        node = scene.node()
        ended = scene.end(scene.running(node), ending)  # type: ignore[arg-type]
        scene.wait(HOUR)
        again = scene.store.retry(ended.id, ended.claim_no, BY)
        assert scene.run(again) == again
        assert (again.state, again.due_ms, again.finished_ms) == (State.WAITING, scene.now_ms, None)
        assert again.claim_no > ended.claim_no
        (started,) = scene.start(node)
        assert (started.id, started.attempt) == (ended.id, 2)

    def test_a_retry_needs_the_claim_number_that_was_shown(self, scene: Scene) -> None:
        node = scene.node()
        ended = scene.end(scene.running(node), "failed")
        scene.store.retry(ended.id, ended.claim_no, BY)
        with pytest.raises(Conflict):
            scene.store.retry(ended.id, ended.claim_no, BY)
        (started,) = scene.start(node)
        with pytest.raises(Conflict):
            scene.store.retry(started.id, started.claim_no, BY)
        assert scene.run(started) == started
        again = scene.end(started, "failed")
        with pytest.raises(Conflict):
            scene.store.retry(ended.id, ended.claim_no, BY)
        assert scene.run(ended) == again, "what was shown is not what there is now"

    def test_what_succeeded_is_not_done_again(self, scene: Scene) -> None:
        ended = scene.end(scene.running(scene.node()))
        with pytest.raises(Conflict):
            scene.store.retry(ended.id, ended.claim_no, BY)
        with pytest.raises(RunNotFound):
            scene.store.retry("nobody", 0, BY)

    def test_the_former_owner_cannot_record_after_a_retry(self, scene: Scene) -> None:
        run = scene.running(scene.node())
        ended = scene.end(run, "failed")
        scene.store.retry(ended.id, ended.claim_no, BY)
        assert scene.is_refused(run)

    def test_a_pause_does_not_hold_an_operators_retry(self, scene: Scene) -> None:
        node = scene.node()
        ended = scene.end(scene.running(node), "failed")
        scene.edit(edits.pause(None))
        scene.store.retry(ended.id, ended.claim_no, BY)
        assert [run.id for run in scene.start(node)] == [ended.id]

    def test_a_pause_that_comes_later_does_not_skip_an_operators_retry(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        scene.wait(MINUTE)
        (run,) = scene.plan(node)
        scene.edit(edits.pause(None))
        skipped = scene.run(run)
        scene.store.retry(skipped.id, skipped.claim_no, BY)
        scene.edit(edits.pause("again"))
        assert [started.id for started in scene.start(node)] == [run.id]

    def test_a_retried_run_takes_its_slot_like_any_other(self, scene: Scene) -> None:
        node = scene.node()
        ended = scene.end(scene.running(node), "failed")
        scene.wait(MINUTE)
        (other,) = scene.plan(node, free=1)
        scene.store.retry(ended.id, ended.claim_no, BY)
        assert scene.start(node) == []
        scene.end(other)
        assert [run.id for run in scene.start(node)] == [ended.id]

    def test_a_retried_tick_is_not_planned_again(self, scene: Scene) -> None:
        node = scene.node()
        ended = scene.end(scene.running(node), "failed")
        scene.store.retry(ended.id, ended.claim_no, BY)
        scene.plan(node)
        assert scene.ticks() == [60]
        assert ended.scheduled_ms == START_MS + MINUTE
