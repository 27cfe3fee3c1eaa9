"""Intervals on the wall clock: a time of day, every so many days."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest

from onthedot import TriggerError, cron, dates, every
from onthedot.app.clock_notes import note_of
from onthedot.app.trigger_text import read_trigger
from onthedot.forecast import forecast
from onthedot.moments import END_MS
from onthedot.triggers import decode, encode
from onthedot.triggers.replan import goes_on_after_ms
from onthedot.triggers.written import can_be_typed, written


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


# on the wall clock


def test_nine_oclock_stays_nine_oclock_across_a_change_of_the_clock() -> None:
    trigger = every("2w", at="09:00", tz="Europe/Berlin", anchor="2026-03-02")
    found = [
        tick.astimezone(ZoneInfo("Europe/Berlin")) for tick in trigger.between("2026-03-01T00:00Z", "2026-05-01T00:00Z")
    ]
    assert [f"{tick:%a %m-%d %H:%M}" for tick in found] == [
        "Mon 03-02 09:00", "Mon 03-16 09:00", "Mon 03-30 09:00", "Mon 04-13 09:00", "Mon 04-27 09:00",
    ]  # fmt: skip
    assert found[1].utcoffset() != found[2].utcoffset()


@pytest.mark.parametrize(
    ("zone", "at"),
    [
        ("UTC", "00:00"),
        ("America/New_York", "02:30"),
        ("America/New_York", "01:30"),
        ("Europe/London", "01:00"),
        ("Australia/Lord_Howe", "02:15"),
        ("Australia/Lord_Howe", "01:45"),
        ("America/Havana", "00:00"),
        ("America/Havana", "00:30:15"),
        ("Africa/Cairo", "00:10"),
        ("Asia/Beirut", "00:00"),
        ("America/Santiago", "00:59:59"),
        ("Africa/Casablanca", "02:30"),
        ("Pacific/Apia", "00:00"),
        ("Pacific/Apia", "12:00"),
        ("Africa/Monrovia", "23:59"),
    ],
)
@pytest.mark.parametrize("rules", [{}, {"gap": "skip"}, {"fold": "last"}, {"gap": "skip", "fold": "both"}])
def test_a_day_and_a_week_at_a_time_are_what_cron_says_of_it(zone: str, at: str, rules: dict[str, str]) -> None:
    hour, minute, second = (*map(int, at.split(":")), 0)[:3]
    daily = every("1d", at=at, tz=zone, **rules)  # type: ignore[call-overload]
    weekly = every("1w", at=at, tz=zone, anchor="2026-01-05", **rules)  # type: ignore[call-overload]
    for trigger, weekday in ((daily, "*"), (weekly, "mon")):
        same = cron(f"{second} {minute} {hour} * * {weekday}", tz=zone, **rules)  # type: ignore[arg-type]
        for start in ("1970-01-01T00:00Z", "2011-12-25T00:00Z", "2026-01-01T00:00Z", "2198-12-01T00:00Z"):
            end = utc(start[:10]) + timedelta(days=800)
            assert trigger.between(start, end) == same.between(start, end)
            assert trigger.prev(end) == same.prev(end)


def test_dates_are_counted_from_the_anchor_both_ways() -> None:
    trigger = every("3d", at=time(23, 30), tz="Asia/Tokyo", anchor=date(2026, 1, 1))
    assert trigger.next("2025-12-28T00:00Z") == utc("2025-12-29T14:30")
    assert trigger.prev("2025-12-31T00:00Z") == utc("2025-12-29T14:30")
    assert trigger.next("2025-12-29T14:30Z") == utc("2026-01-01T14:30")


def test_every_node_agrees_without_an_anchor() -> None:
    found = every("5d", at="12:00").between("2026-01-01T00:00Z", "2026-03-01T00:00Z")
    assert all((tick - utc("1970-01-01T12:00")) % timedelta(days=5) == timedelta(0) for tick in found)


def test_it_keeps_within_its_bounds() -> None:
    trigger = every("1d", at="09:00", tz="Europe/Berlin", starts_at="2026-03-28", repeat_until="2026-03-30")
    assert trigger.between("2026-01-01T00:00Z", "2027-01-01T00:00Z") == [
        utc("2026-03-28T08:00"), utc("2026-03-29T07:00"), utc("2026-03-30T07:00"),
    ]  # fmt: skip
    assert trigger.prev("2026-03-28T08:00Z") is None
    assert trigger.next("2026-03-30T07:00Z") is None


def test_the_end_of_time_is_an_end() -> None:
    trigger = every("1d", at="23:59:59")
    last = trigger.prev_ms(END_MS)
    assert last == END_MS - 1000
    assert trigger.next_ms(last) is None
    assert trigger.next_ms(END_MS + 86_400_000) is None
    assert trigger.prev_ms(0) is None


# as a part of others


def test_dates_and_triggers_are_left_out_of_it() -> None:
    trigger = (
        every("1d", at="09:00", tz="Europe/Berlin")
        - dates("2026-12-24..2026-12-26")
        - cron("0 9 * * sun", tz="Europe/Berlin")
    )
    found = [tick.day for tick in trigger.between("2026-12-20T12:00Z", "2026-12-30T00:00Z")]
    assert found == [21, 22, 23, 28, 29]
    assert trigger.next("2026-12-23T12:00Z") == utc("2026-12-28T08:00")
    assert trigger.prev("2026-12-28T08:00Z") == utc("2026-12-23T08:00")


def test_where_all_of_it_is_left_out_nothing_is_left() -> None:
    trigger = every("2d", at="09:00") - cron("0 9 * * *")
    assert trigger.next("2026-01-01T00:00Z") is None


def test_it_is_left_out_of_another() -> None:
    hourly = cron("0 * * * *", tz="Europe/Berlin") - every("1d", at="09:00", tz="Europe/Berlin")
    assert [tick.hour for tick in hourly.between("2026-06-01T06:00Z", "2026-06-01T10:00Z")] == [6, 8, 9]
    assert (
        next(
            iter((cron("0 9 * * *") - every("1d", at="09:00")).between("2026-01-01T00:00Z", "2026-02-01T00:00Z")), None
        )
        is None
    )


def test_it_is_forecast() -> None:
    index = forecast(
        {"a": every("1d", at="09:00", tz="Europe/Berlin"), "b": cron("0 9 * * *", tz="Europe/Berlin")},
        "2026-03-01T00:00Z",
        "2026-04-01T00:00Z",
    )
    assert len(index) == 62


# kept, told and typed


@pytest.mark.parametrize(
    "trigger",
    [
        every("1d", at="09:00"),
        every("2w", at="09:00:30", tz="Europe/Berlin", anchor="2026-01-05", gap="skip", fold="both"),
        every("10d", at="00:00", starts_at="2026-01-01T00:00Z", repeat_until="2027-01-01T00:00Z"),
    ],
    ids=str,
)
def test_it_is_kept_as_it_is(trigger: object) -> None:
    assert decode(encode(trigger)) == trigger  # type: ignore[arg-type]
    assert eval(str(trigger), {"every": every}) == trigger


def test_it_is_told_in_english() -> None:
    assert every("1d", at="09:00").describe() == "every day at 09:00, UTC time"
    assert (
        every("2w", at="09:00", tz="Europe/Berlin", anchor="2026-01-05").describe()
        == "every 2 weeks, on Mondays at 09:00, Europe/Berlin time, counted from 2026-01-05"
    )
    assert every("1w", at="09:00", anchor="2026-01-06").describe() == "every week, on Tuesdays at 09:00, UTC time"


def test_it_is_typed_in_one_line() -> None:
    trigger = read_trigger("every 2w at 09:00", tz="Europe/Berlin")
    assert trigger == every("2w", at="09:00", tz="Europe/Berlin")
    assert written(encode(trigger)) == "every 14d at 09:00"
    assert can_be_typed(encode(trigger))
    assert not can_be_typed(encode(every("2w", at="09:00", anchor="2026-01-05")))


def test_a_tick_moved_by_a_gap_says_so() -> None:
    trigger = every("1d", at="02:30", tz="America/New_York")
    moved = trigger.next_ms(int(utc("2026-03-08T00:00").timestamp() * 1000))
    assert moved == utc("2026-03-08T07:00").timestamp() * 1000
    assert moved is not None
    assert note_of(trigger, moved) == "moved by a gap"


def test_after_a_change_of_zone_it_goes_on_after_the_time_that_has_been() -> None:
    old, new = (every("1d", at="09:00", tz=zone) for zone in ("Europe/Berlin", "America/New_York"))
    tick = old.next_ms(int(utc("2026-06-01T00:00").timestamp() * 1000))
    assert tick is not None
    after = goes_on_after_ms(old, new, tick, tick + 1000)
    assert new.next(datetime.fromtimestamp(after / 1000, UTC)) == utc("2026-06-02T13:00")


# mistakes


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"interval": "90m", "at": "09:00"}, "an interval of 1h30m has no time of day"),
        ({"interval": "1d", "at": "25:00"}, "'25:00' is no time of day"),
        ({"interval": "1d", "at": "9 am"}, "'9 am' is no time of day"),
        ({"interval": "1d", "at": time(9, tzinfo=UTC)}, "is no time of day"),
        ({"interval": "1d", "at": "09:00", "anchor": "2026-01-05T09:00Z"}, "is no date"),
        ({"interval": "1d", "at": "09:00", "anchor": "2026-02-30"}, "'2026-02-30' is no date"),
        ({"interval": "1d", "at": "09:00", "spread": True}, "a time of day is not spread"),
        ({"interval": "1d", "at": "09:00", "tz": ""}, "no time zone ''"),
        ({"interval": "1d", "at": "09:00", "gap": "jump"}, "gap='jump' is not known"),
        ({"interval": "1d", "gap": "skip"}, "an interval follows real time"),
        ({"interval": "1d", "anchor": date(2026, 1, 5)}, "is no moment"),
        (
            {"interval": "30d", "at": "09:00", "starts_at": "2026-01-01T10:00Z", "repeat_until": "2026-01-01T11:00Z"},
            "can never fire",
        ),
    ],
)
def test_a_mistake_is_named(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(TriggerError, match=said.replace("(", r"\(")):
        every(**arguments)  # type: ignore[call-overload]


def test_ticks_come_one_after_the_other() -> None:
    ticks = list(islice(every("1d", at="00:30", tz="America/Havana", fold="both").between_ms(0, END_MS), 2000))
    assert ticks == sorted(set(ticks))
