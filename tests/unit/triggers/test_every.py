"""Intervals: a lattice in real time that never drifts (fault 5)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot import OnthedotError, TriggerError, every
from onthedot.moments import END_MS, from_ms
from onthedot.triggers.every import Every


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


# the lattice


@pytest.mark.parametrize("interval", ["1s", "90s", "7m", "1h", "36h", "1500ms", "100d"])
def test_ticks_stand_on_the_lattice_from_1970(interval: str) -> None:
    trigger = every(interval)
    for tick in (trigger.next("2026-03-29T00:59:59.5Z"), trigger.prev("2026-03-29T00:59:59.5Z")):
        assert tick is not None
        assert (tick - utc("1970-01-01")) % timedelta(milliseconds=trigger.interval_ms) == timedelta(0)


def test_a_lattice_does_not_depend_on_when_it_is_asked() -> None:
    trigger, random = every("7m13s"), Random(1)
    lattice = trigger.between("2026-03-29T00:00Z", "2026-03-30T00:00Z")
    for _ in range(200):
        asked = utc("2026-03-29") + timedelta(seconds=random.random() * 86_000)
        assert trigger.next(asked) == min(tick for tick in lattice if tick > asked)


def test_next_is_strictly_after_and_prev_strictly_before() -> None:
    hourly = every("1h")
    assert hourly.next("2026-01-01T05:00Z") == utc("2026-01-01T06:00")
    assert hourly.prev("2026-01-01T05:00Z") == utc("2026-01-01T04:00")
    assert hourly.next("2026-01-01T04:59:59.999999Z") == utc("2026-01-01T05:00")
    assert hourly.prev("2026-01-01T05:00:00.000001Z") == utc("2026-01-01T05:00")


def test_an_interval_follows_real_time_across_a_change_of_the_wall_clock() -> None:
    found = every("30m", tz="America/New_York").between("2026-11-01T04:00Z", "2026-11-01T08:00Z")
    assert found == [utc("2026-11-01T04:00") + n * timedelta(minutes=30) for n in range(8)]


def test_between_includes_its_start_and_not_its_end() -> None:
    assert every("1h").between("2026-01-01T05:00Z", "2026-01-01T07:00Z") == [
        utc("2026-01-01T05:00"),
        utc("2026-01-01T06:00"),
    ]


def test_only_ticks_match() -> None:
    assert every("90s").matches("2026-01-01T00:01:30Z")
    assert not every("90s").matches("2026-01-01T00:01:31Z")
    assert not every("90s").matches("2026-01-01T00:01:30.000001Z")


def test_ticks_lie_between_1970_and_the_end_of_2199() -> None:
    hourly = every("1h")
    assert hourly.next("1950-01-01T00:00Z") == from_ms(0)
    assert hourly.prev("1970-01-01T00:00Z") is None
    assert hourly.prev("2500-01-01T00:00Z") == utc("2199-12-31T23:00")
    assert hourly.next("2199-12-31T23:00Z") is None
    assert every("1s").prev_ms(END_MS) == END_MS - 1000


# anchor and spread


def test_an_anchor_moves_the_lattice() -> None:
    trigger = every("1h", anchor="2026-01-01T00:10Z")
    assert trigger.next("2020-06-01T00:00Z") == utc("2020-06-01T00:10")
    assert trigger.next("2030-06-01T00:00Z") == utc("2030-06-01T00:10")


def test_a_naive_anchor_is_a_time_on_the_wall_clock_of_the_zone() -> None:
    trigger = every("1d", anchor="2026-01-01 09:00", tz="Asia/Tokyo")
    assert trigger.next("2026-05-01T12:00Z") == utc("2026-05-02T00:00")


def test_anchors_a_whole_number_of_intervals_apart_are_the_same() -> None:
    assert every("1h", anchor="2026-01-01T00:10Z") == every("1h", anchor="1999-01-01T05:10Z")


def test_an_anchor_before_1970_counts_too() -> None:
    assert every("1h", anchor="1960-01-01T00:10Z") == every("1h", anchor="2026-01-01T00:10Z")


def test_spread_moves_the_lattice_by_the_key_and_keeps_its_interval() -> None:
    plain, spread = every("15m"), every("15m", spread=True)
    phases = set()
    for key in map(str, range(200)):
        ticks = spread.with_key(key).between("2026-01-01T00:00Z", "2026-01-01T01:00Z")
        assert len(ticks) == 4
        assert {later - earlier for earlier, later in pairwise(ticks)} == {timedelta(minutes=15)}
        phases.add(ticks[0] - utc("2026-01-01"))
    assert len(phases) > 190
    assert min(phases) < timedelta(minutes=1)
    assert max(phases) > timedelta(minutes=14)
    assert plain.with_key("a") is plain


def test_the_same_key_spreads_alike_on_every_machine_for_ever() -> None:
    """A golden value: a change here moves the schedules of every user."""
    assert every("15m", spread=True).with_key("digest-eu").phase_ms == 548_288


def test_spread_is_added_to_the_anchor() -> None:
    spread = every("15m", spread=True).with_key("a")
    anchored = every("15m", spread=True, anchor="2026-01-01T00:05Z").with_key("a")
    assert (anchored.phase_ms - spread.phase_ms) % 900_000 == 300_000


# bounds


def test_both_bounds_are_inclusive() -> None:
    trigger = every("1h", starts_at="2026-01-01T05:00Z", repeat_until="2026-01-01T07:00Z")
    assert [tick.hour for tick in trigger.between("2000-01-01T00:00Z", "2100-01-01T00:00Z")] == [5, 6, 7]
    assert trigger.prev("2026-01-01T05:00Z") is None
    assert trigger.next("2026-01-01T07:00Z") is None
    assert trigger.prev("2100-01-01T00:00Z") == utc("2026-01-01T07:00")


def test_a_start_does_not_move_the_lattice() -> None:
    trigger = every("1h", starts_at="2026-01-01T05:17Z")
    assert trigger.next("2000-01-01T00:00Z") == utc("2026-01-01T06:00")


@given(
    st.integers(1000, 10**8), st.integers(0, 10**12), st.integers(0, 10**6), st.none() | st.integers(-(10**6), 10**6)
)
def test_the_count_of_ticks_is_the_number_of_those_that_are_found(
    interval: int, start: int, length: int, bound: int | None
) -> None:
    trigger = every(timedelta(milliseconds=interval))
    if bound is not None and trigger.next_ms(start + bound) is not None:
        trigger = replace(trigger, starts_at=max(0, start + bound))
    assert trigger.count_ms(start, start + length) == sum(1 for _ in trigger.between_ms(start, start + length))


# what is refused


@pytest.mark.parametrize(
    ("interval", "reason"),
    [
        ("0s", "an interval of 0s is too short"),
        ("999ms", "an interval of 999ms is too short"),
        (timedelta(0), "an interval of 0s is too short"),
        (timedelta(seconds=-5), "cannot be negative"),
        ("-5m", "cannot be negative"),
        ("1 month", "months and years differ in length; use cron"),
        ("10 parsecs", "no unit 'parsecs'"),
        ("", "a duration is missing"),
        ("5", "lacks a unit"),
        (timedelta(seconds=1, microseconds=1), "whole milliseconds"),
        (60, "a duration is a timedelta or text, not 60"),
        (None, "a duration is a timedelta or text, not None"),
    ],
)
def test_an_interval_that_is_none_is_refused(interval: timedelta | str, reason: str) -> None:
    with pytest.raises(TriggerError) as caught:
        every(interval)
    assert reason in caught.value.reason


def test_bounds_without_a_tick_between_them_are_refused() -> None:
    with pytest.raises(TriggerError, match="can never fire"):
        every("1h", starts_at="2026-01-01T05:01Z", repeat_until="2026-01-01T05:59Z")


@pytest.mark.parametrize(
    "bounds",
    [
        {"starts_at": "2026-02-01T00:00Z", "repeat_until": "2026-01-01T00:00Z"},
        {"starts_at": "2200-01-01T00:00Z"},
        {"repeat_until": "1969-01-01T00:00Z"},
    ],
)
def test_bounds_that_leave_nothing_are_refused(bounds: dict[str, str]) -> None:
    with pytest.raises(TriggerError):
        every("1h", **bounds)  # type: ignore[call-overload]


@pytest.mark.parametrize("name", ["anchor", "starts_at", "repeat_until"])
def test_a_naive_moment_without_a_zone_is_refused(name: str) -> None:
    with pytest.raises(OnthedotError, match="has no zone"):
        every("1h", **{name: "2026-01-01 09:00"})  # type: ignore[call-overload]


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(TriggerError, match="no time zone 'Europe/Berln'"):
        every("1h", tz="Europe/Berln")


@pytest.mark.parametrize("tz", ["", " "])
def test_an_empty_zone_is_not_taken_for_that_of_the_app_or_utc(tz: str) -> None:
    with pytest.raises(TriggerError, match="no time zone ''"):
        every("1h", tz=tz)


# as a value


def test_intervals_that_mean_the_same_are_equal() -> None:
    assert every("90s") == every("1m30s") == every(timedelta(seconds=90)) == every("1.5m")
    assert hash(every("90s")) == hash(every(timedelta(seconds=90)))
    assert every("90s") != every("91s")
    assert every("1h", tz="Asia/Tokyo") != every("1h")


def test_a_default_zone_is_taken_where_none_was_named() -> None:
    assert every("1h").with_default_zone("Asia/Tokyo") == every("1h", tz="Asia/Tokyo")
    assert every("1h", tz="UTC").with_default_zone("Asia/Tokyo") == every("1h", tz="UTC")


@pytest.mark.parametrize(
    ("trigger", "english"),
    [
        (every("1s"), "every second"),
        (every("15m"), "every 15 minutes"),
        (every("1h"), "every hour"),
        (every("1d"), "every day, at 00:00 UTC"),
        (every("1d", anchor="2026-01-01T09:30Z"), "every day, at 09:30 UTC"),
        (every("3d", anchor="2026-01-01T09:30:15Z"), "every 3 days, at 09:30:15 UTC, anchored at 1970-01-01T09:30:15Z"),
        (every("1w"), "every week, on Thursdays 00:00 UTC"),
        (every("7d", anchor="2026-11-16T08:00Z"), "every week, on Mondays 08:00 UTC"),
        (
            every("2w", anchor="2026-11-15T20:00Z"),
            "every 2 weeks, on Sundays 20:00 UTC, anchored at 1970-01-11T20:00:00Z",
        ),
        (every("2w"), "every 2 weeks, on Thursdays 00:00 UTC"),
        (every("1w", spread=True), "every week, spread by key"),
        (every("36h"), "every 36 hours"),
        (every("1h30m"), "every 90 minutes"),
        (every("15m", spread=True), "every 15 minutes, spread by key"),
        (every("1h", starts_at="2026-01-01T05:00Z"), "every hour, from 2026-01-01T05:00:00Z"),
        (every("1h", repeat_until="2026-01-01T05:00Z"), "every hour, until 2026-01-01T05:00:00Z"),
    ],
)
def test_an_interval_is_told_in_english(trigger: Every, english: str) -> None:
    assert trigger.describe() == english


@pytest.mark.parametrize("anchor", [None, *(f"2026-11-{day}T07:00Z" for day in range(15, 22))])
def test_the_weekday_that_is_told_is_the_one_on_which_it_ticks(anchor: str | None) -> None:
    weekly = every("1w", anchor=anchor)
    tick = weekly.next("2026-11-15T00:00Z")
    assert tick is not None
    assert weekly.describe() == f"every week, on {tick:%A}s {tick:%H:%M} UTC"
