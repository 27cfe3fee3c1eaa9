"""Unions and exclusions against sets: whatever is combined, its ticks are those that set operations leave."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tests.oracles import draws

from onthedot import Trigger, at, cron, dates, every
from onthedot.moments import from_ms
from onthedot.triggers import combine
from onthedot.triggers.at import At
from onthedot.triggers.cron.trigger import Cron
from onthedot.triggers.every import Every
from onthedot.triggers.exclusions import day_search

WINDOW_MS = 3 * 3_600_000

Tick = tuple[int, str]
"""A moment, and the zone of the simple trigger that ticks there: excluded dates go by it."""


@dataclass(frozen=True, slots=True)
class Leaf:
    trigger: Cron | Every | At

    def build(self) -> Trigger:
        return self.trigger

    def ticks(self, start: int, end: int) -> set[Tick]:
        return {(tick, self.trigger.zone.name) for tick in self.trigger.between_ms(start, end)}


@dataclass(frozen=True, slots=True)
class Or:
    one: Tree
    other: Tree

    def build(self) -> Trigger:
        return self.one.build() | self.other.build()

    def ticks(self, start: int, end: int) -> set[Tick]:
        return self.one.ticks(start, end) | self.other.ticks(start, end)


@dataclass(frozen=True, slots=True)
class Minus:
    base: Tree
    without: Tree

    def build(self) -> Trigger:
        return self.base.build() - self.without.build()

    def ticks(self, start: int, end: int) -> set[Tick]:
        gone = {moment for moment, _ in self.without.ticks(start, end)}
        return {(moment, tz) for moment, tz in self.base.ticks(start, end) if moment not in gone}


@dataclass(frozen=True, slots=True)
class MinusDates:
    base: Tree
    days: frozenset[date]

    def build(self) -> Trigger:
        return self.base.build() - dates(self.days)

    def ticks(self, start: int, end: int) -> set[Tick]:
        return {
            (moment, tz)
            for moment, tz in self.base.ticks(start, end)
            if from_ms(moment).astimezone(ZoneInfo(tz)).date() not in self.days
        }


Tree = Leaf | Or | Minus | MinusDates

DENSE = (
    "* * * * *", "0 * * * *", "* 2 * * *", "30 30 2 * * *", "30 * * * * *", "*/30 * * * * *", "* * 2 * * *",
    "* 0,30 * * * *", "* * * * * *", "1s", "30s", "90s", "1500ms", "7s", "13s", "1037ms", "67s", "67500ms",
)  # fmt: skip
SPARSE = (
    "*/5 * * * *", "0 * * * *", "30 2 * * *", "0,30 0-3 * * *", "*/20 1-2 * * *", "30 30 2 * * *", "0 0 * * *",
    "15 * * * *", "*/10 2 * * *", "5m", "15m", "1h", "7m", "97m", "12345s",
)  # fmt: skip


@st.composite
def leaves(draw: st.DrawFn, tz: str, jump: int, texts: tuple[str, ...]) -> Leaf:
    zone = draw(st.sampled_from((tz, tz, "UTC", "Asia/Kathmandu")))
    if draw(st.integers(0, 9)) == 0:
        return Leaf(at(from_ms(jump * 1000 + draw(st.integers(-90, 90)) * 60_000), tz=zone))
    text = draw(st.sampled_from(texts))
    if " " in text:
        return Leaf(cron(text, tz=zone, gap=draw(st.none() | draws.gaps), fold=draw(st.none() | draws.folds)))
    return Leaf(every(text, anchor=from_ms(draw(st.sampled_from((0, 0, 30_000, 500)))), tz=zone))


@st.composite
def bounded_leaves(draw: st.DrawFn, tz: str, jump: int, texts: tuple[str, ...]) -> Leaf:
    """Leaves that tick only in the hours around the jump, each with bounds of its own."""
    trigger = draw(leaves(tz, jump, texts)).trigger
    if isinstance(trigger, At):
        return Leaf(trigger)
    start = jump * 1000 - draw(st.integers(0, WINDOW_MS))
    until = jump * 1000 + draw(st.integers(0, WINDOW_MS - 1))
    assume(trigger.next_ms(start - 1) is not None and (trigger.next_ms(start - 1) or 0) <= until)
    return Leaf(replace(trigger, starts_at=start, repeat_until=until))


def trees(tz: str, jump: int, texts: tuple[str, ...], nested: bool, bounded: bool = False) -> st.SearchStrategy[Tree]:
    middle = datetime.fromtimestamp(jump, UTC).date().toordinal()
    days = st.frozensets(st.integers(-2, 2).map(lambda n: date.fromordinal(middle + n)), min_size=1)
    leaf: st.SearchStrategy[Tree] = (bounded_leaves if bounded else leaves)(tz, jump, texts)

    def joined(parts: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        without = parts if nested else leaf | st.builds(Or, leaf, leaf)
        minus = st.builds(Minus, parts, without)
        return st.one_of(st.builds(Or, parts, parts), minus, minus, st.builds(MinusDates, parts, days))

    return joined(st.recursive(leaf, joined, max_leaves=3))


@st.composite
def cases(draw: st.DrawFn, texts: tuple[str, ...], nested: bool = False, bounded: bool = False) -> tuple[Tree, int]:
    """A tree of triggers around a jump of the wall clock, and that jump."""
    tz = draw(st.sampled_from(draws.AWKWARD_ZONES))
    jump = draw(st.sampled_from([jump for jump in draws.jumps(tz) if 10**6 < jump < draws.END - 10**6] or [10**9]))
    return draw(trees(tz, jump, texts, nested, bounded)), jump


NEW_YORK, SPRING = "America/New_York", 1_772_953_200  # 2026-03-08T07:00Z
HOUR_TWO = cron("* * 2 * * *", tz=NEW_YORK, gap="shift", fold="both")


@settings(max_examples=60)
@given(cases(DENSE))
@example((Minus(Leaf(every("1s")), Leaf(HOUR_TWO)), SPRING))
@example((Minus(Leaf(cron("30 30 2,3 * * *", tz=NEW_YORK)), Leaf(cron("30 * * * * *"))), SPRING))
def test_by_seconds_whatever_is_combined_ticks_as_set_operations_say(case: tuple[Tree, int]) -> None:
    ticks_as_expected(*case, half_window=20 * 60_000)


@settings(max_examples=80)
@given(cases(SPARSE, nested=True))
def test_by_minutes_whatever_is_combined_ticks_as_set_operations_say(case: tuple[Tree, int]) -> None:
    ticks_as_expected(*case, half_window=3 * 3_600_000)


def ticks_as_expected(tree: Tree, jump: int, half_window: int) -> None:
    start, end = jump * 1000 - half_window, jump * 1000 + half_window
    expected = sorted({moment for moment, _ in tree.ticks(start, end)})
    trigger = tree.build()
    assert list(trigger.between_ms(start, end)) == expected
    assert walk_back(trigger, start, end) == expected[::-1]


@settings(max_examples=100)
@given(cases(SPARSE, nested=True, bounded=True), st.integers(1, 20_000), st.booleans())
def test_what_lies_years_away_is_found_and_none_means_that_nothing_is_left(
    case: tuple[Tree, int], days_away: int, at_once: bool
) -> None:
    """Nothing ticks outside of a few hours, so the whole truth is known."""
    tree, jump = case
    start, end = jump * 1000 - WINDOW_MS, jump * 1000 + WINDOW_MS
    expected = sorted({moment for moment, _ in tree.ticks(start, end)})
    away = days_away * 86_400_000
    with looking_far(at_once):
        trigger = tree.build()
        assert trigger.next_ms(start - away) == (expected[0] if expected else None)
        assert trigger.prev_ms(end + away) == (expected[-1] if expected else None)
        assert trigger.next_ms(end) is None
        assert trigger.prev_ms(start) is None
        assert list(trigger.between_ms(start - away, end + away)) == expected
        assert trigger.count_ms(start - away, end + away) == len(expected)


@settings(max_examples=60)
@given(cases(DENSE))
def test_the_tables_of_all_days_say_what_each_day_says(case: tuple[Tree, int]) -> None:
    with looking_far(True):
        ticks_as_expected(*case, half_window=20 * 60_000)


@settings(max_examples=80)
@given(cases(SPARSE, nested=True), st.integers(0, 4 * 3_600_000), st.integers(0, 4 * 3_600_000))
def test_ticks_are_counted_without_walking_through_them(case: tuple[Tree, int], before: int, after: int) -> None:
    tree, jump = case
    start, end = jump * 1000 - before, jump * 1000 + after
    assert tree.build().count_ms(start, end) == len({moment for moment, _ in tree.ticks(start, end)})


@contextmanager
def looking_far(at_once: bool) -> Iterator[None]:
    """If asked for, one tick is tried and no day looked at by itself: all else comes from the tables of all days."""
    with pytest.MonkeyPatch.context() as patch:
        if at_once:
            patch.setattr(combine, "FEW", 1)
            patch.setattr(day_search, "NEAR_DAYS", 0)
        yield


def walk_back(trigger: Trigger, start: int, end: int) -> list[int]:
    ticks, tick = [], trigger.prev_ms(end)
    while tick is not None and tick >= start:
        ticks.append(tick)
        tick = trigger.prev_ms(tick)
    return ticks


@settings(max_examples=60)
@given(cases(DENSE), st.integers(-1_800_000, 1_800_000))
def test_a_combination_matches_exactly_the_moments_that_set_operations_leave(case: tuple[Tree, int], away: int) -> None:
    tree, jump = case
    moment = jump * 1000 + away
    for each in (moment, moment - moment % 1000, moment - moment % 60_000, moment - moment % 1_800_000):
        expected = {tick for tick, _ in tree.ticks(each, each + 1)}
        assert tree.build().matches(from_ms(each)) is (each in expected)
