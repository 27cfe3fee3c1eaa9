"""Where a schedule goes on after a change of zone (fault 6), and when exactly a tick fires (fault 7)."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import draws

from onthedot import Trigger, at, cron, dates, every
from onthedot.moments import floor_ms, from_ms
from onthedot.triggers.replan import due_ms, goes_on_after_ms
from onthedot.triggers.zones import FOLDS, Fold

BERLIN, NEW_YORK, TOKYO, APIA = "Europe/Berlin", "America/New_York", "Asia/Tokyo", "Pacific/Apia"


def first_after_change(old: Trigger, new: Trigger, last_tick: str | None, now: str) -> datetime | None:
    """The first tick of the new trigger, after the last one of the old fired and the change was made."""
    last = None if last_tick is None else floor_ms(last_tick)
    tick = new.next_ms(goes_on_after_ms(old, new, last, floor_ms(now)))
    return None if tick is None else from_ms(tick)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


# a change of zone


@pytest.mark.parametrize(
    ("old", "new", "last_tick", "now", "expected"),
    [
        # Westwards: nine o'clock of the 5th has been, in Berlin; the next is that of the 6th, in New York.
        (BERLIN, NEW_YORK, "2026-01-05T08:00Z", "2026-01-05T10:00Z", "2026-01-06T14:00"),
        (BERLIN, NEW_YORK, "2026-01-05T08:00Z", "2026-01-05T14:00Z", "2026-01-06T14:00"),
        (BERLIN, NEW_YORK, "2026-01-05T08:00Z", "2026-01-05T20:00Z", "2026-01-06T14:00"),
        # Eastwards: the next nine o'clock in Tokyo is that of the 6th anyway.
        (NEW_YORK, TOKYO, "2026-01-05T14:00Z", "2026-01-05T15:00Z", "2026-01-06T00:00"),
        (BERLIN, TOKYO, "2026-01-05T08:00Z", "2026-01-05T09:00Z", "2026-01-06T00:00"),
        # Around the date line and back.
        (TOKYO, "Pacific/Honolulu", "2026-01-05T00:00Z", "2026-01-05T01:00Z", "2026-01-06T19:00"),
        ("Pacific/Honolulu", TOKYO, "2026-01-05T19:00Z", "2026-01-05T20:00Z", "2026-01-06T00:00"),
    ],
)
def test_after_a_change_of_zone_the_same_local_day_does_not_fire_twice(
    old: str, new: str, last_tick: str, now: str, expected: str
) -> None:
    before, after = cron("0 9 * * *", tz=old), cron("0 9 * * *", tz=new)
    assert first_after_change(before, after, last_tick, now) == utc(expected)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda tz: cron("0 9 * * *", tz=tz), "2026-01-06T14:00"),
        (lambda tz: cron("0 9,17 * * *", tz=tz), "2026-01-05T22:00"),  # 17:00 has not been yet
        (lambda tz: cron("0 9 * * *", tz=tz, fold="both"), "2026-01-06T14:00"),
        (lambda tz: cron("0 9 * * *", tz=tz) - dates("2026-12-25"), "2026-01-06T14:00"),
        (lambda tz: cron("0 9 * * *", tz=tz) | cron("0 10 1 * *", tz=tz), "2026-01-06T14:00"),
    ],
    ids=["daily", "twice a day", "both", "exclusion", "union"],
)
def test_every_trigger_at_fixed_times_goes_on_after_the_label_of_the_last_tick(make: object, expected: str) -> None:
    assert callable(make)
    found = first_after_change(make(BERLIN), make(NEW_YORK), "2026-01-05T08:00Z", "2026-01-05T10:00Z")
    assert found == utc(expected)


def test_after_a_change_of_zone_nothing_fires_early() -> None:
    """Nine o'clock in Tokyo of the 5th passed before the change: it is not made up for."""
    before, after = cron("0 9 * * *", tz=BERLIN), cron("0 9 * * *", tz=TOKYO)
    assert first_after_change(before, after, "2026-01-04T08:00Z", "2026-01-05T07:00Z") == utc("2026-01-06T00:00")


