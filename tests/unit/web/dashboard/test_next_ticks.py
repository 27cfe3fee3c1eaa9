"""The coming ticks around jumps of the clock, also of triggers that are made of several."""

from __future__ import annotations

import pytest

from onthedot import cron, dates, every
from onthedot.moments import ceil_ms
from onthedot.triggers.base import Trigger
from onthedot.web.dashboard.next_ticks import next_ticks
from onthedot.web.reading import moment_models

GAP, FIRST, SECOND = ceil_ms("2026-03-29T01:00Z"), ceil_ms("2026-10-25T00:30Z"), ceil_ms("2026-10-25T01:30Z")


def berlin(text: str) -> Trigger:
    return cron(text, tz="Europe/Berlin")


def notes(trigger: Trigger, tick_ms: int) -> tuple[str | None, str]:
    """Over HTTP, and on the page."""
    return moment_models(trigger, [tick_ms])[0].note, next_ticks(trigger, [tick_ms])[0].note


@pytest.mark.parametrize(
    "trigger",
    [
        berlin("30 2 * * *"),
        berlin("30 2 * * *") | berlin("0 12 * * *"),
        (berlin("0 12 * * *") | berlin("30 2 * * *")) - dates("2026-12-24"),
        berlin("30 2 * * *") - dates("2026-12-24"),
    ],
    ids=str,
)
def test_a_tick_that_a_gap_moved_says_so_whatever_it_is_part_of(trigger: Trigger) -> None:
    over_http, on_page = notes(trigger, GAP)
    assert over_http == "moved by a gap"
    assert on_page.startswith("Its time does not exist then: the clock jumps from 02:00 to 03:00.")


def test_both_times_of_an_hour_that_comes_twice() -> None:
    both = berlin("0 12 * * *") | cron("30 2 * * *", tz="Europe/Berlin", fold="both")
    assert [notes(both, tick)[0] for tick in (FIRST, SECOND)] == ["first of two", "second of two"]


def test_nothing_is_said_where_one_part_has_its_usual_time_or_the_clock_is_another() -> None:
    assert notes(berlin("30 2 * * *") | berlin("0 3 * * *"), GAP) == (None, "")
    assert notes(cron("0 12 * * *") | berlin("30 2 * * *"), GAP) == (None, "")
    assert notes(every("1h") | berlin("0 12 * * *"), GAP) == (None, "")
