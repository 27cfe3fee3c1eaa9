"""Exclusions are searched to the end of time, by little work."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from onthedot import Trigger, at, cron, dates, every
from onthedot.triggers.combine import Exclusion, exclude, union
from onthedot.triggers.exclusions import day_search, interval_search, search
from onthedot.triggers.exclusions.expression import Expression, Just

BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.fixture
def masks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The days that are looked at one by one, all caches being empty."""
    made: list[int] = []
    plain = day_search.mask_of

    def counted(expression: Expression[day_search.Daily], day: int) -> int:
        made.append(day)
        return plain(expression, day)

    search.search_of.cache_clear()
    monkeypatch.setattr(day_search, "mask_of", counted)
    return made


# the three that were wrong or slow


def test_every_minute_without_every_minute_is_nothing_and_that_is_soon_known(masks: list[int]) -> None:
    nothing = cron("* * * * *") - cron("* * * * *")
    assert nothing.next("2026-01-01T00:00Z") is None
    assert nothing.prev("2026-01-01T00:00Z") is None
    assert len(masks) <= 2 * day_search.NEAR_DAYS


@pytest.mark.parametrize("tz", ["UTC", BERLIN])
def test_a_union_of_fifty_without_everything_is_nothing_and_that_is_soon_known(tz: str, masks: list[int]) -> None:
    fifty = union(*(cron(f"{n} {n % 24} * * {n % 7}", tz=tz) for n in range(50)))
    nothing = fifty - cron("* * * * *")
    assert nothing.next("2026-01-01T00:00Z") is None
    assert len(masks) <= 50 * day_search.NEAR_DAYS


@pytest.mark.parametrize(
    "halves",
    [
        ("0-29 * * * * *", "30-59 * * * * *"),
        ("*/2 * * * * *", "1/2 * * * * *"),
        ("* 0-29 * * * *", "* 30-59 * * * *"),
    ],
)
def test_halves_that_end_are_passed_over_also_where_they_lasted_for_long(halves: tuple[str, str]) -> None:
    trigger = exclude(every("1s"), union(*(cron(text, repeat_until="2026-02-01T00:00Z") for text in halves)))
    assert trigger.next("2026-01-01T00:00Z") == utc("2026-02-01T00:00:01")
    assert trigger.next("1971-01-01T00:00Z") == utc("2026-02-01T00:00:01")
    assert trigger.prev("2026-02-01T00:00Z") is None
    assert trigger.matches("2026-02-02T00:00Z")


# None means that nothing is left, and what is left is found

WEEKDAYS = [cron(f"* * * * * {day}") for day in range(7)]
NOTHING: list[Trigger] = [
    exclude(cron("0 9 * * *", tz=BERLIN), union(*WEEKDAYS)),
    exclude(every("97m"), union(*WEEKDAYS)),
    exclude(every("12345s"), union(*WEEKDAYS)),
    exclude(every("1037ms"), every("1037ms") | cron("0 0 * * *")),
    exclude(every("97m"), every("194m") | every("194m", anchor="1970-01-01T01:37Z") | cron("0 0 1 1 *")),
    exclude(every("1500ms"), every("3s", anchor="1970-01-01T00:00:01.5Z") | cron("* * * * * *")),
    exclude(every("1s"), every("2s") | every("4s", anchor="1970-01-01T00:00:01Z") | cron("3/4 * * * * *")),
    cron("30 2 * * *", tz=NEW_YORK) - cron("30 2 * * *", tz=NEW_YORK, gap="skip") - cron("0 3 * * *", tz=NEW_YORK),
    exclude(cron("0 0 29 2 *"), cron("0 0 * * 0-3") | cron("0 0 * * 4-6")),
    exclude(every("1w"), cron("0 0 * * thu")),
    every("119m") - cron("* * * * * 0,2-6") - cron("* * 1-23 * * *") - cron("* 1-59 * * * *") - cron("1/1 * * * * *"),
    every("1h", spread=True).with_key("a") - every("1s") - dates("1970-01-01..2200-01-01"),
    at("2026-01-01T00:00Z") - every("1h"),
]  # fmt: skip


@pytest.mark.parametrize("trigger", NOTHING, ids=str)
def test_where_nothing_is_left_the_answer_is_none(trigger: Trigger) -> None:
    assert trigger.next("1970-01-01T00:00Z") is None
    assert trigger.prev("2200-01-01T00:00Z") is None
    assert trigger.between("2026-01-01T00:00Z", "2027-01-01T00:00Z") == []
    assert trigger.count_ms(0, 4 * 10**12) == 0


LEFT: list[tuple[Trigger, str]] = [
    (cron("0 0 29 2 *") - dates("2026-01-01..2199-12-31") | at("2199-06-01T00:00Z"), "2199-06-01T00:00"),
    (every("1s") - cron("* * * * * * 1970-2198"), "2199-01-01T00:00"),
    (every("97m") - cron("* * * * * * 1970-2150"), "2151-01-01T00:04"),
    (every("1500ms") - cron("* * * * * *"), "2026-01-01T00:00:01.500"),
    (every("1037ms") - dates("2000-01-01..2100-12-31") - cron("* * * * * *"), "2101-01-01T00:00:00.111"),
    (cron("30 2 * * *", tz=NEW_YORK) - cron("30 2 * * *", tz=NEW_YORK, gap="skip"), "2026-03-08T07:00"),
    (cron("* * * * *") - (cron("* * * * *") - cron("0 0 29 2 sun")), "2026-02-01T00:00"),
    (every("1d") - every("1d", repeat_until="2120-05-05T00:00Z"), "2120-05-06T00:00"),
    (every("1w") - cron("0 0 * * thu", repeat_until="2100-01-01T00:00Z"), "2100-01-07T00:00"),
]  # fmt: skip


