"""What people do to schedules, shown without a store."""

from __future__ import annotations

from onthedot import cron
from onthedot.model.schedule import Schedule
from onthedot.model.values import replace
from onthedot.moments import ceil_ms, iso
from onthedot.rules.edits import Definition, delete, go_on, put
from onthedot.rules.effects import Before
from onthedot.triggers.base import Trigger


def put_at(moment: str, trigger: Trigger, old: Schedule | None = None) -> Schedule:
    new = put(Definition("job", trigger))(Before("s", old, ()), ceil_ms(moment)).schedule
    assert new is not None
    return new


def test_after_a_change_of_zone_no_label_of_the_wall_clock_comes_twice() -> None:
    berlin, new_york = cron("0 9 * * *", tz="Europe/Berlin"), cron("0 9 * * *", tz="America/New_York")
    old = put_at("2026-01-05T07:00:00Z", berlin)
    ran = replace(old, settled_ms=ceil_ms("2026-01-05T08:00:00Z"), next_run_ms=ceil_ms("2026-01-06T08:00:00Z"))
    moved = put_at("2026-01-05T10:00:00Z", new_york, ran)
    assert moved.next_run_ms is not None
    assert iso(moved.next_run_ms) == "2026-01-06T14:00:00Z", "nine o'clock of the 5th has been"


def test_after_a_deletion_a_schedule_begins_anew_in_its_zone() -> None:
    berlin, new_york = cron("0 9 * * *", tz="Europe/Berlin"), cron("0 9 * * *", tz="America/New_York")
    old = replace(put_at("2026-01-05T07:00:00Z", berlin), settled_ms=ceil_ms("2026-01-05T08:00:00Z"))
    gone = delete()(Before("s", old, ()), ceil_ms("2026-01-05T09:00:00Z")).schedule
    anew = put_at("2026-01-05T10:00:00Z", new_york, gone)
    assert anew.next_run_ms is not None
    assert iso(anew.next_run_ms) == "2026-01-05T14:00:00Z"


def test_who_declares_the_same_a_moment_later_makes_no_new_revision() -> None:
    meant = Definition("job", cron("0 9 * * *"), origin="code", declared_hash="same")
    first = put(meant)(Before("s", None, ()), ceil_ms("2026-01-05T07:00:00Z")).schedule
    assert first is not None
    again = put(meant)(Before("s", first, ()), ceil_ms("2026-01-05T07:00:01Z")).schedule
    seen_ms = ceil_ms("2026-01-05T07:00:01Z")
    assert again == replace(first, declared_seen_ms=seen_ms, version=first.version + 1), "only a sign of life"


def moved_in(last: str, old: Schedule | None) -> Schedule:
    edit = go_on(Definition("job", cron("0 * * * *")), ceil_ms(last))
    new = edit(Before("s", old, ()), ceil_ms("2026-01-05T10:30:00Z")).schedule
    assert new is not None
    return new


def test_what_another_scheduler_had_goes_on_after_its_last_moment() -> None:
    new = moved_in("2026-01-05T08:00:00Z", None)
    assert (iso(new.settled_ms), iso(new.next_run_ms or 0)) == ("2026-01-05T08:00:00Z", "2026-01-05T09:00:00Z")
    ahead = moved_in("2026-01-05T23:00:00Z", None)
    assert iso(ahead.next_run_ms or 0) == "2026-01-05T11:00:00Z", "a clock elsewhere was wrong"


def test_only_a_new_name_goes_on_where_another_scheduler_was() -> None:
    old = put_at("2026-01-05T10:00:00Z", cron("0 * * * *"))
    gone = delete()(Before("s", old, ()), ceil_ms("2026-01-05T10:15:00Z")).schedule
    assert iso(moved_in("2026-01-05T08:00:00Z", gone).next_run_ms or 0) == "2026-01-05T11:00:00Z"
