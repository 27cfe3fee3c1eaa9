"""What `H` would do to a crowded minute is computed, not guessed."""

from onthedot.forecast import forecast
from onthedot.forecast.spreading import rewrite, spread, with_h
from onthedot.moments import ceil_ms
from onthedot.triggers import cron, every

FIRST, END = "2026-11-17T00:00Z", "2026-11-17T04:00Z"


def test_the_minute_becomes_h_and_the_hour_stays() -> None:
    assert str(with_h(cron("0 2 * * *", tz="Europe/Berlin"), "a")) == "cron('H 2 * * *', tz='Europe/Berlin')"
    assert str(with_h(cron("0 15 2 * * mon"), "a")) == "cron('0 H 2 * * mon')"
    assert str(with_h(cron("@hourly"), "a")) == "cron('H * * * *')"
    assert str(with_h(cron("*/5 * * * *"), "a")) == "cron('H/5 * * * *')"
    assert str(with_h(every("1h"), "a")) == "every('1h', spread=True)"


def test_what_is_spread_or_not_fixed_stays() -> None:
    assert with_h(cron("H 2 * * *").with_key("a"), "a") is None
    assert with_h(cron("* * * * *"), "a") is None
    assert with_h(cron("0,30 * * * *"), "a") is None
    assert with_h(every("30s"), "a") is None
    assert with_h(every("1h", spread=True), "a") is None
    assert with_h(cron("0 2 * * *") | cron("0 3 * * *"), "a") is None


def test_the_minute_of_h_follows_from_the_name() -> None:
    one, other = with_h(cron("0 2 * * *"), "backup-1"), with_h(cron("0 2 * * *"), "backup-2")

    assert one == cron("H 2 * * *").with_key("backup-1")
    assert one is not None
    assert other is not None
    assert one.next(FIRST) != other.next(FIRST)


def test_the_peak_is_that_of_the_forecast_of_the_new_lines() -> None:
    herd = {f"backup-{number}": cron("0 2 * * *") for number in range(80)}
    bystanders = {f"poll-{number}": cron("* * * * *") for number in range(3)}
    counts = _counts({**herd, **bystanders})

    found = spread(counts, herd, ceil_ms(FIRST), 60_000)

    assert found.peaks[0] == 83
    assert list(found.with_h) == _counts({**{each.name: each.after for each in rewrite(herd)}, **bystanders})
    assert found.peaks[1] == max(found.with_h) < 12
    assert sum(found.with_h) == sum(counts)
    assert found.helps


def test_what_cannot_be_spread_does_not_help() -> None:
    polls = {f"poll-{number}": cron("* * * * *") for number in range(3)}
    found = spread(_counts(polls), polls, ceil_ms(FIRST), 60_000)

    assert found.lines == ()
    assert not found.helps


def _counts(triggers: dict) -> list[int]:  # type: ignore[type-arg]
    found: list[int] = forecast(triggers, FIRST, END).counts("1m", FIRST, END).tolist()
    return found
