"""Unions and exclusions against sets: whatever is combined, its ticks are those that set operations leave."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.oracles import draws

from onthedot import Trigger, at, cron, dates, every
from onthedot.moments import from_ms
from onthedot.triggers import combine
from onthedot.triggers.at import At
from onthedot.triggers.cron.trigger import Cron
from onthedot.triggers.every import Every


@pytest.fixture(autouse=True, scope="module")
def give_up_early() -> Iterator[None]:
    """More steps than the windows below have ticks, and no more: what excludes everything is then soon done with."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(combine, "MOST_STEPS", 2500)
        yield


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
    "* 0,30 * * * *", "* * * * * *", "1s", "30s", "90s", "1500ms",
)  # fmt: skip
SPARSE = (
    "*/5 * * * *", "0 * * * *", "30 2 * * *", "0,30 0-3 * * *", "*/20 1-2 * * *", "30 30 2 * * *", "0 0 * * *",
    "15 * * * *", "*/10 2 * * *", "5m", "15m", "1h",
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


def trees(tz: str, jump: int, texts: tuple[str, ...], nested: bool) -> st.SearchStrategy[Tree]:
    middle = datetime.fromtimestamp(jump, UTC).date().toordinal()
    days = st.frozensets(st.integers(-2, 2).map(lambda n: date.fromordinal(middle + n)), min_size=1)
    leaf: st.SearchStrategy[Tree] = leaves(tz, jump, texts)

    def joined(parts: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        without = parts if nested else leaf | st.builds(Or, leaf, leaf)
        minus = st.builds(Minus, parts, without)
        return st.one_of(st.builds(Or, parts, parts), minus, minus, st.builds(MinusDates, parts, days))

    return joined(st.recursive(leaf, joined, max_leaves=3))


@st.composite
def cases(draw: st.DrawFn, texts: tuple[str, ...], nested: bool = False) -> tuple[Tree, int]:
    """A tree of triggers around a jump of the wall clock, and that jump."""
    tz = draw(st.sampled_from(draws.AWKWARD_ZONES))
    jump = draw(st.sampled_from([jump for jump in draws.jumps(tz) if 10**6 < jump < draws.END - 10**6] or [10**9]))
    return draw(trees(tz, jump, texts, nested)), jump


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
