"""Freezes, and ticks that somebody wishes to skip: nothing starts, and each tick is told of with its reason."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from onthedot.errors import Conflict, FreezeNotFound
from onthedot.model.freeze import WALK_AGAIN_MS, Freeze, Window
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.rules import edits
from onthedot.stores.counts import ScheduleCounts
from onthedot.testing.conformance.scene import BY, HOUR, MINUTE, SECOND, START_MS, Promises, Scene
from onthedot.triggers.at import at
from onthedot.triggers.every import every


def _freeze(scene: Scene, first_s: int, last_s: int, name: str = "xmas", **whom: Any) -> Freeze:
    """Frozen between these seconds since the start, and carried out."""
    window = Freeze(name, START_MS + first_s * SECOND, START_MS + last_s * SECOND, **whom)
    kept = scene.store.put_freeze(window, BY)
    _carry_out(scene)
    return kept


def _carry_out(scene: Scene, limit: int = 500) -> None:
    while scene.store.carry_out_freezes(limit):
        pass


def _play(scene: Scene, node: str, seconds: int, step_s: int = 60) -> None:
    """Plan and run whatever comes, at each step."""
    for _ in range(seconds // step_s):
        scene.wait(step_s * SECOND)
        scene.renew(node)
        for run in scene.plan(node, free=10) + scene.start(node):
            if run.state is State.RUNNING:
                scene.end(run)


class TestFreezes(Promises):
    def test_ticks_in_a_freeze_are_one_decision_and_those_around_it_run(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        _freeze(scene, 120, 240)
        _play(scene, node, 300)
        assert scene.ticks() == [60, 240, 300]
        assert scene.ranges() == [("frozen", 120, 180, 2)]
        assert scene.decisions()[0].detail == "xmas"
        assert scene.schedule().frozen == ()  # nothing is left to be decided in it
        assert scene.schedule().left_out_ms is None  # somebody asked for it

    def test_after_an_outage_a_freeze_in_it_is_told_from_what_was_missed_and_never_caught_up(
        self, scene: Scene
    ) -> None:
        node = scene.node()
        for policy in ("fire_once", "skip", "catch_up"):
            scene.put(policy, misfire=policy, overlap="concurrent")
        _freeze(scene, 120, 240)
        scene.wait(6 * MINUTE)
        scene.renew(node)
        scene.plan(node)
        frozen = ("frozen", 120, 180, 2)
        assert sorted(scene.ranges("fire_once")) == [frozen, ("misfire", 60, 60, 1), ("misfire", 240, 300, 2)]
        assert sorted(scene.ranges("skip")) == [frozen, ("misfire", 60, 60, 1), ("misfire", 240, 300, 2)]
        assert scene.ranges("catch_up") == [frozen]
        assert [scene.ticks(name) for name in ("fire_once", "skip", "catch_up")] == [[360], [360], [60, 240, 300, 360]]

    def test_inside_a_freeze_nothing_starts_whenever_it_was_due(self, scene: Scene) -> None:
        """Not a tick of just before it that is planned after its beginning; a retry waits for the end."""
        node = scene.node()
        late = scene.running(node, name="retried", retries=1, backoff_ms=SECOND)
        scene.put("late")
        scene.wait(MINUTE - SECOND)
        _freeze(scene, 121, 300)
        scene.end(late, "failed")
        scene.wait(3 * SECOND)
        assert scene.plan(node, free=10) == []
        assert scene.ranges("late") == [("frozen", 120, 120, 1)]
        scene.wait(10 * SECOND)
        assert scene.start(node) == []
        assert scene.run(late).waits_for is not None
        scene.wait(3 * MINUTE)
        scene.renew(node)
        scene.store.sweep()
        assert [run.id for run in scene.start(node)] == [late.id]

    def test_ticks_that_wait_when_a_freeze_begins_are_skipped_with_its_name(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        scene.wait(MINUTE)
        scene.plan(node)
        _freeze(scene, 60, 300)
        (run,) = scene.runs()
        assert (run.state, run.reason) == (State.SKIPPED, "frozen")
        assert scene.start(node) == []

    def test_what_somebody_asks_for_by_hand_runs_in_a_freeze(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        _freeze(scene, 0, 300)
        scene.trigger("by-hand")
        assert [run.id for run in scene.start(node)] == ["by-hand"]

    def test_a_freeze_concerns_those_with_its_tag_or_of_such_a_name_and_no_others(self, scene: Scene) -> None:
        for name, tags in (("etl[eu]", ("prod",)), ("etl[us]", ()), ("etl e", ()), ("other", ("prod", "x"))):
            scene.put(name, tags=tags)
        _freeze(scene, 60, 120, "by-tag", tag="prod")
        _freeze(scene, 60, 120, "by-name", pattern="etl[*]")
        found = {each.name: sorted(window.freeze for window in each.frozen) for each in scene.store.schedules()}
        assert found == {
            "etl[eu]": ["by-name", "by-tag"],
            "etl[us]": ["by-name"],
            "etl e": [],
            "other": ["by-tag"],
        }

    def test_who_is_frozen_now_is_found_and_counted_whatever_other_windows_there_are(self, scene: Scene) -> None:
        for name, tags in (("a", ("eu",)), ("b", ("eu", "us")), ("c", ("us",)), ("d", ()), ("gone", ("eu",))):
            scene.put(name, every("1h"), tags=tags)
        scene.edit(edits.pause(None), "b")
        _freeze(scene, 60, 120, "eu", tag="eu")
        _freeze(scene, 100, 200, "us", tag="us")
        _freeze(scene, 300, 400, "later")
        scene.edit(edits.delete(), "gone")

        def frozen(**asked: Any) -> list[str]:
            return [row.name for row in scene.store.schedules(state="frozen", **asked)]

        seen = {}
        for second in (0, 60, 100, 120, 200, 300, 400):
            scene.wait(START_MS + second * SECOND - scene.now_ms)
            seen[second] = "".join(frozen())
            assert scene.store.count_schedules().frozen == len(seen[second])
            assert scene.store.count_schedules(most=2).frozen == min(len(seen[second]), 2)
        assert seen == {0: "", 60: "ab", 100: "abc", 120: "bc", 200: "", 300: "abcd", 400: ""}
        now_ms = START_MS + 100 * SECOND
        assert scene.store.count_schedules(now_ms=now_ms) == ScheduleCounts(active=3, paused=1, frozen=3)

    def test_the_frozen_are_found_by_what_else_is_asked_page_by_page(self, scene: Scene) -> None:
        for name, minutes in (("etl-a", 9), ("etl-b", 7), ("mail", 8), ("other", 6)):
            scene.put(name, every(f"{minutes}m"), tags=("eu",) if name == "mail" else ())
        _freeze(scene, 0, 300, pattern="etl-*")
        _freeze(scene, 0, 300, "mails", pattern="mail")

        def frozen(**asked: Any) -> list[str]:
            return [row.name for row in scene.store.schedules(state="frozen", **asked)]

        assert frozen(limit=2) == ["etl-a", "etl-b"]
        assert frozen(after="etl-b") == ["mail"]
        assert frozen(tag="eu") == frozen(search="AI") == ["mail"]
        assert frozen(names=["other", "etl-a"]) == ["etl-a"]
        assert frozen(task="nobody") == []
        in_turn = [row.name for row in scene.store.schedules(order="next") if row.name != "other"]
        assert frozen(order="next") == in_turn
        assert frozen(order="next", limit=1) == in_turn[:1]
        scene.store.thaw("mails", BY)
        _carry_out(scene)
        assert frozen() == ["etl-a", "etl-b"]

    def test_a_schedule_that_is_put_later_has_the_freezes_that_concern_it(self, scene: Scene) -> None:
        _freeze(scene, 120, 240, tag="prod")
        scene.put("new", tags=("prod",))
        scene.put("tagged")
        assert scene.schedule("tagged").frozen == ()
        scene.put("tagged", tags=("prod",))
        scene.put("revived", tags=("prod",))
        scene.edit(edits.delete(), "revived")
        scene.put("revived", tags=("prod",))
        names = ("new", "tagged", "revived")
        assert [len(scene.schedule(name).frozen) for name in names] == [1, 1, 1]
        scene.put("tagged")
        assert scene.schedule("tagged").frozen == ()

    def test_a_thaw_ends_a_freeze_at_once_and_nothing_in_it_is_caught_up(self, scene: Scene) -> None:
        node = scene.node()
        scene.put(misfire="catch_up", overlap="concurrent")
        _freeze(scene, 0, 3600)
        scene.wait(150 * SECOND)  # nobody has planned it meanwhile
        scene.store.thaw("xmas", BY)
        _carry_out(scene)
        scene.wait(40 * SECOND)
        scene.renew(node)
        scene.plan(node)
        assert scene.ticks() == [180]
        assert scene.ranges() == [("frozen", 60, 120, 2)]

    def test_a_freeze_to_come_that_is_thawed_leaves_no_trace(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        _freeze(scene, 120, 240)
        scene.store.thaw("xmas", BY)
        _carry_out(scene)
        assert scene.schedule().frozen == ()
        _play(scene, node, 240)
        assert scene.ticks() == [60, 120, 180, 240]

    def test_another_window_under_the_same_name_replaces_the_first(self, scene: Scene) -> None:
        scene.put("a", tags=("a",))
        scene.put("b", tags=("b",))
        _freeze(scene, 120, 240, tag="a")
        again = _freeze(scene, 180, 300, tag="b")
        assert scene.schedule("a").frozen == ()
        assert scene.schedule("b").frozen == (again.window,)
        assert again.window == Window("xmas", START_MS + 180 * SECOND, START_MS + 300 * SECOND)
        assert [each.revision for each in scene.store.freezes()] == [2]

    def test_a_walk_that_stopped_in_the_middle_is_gone_on_with(self, scene: Scene) -> None:
        for number in range(7):
            scene.put(f"s{number}")
        scene.store.put_freeze(Freeze("xmas", START_MS, START_MS + HOUR), BY)
        assert scene.store.carry_out_freezes(3)
        assert sum(bool(each.frozen) for each in scene.store.schedules()) == 3
        _carry_out(scene, 3)
        assert all(each.frozen for each in scene.store.schedules())

    def test_many_who_walk_at_once_and_a_thaw_among_them_leave_what_was_said_last(self, scene: Scene) -> None:
        for number in range(20):
            scene.put(f"s{number:02}")
        scene.store.put_freeze(Freeze("kept", START_MS, START_MS + HOUR), BY)
        scene.store.put_freeze(Freeze("gone", START_MS, START_MS + HOUR), BY)
        with ThreadPoolExecutor(4) as pool:
            walks = [pool.submit(_carry_out, scene, 4) for _ in range(4)]
            thaw = pool.submit(scene.store.thaw, "gone", BY)
            thaw.result()
            for each in walks:
                each.result()
        _carry_out(scene)
        lasting = [{window.freeze for window in each.frozen if window.covers(scene.now_ms)} for each in _all(scene)]
        assert lasting == [{"kept"}] * 20

    def test_a_put_that_began_before_the_freeze_is_found_by_a_second_walk(self, scene: Scene) -> None:
        _freeze(scene, 0, 3600)
        scene.put("missed")
        scene.overwrite("missed", frozen=())  # as if it had been written by one who had not read the freeze
        assert not scene.store.carry_out_freezes()
        assert scene.schedule("missed").frozen == ()
        scene.wait(WALK_AGAIN_MS)
        _carry_out(scene)
        assert len(scene.schedule("missed").frozen) == 1

    def test_what_is_thawed_or_long_over_is_forgotten_and_an_unknown_name_is_told(self, scene: Scene) -> None:
        _freeze(scene, 0, 60, "old")
        _freeze(scene, 0, 600, "thawed")
        scene.store.thaw("thawed", BY)
        with pytest.raises(FreezeNotFound, match="thawed"):
            scene.store.thaw("thawed", BY)
        _carry_out(scene)
        scene.wait(31 * 24 * HOUR)
        for _ in range(4):
            _carry_out(scene)
        assert scene.store.freezes() == []

    def test_who_froze_and_who_thawed_is_in_the_audit(self, scene: Scene) -> None:
        _freeze(scene, 0, 60, tag="prod")
        scene.store.thaw("xmas", BY)
        thawed, frozen = scene.store.changes()[:2]
        assert (frozen.after["freeze"], frozen.after["tag"], frozen.by.who) == ("xmas", "prod", BY.who)
        assert (thawed.after, thawed.before["tag"]) == ({"freeze": "xmas"}, "prod")


class TestSkipping(Promises):
    def test_the_next_ticks_are_jumped_over_and_told_as_skipped(self, scene: Scene) -> None:
        node = scene.node()
        scene.put()
        assert scene.edit(edits.skip_next(2)).next_run_ms == START_MS + 180 * SECOND
        _play(scene, node, 240)
        assert scene.ticks() == [180, 240]
        assert scene.ranges() == [("skipped", 60, 120, 2)]
        assert scene.schedule().skips == 0

    def test_a_repeat_skips_no_more_and_nought_undoes_it(self, scene: Scene) -> None:
        before = scene.put()
        for _ in range(2):
            assert scene.edit(edits.skip_next(1)).next_run_ms == START_MS + 120 * SECOND
        undone = scene.edit(edits.skip_next(0))
        assert (undone.next_run_ms, undone.rescheduled, undone.skips) == (before.next_run_ms, False, 0)
        assert scene.edit(edits.skip_next(0)) == undone

    def test_a_tick_that_is_due_and_not_planned_yet_is_the_next_one_unless_it_is_late(self, scene: Scene) -> None:
        scene.put("due")
        scene.wait(65 * SECOND)
        assert scene.edit(edits.skip_next(1), "due").next_run_ms == START_MS + 120 * SECOND
        scene.put("late", every("1m"))
        scene.wait(90 * SECOND)  # a tick at 120 that nobody planned
        assert scene.edit(edits.skip_next(1), "late").next_run_ms == START_MS + 240 * SECOND
        assert scene.ranges("late") == [("skipped", 120, 120, 1)]

    def test_what_cannot_be_skipped_is_refused(self, scene: Scene) -> None:
        scene.put("once", at("2027-01-15T09:00Z"))
        with pytest.raises(Conflict, match="only 1 tick left"):
            scene.edit(edits.skip_next(1), "once")
        scene.put("moved")
        scene.edit(edits.reschedule(START_MS + 95 * SECOND), "moved")
        with pytest.raises(Conflict, match="no tick to skip"):
            scene.edit(edits.skip_next(1), "moved")


def _all(scene: Scene) -> list[Schedule]:
    return scene.store.schedules(limit=1000)
