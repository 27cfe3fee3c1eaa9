"""The attempts of a run as bars: which are drawn, how long, and what stands on them."""

from __future__ import annotations

import re
from datetime import UTC
from xml.etree import ElementTree
from zoneinfo import ZoneInfo

import pytest

from onthedot.insight.run_report import Try
from onthedot.model.attempt import Attempt
from onthedot.web.dashboard.charts.attempts import MOST_ROWS, Course, Span, draw, rows, summary, ticks

SECOND, MINUTE = 1000, 60_000
TICK = 1_774_531_800_000
"""2026-03-26T13:30:00Z."""


def tried(number: int, began_s: float, ended_s: float | None, outcome: str | None, error: str | None = None) -> Try:
    began_ms = TICK + int(began_s * SECOND)
    ended_ms = None if ended_s is None else TICK + int(ended_s * SECOND)
    return Try(Attempt(number, number, f"n{number}", began_ms, ended_ms, outcome, error), f"ams-{number}")


DIED = Try(Attempt(1, 1, "n1", TICK + 3, TICK + 351 * SECOND, "node_died"), "nyc-2", heard_ms=TICK + 320 * SECOND)
FAILED = tried(2, 351, 742, "failed", "ConnectionResetError: reset")
RUNNING = tried(3, 1235, None, None)
NOW = TICK + 1757 * SECOND
DESIGN = Course((DIED, FAILED, RUNNING), TICK, NOW, usual_ms=440 * SECOND, progress=0.62)


def test_a_dead_node_is_drawn_until_it_was_last_heard_of_and_then_its_lease() -> None:
    row = rows(DESIGN)[0]
    assert (row.work.kind, row.work.last_ms) == ("node_died", TICK + 320 * SECOND)
    assert row.tail == Span(
        "lease",
        TICK + 320 * SECOND,
        TICK + 351 * SECOND,
        "31 s until its lease was over, then taken over",
        "taken over after 31 s",
    )


def test_a_node_that_is_forgotten_has_only_a_lease() -> None:
    (row, *_) = rows(Course((Try(DIED.attempt, "n1"),), TICK, NOW))
    assert (row.work.first_ms, row.work.last_ms) == (TICK + 3, TICK + 3)


def test_after_a_failure_comes_the_back_off_until_the_next_attempt() -> None:
    row = rows(DESIGN)[1]
    assert row.work.label == "failed: ConnectionResetError: reset"
    assert row.tail is not None
    assert (row.tail.kind, row.tail.last_ms, row.tail.label) == (
        "back_off",
        TICK + 1235 * SECOND,
        "back-off 8 min 13 s",
    )


def test_a_run_that_waits_for_its_next_attempt_shows_until_when() -> None:
    course = Course((tried(1, 0, 60, "failed"),), TICK, TICK + 61 * SECOND, next_ms=TICK + 90 * SECOND)
    (row,) = rows(course)
    assert row.tail == Span("back_off", TICK + 60 * SECOND, TICK + 90 * SECOND, "back-off 30 s", "30 s")
    assert course.last_ms == TICK + 90 * SECOND


def test_what_runs_reaches_to_now_and_then_to_where_it_usually_ends() -> None:
    early = Course((RUNNING,), TICK, TICK + 1300 * SECOND, usual_ms=440 * SECOND, progress=0.1)
    (row,) = rows(early)
    assert (row.work.label, row.work.last_ms) == ("running, 10 %", early.now_ms)
    assert row.tail == Span("rest", early.now_ms, TICK + 1675 * SECOND)
    assert rows(DESIGN)[2].tail is None  # it is later than usual


def test_only_the_latest_attempts_are_drawn() -> None:
    course = Course(tuple(tried(number, number, number + 0.5, "failed") for number in range(1, 21)), TICK, NOW)
    assert [row.number for row in rows(course)] == [*range(21 - MOST_ROWS, 21)]


def test_it_can_be_read_aloud() -> None:
    assert summary(DESIGN) == (
        "attempt 1 on nyc-2: the node died; "
        "attempt 2 on ams-2: failed: ConnectionResetError: reset; attempt 3 on ams-3: running, 62 %"
    )


def test_it_is_well_formed_without_a_style_of_its_own_and_shows_text_as_it_is_written() -> None:
    evil = tried(1, 0, 60, "failed", '<script>alert("x")</script> & more')
    text = f"<div>{draw(Course((evil, RUNNING), TICK, NOW, usual_ms=9), UTC)}</div>"
    tree = ElementTree.fromstring(text)
    assert not list(tree.iter("script"))
    assert any("<script>" in svg.attrib["aria-label"] for svg in tree)
    assert "style=" not in text


def test_both_sheets_hold_all_that_is_drawn() -> None:
    for svg in ElementTree.fromstring(f"<div>{draw(DESIGN, UTC)}</div>"):
        width = float(svg.attrib["viewBox"].split()[2])
        for box in svg.iter("rect"):
            assert 0 <= float(box.attrib["x"]) <= float(box.attrib["x"]) + float(box.attrib["width"]) <= width


@pytest.mark.parametrize("took_ms", [1, 3, 800, 59_000, 86_400_000 * 40])
def test_every_length_of_time_can_be_drawn(took_ms: int) -> None:
    one = Try(Attempt(1, 1, "n", TICK, TICK + took_ms, "succeeded"), "n")
    drawn = str(draw(Course((one,), TICK, TICK + took_ms, is_live=False), UTC))
    assert 2 <= len(re.findall("grid-line", drawn)) <= 2 * 12


@pytest.mark.parametrize(
    ("span_ms", "texts"),
    [
        (30 * MINUTE, ["13:30", "13:35", "13:40", "13:45", "13:50", "13:55", "14:00"]),
        (20 * SECOND, ["13:30:00", "13:30:05", "13:30:10", "13:30:15", "13:30:20"]),
        (3 * SECOND, ["0", "500 ms", "1.0 s", "1.5 s", "2.0 s", "2.5 s", "3.0 s"]),
        (100, ["0", "20 ms", "40 ms", "60 ms", "80 ms", "100 ms"]),
        (3 * 86_400_000, ["26 Mar", "12:00", "27 Mar", "12:00", "28 Mar", "12:00", "29 Mar"]),
    ],
)
def test_the_line_of_time_has_round_moments(span_ms: int, texts: list[str]) -> None:
    first_ms = TICK if span_ms < 86_400_000 else TICK // 86_400_000 * 86_400_000
    assert [text for _, text in ticks(first_ms, first_ms + span_ms, UTC, 7)] == texts


def test_the_line_of_time_is_told_in_the_zone_that_is_asked_for() -> None:
    texts = [text for _, text in ticks(TICK, TICK + 4 * 3_600_000, ZoneInfo("Asia/Kathmandu"), 4)]
    assert texts == ["20:00", "21:00", "22:00", "23:00"]
