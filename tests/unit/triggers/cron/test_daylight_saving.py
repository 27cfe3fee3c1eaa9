"""Time zones mean the wall clock (promise 5), at every awkward jump of DST.md, and the faults 1 to 3 of FAULTS.md."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from onthedot import cron
from onthedot.triggers.cron.trigger import Cron
from onthedot.triggers.zones import FOLDS, GAPS, Fold, Gap


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def made(text: str, tz: str, gap: Gap | None = None, fold: Fold | None = None) -> Cron:
    trigger = cron(text, tz=tz, gap=gap, fold=fold)
    assert isinstance(trigger, Cron)
    return trigger


def ticks(text: str, tz: str, start: str, end: str, *, gap: Gap | None = None, fold: Fold | None = None) -> list[str]:
    """The ticks from one local date to another, as "2026-03-08T07:00" in UTC; the same in both directions."""
    trigger = made(text, tz, gap, fold)
    first, last = (datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(tz)) for day in (start, end))
    forward = trigger.between(first, last)
    backward, tick = [], trigger.prev(last)
    while tick is not None and tick >= first:
        backward.append(tick)
        tick = trigger.prev(tick)
    assert forward == backward[::-1]
    return [tick.strftime("%Y-%m-%dT%H:%M") for tick in forward]


def one_day(day: str) -> tuple[str, str]:
    """A local date and the next."""
    return day, str(date.fromisoformat(day) + timedelta(days=1))


def local_dates(text: str, tz: str, start: str, end: str) -> Counter[str]:
    zone = ZoneInfo(tz)
    return Counter(str(utc(tick).astimezone(zone).date()) for tick in ticks(text, tz, start, end))


# Fault 1: autumn. Each row: zone, a time that happens twice, its local date, and both instants in UTC
TWICE = [
    ("America/New_York", "30 1", "2026-11-01", "2026-11-01T05:30", "2026-11-01T06:30"),
    ("America/New_York", "0 1", "2026-11-01", "2026-11-01T05:00", "2026-11-01T06:00"),
    ("America/New_York", "59 1", "2026-11-01", "2026-11-01T05:59", "2026-11-01T06:59"),
    ("Europe/London", "30 1", "2026-10-25", "2026-10-25T00:30", "2026-10-25T01:30"),
    ("Europe/Berlin", "30 2", "2026-10-25", "2026-10-25T00:30", "2026-10-25T01:30"),
    ("Europe/Dublin", "30 1", "2026-10-25", "2026-10-25T00:30", "2026-10-25T01:30"),
    ("Australia/Lord_Howe", "45 1", "2026-04-05", "2026-04-04T14:45", "2026-04-04T15:15"),
    ("America/Havana", "0 0", "2026-11-01", "2026-11-01T04:00", "2026-11-01T05:00"),
    ("America/Havana", "30 0", "2026-11-01", "2026-11-01T04:30", "2026-11-01T05:30"),
    ("America/Santiago", "30 23", "2026-04-04", "2026-04-05T02:30", "2026-04-05T03:30"),
    ("Africa/Casablanca", "30 2", "2026-02-15", "2026-02-15T01:30", "2026-02-15T02:30"),
    ("Antarctica/Troll", "30 1", "2026-10-25", "2026-10-24T23:30", "2026-10-25T01:30"),
    ("Pacific/Chatham", "0 3", "2026-04-05", "2026-04-04T13:15", "2026-04-04T14:15"),
]


@pytest.mark.parametrize(("tz", "time", "day", "first", "last"), TWICE)
def test_a_fixed_time_that_happens_twice_fires_once_the_first_time(
    tz: str, time: str, day: str, first: str, last: str
) -> None:
    assert ticks(f"{time} * * *", tz, *one_day(day)) == [first]


@pytest.mark.parametrize(("tz", "time", "day", "first", "last"), TWICE)
def test_fold_chooses_the_first_the_last_or_both(tz: str, time: str, day: str, first: str, last: str) -> None:
    by_rule: dict[Fold, list[str]] = {"first": [first], "last": [last], "both": [first, last]}
    for fold, expected in by_rule.items():
        for gap in (None, *GAPS):
            assert ticks(f"{time} * * *", tz, *one_day(day), gap=gap, fold=fold) == expected


# Fault 2: spring. Each row: zone, a time that the clock jumps over, its local date, and the end of the gap in UTC
MISSING = [
    ("America/New_York", "30 2", "2026-03-08", "2026-03-08T07:00"),
    ("America/New_York", "0 2", "2026-03-08", "2026-03-08T07:00"),
    ("America/New_York", "59 2", "2026-03-08", "2026-03-08T07:00"),
    ("Europe/London", "30 1", "2026-03-29", "2026-03-29T01:00"),
    ("Europe/Berlin", "30 2", "2026-03-29", "2026-03-29T01:00"),
    ("Europe/Dublin", "30 1", "2026-03-29", "2026-03-29T01:00"),
    ("Australia/Lord_Howe", "15 2", "2026-10-04", "2026-10-03T15:30"),
    ("America/Havana", "0 0", "2026-03-08", "2026-03-08T05:00"),
    ("America/Havana", "30 0", "2026-03-08", "2026-03-08T05:00"),
    ("Africa/Cairo", "0 0", "2026-04-24", "2026-04-23T22:00"),
    ("Asia/Beirut", "0 0", "2026-03-29", "2026-03-28T22:00"),
    ("America/Santiago", "0 0", "2026-09-06", "2026-09-06T04:00"),
    ("Africa/Casablanca", "30 2", "2026-03-22", "2026-03-22T02:00"),
    ("Antarctica/Troll", "0 2", "2026-03-29", "2026-03-29T01:00"),
    ("Pacific/Chatham", "0 3", "2026-09-27", "2026-09-26T14:00"),
    ("Asia/Kathmandu", "10 0", "1986-01-01", "1985-12-31T18:30"),
    ("Africa/Monrovia", "30 0", "1972-01-07", "1972-01-07T00:44"),
]


@pytest.mark.parametrize(("tz", "time", "day", "end"), MISSING)
def test_a_fixed_time_that_is_jumped_over_fires_once_at_the_end_of_the_gap(
    tz: str, time: str, day: str, end: str
) -> None:
    assert ticks(f"{time} * * *", tz, *one_day(day)) == [end]


@pytest.mark.parametrize(("tz", "time", "day", "end"), MISSING)
def test_gap_chooses_the_end_of_the_gap_or_nothing(tz: str, time: str, day: str, end: str) -> None:
    for fold in (None, *FOLDS):
        assert ticks(f"{time} * * *", tz, *one_day(day), gap="shift", fold=fold) == [end]
        assert ticks(f"{time} * * *", tz, *one_day(day), gap="skip", fold=fold) == []


def test_the_end_of_a_gap_is_kept_to_the_second() -> None:
    monrovia = made("30 0 * * *", "Africa/Monrovia")
    assert monrovia.next("1972-01-06T23:00Z") == datetime(1972, 1, 7, 0, 44, 30, tzinfo=UTC)


def test_several_times_in_one_gap_fire_once_at_its_end() -> None:
    assert ticks("0,15,30,45 2 * * *", "America/New_York", "2026-03-08", "2026-03-09") == ["2026-03-08T07:00"]


def test_a_time_in_the_gap_and_a_time_at_its_end_fire_once() -> None:
    assert ticks("0 2,3 * * *", "America/New_York", "2026-03-08", "2026-03-09") == ["2026-03-08T07:00"]
    assert ticks("30 2,3 * * *", "America/New_York", "2026-03-08", "2026-03-09") == [
        "2026-03-08T07:00",
        "2026-03-08T07:30",
    ]


def test_a_gap_is_no_reason_to_fire_on_a_day_that_is_not_meant() -> None:
    """8 March 2026 is a Sunday."""
    assert ticks("30 2 * * mon-sat", "America/New_York", "2026-03-08", "2026-03-09") == []
    assert ticks("30 2 9 * *", "America/New_York", "2026-03-08", "2026-03-09") == []


# wildcards follow real time


@pytest.mark.parametrize(
    ("tz", "start", "end"),
    [
        ("America/New_York", "2026-11-01", "2026-11-02"),
        ("America/New_York", "2026-03-08", "2026-03-09"),
        ("Europe/London", "2026-10-25", "2026-10-26"),
        ("Europe/Berlin", "2026-03-29", "2026-03-30"),
        ("Australia/Lord_Howe", "2026-04-05", "2026-04-06"),
        ("Australia/Lord_Howe", "2026-10-04", "2026-10-05"),
        ("America/Havana", "2026-11-01", "2026-11-02"),
        ("America/Havana", "2026-03-08", "2026-03-09"),
        ("Africa/Casablanca", "2026-02-15", "2026-02-16"),
        ("Africa/Casablanca", "2026-03-22", "2026-03-23"),
        ("Pacific/Apia", "2011-12-29", "2012-01-01"),
    ],
)
def test_every_five_minutes_across_a_jump_is_every_five_real_minutes(tz: str, start: str, end: str) -> None:
    found = [utc(tick) for tick in ticks("*/5 * * * *", tz, start, end)]
    assert {later - earlier for earlier, later in pairwise(found)} == {timedelta(minutes=5)}
    first, last = (datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(tz)).astimezone(UTC) for day in (start, end))
    assert (found[0], found[-1]) == (first, last - timedelta(minutes=5))


def test_every_hour_across_autumn_fires_in_both_of_the_equal_hours() -> None:
    assert ticks("0 * * * *", "America/New_York", "2026-11-01T00:30", "2026-11-01T03:30") == [
        "2026-11-01T05:00",
        "2026-11-01T06:00",
        "2026-11-01T07:00",
        "2026-11-01T08:00",
    ]


def test_every_hour_across_spring_fires_every_real_hour() -> None:
    assert ticks("0 * * * *", "America/New_York", "2026-03-08T00:30", "2026-03-08T04:30") == [
        "2026-03-08T06:00",
        "2026-03-08T07:00",
        "2026-03-08T08:00",
    ]


def test_every_minute_of_an_hour_that_is_jumped_over_does_not_fire() -> None:
    assert ticks("* 2 * * *", "America/New_York", "2026-03-08", "2026-03-09") == []


def test_every_half_hour_of_an_hour_that_happens_twice_fires_in_both() -> None:
    assert ticks("*/30 1 * * *", "America/New_York", "2026-11-01", "2026-11-02") == [
        "2026-11-01T05:00",
        "2026-11-01T05:30",
        "2026-11-01T06:00",
        "2026-11-01T06:30",
    ]


def test_a_wildcard_second_follows_real_time_too() -> None:
    trigger = made("* 30 1 * * *", "America/New_York")
    assert len(trigger.between("2026-11-01T04:00Z", "2026-11-02T04:00Z")) == 120


def test_a_listed_minute_in_every_hour_follows_real_time() -> None:
    assert ticks("15 * * * *", "Australia/Lord_Howe", "2026-10-04T00:00", "2026-10-04T05:00") == [
        "2026-10-03T13:45",
        "2026-10-03T14:45",
        "2026-10-03T16:15",  # 02:15 is jumped over; 03:15 follows
        "2026-10-03T17:15",
    ]


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("30 2 * * *", ("shift", "first")),
        ("0 30 2 * * *", ("shift", "first")),
        ("H H * * *", ("shift", "first")),
        ("0-59 2 * * *", ("shift", "first")),
        ("@daily", ("shift", "first")),
        ("* 2 * * *", ("skip", "both")),
        ("*/5 * * * *", ("skip", "both")),
        ("0 */2 * * *", ("skip", "both")),
        ("* 30 2 * * *", ("skip", "both")),
        ("@hourly", ("skip", "both")),
    ],
)
def test_left_out_gap_and_fold_follow_from_the_text(text: str, pair: tuple[Gap, Fold]) -> None:
    trigger = made(text, "America/New_York")
    assert (trigger.effective_gap, trigger.effective_fold) == pair
    for gap in GAPS:
        assert (made(text, "UTC", gap=gap).effective_gap, made(text, "UTC", gap=gap).effective_fold) == (gap, pair[1])
    for fold in FOLDS:
        assert (made(text, "UTC", fold=fold).effective_gap, made(text, "UTC", fold=fold).effective_fold) == (
            pair[0],
            fold,
        )


def test_on_a_wildcard_gap_shift_fires_once_for_all_that_was_jumped_over() -> None:
    assert ticks("*/20 2 * * *", "America/New_York", "2026-03-08", "2026-03-09", gap="shift") == ["2026-03-08T07:00"]


def test_on_a_wildcard_fold_first_fires_in_the_first_of_the_equal_hours_only() -> None:
    found = ticks("*/30 * * * *", "America/New_York", "2026-11-01T00:30", "2026-11-01T02:30", fold="first")
    assert found == ["2026-11-01T04:30", "2026-11-01T05:00", "2026-11-01T05:30", "2026-11-01T07:00"]


def test_on_a_wildcard_fold_last_fires_in_the_last_of_the_equal_hours_only() -> None:
    found = ticks("*/30 * * * *", "America/New_York", "2026-11-01T00:30", "2026-11-01T02:30", fold="last")
    assert found == ["2026-11-01T04:30", "2026-11-01T06:00", "2026-11-01T06:30", "2026-11-01T07:00"]


# Fault 3: one per intended local day


@pytest.mark.parametrize(
    ("text", "tz", "start", "days"),
    [
        ("@daily", "America/Havana", "2026-03-06", 5),
        ("@daily", "America/Havana", "2026-10-30", 5),
        ("@daily", "Africa/Cairo", "2026-04-22", 5),
        ("@daily", "Africa/Cairo", "2026-10-28", 5),
        ("@daily", "Asia/Beirut", "2026-03-27", 5),
        ("@daily", "Asia/Beirut", "2026-10-23", 5),
        ("@daily", "America/Santiago", "2026-09-04", 5),
        ("@daily", "America/Santiago", "2026-04-03", 5),
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-02", 5),
        ("45 1 * * *", "Australia/Lord_Howe", "2026-04-03", 5),
        ("30 2 * * *", "Africa/Casablanca", "2026-02-13", 5),
        ("30 2 * * *", "Africa/Casablanca", "2026-03-20", 5),
        ("1 0 * * *", "America/St_Johns", "2006-04-01", 4),
        ("30 0 * * *", "America/Nuuk", "2026-03-27", 5),
    ],
)
def test_a_daily_time_fires_once_on_every_local_day(text: str, tz: str, start: str, days: int) -> None:
    first = datetime.fromisoformat(start)
    expected = [str((first + timedelta(days=n)).date()) for n in range(days)]
    assert local_dates(text, tz, start, str((first + timedelta(days=days)).date())) == Counter(expected)


def test_a_time_in_the_last_hour_of_a_day_that_is_jumped_over_fires_with_the_next_day() -> None:
    assert ticks("30 23 * * *", "America/Nuuk", "2026-03-27", "2026-03-30") == [
        "2026-03-28T01:30",  # the 27th
        "2026-03-29T01:00",  # for the 28th: the first moment of the 29th
        "2026-03-30T00:30",  # the 29th
    ]


@pytest.mark.parametrize("tz", ["America/New_York", "Europe/London", "Africa/Casablanca", "America/Havana", "UTC"])
def test_a_daily_time_fires_as_often_as_a_year_has_days(tz: str) -> None:
    for hour in (0, 1, 2, 3):
        assert set(local_dates(f"30 {hour} * * *", tz, "2026-01-01", "2027-01-01").values()) == {1}
        assert len(local_dates(f"30 {hour} * * *", tz, "2026-01-01", "2027-01-01")) == 365


# a whole day that never was: 30 December 2011 in Apia


def test_the_time_of_a_day_that_is_jumped_over_fires_at_the_end_of_that_day() -> None:
    assert ticks("0 9 * * *", "Pacific/Apia", "2011-12-29", "2012-01-01") == [
        "2011-12-29T19:00",  # the 29th, ten hours behind UTC
        "2011-12-30T10:00",  # for the 30th: the first moment of the 31st
        "2011-12-30T19:00",  # the 31st, fourteen hours ahead
    ]


def test_a_day_that_is_jumped_over_can_be_skipped() -> None:
    found = ticks("0 9 * * *", "Pacific/Apia", "2011-12-29", "2012-01-01", gap="skip")
    assert found == ["2011-12-29T19:00", "2011-12-30T19:00"]
    assert ticks("0 9 30 12 *", "Pacific/Apia", "2011-12-01", "2012-02-01", gap="skip") == []
    assert ticks("0 9 30 12 *", "Pacific/Apia", "2011-12-01", "2012-02-01") == ["2011-12-30T10:00"]


def test_midnight_after_a_day_that_is_jumped_over_fires_once() -> None:
    assert ticks("0 0 * * *", "Pacific/Apia", "2011-12-29", "2012-01-01") == ["2011-12-29T10:00", "2011-12-30T10:00"]


# zones that are sometimes, or always, at UTC


@pytest.mark.parametrize("tz", ["UTC", "Etc/UTC", "GMT", "Africa/Abidjan", "Atlantic/Reykjavik"])
def test_a_zone_that_is_always_at_utc_is_as_utc(tz: str) -> None:
    there, here = made("30 1,2 * * *", tz), made("30 1,2 * * *", "UTC")
    window = ("2026-01-01T00:00Z", "2027-01-01T00:00Z")
    assert there.between(*window) == here.between(*window)


def test_london_is_at_utc_in_winter_and_an_hour_ahead_in_summer() -> None:
    assert ticks("0 9 * * *", "Europe/London", "2026-01-15", "2026-01-16") == ["2026-01-15T09:00"]
    assert ticks("0 9 * * *", "Europe/London", "2026-07-15", "2026-07-16") == ["2026-07-15T08:00"]


def test_casablanca_goes_back_for_ramadan_and_forward_again() -> None:
    assert ticks("0 9 * * *", "Africa/Casablanca", "2026-02-14", "2026-02-17") == [
        "2026-02-14T08:00",
        "2026-02-15T09:00",
        "2026-02-16T09:00",
    ]
    assert ticks("0 9 * * *", "Africa/Casablanca", "2026-03-21", "2026-03-24") == [
        "2026-03-21T09:00",
        "2026-03-22T08:00",
        "2026-03-23T08:00",
    ]


def test_next_from_inside_a_repeated_hour_does_not_fire_a_fixed_time_again() -> None:
    nightly = made("30 1 * * *", "America/New_York")
    assert nightly.next("2026-11-01T05:30Z") == utc("2026-11-02T06:30")
    assert nightly.next("2026-11-01T06:00Z") == utc("2026-11-02T06:30")
    assert nightly.prev("2026-11-01T06:45Z") == utc("2026-11-01T05:30")
    assert not nightly.matches("2026-11-01T06:30Z")
    assert nightly.matches("2026-11-01T05:30Z")


def test_a_tick_that_was_moved_to_the_end_of_a_gap_matches_there() -> None:
    nightly = made("30 2 * * *", "America/New_York")
    assert nightly.matches("2026-03-08T07:00Z")
    assert not nightly.matches("2026-03-08T07:30Z")
    assert not nightly.matches("2026-03-09T07:00Z")


def test_a_working_day_schedule_in_berlin_skips_the_weekend() -> None:
    nightly = cron("30 2 * * mon-fri", tz="Europe/Berlin")
    assert nightly.next("2026-11-13T12:00Z") == utc("2026-11-16T01:30")


def test_the_second_time_counts_also_where_it_is_the_very_last_of_all() -> None:
    last = cron("0 30 2 25 10 ? 2026", tz="Europe/Berlin", fold="both")
    first = last.next("2026-01-01T00:00Z")
    assert str(first) == "2026-10-25 00:30:00+00:00"
    assert first is not None
    assert str(last.next(first)) == "2026-10-25 01:30:00+00:00"
