"""Statistics: percentiles from histograms, groups of errors, hours and days around jumps of the clock."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from math import ceil
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot.app.statistics import first_ms_of
from onthedot.errors import DurationError, MomentError
from onthedot.insight.statistics import Asked, By, Period, counts_of, percentiles_of, read_statistics
from onthedot.model.histogram import added, bucket_of
from onthedot.model.hour import EVERYTHING, HOUR_MS, Hour, grouped, masked
from onthedot.moments import floor_ms
from onthedot.rules.counting import counted
from onthedot.stores.memory import MemoryStore

BERLIN = ZoneInfo("Europe/Berlin")
DAY_MS = 24 * HOUR_MS


def histogram_of(values: list[int]) -> dict[int, int]:
    return added({bucket_of(value): 1} for value in values)


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=200), st.lists(st.integers(0, 10**9), max_size=50))
def test_a_percentile_of_histograms_that_were_added_is_off_by_less_than_a_bucket(
    some: list[int], others: list[int]
) -> None:
    found = percentiles_of(added((histogram_of(some), histogram_of(others))))
    assert found is not None
    assert found.count == len(some) + len(others)
    in_turn = sorted((*some, *others))
    for told, part in ((found.p50_ms, 0.5), (found.p95_ms, 0.95), (found.p99_ms, 0.99)):
        true = in_turn[max(ceil(part * len(in_turn) - 1e-9), 1) - 1]
        assert true <= told <= max(true * 10 ** (1 / 12), true + 1)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 3 * HOUR_MS), st.booleans()), max_size=60))
def test_all_hours_together_count_each_end_once_for_its_schedule_and_once_for_everything(
    ends: list[tuple[str, int, bool]],
) -> None:
    rows = [
        (of, "", "succeeded" if good else "failed", at_ms, at_ms, at_ms, None if good else f"no {at_ms}")
        for of, at_ms, good in ends
    ]
    hours = counted(rows)
    for of in "abcdef":
        mine = [sum(hour.ended.values()) for hour in hours if hour.of == of]
        assert sum(mine) == sum(each[0] == of for each in ends)
    everything = [hour for hour in hours if hour.of == EVERYTHING]
    assert sum(sum(hour.ended.values()) for hour in everything) == len(ends)
    assert sum(sum(hour.errors.values()) for hour in everything) == sum(not good for *_, good in ends)
    assert len({(hour.of, hour.step, hour.hour_ms) for hour in hours}) == len(hours)


def test_steps_are_counted_for_themselves_and_not_among_everything() -> None:
    flow = ("etl", "", "succeeded", 0, 0, 5, None)
    step = ("etl", "load", "failed", 0, 0, 4, "no")
    found = {(hour.of, hour.step): dict(hour.ended) for hour in counted([step, flow])}
    assert found == {("etl", ""): {"succeeded": 1}, ("etl", "load"): {"failed": 1}, (EVERYTHING, ""): {"succeeded": 1}}


def test_a_row_that_somebody_has_spoilt_is_counted_as_far_as_it_can_be_read() -> None:
    hours = counted([("a", "", "failed", "soon", 7, 9, 42), ("a", "", "succeeded", 1, 2, 9, None)])
    first = hours[0]
    assert (first.ended, first.errors) == ({"failed": 1, "succeeded": 1}, {"#": 1})
    assert (sum(first.lateness.values()), sum(first.duration.values())) == (1, 1)


@pytest.mark.parametrize(
    ("error", "group"),
    [
        ("Traceback\n  File 'x.py', line 3\nOSError: [Errno 28] no space", "OSError: [Errno #] no space"),
        ("HTTP 503 after 1.25 s", "HTTP # after # s"),
        ("<X object at 0x7f3Ab0>", "<X object at #>"),
        ("no run 0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b here", "no run # here"),
        ("at 12:30:05", "at #"),
        ("", "no message"),
        (None, "no message"),
    ],
)
def test_errors_are_grouped_by_their_last_line_without_its_numbers(error: str | None, group: str) -> None:
    assert masked(error) == group


def test_no_count_of_errors_gets_lost_when_hours_are_added() -> None:
    many = [{f"error {chr(97 + number)}{chr(97 + part)}": number + 1 for number in range(20)} for part in range(4)]
    both = grouped(many)
    assert (len(both), sum(both.values())) == (21, 4 * 210)
    assert grouped([both, many[0]])[""] >= both[""]


def test_success_is_measured_by_what_ended_well_or_badly_alone() -> None:
    ended = {"succeeded": 6, "failed": 1, "timed_out": 1, "skipped": 90, "cancelled": 2}
    counts = counts_of(Hour("a", "", 0, ended))
    assert (counts.total, counts.wrong, counts.success_rate) == (100, 2, 0.75)
    assert counts_of(Hour("a", "", 0, {"skipped": 3})).success_rate is None


# hours and days


def series(first: datetime, last: datetime, by: By, zone: ZoneInfo, each_hour: int = 1) -> list[Period]:
    """Of a store in which so many runs end in each hour."""
    first_ms, last_ms = floor_ms(first), floor_ms(last)
    store = MemoryStore(lambda: last_ms)
    for hour_ms in range(first_ms // HOUR_MS * HOUR_MS, last_ms + 1, HOUR_MS):
        store._tables.hours["a", "", hour_ms] = Hour("a", "", hour_ms, {"succeeded": each_hour})
    found = read_statistics(store, Asked("a", "", first_ms, last_ms, by, zone))
    assert sum(period.counts.total for period in found.series) == found.counts.total
    return [*found.series]


@pytest.mark.parametrize(("month", "day", "hours"), [(3, 29, 23), (10, 25, 25), (6, 1, 24)])
def test_a_day_on_which_clocks_change_has_its_own_hours(month: int, day: int, hours: int) -> None:
    first = datetime(2026, month, day - 1 if day > 1 else day, tzinfo=BERLIN)
    found = series(first, datetime(2026, month, day + 1, 12, tzinfo=BERLIN), "day", BERLIN)
    the_day = next(each for each in found if each.start_at.day == day)
    assert the_day.counts.total == hours
    assert (the_day.start_at.hour, the_day.end_at.hour, the_day.end_at.day) == (0, 0, day + 1)


def test_the_hour_that_comes_twice_is_two_and_the_one_that_is_skipped_is_none() -> None:
    fall = series(datetime(2026, 10, 25, tzinfo=BERLIN), datetime(2026, 10, 25, 5, tzinfo=BERLIN), "hour", BERLIN)
    assert [(each.start_at.hour, each.counts.total) for each in fall] == [
        *((0, 1), (1, 1), (2, 1), (2, 1), (3, 1), (4, 1), (5, 1)),
    ]
    spring = series(datetime(2026, 3, 29, tzinfo=BERLIN), datetime(2026, 3, 29, 4, tzinfo=BERLIN), "hour", BERLIN)
    assert [each.start_at.hour for each in spring] == [0, 1, 3, 4]


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "America/Santiago", "Pacific/Apia", "Australia/Lord_Howe"])
def test_in_every_zone_days_follow_each_other_and_leave_nothing_out(zone: str) -> None:
    last = datetime(2026, 11, 10, 7, 30, tzinfo=UTC)
    for days in range(0, 360, 27):
        end = datetime.fromtimestamp(last.timestamp() - days * 86_400, UTC)
        found = series(datetime.fromtimestamp(end.timestamp() - 30 * 86_400, UTC), end, "day", ZoneInfo(zone))
        assert all(one.end_at == two.start_at for one, two in pairwise(found))
        assert 30 <= len(found) <= 32


def test_where_clocks_skip_midnight_the_day_begins_after_it() -> None:
    zone = ZoneInfo("America/Santiago")  # on 2026-09-06 after 23:59 comes 01:00
    found = series(datetime(2026, 9, 5, tzinfo=zone), datetime(2026, 9, 7, 12, tzinfo=zone), "day", zone)
    assert [(each.start_at.day, each.start_at.hour, each.counts.total) for each in found] == [
        *((5, 0, 24), (6, 1, 23), (7, 0, 13)),
    ]


# since when


def test_since_is_a_moment_or_how_long_ago() -> None:
    now_ms = floor_ms("2026-11-16T12:00Z")
    assert first_ms_of("24h", now_ms) == now_ms - DAY_MS
    assert first_ms_of("2026-11-01T00:00Z", now_ms) == floor_ms("2026-11-01T00:00Z")
    for wrong in ("32d", "2026-11-17T00:00Z", "0s"):
        with pytest.raises(MomentError, match="must lie in the last 31 days"):
            first_ms_of(wrong, now_ms)
    with pytest.raises(DurationError):
        first_ms_of("a while", now_ms)
