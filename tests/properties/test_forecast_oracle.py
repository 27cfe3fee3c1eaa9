"""A forecast of many clocks against each trigger by itself."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import draws

from onthedot import Trigger, at, cron, every
from onthedot.forecast import forecast
from onthedot.forecast.index import RunIndex
from onthedot.moments import from_ms

CLOCKS = ("30 2 * * *", "*/20 * * * *", "0 * * * *", "15,45 0,1,23 * * *", "0 0 * * mon", "59 23 L * *", "* 1-3 * * *")
ZONES = (*draws.AWKWARD_ZONES, "UTC", "Asia/Kolkata", "Asia/Tokyo")
HOUR_MS = 3_600_000


@st.composite
def triggers(draw: st.DrawFn, zone: str) -> Trigger:
    """A schedule at second 0, mostly in that zone; now and then one that must be merged in."""
    tz = draw(st.sampled_from((zone, *draw(st.sampled_from((ZONES, (zone,)))))))
    if draw(st.integers(0, 7)) == 0:
        return draw(st.sampled_from((every("7m"), cron("*/40 * * * * *", tz=tz), at("2026-03-08T07:00Z"))))
    text = draw(st.sampled_from(CLOCKS))
    return cron(text, tz=tz, gap=draw(st.none() | draws.gaps), fold=draw(st.none() | draws.folds))


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, Trigger], int, int]:
    zone = draw(st.sampled_from(ZONES))
    jumps = [jump for jump in draws.jumps(zone) if 10**6 < jump < draws.END - 10**6] or [1_772_953_200]
    jump = draw(st.sampled_from(jumps)) * 1000
    start = jump - draw(st.integers(0, 30 * HOUR_MS))
    made = draw(st.lists(triggers(zone), min_size=1, max_size=8))
    return {f"n{number}": each for number, each in enumerate(made)}, start, start + draw(st.integers(0, 60 * HOUR_MS))


@settings(max_examples=80)
@given(cases())
def test_a_forecast_of_many_clocks_is_that_of_each_in_order(case: tuple[dict[str, Trigger], int, int]) -> None:
    some, start, end = case
    index = forecast(some, from_ms(start), from_ms(end))
    index._check()
    expected = sorted((tick, name) for name, each in some.items() for tick in each.between_ms(start, end))
    assert listed(index) == expected


def listed(index: RunIndex) -> list[tuple[int, str]]:
    return [
        (index._base_ms + after, index.names[rank])
        for after, rank in zip(index._after_ms.tolist(), index._ranks.tolist(), strict=True)
    ]
