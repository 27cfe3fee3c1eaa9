"""What is typed for a schedule is read as it was meant."""

from __future__ import annotations

import pytest

from onthedot.app.clock_notes import zone_of
from onthedot.cli.overrides import past_moment_ms, read_pairs
from onthedot.moments import floor_ms, iso
from onthedot.triggers import Trigger, cron, dates, every

NIGHTLY = cron("30 2 * * *", tz="Europe/Berlin")


def asked(text: str | None, now: str, trigger: Trigger = NIGHTLY) -> str:
    return iso(past_moment_ms(text, trigger, floor_ms(now)))


@pytest.mark.parametrize(
    ("now", "moment"),
    [
        ("2026-11-15T01:30Z", "2026-11-15T01:30:00Z"),  # 02:30 in Berlin, this very moment
        ("2026-11-15T01:29:59Z", "2026-11-14T01:30:00Z"),
        ("2026-11-15T23:30Z", "2026-11-15T01:30:00Z"),  # the next day has begun in Berlin
        ("2026-03-29T12:00Z", "2026-03-29T01:00:00Z"),  # 02:30 did not exist: its tick is the end of the gap
        ("2026-10-25T12:00Z", "2026-10-25T00:30:00Z"),  # 02:30 came twice: the first was the tick
    ],
)
def test_a_time_of_day_is_the_latest_such_moment_in_the_zone_of_the_schedule(now: str, moment: str) -> None:
    assert asked("02:30", now) == moment


def test_of_a_time_that_came_twice_and_is_no_tick_the_later_is_meant() -> None:
    assert asked("02:15", "2026-10-25T12:00Z") == "2026-10-25T01:15:00Z"


def test_a_time_of_day_may_have_seconds() -> None:
    assert asked("3:00:05", "2026-11-15T12:00Z", every("5s")) == "2026-11-15T03:00:05Z"


def test_without_a_moment_the_latest_tick_is_meant() -> None:
    assert asked(None, "2026-11-15T12:00Z") == "2026-11-15T01:30:00Z"
    assert asked(None, "2026-11-15T01:30Z") == "2026-11-15T01:30:00Z"


def test_a_moment_without_an_offset_is_read_in_the_zone_of_the_schedule() -> None:
    assert asked("2026-07-01 02:30", "2026-11-15T12:00Z") == "2026-07-01T00:30:00Z"
    assert asked("2026-07-01T02:30Z", "2026-11-15T12:00Z") == "2026-07-01T02:30:00Z"


def test_the_zone_of_a_combined_trigger_is_that_of_its_first_part() -> None:
    assert zone_of((NIGHTLY - dates("2026-12-25")) | every("1h")).name == "Europe/Berlin"


def test_values_are_json_or_else_the_text_itself() -> None:
    assert read_pairs(["a=1", 'b={"c": [true]}', "d=eu-west", "e="], "--arg") == {
        "a": 1,
        "b": {"c": [True]},
        "d": "eu-west",
        "e": "",
    }
    assert read_pairs([], "--arg") is None
