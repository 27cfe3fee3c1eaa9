"""Which undecided ticks fire, and which are recorded as missed."""

from __future__ import annotations

import pytest

from onthedot import Trigger, cron, every
from onthedot.model.policy import Policy
from onthedot.moments import ceil_ms
from onthedot.rules.misfire import MOST_AT_ONCE, select

NOW = ceil_ms("2026-11-15T12:00:03Z")
WEEK = 10_080  # minutes
MINUTELY = cron("* * * * *")


def minutes_ago(count: int) -> int:
    """The tick that lies so many minutes before the latest one, which was 3 s ago."""
    return ceil_ms("2026-11-15T12:00Z") - count * 60_000


def test_a_tick_on_time_fires_whatever_the_policy() -> None:
    for misfire in ("fire_once", "skip", "catch_up"):
        chosen = select(MINUTELY, minutes_ago(0), Policy(misfire=misfire), NOW)
        assert (chosen.fire, chosen.missed) == ((minutes_ago(0),), None)


def test_every_tick_within_grace_fires() -> None:
    chosen = select(every("1s"), NOW - 10_000, Policy(), NOW)
    assert chosen.fire == tuple(range(NOW - 10_000, NOW + 1, 1000))
    assert chosen.missed is None


def test_after_a_week_fire_once_runs_the_latest_tick_only_and_records_the_others_as_one_range() -> None:
    chosen = select(MINUTELY, minutes_ago(WEEK - 1), Policy(misfire="fire_once"), NOW)
    assert chosen.fire == (minutes_ago(0),)
    assert chosen.missed == (minutes_ago(WEEK - 1), minutes_ago(1))


def test_skip_runs_what_is_within_grace_and_nothing_older() -> None:
    chosen = select(MINUTELY, minutes_ago(WEEK - 1), Policy(misfire="skip"), NOW)
    assert chosen.fire == (minutes_ago(0),)
    late = select(MINUTELY, minutes_ago(5), Policy(misfire="skip"), NOW + 20_000)
    assert late.fire == ()
    assert late.missed == (minutes_ago(5), minutes_ago(0))


def test_catch_up_runs_its_cap_of_the_latest_and_records_what_it_dropped() -> None:
    chosen = select(MINUTELY, minutes_ago(WEEK - 1), Policy(misfire="catch_up", max_catch_up=100), NOW)
    assert chosen.fire == tuple(minutes_ago(count) for count in range(99, -1, -1))
    assert chosen.missed == (minutes_ago(WEEK - 1), minutes_ago(100))


def test_catch_up_does_not_reach_back_beyond_its_window() -> None:
    policy = Policy(misfire="catch_up", max_catch_up=100, catch_up_window_ms=5 * 60_000)
    chosen = select(MINUTELY, minutes_ago(WEEK - 1), policy, NOW)
    assert chosen.fire == tuple(minutes_ago(count) for count in range(4, -1, -1))


@pytest.mark.parametrize("misfire", ["fire_once", "skip", "catch_up"])
def test_the_cost_does_not_grow_with_the_length_of_the_outage(misfire: str) -> None:
    """Counted, not timed: a day and fifty years of missed seconds take the same number of questions."""

    def questions(missed_ms: int) -> int:
        trigger = Counting()
        select(trigger, NOW // 1000 * 1000 - missed_ms, Policy(misfire=misfire), NOW)  # type: ignore[arg-type]
        return trigger.asked

    assert questions(50 * 365 * 86_400_000) <= questions(86_400_000) + 2


def test_a_grace_of_a_day_is_worked_off_in_passes_of_bounded_length() -> None:
    first = NOW // 1000 * 1000 - 80_000_000
    chosen = select(every("1s"), first, Policy(grace_ms=86_400_000), NOW)
    assert len(chosen.fire) == MOST_AT_ONCE + 1
    assert chosen.settled_ms == chosen.fire[-1]


class Counting(Trigger):
    """Every second, counting how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0
        self._inner = every("1s")

    def next_ms(self, after_ms: int) -> int | None:
        self.asked += 1
        return self._inner.next_ms(after_ms)

    def prev_ms(self, before_ms: int) -> int | None:
        self.asked += 1
        return self._inner.prev_ms(before_ms)

    def describe(self) -> str:
        return self._inner.describe()
