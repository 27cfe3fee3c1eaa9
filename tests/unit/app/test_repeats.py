"""What repeats is told once a minute, with how often it was left out."""

from __future__ import annotations

from onthedot.app.telemetry.repeats import EVERY_MS, MOST_CAUSES, Repeats, Told


def test_the_first_of_a_cause_is_told_at_once_and_the_others_are_counted_for_a_minute() -> None:
    repeats: Repeats[str] = Repeats()
    assert repeats.note("disk", "one", 0) == [Told("one")]
    assert [repeats.note("disk", item, 1000) for item in ("two", "three", "four")] == [[], [], []]
    assert repeats.over(EVERY_MS - 1) == []
    assert repeats.over(EVERY_MS) == [Told("four", left_out=2)]


def test_one_that_comes_after_the_minute_brings_those_before_it_and_waits_itself() -> None:
    repeats: Repeats[str] = Repeats()
    repeats.note("disk", "one", 0)
    repeats.note("disk", "two", 1)
    assert repeats.note("disk", "three", EVERY_MS) == [Told("two")]
    assert repeats.note("disk", "four", 2 * EVERY_MS - 1) == []
    assert repeats.over(2 * EVERY_MS) == [Told("four", left_out=1)]


def test_a_cause_that_was_quiet_for_a_minute_is_new() -> None:
    repeats: Repeats[str] = Repeats()
    repeats.note("disk", "one", 0)
    assert repeats.over(EVERY_MS) == []
    assert repeats.note("disk", "two", EVERY_MS) == [Told("two")]


def test_each_cause_has_its_own_minute() -> None:
    repeats: Repeats[str] = Repeats()
    assert repeats.note("disk", "one", 0) == [Told("one")]
    assert repeats.note("net", "two", 30_000) == [Told("two")]
    repeats.note("disk", "three", 40_000)
    repeats.note("net", "four", 40_000)
    assert repeats.over(EVERY_MS) == [Told("three")]
    assert repeats.over(EVERY_MS + 30_000) == [Told("four")]


def test_more_causes_than_can_be_told_apart_are_one() -> None:
    repeats: Repeats[int] = Repeats()
    told = [repeats.note(number, number, 0) for number in range(10 * MOST_CAUSES)]
    assert len([each for each in told if each]) == MOST_CAUSES + 1
    assert repeats.over(EVERY_MS) == [Told(10 * MOST_CAUSES - 1, left_out=9 * MOST_CAUSES - 2)]


def test_what_is_held_back_at_the_end_is_told_then() -> None:
    repeats: Repeats[str] = Repeats()
    repeats.note("disk", "one", 0)
    repeats.note("disk", "two", 0)
    repeats.note("net", "three", 0)
    assert repeats.rest() == [Told("two")]
    assert repeats.rest() == []