@pytest.mark.parametrize(("trigger", "first"), LEFT, ids=lambda value: str(value)[:60])
def test_what_is_left_is_found_however_far_it_is(trigger: Trigger, first: str, masks: list[int]) -> None:
    found = trigger.next("2026-01-01T00:00:00.001Z")
    assert found == utc(first)
    assert len(masks) <= day_search.NEAR_DAYS + 3
    assert trigger.matches(found)
    assert (trigger.prev(found) or utc("1970-01-01")) < utc("2026-01-01T00:00:00.001")


def test_a_part_of_a_union_is_not_searched_beyond_what_another_has_found(masks: list[int]) -> None:
    never = cron("* * * * *") - cron("* * * * *")
    assert (never | every("1h")).next("2026-01-01T00:00Z") == utc("2026-01-01T01:00")
    assert (never | every("1h")).prev("2026-01-01T00:00Z") == utc("2025-12-31T23:00")
    assert len(masks) <= 4


# counting


def test_ticks_are_counted_from_tables_without_walking_through_them() -> None:
    office = exclude(every("1s"), cron("* * 9-16 * * mon-fri"))
    year = 365 * 86_400
    assert office.count_ms(1_767_225_600_000, 1_798_761_600_000) == year - 261 * 8 * 3600
    assert exclude(every("90s"), every("1h")).count_ms(0, 10**12) == 11_111_112 - 277_778


def test_what_is_taken_away_by_intervals_of_all_kinds_is_counted_too() -> None:
    trigger = every("97m") - every("7m") - cron("0 12 * * *") - every("90d")
    window = (1_767_225_600_000, 1_798_761_600_000)
    assert trigger.count_ms(*window) == len(list(trigger.between_ms(*window)))


# more than fits into tables


@pytest.fixture
def small_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    search.search_of.cache_clear()
    monkeypatch.setattr(day_search, "MOST_KINDS", 4)
    monkeypatch.setattr(search, "MOST_KINDS", 4)
    monkeypatch.setattr(search, "MOST_TURNS", 4)
    monkeypatch.setattr(search, "MOST_SPANS", 4)


@pytest.mark.usefixtures("small_tables")
@pytest.mark.parametrize(
    "trigger",
    [
        every("7m") - every("11m") - cron("*/10 * * * *"),
        every("7m") - every("11m") - every("13m"),
        cron("*/7 * * * *") - every("11m") - every("91m", anchor="1970-01-01T00:07Z"),
        every("61s") - (every("122s") - cron("* 0-11 * * *")) - every("17m"),
    ],
    ids=str,
)
def test_what_does_not_fit_into_tables_is_still_left_out(trigger: Exclusion) -> None:
    start, end = 1_767_225_600_000, 1_767_225_600_000 + 5 * 86_400_000
    expected = [tick for tick in trigger.base.between_ms(start, end) if trigger.ticks_at(tick)]
    assert list(trigger.between_ms(start, end)) == expected
    back, tick = [], trigger.prev_ms(end)
    while tick is not None and tick >= start:
        back.append(tick)
        tick = trigger.prev_ms(tick)
    assert back[::-1] == expected
    assert trigger.count_ms(start, end) == len(expected)


class Odd(Trigger):
    """A trigger of the user's own: the odd minutes."""

    def next_ms(self, after_ms: int) -> int | None:
        return (after_ms // 120_000 * 2 + (1 if after_ms % 120_000 < 60_000 else 3)) * 60_000

    def prev_ms(self, before_ms: int) -> int | None:
        return ((before_ms - 60_001) // 120_000 * 2 + 1) * 60_000

    def describe(self) -> str:
        return "the odd minutes"


@pytest.mark.parametrize("base", [cron("* * * * *"), every("1m"), every("30s"), cron("*/20 * * * * *")], ids=str)
def test_a_trigger_of_ones_own_can_be_excluded(base: Trigger) -> None:
    trigger = base - Odd() - cron("* * 2-23 * * *")
    start, end = 1_767_225_600_000, 1_767_225_600_000 + 2 * 86_400_000
    expected = [tick for tick in base.between_ms(start, end) if tick // 3_600_000 % 24 < 2 and not Odd().ticks_at(tick)]
    assert list(trigger.between_ms(start, end)) == expected
    assert trigger.prev_ms(end) == expected[-1]


def test_the_stretches_of_an_interval_are_as_many_as_the_edges_of_what_is_excluded() -> None:
    finder = search.search_of(every("1h"), Just(every("2h", repeat_until="2030-01-01T00:00Z")))
    assert isinstance(finder, interval_search.IntervalSearch)
    assert len(finder._edges) == 3
