"""How moments and durations are told."""

from __future__ import annotations

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from onthedot.moments import ceil_ms
from onthedot.texts import many
from onthedot.web.dashboard.moments import duration, in_seconds, told
from onthedot.web.dashboard.spoken import in_full

NOW = ceil_ms("2026-03-26T13:59:17Z")


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        ("2026-03-26T13:59:30Z", "13:59:30"),
        ("2026-03-26T14:30Z", "14:30"),
        ("2026-03-27T02:30Z", "Fri 02:30"),
        ("2026-04-01T06:00Z", "Wed 06:00"),
        ("2026-04-02T06:00Z", "2 Apr 06:00"),
        ("2026-03-25T06:00:09Z", "25 Mar 06:00"),
        ("2027-04-01T06:00Z", "1 Apr 2027 06:00"),
    ],
)
def test_a_moment_is_told_as_shortly_as_now_allows(moment: str, text: str) -> None:
    assert told(ceil_ms(moment), NOW, UTC) == text


def test_the_day_is_that_of_the_zone() -> None:
    assert told(ceil_ms("2026-03-26T23:30Z"), NOW, ZoneInfo("Europe/Berlin")) == "Fri 00:30"


def test_other_forms() -> None:
    moment = ceil_ms("2026-03-26T13:59:30.042Z")
    assert told(moment, NOW, UTC, "exact") == "13:59:30.042"
    assert told(moment, NOW, UTC, "full") == "2026-03-26 13:59:30"
    assert told(moment, NOW, UTC, "time") == "13:59:30"
    assert told(moment, NOW, UTC, "day") == "26 Mar"


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (5, "5 ms"),
        (3_100, "3.1 s"),
        (41_900, "41 s"),
        (440_000, "7 min 20 s"),
        (46 * 60_000 + 5_000, "46 min"),
        (41_400_000, "11 h 30 min"),
        (3_600_000, "1 h"),
        (5 * 86_400_000 + 14 * 3_600_000, "5 d 14 h"),
        (40 * 86_400_000 + 3_600_000, "40 d"),
        (-1_500, "−1.5 s"),
        (None, "–"),
    ],
)
def test_a_duration_has_two_units_at_most(ms: int | None, text: str) -> None:
    assert duration(ms) == text


def test_what_counts_in_sight_shows_no_tenths() -> None:
    assert [in_seconds(ms) for ms in (-5, 999, 1_000, 9_900, 61_000)] == ["now", "now", "1 s", "9 s", "1 min 1 s"]


def test_a_count_that_stopped_says_so() -> None:
    assert [many(count) for count in (0, 9_999, 10_000)] == ["0", "9,999", "10,000+"]


def test_what_the_clock_shows_for_the_second_time_says_so() -> None:
    berlin, now_ms = ZoneInfo("Europe/Berlin"), ceil_ms("2026-10-25T00:10Z")
    first, second = ceil_ms("2026-10-25T00:30Z"), ceil_ms("2026-10-25T01:30Z")
    assert (told(first, now_ms, berlin), told(second, now_ms, berlin)) == ("02:30", "02:30 CET")
    assert told(second, now_ms, berlin, "full") == "2026-10-25 02:30:00 CET"
    assert in_full(berlin)(second) == "Sun 25 Oct 02:30 CET"
    assert told(second, now_ms, UTC) == "01:30"
