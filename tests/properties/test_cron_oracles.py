"""Cron against everything else that knows cron: the readable search, brute force, cronsim and croniter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter
from cronsim import CronSim
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tests.oracles import brute_force, draws
from tests.oracles.readable_cron import ReadableSearch

from onthedot import cron
from onthedot.moments import from_ms
from onthedot.triggers.cron.parse import parse
from onthedot.triggers.cron.search import Search
from onthedot.triggers.cron.trigger import Cron
from onthedot.triggers.zones import Fold, Gap, get_zone

HOUR, DAY = 3600, 86_400


def instant(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def both_searches(trigger: Cron, gap: Gap, fold: Fold) -> tuple[Search, ReadableSearch]:
    return (
        Search(trigger.fields, trigger.zone, gap, fold),
        ReadableSearch(trigger.fields, trigger.zone, gap, fold),
    )


@st.composite
def asked(draw: st.DrawFn, most_a_day: int | None = None, hashed: bool = True) -> tuple[Cron, int]:
    """A trigger, and a second to ask it about."""
    trigger = draw(draws.triggers(hashed=hashed, most_a_day=most_a_day))
    return trigger, draw(draws.moments(trigger.zone.name))


# the readable search, which is true by definition


@given(asked(most_a_day=300), draws.gaps, draws.folds)
def test_the_first_tick_at_or_after_a_second_is_the_one_of_the_definition(
    question: tuple[Cron, int], gap: Gap, fold: Fold
) -> None:
    trigger, second = question
    fast, readable = both_searches(trigger, gap, fold)
    assert fast.ceil(second) == readable.ceil(second)


@given(asked(most_a_day=300), draws.gaps, draws.folds)
def test_the_last_tick_at_or_before_a_second_is_the_one_of_the_definition(
    question: tuple[Cron, int], gap: Gap, fold: Fold
) -> None:
    trigger, second = question
    fast, readable = both_searches(trigger, gap, fold)
    assert fast.floor(second) == readable.floor(second)


@settings(max_examples=60)
@given(asked(most_a_day=4000), draws.gaps, draws.folds)
def test_dense_texts_too_are_found_as_the_definition_says(question: tuple[Cron, int], gap: Gap, fold: Fold) -> None:
    trigger, second = question
    fast, readable = both_searches(trigger, gap, fold)
    assert fast.ceil(second) == readable.ceil(second)
    assert fast.floor(second) == readable.floor(second)


JUMPS = {  # one jump forward and one back of each awkward kind: the seconds around each are searched one by one
    "America/New_York": ("2026-03-08T07:00Z", "2026-11-01T06:00Z"),
    "Europe/London": ("2026-03-29T01:00Z", "2026-10-25T01:00Z"),
    "Australia/Lord_Howe": ("2026-10-03T15:30Z", "2026-04-04T15:00Z"),
    "America/Havana": ("2026-03-08T05:00Z", "2026-11-01T05:00Z"),
    "Africa/Casablanca": ("2026-03-22T02:00Z", "2026-02-15T02:00Z"),
    "Pacific/Apia": ("2011-12-30T10:00Z", "2012-03-31T14:00Z"),
    "Africa/Monrovia": ("1972-01-07T00:44:30Z", "1972-01-07T00:44:30Z"),
}
CLOCKS = (
    "30 2 * * *",
    "0,30 0,1,2,3 * * *",
    "*/20 * * * *",
    "15 * * * *",
    "0 0 * * *",
    "59 23 * * *",
    "7 */2 30,31 * *",
)


@pytest.mark.parametrize("fold", ["first", "last", "both"])
@pytest.mark.parametrize("gap", ["shift", "skip"])
@pytest.mark.parametrize("tz", JUMPS)
def test_around_a_jump_every_rule_gives_the_ticks_of_the_definition(tz: str, gap: Gap, fold: Fold) -> None:
    for text in CLOCKS:
        fast = Search(parse(text, ""), get_zone(tz), gap, fold)
        readable = ReadableSearch(parse(text, ""), get_zone(tz), gap, fold)
        for jump in map(instant, JUMPS[tz]):
            start, end = jump - DAY, jump + DAY
            assert list(walk(fast, start, end)) == readable.between(start, end)
            assert list(walk_back(fast, start, end)) == readable.between(start, end)[::-1]


def walk(search: Search, start: int, end: int) -> Iterator[int]:
    tick = search.ceil(start)
    while tick is not None and tick < end:
        yield tick
        tick = search.ceil(tick + 1)


def walk_back(search: Search, start: int, end: int) -> Iterator[int]:
    tick = search.floor(end - 1)
    while tick is not None and tick >= start:
        yield tick
        tick = search.floor(tick - 1)


# a trigger with itself


@given(asked())
def test_next_and_prev_are_the_inverse_of_each_other(question: tuple[Cron, int]) -> None:
    trigger, second = question
    after = trigger.next_ms(second * 1000)
    before = trigger.prev_ms(second * 1000)
    if after is not None:
        assert after > second * 1000
        assert trigger.prev_ms(after + 1) == after
        assert trigger.prev_ms(after) == (second * 1000 if trigger.matches(from_ms(second * 1000)) else before)
    if before is not None:
        assert before < second * 1000
        assert trigger.next_ms(before - 1) == before


@given(asked(), st.integers(0, 3 * DAY))
def test_between_gives_what_repeated_next_gives(question: tuple[Cron, int], length: int) -> None:
    trigger, second = question
    start = second * 1000
    ticks = list(islice(trigger.between_ms(start, start + length * 1000), 30))
    expected: list[int] = []
    tick = trigger.next_ms(start - 1)
    while tick is not None and tick < start + length * 1000 and len(expected) < 30:
        expected.append(tick)
        tick = trigger.next_ms(tick)
    assert ticks == expected


@settings(max_examples=100)
@given(asked(), st.data())
def test_bounds_cut_off_what_lies_outside_and_nothing_else(question: tuple[Cron, int], data: st.DataObject) -> None:
    free, second = question
    following = free.next_ms(second * 1000 - 1)
    inside = free.prev_ms(second * 1000) if following is None else following
    assert inside is not None
    away = st.sampled_from((0, 0, 1, 500, 3_600_000)) | st.integers(0, 2 * DAY * 1000)
    start, until = max(0, inside - data.draw(away)), inside + data.draw(away)
    moment = data.draw(st.sampled_from((start, inside, until))) + data.draw(st.sampled_from((-1, 1))) * data.draw(away)
    bounded = replace(free, starts_at=start, repeat_until=until)
    after, before = free.next_ms(max(moment, start - 1)), free.prev_ms(min(moment, until + 1))
    assert bounded.next_ms(moment) == (after if after is not None and after <= until else None)
    assert bounded.prev_ms(moment) == (before if before is not None and before >= start else None)


@settings(max_examples=120)
@given(asked(), st.integers(0, 2 * DAY * 1000), st.none() | st.integers(-DAY, DAY))
def test_the_count_of_ticks_is_the_number_of_those_that_are_found(
    question: tuple[Cron, int], length: int, bound: int | None
) -> None:
    trigger, second = question
    assume(draws.ticks_a_day(trigger) <= 4000)
    if bound is not None and trigger.next_ms((second + bound) * 1000) is not None:
        trigger = replace(trigger, starts_at=max(0, second + bound) * 1000)
    start = second * 1000 - length // 3
    assert trigger.count_ms(start, start + length) == sum(1 for _ in trigger.between_ms(start, start + length))


@given(asked())
def test_a_moment_matches_if_and_only_if_it_is_a_tick(question: tuple[Cron, int]) -> None:
    trigger, second = question
    readable = ReadableSearch(trigger.fields, trigger.zone, trigger.effective_gap, trigger.effective_fold)
    assume(draws.ticks_a_day(trigger) <= 4000)
    assert trigger.matches(from_ms(second * 1000)) is (second in readable.between(second, second + 1))
    tick = trigger.next_ms(second * 1000)
    if tick is not None:
        assert trigger.matches(from_ms(tick))
        assert not trigger.matches(from_ms(tick + 1))


# brute force, which shares no code with ours


def awkward_window(zone_names: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[str, int]]:
    return zone_names.flatmap(lambda tz: st.tuples(st.just(tz), st.sampled_from(draws.jumps(tz))))


@settings(max_examples=120)
@given(draws.texts(hashed=False), awkward_window(draws.zones), st.none() | draws.gaps, st.none() | draws.folds)
@example("* * * * * *", ("Africa/Monrovia", 63_593_070), "shift", "both")
@example("*/7 * 2 * * *", ("America/New_York", 1_772_953_200), None, None)
@example("0 0 2,3 * * *", ("America/New_York", 1_772_953_200), None, None)
def test_by_seconds_around_a_jump_cron_is_what_a_look_at_every_second_finds(
    text: str, place: tuple[str, int], gap: Gap | None, fold: Fold | None
) -> None:
    tz, jump = place
    start, end = max(0, jump - 2 * HOUR), min(jump + 2 * HOUR, draws.END)
    expected = brute_force.scan(text, tz, start, end, gap=gap, fold=fold)
    assert list(walk(ours(text, tz, gap, fold), start, end)) == expected
    assert list(walk_back(ours(text, tz, gap, fold), start, end)) == expected[::-1]


WHOLE_MINUTES = st.sampled_from([tz for tz in draws.AWKWARD_ZONES if tz != "Africa/Monrovia"])


@settings(max_examples=120)
@given(draws.texts(hashed=False), awkward_window(WHOLE_MINUTES), st.none() | draws.gaps, st.none() | draws.folds)
@example("0 9 * * *", ("Pacific/Apia", 1_325_239_200), None, None)
@example("*/5 * 30 12 *", ("Pacific/Apia", 1_325_239_200), "shift", None)
@example("0 0 * * *", ("America/Havana", 1_772_946_000), None, None)
def test_by_minutes_around_a_jump_cron_is_what_a_look_at_every_minute_finds(
    text: str, place: tuple[str, int], gap: Gap | None, fold: Fold | None
) -> None:
    tz, jump = place
    text = " ".join(text.split()[:5] if len(text.split()) == 5 else text.split()[1:6])
    start, end = max(0, jump - jump % 60 - 2 * DAY), min(jump + 2 * DAY, draws.END)
    expected = brute_force.scan(text, tz, start, end, gap=gap, fold=fold, step=60)
    assert list(walk(ours(text, tz, gap, fold), start, end)) == expected
    assert list(walk_back(ours(text, tz, gap, fold), start, end)) == expected[::-1]


def ours(text: str, tz: str, gap: Gap | None, fold: Fold | None) -> Search:
    """A search by the default rule, which is fixed times: shift and first, others: skip and both."""
    fields = parse(text, "")
    gap = gap or ("shift" if fields.fixed else "skip")
    fold = fold or ("first" if fields.fixed else "both")
    return Search(fields, get_zone(tz), gap, fold)


@given(draws.texts(hashed=False), st.dates(date(1970, 1, 1), date(2199, 12, 31)))
def test_the_days_of_a_text_are_those_that_a_naive_reading_finds(text: str, when: date) -> None:
    search = Search(parse(at_midnight(text), ""), get_zone("UTC"), "skip", "both")
    midnight = instant(f"{when}T00:00Z")
    assert (search.ceil(midnight) == midnight) is brute_force.NaiveCron(text).matches_date(when)


def at_midnight(text: str) -> str:
    words = text.split()
    return " ".join(["0", "0", "0", *(words[2:] if len(words) == 5 else words[3:])])


# cronsim, whose rule is our default


def plain_fields(with_specials: bool) -> st.SearchStrategy[str]:
    """Texts of 5 fields that mean the same to us and to the others: no wrapping, no start with a step, no `?`."""
    specials = [st.sampled_from(("L", "LW"))] if with_specials else []
    weekly = [st.sampled_from(("5L", "0L", "1#2", "5#5", "0#1"))] if with_specials else []
    return st.tuples(
        field(0, 59), field(0, 23), st.one_of(field(1, 31), *specials), field(1, 12), st.one_of(field(0, 6), *weekly)
    ).map(" ".join)


def field(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high).map(str)
    ends = (
        st.tuples(st.integers(low, high - 1), st.integers(low, high)).map(sorted).filter(lambda pair: pair[0] < pair[1])
    )
    spans = ends.map(lambda pair: "{}-{}".format(*pair))
    stepped = ends.flatmap(lambda pair: st.integers(1, pair[1] - pair[0] + 1).map(f"{pair[0]}-{pair[1]}/{{}}".format))
    stars = st.integers(1, high - low + 1).map("*/{}".format)
    items = st.lists(st.one_of(number, spans, stepped), min_size=1, max_size=3).map(",".join)
    return st.one_of(st.just("*"), stars, number, items)


def first_ticks(trigger: Cron, second: int, count: int) -> list[datetime]:
    ticks = trigger.between_ms(second * 1000 + 1, draws.END * 1000)
    return [from_ms(tick) for tick in islice(ticks, count)]


def made(text: str, tz: str) -> Cron:
    try:
        trigger = cron(text, tz=tz)
    except ValueError:
        assume(False)
        raise
    assert isinstance(trigger, Cron)
    return trigger


LATE = st.integers(instant("1970-01-02T00:00Z"), instant("2140-01-01T00:00Z"))


@given(plain_fields(with_specials=True), LATE)
def test_in_utc_cronsim_finds_the_same_ticks(text: str, second: int) -> None:
    trigger = made(text, "UTC")
    theirs = list(islice(CronSim(text, datetime.fromtimestamp(second, UTC)), 5))
    assert first_ticks(trigger, second, len(theirs) or 1) == theirs


@given(plain_fields(with_specials=False), LATE)
def test_in_utc_croniter_finds_the_same_ticks(text: str, second: int) -> None:
    trigger = made(text, "UTC")
    start = datetime.fromtimestamp(second, UTC)
    theirs = croniter(text, start, ret_type=datetime, implement_cron_bug=True, max_years_between_matches=60)
    expected = [theirs.get_next() for _ in range(5)]
    assert first_ticks(trigger, second, 5) == expected


CRONSIM_ZONES = st.sampled_from([tz for tz in draws.AWKWARD_ZONES if tz != "Africa/Monrovia"])
FIXED = st.tuples(
    st.integers(0, 59).map(str) | st.sampled_from(("0,30", "15-45/15")),
    st.integers(0, 23).map(str) | st.sampled_from(("0,1,2,3", "0-4", "1-3/2")),
    st.sampled_from(("*", "*", "1-31/2", "L", "28-31")),
    st.just("*"),
    st.sampled_from(("*", "*", "sun", "1#2", "5L")),
).map(" ".join)


@given(FIXED, awkward_window(CRONSIM_ZONES), st.integers(-2 * DAY, DAY))
def test_at_fixed_times_in_a_zone_cronsim_finds_the_same_ticks(text: str, place: tuple[str, int], away: int) -> None:
    tz, jump = place
    assume(DAY < jump < instant("2140-01-01T00:00Z"))
    second = jump - jump % DAY + away
    trigger = made(text, tz)
    theirs = [tick.astimezone(UTC) for tick in islice(CronSim(text, datetime.fromtimestamp(second, ZoneInfo(tz))), 20)]
    theirs = sorted({tick for tick in theirs if tick.timestamp() > second})  # cronsim gives one twice at a gap's end
    assert first_ticks(trigger, second, len(theirs)) == theirs


# where jumps are neither at midnight nor inside an hour: there cronsim steps by whole hours past some of its own ticks
CRONSIM_REAL_TIME = ("America/New_York", "Europe/London", "Europe/Berlin", "Europe/Dublin")
WILD = st.tuples(
    st.sampled_from(("*", "*/5", "*/30", "*/7", "0", "30")),
    st.sampled_from(("*", "*", "*/2", "*/3")),
    st.just("*"),
    st.just("*"),
    st.sampled_from(("*", "*", "sun", "sat,sun")),
).map(" ".join)


@given(WILD, awkward_window(st.sampled_from(CRONSIM_REAL_TIME)), st.integers(-2 * DAY, DAY))
def test_with_a_wildcard_in_a_zone_cronsim_finds_the_same_ticks(text: str, place: tuple[str, int], away: int) -> None:
    tz, jump = place
    assume(DAY < jump < instant("2140-01-01T00:00Z"))
    second = jump - jump % DAY + away
    trigger = made(text, tz)
    theirs = [tick.astimezone(UTC) for tick in islice(CronSim(text, datetime.fromtimestamp(second, ZoneInfo(tz))), 60)]
    assert first_ticks(trigger, second, len(theirs)) == theirs
