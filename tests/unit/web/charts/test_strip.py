"""The week strip: seven days of a zone, and where its clock jumps."""

import re
from datetime import UTC
from zoneinfo import ZoneInfo

from onthedot.moments import ceil_ms, iso
from onthedot.web.dashboard.charts.spread import draw as draw_spread
from onthedot.web.dashboard.charts.strip import days_from, draw

NOW = ceil_ms("2026-03-26T13:59:17Z")


def test_seven_days_from_today_on() -> None:
    days = days_from(NOW, UTC)

    assert [day.label for day in days] == [
        "Thu 26 Mar",
        "Fri 27 Mar",
        "Sat 28 Mar",
        "Sun 29 Mar",
        "Mon 30 Mar",
        "Tue 31 Mar",
        "Wed 1 Apr",
    ]
    assert {day.quarters for day in days} == {96}


def test_the_day_on_which_the_clock_jumps_is_shorter_and_says_so() -> None:
    days = days_from(NOW, ZoneInfo("Europe/Berlin"))

    assert (days[3].note, days[3].quarters, iso(days[3].first_ms)) == ("clocks +1 h", 92, "2026-03-28T23:00:00Z")
    assert [day.note for day in days if day.note] == ["clocks +1 h"]


def test_a_jump_of_a_zone_that_schedules_go_by_is_noted_in_utc_too() -> None:
    jump = ceil_ms("2026-03-29T01:00Z")
    days = days_from(NOW, UTC, [(jump, 3_600_000)])

    assert [day.note for day in days] == ["", "", "", "clocks +1 h", "", "", ""]


def test_the_clock_set_back_has_its_sign() -> None:
    days = days_from(ceil_ms("2026-10-22T12:00Z"), ZoneInfo("Europe/Berlin"))

    assert days[3].note == "clocks \N{MINUS SIGN}1 h"
    assert days[3].quarters == 100


def test_the_window_is_marked_where_it_lies() -> None:
    days = days_from(NOW, UTC)
    noon, next_noon = ceil_ms("2026-03-26T12:00Z"), ceil_ms("2026-03-27T12:00Z")
    svg = draw(days, [[1] * day.quarters for day in days], (noon, next_noon))
    window = re.search(r'class="window" x="([\d.]+)" y="2" width="([\d.]+)"', svg)

    assert window is not None
    assert (float(window[1]), float(window[2])) == (48.5, 100.0)
    assert svg.count('class="day shown"') == 2
    assert svg.count('class="day"') == 5


def test_both_pictures_of_a_spread_have_one_scale() -> None:
    svg = draw_spread([0, 100, 0], [50, 25, 25], "01:00", "05:00")
    before, after = (re.search(rf'class="{name}" d="([^"]*)"', svg) for name in ("before", "after"))

    assert before is not None
    assert after is not None
    assert re.findall(r"v-([\d.]+)", before[1]) == ["44.0"]
    assert re.findall(r"v-([\d.]+)", after[1]) == ["22.0", "11.0", "11.0"]
    assert "<tspan>100</tspan>" in svg
    assert "<tspan>50</tspan>" in svg
