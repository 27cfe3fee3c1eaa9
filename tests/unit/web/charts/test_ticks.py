"""The tick chart: what it draws of each tick, and what it says."""

from __future__ import annotations

import re
from xml.etree import ElementTree
from zoneinfo import ZoneInfo

import pytest

from onthedot.model.states import State
from onthedot.moments import ceil_ms, iso
from onthedot.web.dashboard.charts.columns import Coming, LeftOut, Ran, in_columns
from onthedot.web.dashboard.charts.log_scale import scale_of
from onthedot.web.dashboard.charts.ticks import NARROW, WIDE, Size, Words, tick_chart
from onthedot.web.dashboard.spoken import in_full

DAY = 86_400_000
HOUR = 3_600_000
START = 1_773_000_000_000
WORDS = Words(moment=iso, label=lambda ms: iso(ms)[:10], href=lambda ms: f"?tick={iso(ms)}&zone=utc")


def ran(day: int, state: str = State.SUCCEEDED, took: int = HOUR, late: int = 3) -> Ran:
    return Ran(START + day * DAY, state, took, late)


def test_it_is_well_formed_and_has_no_style() -> None:
    past: list[Ran | LeftOut] = [ran(day, state) for day, state in enumerate(State)]
    past.append(LeftOut(START + 9 * DAY, START + 11 * DAY, "paused", 3))
    chart = tick_chart(past, [Coming(START + 12 * DAY, "moved by a gap")], WORDS, selected_ms=START)
    ElementTree.fromstring(str(chart))
    assert "style=" not in chart


def test_each_tick_is_a_link_that_names_it() -> None:
    chart = tick_chart([ran(0), ran(1, State.FAILED)], [Coming(START + 2 * DAY)], WORDS)
    links = re.findall(r'<a class="(\w+)" href="([^"]+)" aria-label="([^"]+)"', chart)
    assert [tone for tone, _, _ in links] == ["ok", "bad", "dim"]
    assert links[1][1] == f"?tick={iso(START + DAY)}&amp;zone=utc"
    assert links[1][2] == f"{iso(START + DAY)} failed after 1 h"
    assert links[2][2] == f"{iso(START + 2 * DAY)} to come"


def test_the_chosen_tick_is_framed_and_no_other() -> None:
    chart = tick_chart([ran(0), ran(1)], [], WORDS, selected_ms=START + DAY)
    assert chart.count('class="chosen"') == 1
    assert chart.count("aria-current") == 1


def test_a_moment_inside_a_decision_chooses_the_decision_and_keeps_the_moment() -> None:
    chart = tick_chart([LeftOut(START, START + 2 * DAY, "paused", 3)], [], WORDS, selected_ms=START + DAY)
    assert "aria-current" in chart
    assert f"?tick={iso(START + DAY)}" in chart


def test_what_was_left_out_is_hatched_and_says_why() -> None:
    chart = tick_chart([LeftOut(START, START + 200 * HOUR, "misfire", 200)], [], WORDS)
    assert f"url(#{WIDE.id})" in chart
    assert "too late \u00d7200" in chart


def test_the_two_sizes_do_not_share_their_hatching() -> None:
    """A pattern inside a figure that is not displayed paints nothing."""
    past = [LeftOut(START, START, "paused")]
    assert f'id="{NARROW.id}"' in tick_chart(past, [], WORDS, size=NARROW)
    assert WIDE.id != NARROW.id


@pytest.mark.parametrize("state", [State.TIMED_OUT, State.LOST, State.CANCELLED])
def test_what_ran_out_of_time_is_hollow_where_a_failure_is_full(state: State) -> None:
    def bar(kind: State) -> str:
        found = re.search(r"<rect [^>]*>", tick_chart([ran(0, kind)], [], WORDS).partition("</title>")[2])
        assert found is not None
        return found[0]

    assert 'fill="none"' in bar(state)
    assert 'fill="currentColor"' in bar(State.FAILED)


def test_a_tick_that_the_clock_moved_is_marked() -> None:
    chart = tick_chart([], [Coming(START), Coming(START + DAY, "moved by a gap")], WORDS)
    assert chart.count('class="gap"') == 1
    assert "moved by a gap" in chart


def test_a_tick_of_the_hour_that_comes_twice_is_marked_with_its_whole_time() -> None:
    words = Words(moment=in_full(ZoneInfo("Europe/Berlin")), label=iso, href=iso)
    chart = tick_chart([], [Coming(START), Coming(ceil_ms("2026-10-25T01:30Z"), "the second time")], words)
    assert ">02:30 CET</text>" in chart


def test_the_latest_says_how_late_it_was() -> None:
    chart = tick_chart([ran(0, late=5 * HOUR + 600_000), ran(1, late=2000)], [], WORDS)
    assert chart.count(">5 h 10 min late<") == 1
    assert ">2.0 s late<" not in chart


def test_words_are_escaped() -> None:
    words = Words(moment=lambda ms: "<b>", label=lambda ms: '"&', href=lambda ms: '"><script>')
    chart = tick_chart([ran(0), LeftOut(START + DAY, START + DAY, "<i>")], [], words)
    assert "<script>" not in chart
    assert "<b>" not in chart
    assert "<i>" not in chart
    ElementTree.fromstring(str(chart))


def test_the_newest_stand_before_now_and_the_oldest_go() -> None:
    columns = in_columns([ran(day) for day in range(60)], [Coming(START + 60 * DAY)], 41)
    assert len(columns) == 42
    assert columns[0].tick.at_ms == START + 19 * DAY
    assert columns[40].place == 40
    assert columns[41].place == 41


def test_few_ticks_stand_beside_now_too() -> None:
    (column,) = in_columns([ran(0)], [], 41)
    assert column.place == 40


def test_longer_takes_more_on_a_scale_that_shows_milliseconds_and_hours() -> None:
    scale = scale_of([5, 3000, 4 * HOUR], 100)
    assert 4 < scale(5) < scale(3000) < scale(4 * HOUR) <= 100
    assert scale(0) > 0


def test_a_scale_of_equal_values_is_one() -> None:
    scale = scale_of([1000, 1000], 100)
    assert 20 < scale(1000) <= 100
    assert scale.lines(20)


def boxes(chart: str, tone: str) -> list[tuple[float, float, float, float]]:
    """Left, top, right, bottom of each text of that tone, about."""
    found = re.findall(r'<text class="([^"]*)" x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)"[^>]*>([^<]+)', chart)
    made = []
    for kind, x, y, anchor, said in found:
        wide = len(said) * 6
        left = float(x) - {"start": 0, "middle": wide / 2, "end": wide}[anchor]
        if kind == tone:
            made.append((left, float(y) - 8, left + wide, float(y)))
    return made


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_words_stand_on_no_bar_however_crowded_it_is(size: Size) -> None:
    ticks: list[Ran | LeftOut] = [
        ran(day, late=4000 + day) if day % 2 else LeftOut(START + day * DAY, START + day * DAY, "overlap")
        for day in range(60)
    ]
    chart = str(tick_chart(ticks, [], WORDS, size=size))
    rects = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)" rx', chart)
    bars = [(float(x), float(y), float(x) + float(w), float(y) + float(h)) for x, y, w, h in rects]
    words = [*boxes(chart, "lab strong"), *boxes(chart, "slow strong")]

    assert len(words) == 2  # why once, and how late once
    assert not [
        (word, bar)
        for word in words
        for bar in bars
        if word[0] < bar[2] and bar[0] < word[2] and word[1] < bar[3] and bar[1] < word[3]
    ]
