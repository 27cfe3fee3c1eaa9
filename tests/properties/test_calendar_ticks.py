"""Ticks without the days of calendars, by name and through named triggers, against brute force."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from onthedot.triggers import Trigger, calendar, cron, decode, encode, every, named
from onthedot.triggers.calendar_days import calendar_days
from onthedot.triggers.pinned import Pin, Pinned, Use, digest_of, remember

START = datetime(2026, 10, 20, tzinfo=UTC)
END = START + timedelta(days=20)  # across the end of summer time
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Pacific/Auckland")

days = st.lists(st.integers(0, 25), min_size=1, max_size=8, unique=True).map(
    lambda offsets: [date(2026, 10, 18) + timedelta(days=each) for each in offsets]
)
triggers = st.one_of(
    st.builds(
        lambda hours, zone: cron(f"0 */{hours} * * *", tz=zone), st.sampled_from([1, 3, 6]), st.sampled_from(ZONES)
    ),
    st.builds(
        lambda minutes, zone: every(f"{minutes}m", tz=zone), st.sampled_from([30, 50, 90, 1440]), st.sampled_from(ZONES)
    ),
)


def pinned(use: Use, content: dict[str, object]) -> dict[Use, Pin]:
    pin = Pin(1, digest_of(content))
    remember(Pinned(use, pin), content)
    return {use: pin}


@given(base=triggers, left_out=days, extra=days, by_name=st.booleans())
def test_exactly_the_ticks_on_the_days_of_the_zone_are_missing(
    base: Trigger, left_out: list[date], extra: list[date], by_name: bool
) -> None:
    pins = pinned(Use("calendar", "a"), calendar_days(dict.fromkeys(left_out, "a")).content())
    pins |= pinned(Use("calendar", "b"), calendar_days(dict.fromkeys(extra, "")).content())
    inner = (base - calendar("a")).with_pins(pins)
    pins |= pinned(Use("trigger", "t"), {"trigger": encode(inner)})
    trigger = (named("t") if by_name else base - calendar("a")) - calendar("b")
    kept = decode(encode(trigger.with_pins(pins)))
    zone = ZoneInfo(getattr(base, "tz", None) or "UTC")
    gone = {*left_out, *extra}
    expected = [each for each in base.between(START, END) if each.astimezone(zone).date() not in gone]
    assert kept.between(START, END) == expected
    walked, at = [], kept.next(START - timedelta(milliseconds=1))
    while at is not None and at < END:
        walked.append(at)
        at = kept.next(at)
    assert walked == expected
    assert kept.count_ms(int(START.timestamp() * 1000), int(END.timestamp() * 1000)) == len(expected)
    for each in base.between(START, START + timedelta(days=3)):
        assert kept.matches(each) == (each.astimezone(zone).date() not in gone)
