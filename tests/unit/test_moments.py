"""Moments: aware datetimes outside, whole milliseconds inside."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot import MomentError, OnthedotError, cron
from onthedot.moments import END_MS, FIRST_MS, ceil_ms, floor_ms, from_ms, iso, read_moment, require_aware
from onthedot.triggers.bounds import to_instant_ms

MOMENT = 1_798_131_600_000  # 2026-12-24T17:00Z


@pytest.mark.parametrize(
    "moment",
    [
        "2026-12-24T17:00Z",
        "2026-12-24T17:00:00Z",
        "2026-12-24T17:00:00.000Z",
        "2026-12-24 17:00Z",
        "2026-12-24T18:00+01:00",
        "20261224T170000Z",
        "  2026-12-24T17:00Z\n",
        datetime(2026, 12, 24, 17, tzinfo=UTC),
        datetime(2026, 12, 24, 18, tzinfo=ZoneInfo("Europe/Berlin")),
        datetime(2026, 12, 24, 12, tzinfo=timezone(timedelta(hours=-5))),
    ],
)
def test_a_moment_is_an_aware_datetime_or_iso_text(moment: datetime | str) -> None:
    assert floor_ms(moment) == ceil_ms(moment) == MOMENT


@pytest.mark.parametrize(
    ("moment", "floor", "ceiling"),
    [
        ("1970-01-01T00:00:00.000001Z", 0, 1),
        ("1970-01-01T00:00:00.000999Z", 0, 1),
        ("1970-01-01T00:00:00.001Z", 1, 1),
        ("1969-12-31T23:59:59.999999Z", -1, 0),
        ("1969-12-31T23:59:59.999Z", -1, -1),
    ],
)
def test_parts_of_a_millisecond_are_rounded_down_or_up_on_both_sides_of_1970(
    moment: str, floor: int, ceiling: int
) -> None:
    assert (floor_ms(moment), ceil_ms(moment)) == (floor, ceiling)


@pytest.mark.parametrize("moment", ["2026-12-24T18:00", "2026-12-24", datetime.fromisoformat("2026-12-24 18:00")])
def test_a_naive_moment_is_an_error_that_says_so(moment: datetime | str) -> None:
    for read in (floor_ms, ceil_ms, lambda each: cron("0 9 * * *").next(each)):
        with pytest.raises(MomentError, match="has no zone; add one, as in 2026-12-24T") as caught:
            read(moment)
        assert isinstance(caught.value, OnthedotError)
        assert isinstance(caught.value, ValueError)


def test_the_remedy_for_a_naive_moment_is_itself_a_moment() -> None:
    with pytest.raises(MomentError) as caught:
        floor_ms("2026-12-24 17:00")
    assert floor_ms(str(caught.value).rpartition("as in ")[2]) == MOMENT


@pytest.mark.parametrize("moment", ["", "tomorrow", "17:00", "2026-13-01T00:00Z", "24.12.2026", "2026-12-24T25:00Z"])
def test_text_that_is_no_moment_is_refused_with_an_example(moment: str) -> None:
    with pytest.raises(MomentError, match="is no moment; write it like 2026-12-24T18:00Z"):
        read_moment(moment)


@pytest.mark.parametrize("moment", [0, 1.5, None, MOMENT, b"2026-12-24T17:00Z"])
def test_a_number_is_no_moment(moment: str) -> None:
    with pytest.raises(MomentError, match="a moment is an aware datetime or ISO text, not "):
        floor_ms(moment)


def test_a_datetime_whose_zone_knows_no_offset_is_naive() -> None:
    class Nowhere(tzinfo):
        def utcoffset(self, dt: datetime | None) -> None: ...
        def dst(self, dt: datetime | None) -> None: ...
        def tzname(self, dt: datetime | None) -> None: ...

    with pytest.raises(MomentError, match="has no zone"):
        require_aware(datetime(2026, 12, 24, tzinfo=Nowhere()))


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (MOMENT, "2026-12-24T17:00:00Z"),
        (MOMENT + 1, "2026-12-24T17:00:00.001Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (END_MS, "2200-01-01T00:00:00Z"),
    ],
)
def test_a_moment_is_written_in_utc(ms: int, text: str) -> None:
    assert iso(ms) == text


def test_the_time_line_reaches_from_1970_up_to_2200() -> None:
    assert from_ms(FIRST_MS) == datetime(1970, 1, 1, tzinfo=UTC)
    assert from_ms(END_MS) == datetime(2200, 1, 1, tzinfo=UTC)


@given(st.integers(-(10**13), 2 * 10**14))
def test_milliseconds_survive_the_way_out_and_back(ms: int) -> None:
    assert floor_ms(from_ms(ms)) == ceil_ms(from_ms(ms)) == ms
    assert floor_ms(iso(ms)) == ms
    assert from_ms(ms).tzinfo is UTC


@given(st.datetimes(timezones=st.sampled_from([UTC, ZoneInfo("America/New_York"), ZoneInfo("Asia/Kathmandu")])))
def test_floor_and_ceiling_enclose_the_moment(moment: datetime) -> None:
    floor, ceiling = floor_ms(moment), ceil_ms(moment)
    assert 0 <= ceiling - floor <= 1
    assert (
        moment - timedelta(milliseconds=1) < datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=floor) <= moment
    )


@given(st.text(max_size=12))
def test_any_text_is_a_moment_or_a_clear_error(text: str) -> None:
    said = "a moment"
    try:
        read_moment(text)
    except MomentError as error:
        said = str(error)
    assert said == "a moment" or ("write it like" in said and "\n" not in said)


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00+14:00", "9999-12-31T23:59:59.9999Z"])
def test_an_offset_carries_no_moment_out_of_the_years_that_there_are(text: str) -> None:
    with pytest.raises(MomentError, match="is not between the years 1 and 9999 of UTC"):
        ceil_ms(text)


@pytest.mark.parametrize(("text", "zone"), [("9999-12-31 23:59", "America/New_York"), ("0001-01-01", "Asia/Tokyo")])
def test_nor_does_a_zone(text: str, zone: str) -> None:
    with pytest.raises(MomentError, match="is not between the years 1 and 9999 of UTC"):
        to_instant_ms(text, zone, round_up=True)