@given(st.sampled_from(draws.AWKWARD_ZONES), st.sampled_from(draws.AWKWARD_ZONES), st.data())
def test_whatever_the_zones_no_local_date_fires_twice_and_none_before_now(
    old: str, new: str, data: st.DataObject
) -> None:
    before, after = cron("30 2 * * *", tz=old), cron("30 2 * * *", tz=new)
    last = before.next_ms(data.draw(draws.moments(old).filter(lambda second: second < draws.END - 10**6)) * 1000)
    assert last is not None
    now = last + data.draw(st.integers(0, 86_400_000))
    onward = goes_on_after_ms(before, after, last, now)
    tick = after.next_ms(onward)
    assert onward >= now
    assert tick is not None
    if "Pacific" not in old + new:  # where a day is missing, two of them meet
        shown = from_ms(last).astimezone(ZoneInfo(old)).date(), from_ms(tick).astimezone(ZoneInfo(new)).date()
        assert shown[1] > shown[0]


def test_a_trigger_that_never_fired_goes_on_from_now() -> None:
    before, after = cron("0 9 * * *", tz=BERLIN), cron("0 9 * * *", tz=NEW_YORK)
    assert first_after_change(before, after, None, "2026-01-05T10:00Z") == utc("2026-01-05T14:00")


def test_a_trigger_that_follows_real_time_goes_on_from_now() -> None:
    before, after = cron("*/5 * * * *", tz=BERLIN), cron("*/5 * * * *", tz=NEW_YORK)
    assert first_after_change(before, after, "2026-01-05T08:00Z", "2026-01-05T08:01Z") == utc("2026-01-05T08:05")
    before, after = every("1h", tz=BERLIN), every("1h", tz=TOKYO)
    assert first_after_change(before, after, "2026-01-05T08:00Z", "2026-01-05T08:01Z") == utc("2026-01-05T09:00")


def test_a_change_that_leaves_the_zone_alone_goes_on_from_now() -> None:
    before, after = cron("0 9 * * *", tz=BERLIN), cron("0 10 * * *", tz=BERLIN)
    assert first_after_change(before, after, "2026-01-05T08:00Z", "2026-01-05T08:30Z") == utc("2026-01-05T09:00")


def test_a_tick_that_was_moved_to_the_end_of_a_gap_is_not_fired_again_in_the_new_zone() -> None:
    before, after = cron("30 2 * * *", tz=NEW_YORK), cron("30 2 * * *", tz="America/Chicago")
    assert first_after_change(before, after, "2026-03-08T07:00Z", "2026-03-08T07:30Z") == utc("2026-03-09T07:30")


def test_a_tick_whose_label_is_in_a_gap_of_the_new_zone_is_not_fired_again_at_its_end() -> None:
    before, after = cron("30 2 * * *", tz="America/Havana"), cron("30 2 * * *", tz=NEW_YORK)
    assert first_after_change(before, after, "2026-03-08T06:30Z", "2026-03-08T06:40Z") == utc("2026-03-09T06:30")


@pytest.mark.parametrize("fold", FOLDS)
def test_a_tick_whose_label_happens_twice_in_the_new_zone_is_fired_at_neither(fold: Fold) -> None:
    before, after = cron("30 1 * * *", tz="Europe/London"), cron("30 1 * * *", tz=NEW_YORK, fold=fold)
    assert first_after_change(before, after, "2026-11-01T01:30Z", "2026-11-01T02:00Z") == utc("2026-11-02T06:30")


# jitter

KEYS = [f"schedule-{n}" for n in range(200)]
TICK = floor_ms("2026-01-05T09:00Z")


def test_without_jitter_a_tick_fires_at_its_moment() -> None:
    assert {due_ms(every("1h"), TICK, 0, key) for key in KEYS} == {TICK}


