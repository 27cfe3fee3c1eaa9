"""Durations as users write them."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot import DurationError, OnthedotError
from onthedot.durations import LONGEST_MS, format_duration, spoken_duration, to_duration_ms


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("90s", 90_000),
        ("15m", 900_000),
        ("2h30m", 9_000_000),
        ("1d", 86_400_000),
        ("1w", 604_800_000),
        ("250ms", 250),
        ("1s500ms", 1500),
        ("1.5s", 1500),
        ("0.25h", 900_000),
        ("0s", 0),
        ("1d2h3m4s5ms", 93_784_005),
        ("2h 30m", 9_000_000),
        (" 2 h  30 m ", 9_000_000),
        ("2H30M", 9_000_000),
        ("90 seconds", 90_000),
        ("1 second", 1000),
        ("5 min", 300_000),
        ("5 minutes", 300_000),
        ("1 hour 30 minutes", 5_400_000),
        ("2 days", 172_800_000),
        ("1 week", 604_800_000),
        ("3 hrs", 10_800_000),
    ],
)
def test_text_is_read(text: str, ms: int) -> None:
    assert to_duration_ms(text) == ms


@pytest.mark.parametrize(
    ("duration", "ms"),
    [
        (timedelta(0), 0),
        (timedelta(milliseconds=1), 1),
        (timedelta(days=1), 86_400_000),
        (timedelta(hours=2, minutes=30), 9_000_000),
        (timedelta(weeks=52), 31_449_600_000),
    ],
)
def test_a_timedelta_is_read(duration: timedelta, ms: int) -> None:
    assert to_duration_ms(duration) == ms


@pytest.mark.parametrize(
    ("duration", "reason"),
    [
        ("", "a duration is missing"),
        ("   ", "a duration is missing"),
        ("5", "lacks a unit"),
        ("1h30", "lacks a unit"),
        ("h", "is no duration"),
        ("soon", "is no duration"),
        ("1h!", "is no duration"),
        ("1,5h", "no duration|lacks a unit"),
        ("PT15M", "is no duration"),
        ("-5m", "cannot be negative"),
        ("5m-3s", "is no duration"),
        ("10 parsecs", "no unit 'parsecs'; the units are w, d, h, m, s and ms"),
        ("5us", "no unit 'us'"),
        ("1 month", "months and years differ in length; use cron"),
        ("2mo", "months and years differ in length; use cron"),
        ("1y", "months and years differ in length; use cron"),
        ("0.5ms", "whole milliseconds"),
        ("1.0001s", "whole milliseconds"),
        (timedelta(seconds=-1), "cannot be negative"),
        (timedelta(microseconds=-1), "cannot be negative"),
        (timedelta(microseconds=1), "whole milliseconds"),
        (5, "a duration is a timedelta or text, not 5"),
        (1.5, "a duration is a timedelta or text, not 1.5"),
        (None, "a duration is a timedelta or text, not None"),
        (b"5m", "a duration is a timedelta or text, not b'5m'"),
    ],
)
def test_what_is_no_duration_is_refused_with_the_remedy(duration: str | timedelta, reason: str) -> None:
    with pytest.raises(DurationError, match=reason) as caught:
        to_duration_ms(duration)
    assert isinstance(caught.value, OnthedotError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("text", ["", "5", "soon"])
def test_an_unreadable_duration_is_answered_with_examples(text: str) -> None:
    with pytest.raises(DurationError, match='write it like "90s", "15m", "2h30m" or "1d"'):
        to_duration_ms(text)


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0s"),
        (1, "1ms"),
        (1000, "1s"),
        (90_000, "1m30s"),
        (5_400_000, "1h30m"),
        (86_400_000, "1d"),
        (1_209_600_000, "14d"),
        (93_784_005, "1d2h3m4s5ms"),
    ],
)
def test_a_duration_is_written(ms: int, text: str) -> None:
    assert format_duration(ms) == text


@given(st.integers(0, LONGEST_MS))
def test_what_is_written_is_read_back(ms: int) -> None:
    assert to_duration_ms(format_duration(ms)) == ms


@given(st.timedeltas(timedelta(0), timedelta(milliseconds=LONGEST_MS)))
def test_a_timedelta_of_whole_milliseconds_is_read_exactly(duration: timedelta) -> None:
    whole = duration - duration % timedelta(milliseconds=1)
    assert timedelta(milliseconds=to_duration_ms(whole)) == whole


@pytest.mark.parametrize("duration", ["83951d", "9" * 300 + "s", timedelta.max - timedelta(microseconds=999)])
def test_what_no_database_could_count_is_refused(duration: timedelta | str) -> None:
    with pytest.raises(DurationError, match="more than 230 years"):
        to_duration_ms(duration)


@given(st.text(max_size=12))
def test_any_text_is_a_duration_or_a_clear_error(text: str) -> None:
    with suppress(DurationError):
        assert to_duration_ms(text) >= 0


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (3_149, "3.1 s"),
        (9_999, "9.9 s"),
        (41_900, "41 s"),
        (440_000, "7 min 20 s"),
        (300_000, "5 min"),
        (46 * 60_000 + 12_000, "46 min"),
        (11 * 3_600_000 + 30 * 60_000, "11 h 30 min"),
        (5 * 86_400_000 + 14 * 3_600_000, "5 d 14 h"),
        (1_204 * 86_400_000 + 5, "1,204 d"),
    ],
)
def test_a_duration_is_spoken_in_two_units_at_most(ms: int, text: str) -> None:
    assert spoken_duration(ms) == text
