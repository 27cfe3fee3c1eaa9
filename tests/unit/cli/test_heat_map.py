"""The heat map: what fits into a terminal, and what its marks mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from onthedot.cli.heat_map import Layout, Levels, Row, Window, draw, hour_bounds, read_rows
from onthedot.moments import floor_ms


def one_run_a_minute(bucket: str, start: datetime, end: datetime) -> list[int]:
    minutes = int(bucket.removesuffix("m"))
    return [minutes] * ((end - start) // timedelta(minutes=minutes))


def window(start: str, hours: int, zone: str = "UTC") -> Window:
    return Window.of(floor_ms(start), hours, zone)


def drawn(
    window: Window, columns: int, counts: Callable[[str, datetime, datetime], Sequence[int]] = one_run_a_minute
) -> list[str]:
    layout = Layout.fitting(columns, window.by_day)
    return draw(read_rows(counts, window, layout), layout, window.zone).plain.split("\n")


@pytest.mark.parametrize(
    ("columns", "minutes_in_a_cell", "width"), [(78, 1, 1), (138, 1, 2), (77, 2, 1), (48, 2, 1), (47, 5, 1), (1, 5, 1)]
)
def test_a_cell_is_as_few_minutes_as_fit(columns: int, minutes_in_a_cell: int, width: int) -> None:
    layout = Layout.fitting(columns, by_day=False)
    assert (layout.cell, layout.width) == (minutes_in_a_cell, width)


@pytest.mark.parametrize("columns", range(30, 300, 7))
@pytest.mark.parametrize("hours", [1, 24, 72, 73, 500])
def test_no_row_is_wider_than_the_terminal(columns: int, hours: int) -> None:
    lines = drawn(window("2026-11-16T00:00Z", hours), columns)
    assert max(len(line) for line in lines[:-1]) <= max(columns, 43 if hours > 72 else 30)


def test_rows_are_the_hours_of_the_wall_clock_also_where_it_is_half_an_hour_off() -> None:
    starts = [start for start, _ in hour_bounds(window("2026-11-16T00:10Z", 2, "Asia/Kolkata"))]
    assert starts == [datetime(2026, 11, 15, 23, 30, tzinfo=UTC) + timedelta(hours=n) for n in range(3)]


def test_hours_are_labelled_as_the_clock_shows_them_when_it_jumps() -> None:
    lines = drawn(window("2026-03-29T00:00Z", 3, "Europe/Berlin"), 80)
    assert [line[:9] for line in lines[1:4]] == ["Sun 01:00", "    03:00", "    04:00"]


def test_minutes_outside_the_window_are_left_empty() -> None:
    rows = read_rows(one_run_a_minute, window("2026-11-16T00:10Z", 1), Layout.fitting(80, by_day=False))
    assert [row.cells.count(None) for row in rows] == [10, 50]
    assert [row.total for row in rows] == [50, 10]


def test_days_have_23_or_25_hours_when_the_clock_jumps() -> None:
    spring, autumn = (
        read_rows(one_run_a_minute, window(start, 96, "Europe/Berlin"), Layout.fitting(80, by_day=True))
        for start in ("2026-03-27T23:00Z", "2026-10-23T22:00Z")
    )
    assert [row.total for row in spring] == [1440, 23 * 60, 1440, 1440, 60]
    assert [row.total for row in autumn] == [1440, 25 * 60, 1440, 1380]
    assert len({line.rindex(" ") for line in drawn(window("2026-10-23T22:00Z", 96, "Europe/Berlin"), 80)[1:5]}) == 1


@pytest.mark.parametrize(
    ("most", "tops"),
    [(0, ()), (1, (1,)), (5, (1, 2, 3, 4, 5)), (6, (1, 2, 3, 4, 6)), (1000, (4, 16, 63, 251, 1000))],
)
def test_levels_rise_by_equal_factors_up_to_the_most(most: int, tops: tuple[int, ...]) -> None:
    assert Levels.up_to(most).tops == tops


@pytest.mark.parametrize("most", [1, 2, 3, 7, 100, 12_345])
def test_every_count_has_a_mark_and_a_higher_count_never_a_lower_one(most: int) -> None:
    levels = Levels.up_to(most)
    marks = [levels.bars.index(levels.mark(count, 1)[0]) for count in range(1, most + 1)]
    assert marks == sorted(marks)
    assert marks[-1] == 4


def test_the_legend_tells_the_counts_of_each_mark() -> None:
    assert (
        Levels.up_to(1000).legend(1).plain == "▁▁ 1-4   ▂▂ 5-16   ▄▄ 17-63   ▆▆ 64-251   ██ 252-1,000   runs a minute"
    )
    assert Levels.up_to(0).legend(5).plain == "no runs"


def test_without_unicode_the_map_is_drawn_in_ascii() -> None:
    row = Row(datetime(2026, 1, 1, tzinfo=UTC), (0, 1, 2, 3, 4, 5, None))
    assert draw([row], Layout.fitting(80, by_day=False), "UTC", ascii_only=True).plain.isascii()
