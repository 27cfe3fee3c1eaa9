"""A herd is named by its minute, with what would spread it."""

from __future__ import annotations

import pytest

from onthedot import Trigger, at, cron, every
from onthedot.moments import ceil_ms
from onthedot.triggers.herd import HERD, Herd, find_herds, remedy

NOW = ceil_ms("2026-11-15T12:00:30Z")  # a Sunday


def told(*triggers: Trigger) -> list[str]:
    return [str(herd) for herd in find_herds(triggers, NOW)]


def test_hundreds_that_begin_in_one_minute_are_told_with_the_h_that_spreads_them() -> None:
    assert told(*[cron("0 0 * * *")] * 212) == [
        "212 schedules begin at 00:00 every day, UTC time: write `H H * * *` to spread them"
    ]


def test_fewer_are_no_herd() -> None:
    assert told(*[cron("0 0 * * *")] * (HERD - 1)) == []
    assert told() == []
    assert told(*[cron(f"{n % 60} {n // 60} * * *") for n in range(1000)]) == []


def test_a_herd_of_many_different_triggers_is_told_by_its_minute() -> None:
    many = [*[cron("0 * * * *")] * 60, *[cron("0 0 * * *")] * 50, *[cron("*/5 * * * *")] * 40]
    assert told(*many) == ["150 schedules begin at 2026-11-16 00:00 UTC: write `H * * * *` to spread them"]


@pytest.mark.parametrize(
    ("trigger", "says"),
    [
        (cron("0 * * * *"), "every hour, UTC time: write `H * * * *`"),
        (cron("*/5 * * * *"), "every 5 minutes, UTC time: write `H/5 * * * *`"),
        (cron("* * * * *"), "every minute, UTC time: write `H * * * * *`"),
        (cron("30 2 1 * *"), "at 02:30, on day 1, UTC time: write `H H 1 * *`"),
        (cron("0 9 * * mon", tz="Europe/Berlin"), "at 09:00, on Monday, Europe/Berlin time: write `H H * * mon`"),
        (cron("@weekly"), "at 00:00, on Sunday, UTC time: write `H H * * 0`"),
        (cron("15 0 3 * * *"), "at 03:00:15 every day, UTC time: write `15 H H * * *`"),
        (cron("0 */6 * * *"), "at 00:00, 06:00, 12:00 and 18:00 every day, UTC time: write `H H/6 * * *`"),
        (cron("0,30 9-17 * * *"), 'every 30 minutes from 09:00 to 17:30, UTC time: give them `jitter="10m"`'),
        (every("15m"), "every 15 minutes: write `every('15m', spread=True)`"),
        (every("1d", anchor="2026-01-01T04:00Z"), "write `every('1d', anchor='1970-01-01T04:00:00Z', spread=True)`"),
        (at("2026-12-24T18:00Z"), 'once, at 2026-12-24T18:00:00Z: give them `jitter="10m"`'),
    ],
    ids=str,
)
def test_each_kind_of_trigger_has_its_remedy(trigger: Trigger, says: str) -> None:
    [line] = told(*[trigger] * 150)
    assert line.startswith("150 schedules begin ")
    assert f"{says} to spread them" in line


@pytest.mark.parametrize(
    "trigger", [cron("0 0 * * *"), cron("*/5 * * * *"), cron("* * * * *"), cron("0 */6 * * *"), every("15m")], ids=str
)
def test_what_is_proposed_spreads_them(trigger: Trigger) -> None:
    text = remedy(trigger).split("`")[1]
    spread = eval(text, {"every": every}) if text.startswith("every") else cron(text)
    many = [spread.with_key(f"job-{number}") for number in range(150)]
    assert told(*many) == []
    assert len({each.next_ms(NOW) for each in many}) >= 5


def test_what_is_spread_already_is_counted_but_makes_no_herd() -> None:
    spread = [cron("H * * * *").with_key(f"job-{number}") for number in range(6000)]
    [herd] = find_herds([*spread, *[cron("0 0 * * *")] * 100], NOW)
    assert herd.count > 100
    assert herd.leader == cron("0 0 * * *")
    assert find_herds(spread, NOW) == []


def test_a_herd_weeks_ahead_is_told_too() -> None:
    assert told(*[cron("0 3 1 1 *")] * 100) == [
        "100 schedules begin at 03:00, on day 1, in January, UTC time: write `H H 1 1 *` to spread them"
    ]


def test_a_trigger_that_fills_many_minutes_is_named_once_and_three_herds_at_most() -> None:
    many = [cron(text) for text in ("0 * * * *", "1 * * * *", "2 * * * *", "3 * * * *") for _ in range(100)]
    herds = find_herds(many, NOW)
    assert [herd.count for herd in herds] == [100, 100, 100]
    assert len({herd.leader for herd in herds}) == 3


class Watched(type(every("1m"))):  # type: ignore[misc]
    """An interval that counts how often it is searched."""

    asked = 0

    def next_ms(self, after_ms: int) -> int | None:
        Watched.asked += 1
        return super().next_ms(after_ms)  # type: ignore[no-any-return]


def test_each_trigger_is_searched_a_few_times_however_often_it_ticks() -> None:
    Watched.asked = 0
    many = [Watched(60_000, n) for n in range(1000)]
    find_herds(many, NOW)
    assert Watched.asked < 40 * len(many)


def test_a_herd_is_a_value() -> None:
    assert Herd(NOW, 5, every("1h"), 5) == Herd(NOW, 5, every("1h"), 5)
