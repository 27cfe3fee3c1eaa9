"""Masks of one day, and of all days, say what the trigger says."""

from __future__ import annotations

from math import gcd
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import draws

from onthedot import cron, dates, every
from onthedot.triggers.cron.days import BLOCK_DAYS, LAST_BLOCK, day_table
from onthedot.triggers.cron.trigger import Cron
from onthedot.triggers.exclusions.clock_days import ALL_DAYS, DAY, DAYS, bits_of, comb, kinds_of_days, part_of_day
from onthedot.triggers.exclusions.day_masks import Interval, ever, wall_times
from onthedot.triggers.exclusions.day_search import day_sets
from onthedot.triggers.exclusions.day_sets import DaySets
from onthedot.triggers.exclusions.expression import OnDates
from onthedot.triggers.exclusions.lattice import Lattice
from onthedot.triggers.zones import FOLDS, GAPS, get_zone

TEXTS = ("30 2 * * *", "*/20 * * * *", "15,45 0,23 * * *", "30 59 23 L * *", "7 */2 30,31 * mon-fri", "* * 2 * * sun")


def ticks_on(trigger: Cron, day: int) -> list[int]:
    return [ms // 1000 - day * DAY for ms in trigger.between_ms(day * DAY * 1000, (day + 1) * DAY * 1000)]


def listed(sets: DaySets, day: int) -> int:
    found = [mask for mask, days in sets.items() if days >> day & 1]
    assert len(found) <= 1
    return found[0] if found else 0


def days_to_look_at(tz: str) -> list[int]:
    jumps = Random(1).sample(draws.jumps(tz), min(6, len(draws.jumps(tz))))
    near = {jump // DAY + away for jump in jumps for away in (-2, -1, 0, 1, 2)}
    return sorted(day for day in {*near, 0, 1, DAYS - 2, DAYS - 1, 20_000} if 0 <= day < DAYS)


@pytest.mark.parametrize("tz", draws.AWKWARD_ZONES)
def test_the_mask_of_a_day_has_the_ticks_of_that_day_whatever_the_clock_does(tz: str) -> None:
    for number, text in enumerate(TEXTS):
        trigger = cron(text, tz=tz, gap=GAPS[number % 2], fold=FOLDS[number % 3])
        assert isinstance(trigger, Cron)
        for day in days_to_look_at(tz):
            assert bits_of(wall_times(trigger).mask(day)) == ticks_on(trigger, day), (text, day)


@settings(max_examples=60, deadline=None)
@given(draws.triggers(hashed=False, most_a_day=5000), st.data())
def test_the_tables_of_all_days_have_the_mask_of_each_day(trigger: Cron, data: st.DataObject) -> None:
    sets = day_sets(trigger)
    some = data.draw(st.lists(st.integers(0, DAYS - 1), max_size=5))
    for day in {*some, *days_to_look_at(trigger.zone.name)}:
        mask = wall_times(trigger).mask(day)
        assert listed(sets, day) == mask
        assert mask & ever(trigger) == mask


@pytest.mark.parametrize("tz", draws.AWKWARD_ZONES)
def test_the_kinds_of_days_are_a_partition_of_all_days(tz: str) -> None:
    kinds = kinds_of_days(get_zone(tz))
    assert sum(kinds) == ALL_DAYS
    assert sum(kind.bit_count() for kind in kinds) == DAYS
    assert len(kinds) < 80


@pytest.mark.parametrize("tz", ["UTC", "Pacific/Apia", "America/Havana", "Pacific/Kiritimati", "America/New_York"])
def test_dates_are_the_seconds_that_have_them_on_the_wall_clock(tz: str) -> None:
    zone = get_zone(tz)
    leaf = OnDates(
        zone, dates("1960-01-01..1970-01-01", "2011-12-29..2011-12-30", "2026-11-01", "2199-12-30..2300-01-01")
    )
    days = (0, 1, 2, 15_336, 15_337, 15_338, 15_339, 20_757, 20_758, 20_759, 20_760, DAYS - 3, DAYS - 2, DAYS - 1)
    for day in days:
        mask = wall_times(leaf).mask(day)
        assert listed(day_sets(leaf), day) == mask
        for second in range(0, DAY, 1800):
            assert mask >> second & 1 == leaf.ticks_at((day * DAY + second) * 1000)


@given(st.integers(1, 200_000), st.integers(0, 10**9), st.integers(0, DAYS - 1))
def test_the_mask_of_an_interval_has_its_seconds_of_the_day(step: int, phase: int, day: int) -> None:
    interval = Interval(step, phase % step)
    expected = [second for second in range(DAY) if (day * DAY + second - phase) % step == 0]
    assert bits_of(interval.mask(day)) == expected


@settings(max_examples=40, deadline=None)
@given(st.sampled_from((1, 7, 60, 61, 420, 3600, 46_800, 90_000, 604_800)), st.integers(0, 10**6), st.data())
def test_the_tables_of_an_interval_have_its_days_within_its_bounds(step: int, phase: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, DAYS * DAY - 1))
    end = data.draw(st.integers(first, DAYS * DAY))
    leaf = Interval(step, phase % step, first, end)
    sets = day_sets(leaf)
    for day in {
        first // DAY,
        min(first // DAY + 1, DAYS - 1),
        max(end - 1, 0) // DAY,
        data.draw(st.integers(0, DAYS - 1)),
    }:
        assert listed(sets, day) == leaf.mask(day)
    assert len(sets) <= leaf.kinds + 2


@given(draws.triggers(hashed=False))
def test_all_days_of_a_rule_are_those_of_its_blocks(trigger: Cron) -> None:
    table = day_table(trigger.fields.day_rule)
    for number in (0, 57, 93, LAST_BLOCK):
        assert table.all_days >> number * BLOCK_DAYS & (1 << BLOCK_DAYS) - 1 == table.block(number)


def test_a_comb_has_each_step_up_to_its_length() -> None:
    for step in (1, 2, 7, 64, 100):
        for length in (1, 7, 99, 100, 101):
            assert bits_of(comb(step, length)) == list(range(0, length, step))


def test_a_part_of_a_day_is_cut_at_both_ends() -> None:
    assert part_of_day(0, 10 * DAY, 3) == (1 << DAY) - 1
    assert bits_of(part_of_day(DAY + 5, DAY + 8, 1)) == [5, 6, 7]
    assert part_of_day(DAY, 2 * DAY, 0) == part_of_day(DAY, 2 * DAY, 2) == 0


@given(st.integers(1, 60), st.integers(0, 200), st.integers(1, 60), st.integers(0, 200))
def test_what_two_lattices_share_is_a_lattice(step: int, phase: int, other_step: int, other_phase: int) -> None:
    one, other = Lattice(step, phase % step), Lattice(other_step, other_phase % other_step)
    shared = one.meet(other)
    both = [n for n in range(4000) if n % step == one.phase and n % other_step == other.phase]
    if shared is None:
        assert not both
    else:
        assert both == list(range(shared.phase, 4000, shared.step))
        assert shared.step == step * other_step // gcd(step, other_step)


def test_every_day_of_a_week_counts_for_a_weekly_interval() -> None:
    weekly = every("1w")
    assert Interval(weekly.interval_ms // 1000, 0).kinds == 1
