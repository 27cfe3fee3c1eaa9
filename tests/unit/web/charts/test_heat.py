"""The heat map: eight shades, a path each, rows by the wall clock."""

import re
from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from onthedot.moments import ceil_ms, iso
from onthedot.web.dashboard.charts.heat import TOPS, Grid, busiest, draw, floor_row, rows_of, shade, tops_for

MINUTE, HOUR = 60_000, 3_600_000
FIRST = ceil_ms("2026-03-26T13:00Z")
NOW = ceil_ms("2026-03-26T13:59:17Z")


def _grid(rows: int = 24, chosen: str | None = None, **at: int) -> Grid:
    counts = [0] * (60 * rows)
    for place, count in at.items():
        counts[int(place[1:])] = count
    return Grid(FIRST, MINUTE, counts, NOW, None if chosen is None else ceil_ms(chosen))


@pytest.mark.parametrize(
    ("count", "step"),
    [(0, 0), (1, 1), (2, 1), (3, 2), (6, 2), (7, 3), (12, 3), (24, 4), (48, 5), (90, 6), (91, 7), (100_000, 7)],
)
def test_the_shade_of_a_count(count: int, step: int) -> None:
    assert shade(count) == step


def test_the_steps_are_higher_where_every_minute_is_busy() -> None:
    assert tops_for([0, 3, 24, 24, 500]) == TOPS == tops_for([])
    assert tops_for([90, 110, 316]) == tuple(5 * top for top in TOPS)
    assert tops_for([1000] * 9) == tuple(50 * top for top in TOPS)


def test_each_square_is_in_the_path_of_its_shade_and_in_no_other() -> None:
    svg = draw(_grid(p0=109, p5=18, p61=1), "runs")
    squares = {name: path.count("h9") for name, path in re.findall(r'class="(h\d)" d="([^"]*)"', svg)}

    assert squares == {"h0": 1437, "h1": 1, "h2": 0, "h3": 0, "h4": 1, "h5": 0, "h6": 0, "h7": 1}


def test_squares_lie_where_their_minute_is() -> None:
    svg = draw(_grid(p61=3, p65=3, p130=3), "runs")
    path = re.search(r'class="h2" d="([^"]*)"', svg)

    assert path is not None
    assert _places(path[1]) == [61, 65, 130]


def test_a_map_of_a_day_is_small() -> None:
    grid = Grid(FIRST, MINUTE, [(place * 7919) % 130 for place in range(1440)], NOW, FIRST)

    assert len(draw(grid, "runs")) < 16_000


def test_a_row_has_its_sum_and_its_fullest_minute() -> None:
    rows = rows_of(_grid(p0=10, p60=4, p99=20), UTC)

    assert [(row.label, row.total) for row in rows[:3]] == [("13:00", 10), ("14:00", 24), ("15:00", 0)]
    assert (iso(rows[1].fullest_ms), rows[1].fullest) == ("2026-03-26T14:39:00Z", 20)
    assert (rows[0].part, rows[1].part) == (10 / 24, 1.0)


def test_the_first_row_of_a_new_day_is_named_by_it() -> None:
    rows = rows_of(_grid(), UTC)

    assert [row.label for row in rows[10:13]] == ["23:00", "Fri 27", "01:00"]
    assert [row.new_day for row in rows[10:13]] == [False, True, False]


def test_rows_begin_with_the_hour_of_the_zone() -> None:
    kolkata = ZoneInfo("Asia/Kolkata")

    assert iso(floor_row(NOW, HOUR, UTC)) == "2026-03-26T13:00:00Z"
    assert iso(floor_row(NOW, HOUR, kolkata)) == "2026-03-26T13:30:00Z"


def test_the_busiest_are_the_fullest_to_come_and_not_what_is_over() -> None:
    found = busiest(_grid(p0=500, p60=109, p780=129, p800=109))

    assert [(iso(at), runs) for at, runs in found] == [
        ("2026-03-27T02:00:00Z", 129),
        ("2026-03-26T14:00:00Z", 109),
        ("2026-03-27T02:20:00Z", 109),
    ]


def test_now_and_the_chosen_minute_are_marked() -> None:
    svg = draw(_grid(chosen="2026-03-27T02:00:30Z"), "runs")

    assert 'class="chosen" x="-0.5" y="260"' in svg
    assert 'class="now-line" d="M592.8 0v20"' in svg


def test_a_moment_outside_the_map_is_not_marked() -> None:
    grid = Grid(FIRST + 24 * HOUR, MINUTE, [0] * 60, NOW, FIRST)
    svg = draw(grid, "runs")

    assert (grid.now, grid.chosen) == (None, None)
    assert "now-line" not in svg
    assert "chosen" not in svg


def _places(path: str) -> list[int]:
    x = y = 0
    found = []
    for by_x, by_y, wide in re.findall(r"m(-?\d+) (-?\d+)h(\d+)", path):
        x, y = x + int(by_x), y + int(by_y)
        found.append(y // 20 * 60 + x // 10)
        x += int(wide)
    return found


def test_a_row_is_named_by_a_day_only_where_it_begins_with_it() -> None:
    first = ceil_ms("2026-10-25T00:00+02:00")
    quarters = Grid(first, 6 * MINUTE, [0] * (60 * 7), first)
    labels = [row.label for row in rows_of(quarters, ZoneInfo("Europe/Berlin"))]
    assert labels == ["00:00", "05:00", "11:00", "17:00", "23:00", "Mon 5h", "11:00"]


def test_the_hour_that_comes_twice_is_told_apart() -> None:
    first = ceil_ms("2026-10-25T01:00+02:00")
    hours = Grid(first, MINUTE, [0] * (60 * 4), first)
    assert [row.label for row in rows_of(hours, ZoneInfo("Europe/Berlin"))] == ["01:00", "02:00", "02:00 ²", "03:00"]
