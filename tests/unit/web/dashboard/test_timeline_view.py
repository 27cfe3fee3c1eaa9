"""What the timeline shows follows from the address and the outlook."""

from __future__ import annotations

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from onthedot import cron, every
from onthedot.app.outlook import Planned, StoreOutlook, outlook_of
from onthedot.moments import ceil_ms, from_ms, iso
from onthedot.web.dashboard import timeline_view as view

NOW = ceil_ms("2026-03-26T13:59:17Z")
DAY, HOUR = view.DAY_MS, view.HOUR_MS
BERLIN = ZoneInfo("Europe/Berlin")
PLANNED = {
    **{
        f"backup-{n:02}": Planned("t", cron("0 2 * * *", tz="Europe/Berlin" if n % 3 else None), ("eu",))
        for n in range(9)
    },
    **{f"check-{n}": Planned("t", cron("*/5 * * * *"), ()) for n in range(4)},
    "poll": Planned("t", every("1m"), ()),
}


@pytest.fixture(scope="module")
def outlook() -> StoreOutlook:
    return outlook_of(PLANNED, NOW - 120_000, NOW + 8 * DAY)


@pytest.mark.parametrize(
    ("name", "square", "row", "marks"),
    [
        ("1h", "5 seconds", "5 minutes", "+0:00 +1:15 +2:30 +3:45"),
        ("6h", "15 seconds", "15 minutes", "+0:00 +3:45 +7:30 +11:15"),
        ("24h", "a minute", "an hour", ":00 :15 :30 :45"),
        ("7d", "6 minutes", "6 hours", "+0:00 +1:30 +3:00 +4:30"),
    ],
)
def test_each_range_has_sixty_squares_in_a_row(name: str, square: str, row: str, marks: str) -> None:
    shown = view.RANGES[name]

    assert (shown.square, shown.row, " ".join(shown.marks)) == (square, row, marks)
    assert shown.span_ms % shown.row_ms == 0


def test_the_window_begins_with_the_row_of_now() -> None:
    day = view.RANGES["24h"]

    assert [iso(each) for each in view.window_of(day, NOW, None, UTC)] == [
        "2026-03-26T13:00:00Z",
        "2026-03-27T13:00:00Z",
    ]
    inside = ceil_ms("2026-03-27T02:00Z")
    assert view.window_of(day, NOW, inside, UTC) == view.window_of(day, NOW, None, UTC)


def test_a_moment_elsewhere_brings_its_own_window() -> None:
    sunday = ceil_ms("2026-03-29T09:00Z")

    assert iso(view.window_of(view.RANGES["24h"], NOW, sunday, BERLIN)[0]) == "2026-03-28T23:00:00Z"
    assert iso(view.window_of(view.RANGES["1h"], NOW, sunday, UTC)[0]) == "2026-03-29T09:00:00Z"


def test_squares_add_up_to_the_forecast(outlook: StoreOutlook) -> None:
    for shown in view.RANGES.values():
        window = view.window_of(shown, NOW, None, UTC)
        grid = view.grid_of(shown, window, outlook, NOW, None)
        whole = [place for place in range(len(grid.counts)) if grid.at(place) >= outlook.first_ms]
        first_ms = grid.at(whole[0])

        assert len(grid.counts) == shown.span_ms // shown.cell_ms
        assert sum(grid.counts) == len(outlook.index.query(from_ms(first_ms), from_ms(window[1])))


def test_without_a_choice_the_fullest_square_is_chosen(outlook: StoreOutlook) -> None:
    shown = view.RANGES["24h"]
    grid = view.grid_of(shown, view.window_of(shown, NOW, None, UTC), outlook, NOW, None)

    assert grid.chosen_ms is not None
    assert iso(grid.chosen_ms) == "2026-03-27T01:00:00Z"


def test_where_the_outlook_does_not_reach_nothing_is_counted() -> None:
    short = outlook_of(PLANNED, NOW - 120_000, NOW + HOUR)
    counts = view.counts_in(short, NOW - HOUR, NOW + 3 * HOUR, view.MINUTE_MS)

    assert len(counts) == 240
    assert sum(counts[:57]) == 0
    assert sum(counts[121:]) == 0
    assert sum(counts) > 60
    assert view.counts_in(short, NOW + 2 * HOUR, NOW + 3 * HOUR, view.MINUTE_MS) == [0] * 60


def test_the_chosen_minute_is_told_by_name_groups(outlook: StoreOutlook) -> None:
    shown = view.RANGES["24h"]
    grid = view.grid_of(shown, view.window_of(shown, NOW, None, UTC), outlook, NOW, None)
    assert grid.chosen is not None
    chosen = view.chosen_of(grid.at(grid.chosen), grid.cell_ms, outlook, PLANNED, "UTC")

    assert [(each.label, each.count, each.words) for each in chosen.groups] == [
        ("backup-*", 6, "at 02:00 every day · Berlin"),
        ("check-*", 4, "every 5 minutes"),
        ("poll", 1, "every minute"),
    ]
    assert (chosen.runs, len(chosen.names), chosen.elsewhere) == (11, 11, "02:00 in Berlin")
    assert [each.search for each in chosen.groups] == ["backup-", "check-", "poll"]


def test_clocks_of_several_zones_are_counted() -> None:
    names = [name for name in PLANNED if name.startswith("backup")]

    assert view.words_of(names, PLANNED) == "at 02:00 every day · 6 Berlin, 3 UTC"


def test_what_spreading_does_is_looked_at_where_the_outlook_knows_it(outlook: StoreOutlook) -> None:
    shown = view.RANGES["24h"]
    soon = view.grid_of(shown, view.window_of(shown, NOW, None, UTC), outlook, NOW, NOW)
    assert soon.chosen is not None
    first_ms, end_ms = view.around(soon.at(soon.chosen), outlook)

    assert outlook.covers(first_ms, end_ms)
    assert first_ms % view.MINUTE_MS == 0


def test_tags_are_counted_and_jumps_of_the_clocks_found() -> None:
    kinds = view.kinds_of(PLANNED)

    assert kinds.tags == (("eu", 9),)
    assert sorted(kinds.zones) == ["Europe/Berlin", "UTC"]
    assert view.jumps_in(kinds.zones, NOW, NOW + 7 * DAY) == [(ceil_ms("2026-03-29T01:00Z"), HOUR)]
    assert view.jumps_in(kinds.zones, NOW, NOW + DAY) == []


def test_the_busiest_in_a_sentence() -> None:
    full = [(ceil_ms(f"2026-03-27T0{hour}:00Z"), 9) for hour in range(5)]

    assert view.tell_busiest(full, UTC) == "The five busiest are all full hours."
    assert view.tell_busiest([(ceil_ms("2026-03-27T02:05Z"), 9), *full], UTC) == "The busiest begins at Fri 02:05."
    assert view.tell_busiest([], UTC) == ""