def test_jitter_is_the_same_for_the_same_schedule_and_tick() -> None:
    trigger = every("1h")
    assert [due_ms(trigger, TICK, 60_000, key) for key in KEYS] == [due_ms(trigger, TICK, 60_000, key) for key in KEYS]


def test_jitter_is_the_same_on_every_machine_for_ever() -> None:
    """A golden value: nodes of two versions must agree on it."""
    assert due_ms(every("1h"), TICK, 60_000, "digest-eu") - TICK == 58_413


def test_jitter_spreads_schedules_over_its_whole_length() -> None:
    late = [due_ms(every("1h"), TICK, 60_000, key) - TICK for key in KEYS]
    assert 0 <= min(late) < 2000
    assert 58_000 < max(late) <= 60_000
    assert len(set(late)) > 190


def test_jitter_differs_from_tick_to_tick() -> None:
    ticks = [TICK + n * 3_600_000 for n in range(50)]
    assert len({due_ms(every("1h"), tick, 60_000, "a") - tick for tick in ticks}) > 45


@pytest.mark.parametrize("trigger", [every("1m"), cron("* * * * *"), every("1m") - dates("2030-01-01")], ids=str)
def test_jitter_never_reaches_the_next_tick(trigger: Trigger) -> None:
    for jitter in (59_999, 60_000, 60_001, 3_600_000):
        assert all(TICK <= due_ms(trigger, TICK, jitter, key) < TICK + 60_000 for key in KEYS)


def test_jitter_never_reaches_the_next_tick_of_any_part_of_a_union() -> None:
    trigger = every("1h") | at("2026-01-05T09:00:05Z")
    assert all(due_ms(trigger, TICK, 60_000, key) < TICK + 5000 for key in KEYS)


def test_jitter_leaves_the_very_moment_of_the_next_tick_free() -> None:
    trigger = at("2026-01-05T09:00Z") | at("2026-01-05T09:00:00.002Z")
    assert {due_ms(trigger, TICK, 60_000, key) - TICK for key in KEYS} == {0, 1}


ENDS = "2026-01-05T09:00:10Z"


@pytest.mark.parametrize(
    "trigger",
    [
        every("1h", repeat_until=ENDS),
        cron("0 * * * *", repeat_until=ENDS),
        every("1h", repeat_until=ENDS) - dates("2030-01-01"),
        cron("0 * * * *", repeat_until=ENDS) - every("7h"),
        every("1h", repeat_until=ENDS) | cron("30 * * * *", repeat_until="2026-01-05T08:45Z"),
        every("1h", repeat_until=ENDS) | at("2025-01-01T00:00Z"),
    ],
    ids=str,
)
def test_jitter_never_crosses_the_end(trigger: Trigger) -> None:
    late = [due_ms(trigger, TICK, 60_000, key) - TICK for key in KEYS]
    assert max(late) <= 10_000
    assert max(late) > 9000


def test_at_the_very_end_there_is_no_room_for_jitter() -> None:
    trigger = every("1h", repeat_until="2026-01-05T09:00Z")
    assert {due_ms(trigger, TICK, 60_000, key) for key in KEYS} == {TICK}


def test_a_single_moment_may_be_as_late_as_its_jitter() -> None:
    late = [due_ms(at("2026-01-05T09:00Z"), TICK, 60_000, key) - TICK for key in KEYS]
    assert 58_000 < max(late) <= 60_000


@given(draws.triggers(), st.integers(0, draws.END - 1), st.integers(0, 10**8), st.text(max_size=5))
def test_whatever_the_trigger_jitter_keeps_ticks_in_order(trigger: Trigger, second: int, jitter: int, key: str) -> None:
    tick = trigger.next_ms(second * 1000)
    if tick is not None:
        due = due_ms(trigger, tick, jitter, key)
        following = trigger.next_ms(tick)
        assert tick <= due <= tick + jitter
        assert following is None or due < following
