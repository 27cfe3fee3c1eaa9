"""When a task is slow."""

from __future__ import annotations

from onthedot.execution.slowness import MINUTE_MS, Slowness


def after(slowness: Slowness, times: int, took_ms: int = 501, at_ms: int = 0) -> Slowness:
    for _ in range(times):
        slowness.note("job", took_ms, at_ms)
    return slowness


def test_ten_times_within_a_minute_are_not_yet_slow_and_eleven_are() -> None:
    assert not after(Slowness(), 10).is_slow("job", 0)
    assert after(Slowness(), 11).is_slow("job", 0)


def test_half_a_second_is_not_slow_however_often() -> None:
    assert not after(Slowness(), 1000, took_ms=500).is_slow("job", 0)


def test_one_slow_task_makes_no_other_slow() -> None:
    assert not after(Slowness(), 50).is_slow("other", 0)


def test_runs_of_two_minutes_are_not_counted_together() -> None:
    slowness = after(after(Slowness(), 10), 10, at_ms=MINUTE_MS)
    assert not slowness.is_slow("job", MINUTE_MS)


def test_it_is_judged_anew_each_minute_by_the_one_before() -> None:
    slowness = after(Slowness(), 11, at_ms=MINUTE_MS - 1)
    assert slowness.is_slow("job", MINUTE_MS), "it would be fast again after a millisecond"
    assert slowness.is_slow("job", 2 * MINUTE_MS - 1)
    assert not slowness.is_slow("job", 2 * MINUTE_MS)


def test_minutes_in_which_nothing_ended_count_as_fast() -> None:
    assert not after(Slowness(), 11).is_slow("job", 5 * MINUTE_MS)
