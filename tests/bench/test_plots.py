"""Plots: what is drawn is what was measured, for everybody, in light and dark."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from bench.plots import HIGH, WIDTH, Axis, Line, Plot, Spread, draw, spoken, table
from hypothesis import given
from hypothesis import strategies as st

SVG = "{http://www.w3.org/2000/svg}"


def plot_of(*lines: Line, log: bool = False) -> Plot:
    return Plot("cost", "Cost & <load>", Axis("schedules", is_log=log), Axis("µs a tick", is_log=log), lines)


COST = Line("ours", ((1000, 100.0), (10_000, 110.0), (100_000, 150.0)), (Spread(1000, 90, 130),))
FLOOR = Line("the database alone", ((1000, 40.0), (100_000, 40.0)), is_limit=True)


def test_it_tells_its_title_its_units_and_its_lines() -> None:
    drawn = ElementTree.fromstring(draw(plot_of(COST, FLOOR)))
    said = [text.text for text in drawn.iter(f"{SVG}text")]
    assert {"Cost & <load>", "schedules", "µs a tick", "ours", "the database alone"} <= set(said)
    assert drawn.get("aria-label") == "Cost & <load>: ours, the database alone"


def test_it_brings_paper_and_ink_for_light_and_for_dark() -> None:
    drawn = draw(plot_of(COST))
    light, _, dark = drawn.partition("prefers-color-scheme:dark")
    for name in (".paper", ".title", ".c0", ".d0"):
        assert name in light
        assert name in dark


def test_lines_differ_in_their_dashes_too() -> None:
    lines = [Line(f"line {number}", ((0, number), (1, number))) for number in range(4)]
    drawn = ElementTree.fromstring(draw(plot_of(*lines)))
    ways = [path for path in drawn.iter(f"{SVG}path") if re.match(r"line c", path.get("class", ""))]
    assert len({path.get("stroke-dasharray") for path in ways}) == 4


numbers = st.floats(min_value=0, max_value=1e9, allow_nan=False)


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=30), st.booleans())
def test_whatever_was_measured_is_drawn_on_the_paper(points: list[tuple[float, float]], log: bool) -> None:
    drawn = ElementTree.fromstring(draw(plot_of(Line("all", tuple(sorted(points))), log=log)))
    (way,) = [path.get("d", "") for path in drawn.iter(f"{SVG}path") if path.get("class") == "line c0"][1:]
    high = float(drawn.get("viewBox", "").split()[3])
    for x, y in re.findall(r"(-?[\d.]+) (-?[\d.]+)", way):
        assert 0 <= float(x) <= WIDTH
        assert 0 <= float(y) <= high
    assert high > HIGH


def test_a_higher_value_stands_higher_and_a_later_one_further_right() -> None:
    drawn = ElementTree.fromstring(draw(plot_of(COST, log=True)))
    places = [(float(dot.get("cx", 0)), float(dot.get("cy", 0))) for dot in drawn.iter(f"{SVG}circle")]
    assert [x for x, _ in places] == sorted(x for x, _ in places)
    assert [y for _, y in places] == sorted((y for _, y in places), reverse=True)


def test_the_table_has_the_same_figures_and_gaps_where_a_line_has_none() -> None:
    head, *rows = table(plot_of(COST, FLOOR))
    assert head == ("schedules", "ours", "the database alone")
    assert rows == [("1,000", "100", "40"), ("10,000", "110", ""), ("100,000", "150", "40")]


def test_a_long_table_is_thinned_and_keeps_its_last_row() -> None:
    line = Line("all", tuple((number, number) for number in range(1000)))
    rows = table(plot_of(line))[1:]
    assert len(rows) <= 14
    assert rows[-1] == ("999", "999")


@pytest.mark.parametrize(
    ("value", "said"), [(0, "0"), (1.5, "1.5"), (12_345, "12,345"), (2_000_000, "2 M"), (0.125, "0.125")]
)
def test_numbers_are_said_as_people_say_them(value: float, said: str) -> None:
    assert spoken(value) == said
