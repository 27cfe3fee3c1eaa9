"""Moments and spans as the command line writes them."""

from __future__ import annotations

import pytest

from onthedot.cli.texts import counted, local_text, span_text, utc_text, visible


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0s"),
        (999, "0s"),
        (45_000, "45s"),
        (60_000, "1m"),
        (750_000, "12m 30s"),
        (11_520_000, "3h 12m"),
        (3_600_000 + 5_000, "1h"),
        (86_400_000 * 2 + 3_600_000 * 4, "2d 4h"),
        (86_400_000 * 1204, "1,204d"),
    ],
)
def test_a_span_is_told_in_its_two_largest_units(ms: int, text: str) -> None:
    assert span_text(ms) == text


def test_a_moment_is_told_with_weekday_and_offset() -> None:
    assert local_text(1_794_792_600_000, "Europe/Berlin") == "Mon 2026-11-16 02:30 +01:00"
    assert local_text(1_794_792_600_250, "America/St_Johns", seconds=True) == "Sun 2026-11-15 22:00:00.250 -03:30"


def test_a_moment_in_utc_ends_in_z() -> None:
    assert utc_text(1_794_792_600_000) == "2026-11-16 01:30Z"
    assert utc_text(1_794_792_605_000, weekday=True, seconds=True) == "Mon 2026-11-16 01:30:05Z"


def test_counts_have_their_plural_and_their_commas() -> None:
    assert [counted(number, "run") for number in (0, 1, 1234)] == ["0 runs", "1 run", "1,234 runs"]


def test_what_a_terminal_would_obey_is_not_shown() -> None:
    assert visible(" a\x1b[31m\tb\n") == "a?[31m b"
