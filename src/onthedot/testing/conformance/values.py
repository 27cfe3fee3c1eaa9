"""Calendars and named triggers: immutable revisions, pinned by schedules, carried to all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import pytest

from onthedot.errors import Conflict, ValueMoved, ValueNotFound
from onthedot.model.change import Author
from onthedot.model.schedule import Schedule
from onthedot.model.value import REVISIONS_KEPT, Value, ValueState, value_id
from onthedot.moments import iso
from onthedot.node.carrying import carry_new
from onthedot.rules import edits
from onthedot.testing.conformance.scene import BY, DAY, HOUR, MINUTE, START_MS, Promises, Scene, definition
from onthedot.triggers.base import Trigger
from onthedot.triggers.codec import encode
from onthedot.triggers.cron.trigger import cron
from onthedot.triggers.dates import calendar
from onthedot.triggers.every import every
from onthedot.triggers.named import named
from onthedot.triggers.pinned import Use, direct_pins, forget_all, remember

DE = Use("calendar", "de")
TODAY = "2027-01-15"
HOURLY = Use("trigger", "hourly")


def days(*texts: str) -> dict[str, object]:
    """What a calendar of these days is kept as."""
    return {"days": [[text, f"day {text}"] for text in texts], "source": "dates"}


def latest(scene: Scene, trigger: Trigger) -> Trigger:
    """The trigger as somebody puts it who knows the last revisions."""
    values = scene.store.values()
    for each in values:
        remember(each.pinned, each.content)
    return trigger.with_pins({each.use: each.pin for each in values})


def pins_of(scene: Scene, names: Iterable[str]) -> set[int]:
    """The revisions that these schedules go by."""
    return {pin.rev for name in names for _, pin in direct_pins(scene.schedule(name).trigger)}


class TestValues(Promises):
    def put(self, scene: Scene, *texts: str, name: str = "de") -> Value:
        return scene.store.put_value(Use("calendar", name), days(*texts), BY)

    def test_each_change_is_the_next_revision_and_all_of_them_stay_as_they_were(self, scene: Scene) -> None:
        first = self.put(scene, TODAY)
        scene.wait(HOUR)
        second = self.put(scene, "2027-12-25")
        assert (first.rev, first.created_ms, first.state) == (1, START_MS, ValueState.NEW)
        assert (second.rev, second.created_ms) == (2, START_MS + HOUR)
        kept = {each.rev: each.content for each in scene.store.values_at([value_id(DE, rev) for rev in (1, 2, 3)])}
        assert kept == {1: days(TODAY), 2: days("2027-12-25")}
        assert [(each.name, each.rev) for each in scene.store.values()] == [("de", 2)]

    def test_what_says_the_same_is_no_new_revision(self, scene: Scene) -> None:
        first = self.put(scene, TODAY)
        scene.store.settle_value(first)
        again = self.put(scene, TODAY)
        assert (again.rev, again.state) == (1, ValueState.LATEST)
        assert len(scene.store.changes()) == 1

    def test_the_last_of_each_come_by_kind_and_name_however_they_are_written(self, scene: Scene) -> None:
        for name in ("fr", "de", "De", "de "):
            self.put(scene, TODAY, name=name)
        scene.store.put_value(HOURLY, {"trigger": encode(every("1h"))}, BY)
        assert [str(each.use) for each in scene.store.values()] == [
            "calendar/De",
            "calendar/de",
            "calendar/de ",
            "calendar/fr",
            "trigger/hourly",
        ]
        assert [each.use for each in scene.store.values(DE)] == [DE]
        assert scene.store.values(Use("trigger", "de")) == []

    def test_puts_of_one_name_happen_one_after_the_other(self, scene: Scene) -> None:
        with ThreadPoolExecutor(4) as threads:
            made = list(threads.map(lambda number: self.put(scene, f"2027-02-{number:02}"), range(1, 9)))
        assert sorted(each.rev for each in made) == [*range(1, 9)]
        (head,) = scene.store.values(DE)
        assert head.rev == 8
        assert [each.state for each in scene.store.values_at([value_id(DE, 3)])] == [ValueState.OLD]

    def test_so_many_revisions_are_kept(self, scene: Scene) -> None:
        for number in range(REVISIONS_KEPT + 2):
            self.put(scene, f"{2000 + number}-01-01")
        ids = [value_id(DE, rev) for rev in range(1, REVISIONS_KEPT + 3)]
        assert {each.rev for each in scene.store.values_at(ids)} == {*range(3, REVISIONS_KEPT + 3)}

    def test_what_was_deleted_is_gone_and_a_later_put_goes_on_with_the_next_number(self, scene: Scene) -> None:
        first = self.put(scene, TODAY)
        assert scene.store.remove_value(DE, BY) == first
        assert scene.store.values() == scene.store.values(DE) == scene.store.values(new=True) == []
        with pytest.raises(ValueNotFound):
            scene.store.remove_value(DE, BY)
        assert self.put(scene, TODAY).rev == 3
        assert scene.store.values_at([value_id(DE, 1)])[0].content == days(TODAY)

    def test_what_is_used_cannot_be_deleted_and_users_are_named(self, scene: Scene) -> None:
        self.put(scene, TODAY)
        scene.put("b", latest(scene, every("1m") - calendar("de")))
        scene.put("a", latest(scene, every("1m") - calendar("de")))
        scene.put("c")
        with pytest.raises(Conflict, match="calendar de is used by a, b; "):
            scene.store.remove_value(DE, BY)
        for name in ("a", "b"):
            scene.edit(edits.delete(), name)
        assert scene.store.remove_value(DE, BY).rev == 1

    def test_a_calendar_of_a_named_trigger_cannot_be_deleted(self, scene: Scene) -> None:
        self.put(scene, TODAY)
        scene.store.put_value(HOURLY, {"trigger": encode(latest(scene, every("1h") - calendar("de")))}, BY)
        with pytest.raises(Conflict, match="used by trigger hourly"):
            scene.store.remove_value(DE, BY)

    def test_no_schedule_is_put_with_another_revision_than_the_last(self, scene: Scene) -> None:
        self.put(scene, TODAY)
        trigger = latest(scene, every("1m") - calendar("de"))
        self.put(scene, "2027-12-25")
        with pytest.raises(ValueMoved):
            scene.put(trigger=trigger)
        with pytest.raises(ValueMoved):
            scene.store.put_value(HOURLY, {"trigger": encode(trigger)}, BY)
        assert not scene.exists()
        scene.put(trigger=latest(scene, trigger))
        scene.store.put_value(DE, days("2027-12-26"), BY)
        assert scene.edit(edits.pause("it is not the trigger that changes"))[0].revision == 1

    def test_puts_and_a_deletion_at_once_leave_no_schedule_without_its_calendar(self, scene: Scene) -> None:
        self.put(scene, TODAY)
        trigger = latest(scene, every("1m") - calendar("de"))

        def put(number: int) -> bool:
            try:
                scene.put(f"s{number}", trigger)
            except ValueMoved:
                return False
            return True

        def delete() -> bool:
            try:
                scene.store.remove_value(DE, BY)
            except Conflict:
                return False
            return True

        with ThreadPoolExecutor(5) as threads:
            puts = [threads.submit(put, number) for number in range(4)]
            deleted = threads.submit(delete).result()
            assert any(each.result() for each in puts) is not deleted

    def test_schedules_are_found_by_what_they_name(self, scene: Scene) -> None:
        self.put(scene, TODAY)
        self.put(scene, TODAY, name="d")
        scene.store.put_value(HOURLY, {"trigger": encode(every("1h"))}, BY)
        for name in ("a", "b", "c", "gone"):
            scene.put(name, latest(scene, every("1m") - calendar("de")))
        scene.put("d", latest(scene, named("hourly") - calendar("d")))
        scene.edit(edits.delete(), "gone")
        assert [each.name for each in scene.store.users("calendar/de", limit=2)] == ["a", "b"]
        assert [each.name for each in scene.store.users("calendar/de", after="b")] == ["c"]
        assert [each.name for each in scene.store.users("trigger/hourly")] == ["d"]
        scene.put("b")
        assert [each.name for each in scene.store.users("calendar/de")] == ["a", "c"]

    def test_puts_and_deletions_are_in_the_audit(self, scene: Scene) -> None:
        self.put(scene, TODAY)
        self.put(scene, "2027-12-25")
        scene.store.remove_value(DE, BY)
        told = [(each.by, each.before, each.after) for each in reversed(scene.store.changes())]
        assert told == [
            (BY, {}, {"calendar": "de", "rev": 1}),
            (BY, {"rev": 1}, {"calendar": "de", "rev": 2}),
            (BY, {"rev": 2}, {"calendar": "de"}),
        ]


class TestCarrying(Promises):
    def used(self, scene: Scene, count: int = 5) -> list[str]:
        """Schedules that run daily at noon, but not on the days of the calendar."""
        scene.store.put_value(DE, days("2027-01-16"), BY)
        carry_new(scene.store)
        names = [f"s{number:03}" for number in range(count)]
        trigger = latest(scene, cron("0 12 * * *") - calendar("de"))
        scene.store.change(names, edits.put(definition(trigger)), BY)
        return names

    def test_a_process_that_never_read_the_calendar_plans_by_it(self, scene: Scene) -> None:
        self.used(scene, 1)
        node = scene.node()
        forget_all()
        scene.wait(4 * HOUR)
        assert [iso(run.scheduled_ms) for run in scene.plan(node)] == ["2027-01-15T12:00:00Z"]
        assert iso(scene.schedule("s000").next_run_ms or 0) == "2027-01-17T12:00:00Z"

    def test_schedules_that_are_read_can_be_asked_for_their_moments(self, scene: Scene) -> None:
        self.used(scene, 1)
        store, schedule_id = scene.store, scene.schedule("s000").id
        reads: tuple[Callable[[], list[Schedule]], ...] = (
            store.schedules,
            lambda: store.users("calendar/de"),
            lambda: store.revisions(schedule_id),
            lambda: store.overdue(START_MS + DAY),
        )
        for read in reads:
            forget_all()
            (found,) = read()
            assert edits.definition_of(found).trigger.next("2027-01-15T13:00Z") is not None

    def test_a_new_revision_is_carried_to_all_that_use_it(self, scene: Scene) -> None:
        names = self.used(scene)
        scene.put("other")
        new = scene.store.put_value(DE, days(TODAY), BY)
        assert [each.rev for each in scene.store.values(new=True)] == [new.rev]
        assert carry_new(scene.store) == 5
        assert pins_of(scene, names) == {2}
        assert {iso(scene.schedule(name).next_run_ms or 0) for name in names} == {"2027-01-16T12:00:00Z"}
        assert scene.store.values(new=True) == []
        assert carry_new(scene.store) == 0
        assert {scene.schedule(name).revision for name in (*names, "other")} == {1, 2}

    def test_whoever_dies_in_the_midst_of_it_is_followed_by_another(self, scene: Scene) -> None:
        names = self.used(scene)
        new = scene.store.put_value(DE, days(TODAY), BY)
        remember(new.pinned, new.content)
        scene.store.change(names[:2], edits.repin({DE: new.pin}), BY)
        forget_all()  # it is another process that goes on
        assert carry_new(scene.store, older_ms=MINUTE) == 0, "whoever put it is left alone for a while"
        scene.wait(MINUTE)
        assert carry_new(scene.store, older_ms=MINUTE) == 3
        assert pins_of(scene, names) == {2}
        assert scene.store.values(new=True) == []

    def test_a_calendar_is_carried_by_way_of_named_triggers(self, scene: Scene) -> None:
        scene.store.put_value(DE, days("2027-01-16"), BY)
        scene.store.put_value(HOURLY, {"trigger": encode(latest(scene, cron("0 12 * * *") - calendar("de")))}, BY)
        scene.put(trigger=latest(scene, named("hourly")))
        assert iso(scene.schedule().next_run_ms or 0) == "2027-01-15T12:00:00Z"
        scene.store.put_value(DE, days(TODAY), BY)
        forget_all()
        carry_new(scene.store)
        assert iso(scene.schedule().next_run_ms or 0) == "2027-01-16T12:00:00Z"
        assert {str(each.use): each.rev for each in scene.store.values()} == {"calendar/de": 2, "trigger/hourly": 2}
        assert scene.store.values(new=True) == []

    def test_only_the_future_is_planned_anew_and_what_is_due_still_runs(self, scene: Scene) -> None:
        self.used(scene, 1)
        scene.wait(4 * HOUR + MINUTE)  # noon is past, and nobody has planned it
        scene.store.put_value(DE, days("2027-01-17"), BY)
        carry_new(scene.store)
        (run,) = scene.plan(scene.node())
        assert iso(run.scheduled_ms) == "2027-01-15T12:00:00Z"
        assert scene.store.decisions(scene.schedule("s000").id) == []
        assert iso(scene.schedule("s000").next_run_ms or 0) == "2027-01-16T12:00:00Z"

    def test_what_operators_did_stays(self, scene: Scene) -> None:
        names = self.used(scene, 2)
        scene.edit(edits.pause("migration"), names[0])
        scene.edit(edits.reschedule(START_MS + DAY), names[1])
        scene.store.put_value(DE, days(TODAY), Author("ops", "cli", "put"))
        carry_new(scene.store)
        paused, moved = (scene.schedule(name) for name in names)
        assert (paused.enabled, paused.paused_note) == (False, "migration")
        assert (moved.next_run_ms, moved.rescheduled) == (START_MS + DAY, True)
        assert pins_of(scene, names) == {2}
