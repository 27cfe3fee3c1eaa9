"""What people ask: filters, orders, pages and counts; what became of ticks; attempts, progress and minutes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from onthedot.model.log_line import PROGRESS, LogLine
from onthedot.model.minute import Minute
from onthedot.model.policy import Policy
from onthedot.model.schedule import Order
from onthedot.model.states import State
from onthedot.rules import edits
from onthedot.stores.counts import Demand, Load, RunCounts, ScheduleCounts
from onthedot.stores.paging import place_of
from onthedot.stores.retention import MINUTES_KEPT_MS
from onthedot.testing.conformance.flow_rows import flow as begun_flow
from onthedot.testing.conformance.flow_rows import steps as steps_of
from onthedot.testing.conformance.scene import BY, DAY, HOUR, MINUTE, SECOND, START_MS, Promises, Scene
from onthedot.triggers import at, every


class TestAskingForSchedules(Promises):
    @pytest.fixture
    def many(self, scene: Scene) -> Scene:
        """One of each state, and then some."""
        scene.put("Nightly-ETL", every("1h"), task="etl.load", tags=("eu",))
        scene.put("backup", every("10m"), task="ops.backup", tags=("eu", "ops"))
        scene.put("report", every("5m"), task="etl.report", priority=3)
        scene.put("paused", every("1m"), task="ops.backup")
        scene.edit(edits.pause("moving"), "paused")
        scene.put("parked")
        scene.overwrite("parked", error="nobody knows this trigger")
        scene.put("gone")
        scene.edit(edits.delete(), "gone")
        scene.put("once", at("2027-01-15T08:00:01Z"))
        scene.wait(2 * SECOND)
        scene.plan(scene.node(tasks=("ops.backup",)))
        return scene

    def test_each_filter_holds_and_all_that_are_given_do(self, many: Scene) -> None:
        def names(**wanted: object) -> list[str]:
            return [row.name for row in many.store.schedules(**wanted)]  # type: ignore[arg-type]

        everything = ["Nightly-ETL", "backup", "once", "parked", "paused", "report"]
        assert names() == everything
        assert names(search="ETL") == ["Nightly-ETL", "report"]
        assert names(search="nightly-e") == ["Nightly-ETL"]
        assert names(search="100%_") == []
        assert names(task="ops.backup") == ["backup", "paused"]
        assert names(task="ops.backup", state="paused") == ["paused"]
        assert names(state="active") == ["Nightly-ETL", "backup", "report"]
        assert names(state="parked") == ["parked"]
        assert names(state="ended") == ["once"]
        assert names(tag="eu", search="backup") == ["backup"]
        assert names(tag="eu", state="paused") == []
        assert names(names=["backup", "paused"], state="active") == ["backup"]

    @pytest.mark.parametrize("order", ["name", "next"])
    def test_pages_follow_each_other_in_order_without_gap_or_repetition(self, many: Scene, order: Order) -> None:
        whole = many.store.schedules(order=order)
        pages, after = [], ""
        while page := many.store.schedules(order=order, after=after, limit=2):
            pages += page
            after = place_of(page[-1], order)
        assert pages == whole
        assert len(whole) == 6

    def test_what_comes_next_comes_first_and_what_never_comes_last(self, many: Scene) -> None:
        found = [row.name for row in many.store.schedules(order="next")]
        assert found == ["parked", "paused", "report", "backup", "Nightly-ETL", "once"]
        assert [row.name for row in many.store.schedules(order="next", state="active", limit=2)] == ["report", "backup"]

    def test_a_search_may_hold_any_character(self, scene: Scene) -> None:
        odd = ["100%", "a_b", "it's", "back\\slash", "[x]", "straße", 'quo"te', "näh 🕰"]
        for name in odd:
            scene.put(name)
        for name in odd:
            assert [row.name for row in scene.store.schedules(search=name)] == [name]
        assert [row.name for row in scene.store.schedules(search="%")] == ["100%"]
        assert [row.name for row in scene.store.schedules(search="NäH")] == ["näh 🕰"]
        assert scene.store.schedules(search="NÄH") == []

    def test_a_text_with_a_blank_at_its_end_is_another_text(self, many: Scene) -> None:
        many.waiting_run(task="job")
        run = many.store.runs(task="job")[0]
        assert many.store.schedules(task="ops.backup ") == many.store.schedules(names=["backup "]) == []
        assert many.store.runs(task="job ") == many.store.runs(ids=[f"{run.id} "]) == []
        assert many.store.runs(schedule="once")
        assert many.store.runs(schedule="once ") == []
        assert many.store.changes(name="backup ") == []

    def test_changes_of_a_name_are_those_before_a_line_also_where_it_is_another_name_s(self, scene: Scene) -> None:
        for turn in range(3):
            for name in "ab":
                scene.put(name, every(f"{turn + 1}m"))
        lines = scene.store.changes()
        for place, line in enumerate(lines):
            expected = [each.id for each in lines[place + 1 :] if each.schedule == "a"]
            assert [each.id for each in scene.store.changes(name="a", before=line.id)] == expected
            assert [each.id for each in scene.store.changes(name="a", before=line.id, limit=1)] == expected[:1]
            assert scene.store.changes(name="nobody", before=line.id) == []

    def test_each_state_is_counted_up_to_a_limit(self, many: Scene) -> None:
        assert many.store.count_schedules() == ScheduleCounts(active=3, paused=1, parked=1, ended=1)
        assert many.store.count_schedules(most=2) == ScheduleCounts(active=2, paused=1, parked=1, ended=1)

    def test_who_is_no_longer_declared_is_found_and_counted_after_an_hour_of_silence(self, scene: Scene) -> None:
        for name in ("kept", "b", "a", "gone"):
            scene.put(name, every("2h"), origin="code", tags=("eu",) if name == "a" else ())
        scene.put("by-hand", every("2h"))
        scene.edit(edits.delete(), "gone")
        scene.edit(edits.pause(None), "b")
        scene.wait(HOUR)
        assert scene.store.schedules(state="undeclared") == []
        assert scene.store.count_schedules().undeclared == 0
        scene.edit(edits.touch_declared(None), "kept")
        scene.wait(1)
        assert [row.name for row in scene.store.schedules(state="undeclared")] == ["a", "b"]
        assert [row.name for row in scene.store.schedules(state="undeclared", after="a", limit=5)] == ["b"]
        assert [row.name for row in scene.store.schedules(state="undeclared", tag="eu", order="next")] == ["a"]
        assert scene.store.count_schedules() == ScheduleCounts(active=3, paused=1, undeclared=2)
        assert scene.store.count_schedules(most=1).undeclared == 1
        assert scene.store.count_schedules(now_ms=START_MS + HOUR).undeclared == 0
        scene.put("a", every("2h"))
        assert [row.name for row in scene.store.schedules(state="undeclared")] == ["b"]

    def test_who_left_out_ticks_is_found_and_counted_for_a_day(self, scene: Scene) -> None:
        node = scene.node()
        scene.put("late", every("7m"), misfire="skip")
        scene.put("crowded", every("1m"), overlap="discard")
        scene.put("paused", every("7m"))
        scene.edit(edits.pause(None), "paused")
        scene.put("fine", every("1h"))
        scene.wait(MINUTE)
        (run,) = scene.plan(node, free=5)
        assert scene.store.count_schedules().leaving_out == 0
        scene.wait(MINUTE)
        scene.plan(node, free=5)
        assert [row.name for row in scene.store.schedules(state="leaving_out")] == ["crowded"]
        scene.end(run)
        scene.wait(6 * MINUTE)
        scene.plan(node, free=5)
        scene.edit(edits.resume(), "paused")
        assert [row.name for row in scene.store.schedules(state="leaving_out")] == ["crowded", "late"]
        assert [row.name for row in scene.store.schedules(state="leaving_out", order="next", limit=1)] == ["crowded"]
        assert scene.store.count_schedules() == ScheduleCounts(active=4, leaving_out=2)
        scene.edit(edits.delete(), "crowded")
        left_out_ms = scene.schedule("late").left_out_ms
        assert left_out_ms == scene.now_ms
        assert scene.store.count_schedules(now_ms=left_out_ms + DAY).leaving_out == 1
        assert scene.store.count_schedules(now_ms=left_out_ms + DAY + 1).leaving_out == 0

    def test_a_tick_that_waited_and_was_skipped_counts_as_left_out(self, scene: Scene) -> None:
        node = scene.node()
        scene.put("s", every("1m"))
        scene.wait(MINUTE)
        scene.plan(node)
        scene.wait(MINUTE)
        scene.plan(node)
        (skipped,) = scene.store.runs(state=State.SKIPPED)
        assert (skipped.reason or "").startswith("misfire")
        assert [row.name for row in scene.store.schedules(state="leaving_out")] == ["s"]

    def test_what_active_schedules_need_is_told_once_for_all_that_need_it(self, scene: Scene) -> None:
        for number in range(5):
            scene.put(f"same-{number}", task="mail", tags=(f"t{number}",), args={"n": number}, priority=number)
        scene.put("elsewhere", task="mail", group="gpu")
        scene.put("after", task="mail", depends_on=("same-0",))
        scene.put("idle", task="nothing")
        scene.edit(edits.pause(None), "idle")
        scene.put("other", task="other")
        needs = ("mail", None, ()), ("mail", "gpu", ()), ("mail", None, ("same-0",))
        assert sorted(scene.store.needed(), key=repr) == sorted((*needs, ("other", None, ())), key=repr)
        found = {(each.task, each.group, each.depends_on): each for each in scene.store.demands(["mail", "nothing"])}
        assert found == {
            ("mail", None, ()): Demand("mail", None, (), 5, ("same-0", "same-1", "same-2")),
            ("mail", "gpu", ()): Demand("mail", "gpu", (), 1, ("elsewhere",)),
            ("mail", None, ("same-0",)): Demand("mail", None, ("same-0",), 1, ("after",)),
        }

    def test_overdue_are_those_that_nobody_planned_oldest_first(self, scene: Scene) -> None:
        scene.put("late", every("2m"))
        scene.put("later", every("1m"))
        scene.put("fine", every("1h"))
        scene.put("paused", every("1m"))
        scene.edit(edits.pause(None), "paused")
        scene.wait(3 * MINUTE)
        assert [row.name for row in scene.store.overdue(scene.now_ms)] == ["later", "late"]
        assert [row.name for row in scene.store.overdue(scene.now_ms, limit=1)] == ["later"]
        assert [row.name for row in scene.store.overdue(START_MS + 2 * MINUTE)] == ["later"]
        assert [scene.store.count_overdue(scene.now_ms, most) for most in (0, 1, 5)] == [0, 1, 2]
        assert scene.store.count_overdue(START_MS + 2 * MINUTE) == 1


class TestAskingForRuns(Promises):
    def test_the_shards_of_a_broadcast_are_found_by_it_live_ended_and_forgotten(self, scene: Scene) -> None:
        one, two = scene.node("a"), scene.node("b")
        for name in ("s", "other"):
            scene.put(name, every("1h"), route="broadcast", overlap="concurrent")
        scene.wait(HOUR)
        whole = next(run for run in scene.plan(one) if run.schedule == "s")
        shards = [run for node in (one, two) for run in scene.start(node) if run.parent_id == whole.id]

        def ids(**wanted: object) -> list[str]:
            return [run.id for run in scene.store.runs(parent=whole.id, **wanted)]  # type: ignore[arg-type]

        both = sorted((run.id for run in shards), reverse=True)
        assert len(both) == 2
        assert ids() == both
        scene.end(shards[0])
        assert ids() == both
        assert ids(node=two) == ids(state=State.RUNNING) == [shards[1].id]
        assert ids(ids=[shards[0].id, whole.id]) == [shards[0].id]
        assert ids(limit=1) == ids(before=None, limit=1) == both[:1]
        assert ids(before=both[0]) == both[1:]
        assert scene.store.runs(parent=shards[0].id) == scene.store.runs(parent="nobody") == []
        scene.end(shards[1])
        assert ids(state=State.SUCCEEDED) == both
        scene.wait(DAY)
        scene.prune_all(history_ms=HOUR)
        assert ids() == []

    def test_runs_are_found_by_task_node_lateness_and_when_they_were_made(self, scene: Scene) -> None:
        node, other = scene.node("a", ("job", "mail")), scene.node("b", ("job", "mail"))
        first = scene.waiting_run()
        scene.wait(5 * SECOND)
        (late,) = scene.start(node)
        second = scene.waiting_run(task="mail")
        (prompt,) = scene.start(other, tasks=("mail",))
        scene.end(late)
        waiting = scene.waiting_run(task="mail", delay_ms=HOUR)

        def ids(**wanted: object) -> list[str]:
            return [run.id for run in scene.store.runs(**wanted)]  # type: ignore[arg-type]

        assert (first.id, second.id) == (late.id, prompt.id)
        assert ids(task="job") == [first.id]
        assert ids(task="mail") == sorted([second.id, waiting.id], reverse=True)
        assert ids(node=node) == [first.id]
        assert ids(node=other, state=State.RUNNING) == [second.id]
        assert ids(late=True) == [first.id]
        scene.end(prompt)
        assert ids(late=True) == [first.id]
        assert ids(node=other) == [second.id]
        assert ids(task="mail", state=State.SUCCEEDED) == [second.id]
        assert ids(since_ms=START_MS + SECOND) == sorted([second.id, waiting.id], reverse=True)
        assert ids(until_ms=START_MS + SECOND) == [first.id]
        assert ids(since_ms=START_MS, until_ms=START_MS + 1, task="job") == [first.id]
        assert ids(since_ms=START_MS + DAY) == []
        assert ids(task="mail", before=max(second.id, waiting.id), limit=1) == [min(second.id, waiting.id)]

    def test_live_runs_are_counted_up_to_a_limit(self, scene: Scene) -> None:
        node = scene.node()
        for _ in range(4):
            scene.waiting_run()
        scene.start(node, limit=3)
        assert scene.store.count_runs() == RunCounts(waiting=1, running=3)
        assert scene.store.count_runs(most=2) == RunCounts(waiting=1, running=2)

    def test_as_many_runs_are_counted_as_are_listed_without_steps_and_as_steps(self, scene: Scene) -> None:
        node = scene.node()
        flow, *_ = flows = [begun_flow(scene) for _ in range(2)]
        (inner,) = steps_of(scene, flow, 1, "inner", state=State.RUNNING, graph=flow.graph)
        for of in (*flows, inner):
            steps_of(scene, of, 3)
        for _ in range(2):
            scene.waiting_run()
        first, *_ = scene.start(node, limit=4)
        scene.end(first)
        for most in (1, 2, 3, 5, 7, 100):
            assert scene.store.count_runs(most) == _listed(scene, most), most
        assert scene.store.count_runs().running_steps >= 1

    def test_runs_are_counted_as_they_are_at_one_moment(self, scene: Scene) -> None:
        node, flow = scene.node(), begun_flow(scene)

        def work() -> None:
            for turn in range(8):
                steps_of(scene, flow, 5, f"step-{turn}")
                for run in scene.start(node):
                    scene.end(run)

        with ThreadPoolExecutor(1) as pool:
            working = pool.submit(work)
            while not working.done():
                found = scene.store.count_runs()
                assert (found.waiting, found.running) == (0, 1), found
            working.result()

    def test_a_broadcast_is_counted_once_and_its_parts_apart(self, scene: Scene) -> None:
        nodes = [scene.node("a"), scene.node("b")]
        scene.put(route="broadcast")
        scene.wait(MINUTE)
        scene.plan(nodes[0])
        for node in nodes:
            scene.start(node)
        assert scene.store.count_runs() == RunCounts(running=1, running_steps=2)
        assert sorted(each.running for each in scene.store.load()) == [1, 1]

    def test_what_nodes_run_is_told_by_task_and_pool(self, scene: Scene) -> None:
        node, other = scene.node("a"), scene.node("b")
        assert scene.store.load() == []
        for pool in ("slow", "slow", None):
            scene.waiting_run(policy=Policy(pool=pool))
        scene.start(node)
        scene.waiting_run(task="other")
        scene.waiting_run()
        scene.start(other, tasks=["job", "other"])
        expected = [Load(node, "job", None, 1), Load(node, "job", "slow", 2)]
        expected += [Load(other, "job", None, 1), Load(other, "other", None, 1)]
        assert sorted(map(repr, scene.store.load())) == sorted(map(repr, expected))

    def test_the_audit_comes_page_by_page(self, scene: Scene) -> None:
        for number in range(5):
            scene.put(f"s{number % 2}", every(f"{number + 1}m"))
            scene.wait(1)
        whole = scene.store.changes()
        assert len(whole) == 5
        assert scene.store.changes(before=whole[1].id, limit=2) == whole[2:4]
        assert scene.store.changes(before=whole[4].id) == []
        mine = scene.store.changes(name="s0")
        assert scene.store.changes(name="s0", before=mine[0].id) == mine[1:]


class TestTicks(Promises):
    def test_the_newest_runs_and_decisions_of_each_schedule_are_told_at_once(self, scene: Scene) -> None:
        node = scene.node()
        ids = [scene.put(name).id for name in ("a", "b", "c")]
        for live in (0, 0, 1):
            scene.wait(MINUTE)
            for run in scene.plan(node, free=10)[live:]:
                scene.end(run)
        scene.edit(edits.pause(None), "c")
        scene.wait(5 * MINUTE)
        scene.edit(edits.resume(), "c")
        found = scene.store.ticks(ids, each=2)
        for schedule_id in ids:
            moments = [mark.scheduled_ms for mark in found.marks if mark.schedule_id == schedule_id]
            assert moments == [START_MS + 3 * MINUTE, START_MS + 2 * MINUTE]
        assert {(each.schedule, each.reason) for each in found.decisions} == {("c", "paused")}
        whole = {run.id: run for run in scene.store.runs(limit=1000)}
        for mark in found.marks:
            run = whole[mark.id]
            assert (mark.schedule, mark.cause, mark.due_ms, mark.state) == (run.schedule, "tick", run.due_ms, run.state)
            assert (mark.owner, mark.attempt, mark.started_ms) == (run.owner, run.attempt, run.started_ms)
            assert (mark.finished_ms, mark.reason) == (run.finished_ms, run.reason)

    def test_a_tick_s_run_is_found_by_its_moment_live_or_ended(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.running(node)
        assert run.schedule_id is not None
        asked = {"first_ms": run.scheduled_ms, "last_ms": run.scheduled_ms}
        assert [mark.id for mark in scene.store.ticks([run.schedule_id], **asked).marks] == [run.id]
        scene.end(run, "failed", error="no", final=True)
        (mark,) = scene.store.ticks([run.schedule_id], **asked).marks
        assert (mark.id, mark.state) == (run.id, State.FAILED)
        assert scene.store.ticks([run.schedule_id], first_ms=run.scheduled_ms + 1).marks == ()
        assert scene.store.ticks([run.schedule_id], last_ms=run.scheduled_ms - 1).marks == ()

    def test_nobody_s_ticks_are_none(self, scene: Scene) -> None:
        assert scene.store.ticks([]).marks == ()
        assert scene.store.ticks(["nobody"]) == scene.store.ticks([])


class TestAttempts(Promises):
    def test_each_attempt_keeps_its_node_its_moments_and_how_it_ended(self, scene: Scene) -> None:
        first, second = scene.node("a"), scene.node("b")
        run = scene.running(first, retries=1, backoff_ms=SECOND)
        assert [each.node for each in run.attempts] == [first]
        scene.wait(SECOND)
        scene.end(run, "failed", error="Traceback\nOSError: no route")
        scene.wait(2 * SECOND)
        (again,) = scene.start(second)
        scene.wait(SECOND)
        ended = scene.end(again)
        kept = scene.run(ended).attempts
        assert [(each.number, each.node, each.outcome, each.error) for each in kept] == [
            (1, first, "failed", "OSError: no route"),
            (2, second, "succeeded", None),
        ]
        assert [(each.started_ms, each.ended_ms) for each in kept] == [
            (run.started_ms, (run.started_ms or 0) + SECOND),
            (again.started_ms, (again.started_ms or 0) + SECOND),
        ]

    def test_an_attempt_whose_node_died_is_one(self, scene: Scene) -> None:
        node = scene.node("a")
        run = scene.running(node)
        scene.kill(node)
        (again,) = scene.start(scene.node("b"))
        (died, runs) = again.attempts
        assert (died.node, died.outcome, died.claim_no) == (node, "node_died", run.claim_no)
        assert (runs.outcome, runs.ended_ms) == (None, None)

    def test_an_operator_s_retry_keeps_what_was_before(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.end(scene.running(node), "failed", error="no", final=True)
        scene.store.retry(run.id, run.claim_no, BY)
        (again,) = scene.start(node)
        assert [each.outcome for each in again.attempts] == ["failed", None]


class TestProgress(Promises):
    def test_how_far_a_run_says_it_is_stands_in_the_run(self, scene: Scene) -> None:
        node = scene.node()
        run = scene.running(node, retries=1)
        assert run.progress is None

        def say(level: str, text: str, claim_no: int = run.claim_no) -> LogLine:
            return LogLine(run.id, claim_no, scene.now_ms, level, text)

        scene.store.log(node, [say(PROGRESS, "10%"), say("INFO", "on"), say(PROGRESS, "62% ledger 11 of 14")])
        kept = scene.run(run)
        assert (kept.progress_part, kept.progress_note) == (0.62, "ledger 11 of 14")
        assert len(scene.store.logs(run.id)) == 3
        scene.store.log(node, [say(PROGRESS, "99%", run.claim_no + 1)])
        assert scene.run(run).progress == "62% ledger 11 of 14"
        scene.end(run, "failed", error="no")
        assert scene.run(run).progress is None


class TestMinutes(Promises):
    def test_what_nodes_counted_is_kept_by_minute_and_the_last_word_counts(self, scene: Scene) -> None:
        first = Minute(START_MS, "a", 1, {"succeeded": 1}, {3: 1}, 7, "r1", "nightly")
        more = Minute(START_MS, "a", 2, {"succeeded": 1, "failed": 1}, {3: 1, 20: 1}, 90, "r2", "backup")
        other = Minute(START_MS, "b", 1)
        later = Minute(
            START_MS + MINUTE, "a", 5, {"failed": 2}, {0: 5}, ended_steps={"failed": 2}, ended_flows={"failed": 1}
        )
        scene.store.tally([first, later])
        scene.store.tally([more, other])
        scene.store.tally([])
        assert scene.store.minutes(START_MS, START_MS + HOUR) == [more, other, later]
        assert scene.store.minutes(START_MS + 1, START_MS + MINUTE) == [later]
        assert scene.store.minutes(START_MS - HOUR, START_MS - 1) == []

    def test_old_minutes_are_forgotten(self, scene: Scene) -> None:
        scene.store.tally([Minute(START_MS, "a", 1)])
        scene.wait(MINUTES_KEPT_MS + MINUTE)
        fresh = Minute(scene.now_ms, "a", 1)
        scene.store.tally([fresh])
        assert scene.store.minutes(0, scene.now_ms) == [fresh]


def _listed(scene: Scene, most: int) -> RunCounts:
    """What lists show, counted."""
    states = State.WAITING, State.RUNNING
    without = [scene.store.runs(state=state, steps=False, limit=1000) for state in states]
    everything = [scene.store.runs(state=state, limit=1000) for state in states]
    steps = [len(both) - len(alone) for both, alone in zip(everything, without, strict=True)]
    return RunCounts(*(min(count, most) for count in (*map(len, without), *steps)))
