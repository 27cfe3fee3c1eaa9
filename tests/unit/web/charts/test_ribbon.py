"""The ribbon shows how late runs began, and names what stands out."""

import re
from datetime import UTC
from itertools import combinations

import pytest

from onthedot.moments import ceil_ms
from onthedot.web.dashboard.charts.ribbon import NARROW, WIDE, Minute, Size, draw, spikes, tell

START = ceil_ms("2026-03-26T12:59Z")


def _hour(**changed: Minute) -> list[Minute]:
    minutes = [Minute(START + 60_000 * number, 3, 90, 100, 0, 90) for number in range(60)]
    for place, minute in changed.items():
        minutes[int(place[1:])] = minute
    return minutes


def _heights(svg: str, name: str) -> list[float]:
    path = re.search(rf'class="{name}" d="([^"]*)"', svg)
    assert path is not None
    return [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", path[1])]


def test_later_is_higher_by_the_logarithm() -> None:
    minutes = [Minute(START + 60_000 * number, 1, late, 1, 0, late) for number, late in enumerate((10, 100, 1000))]
    ten, hundred, thousand = _heights(draw(minutes, UTC, grace_ms=10_000, size=WIDE), "p99")

    assert ten > hundred > thousand
    assert abs((ten - hundred) - (hundred - thousand)) < 0.2


def test_a_minute_in_which_nothing_began_breaks_the_ribbon() -> None:
    svg = draw(_hour(m30=Minute(START + 1_800_000)), UTC, grace_ms=10_000, size=WIDE)
    path = re.search(r'class="p50" d="([^"]*)"', svg)

    assert path is not None
    assert path[1].count("M") == 2


def test_the_grace_line_is_always_in_sight() -> None:
    svg = draw(_hour(), UTC, grace_ms=10_000, size=WIDE)
    line = re.search(r'class="grace" d="M\d+ ([\d.]+)', svg)

    assert line is not None
    assert 0 < float(line[1]) < WIDE.base
    assert "grace 10 s: later than this is a misfire" in svg


def test_a_minute_that_stands_out_is_named() -> None:
    minutes = _hour(m28=Minute(START + 28 * 60_000, 3, 31_000, 100, 2, 31_000, "nyc-2 died, 2 runs taken over"))
    svg = draw(minutes, UTC, grace_ms=10_000, size=WIDE)

    assert spikes(minutes) == [28]
    assert "31 s: nyc-2 died, 2 runs taken over" in svg


def test_what_is_usual_is_not_named() -> None:
    assert spikes(_hour()) == []
    assert spikes([Minute(START, 1500, 1500, 1, 0, 1500) for _ in range(60)]) == []


def test_of_neighbours_the_latest_is_named() -> None:
    late = Minute(START, 3, 20_000, 100, 0, 20_000)
    later = Minute(START, 3, 31_000, 100, 0, 31_000)

    assert spikes(_hour(m10=late, m12=later, m40=late)) == [12, 40]


def test_names_are_shown_as_written() -> None:
    minutes = _hour(m5=Minute(START, 3, 31_000, 1, 0, 31_000, "<script>"))

    assert "&lt;script&gt;" in draw(minutes, UTC, grace_ms=10_000, size=WIDE)


def test_failures_have_bars_of_their_own() -> None:
    svg = draw(_hour(m7=Minute(START, 3, 90, 100, 4, 90)), UTC, grace_ms=10_000, size=NARROW)
    failed = re.search(r'class="failed" d="([^"]*)"', svg)
    counts = re.search(r'class="count" d="([^"]*)"', svg)

    assert failed is not None
    assert counts is not None
    assert failed[1].count("M") == 1
    assert counts[1].count("M") == 60


def test_it_says_in_a_sentence_what_it_shows() -> None:
    assert tell(_hour(m7=Minute(START, 3, 31_000, 100, 4, 31_000))) == (
        "6,000 runs: half began within 3 ms, the latest 31 s late; 4 failed"
    )
    assert tell([Minute(START)]) == "No run began in this time."


def test_an_hour_without_a_run_is_drawn_too() -> None:
    svg = draw([Minute(START + 60_000 * number) for number in range(60)], UTC, grace_ms=10_000, size=WIDE)

    assert "12:59" in svg
    assert "style=" not in svg


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_no_word_stands_on_another(size: Size) -> None:
    minutes = _hour(
        m44=Minute(START + 44 * 60_000, 3, 8300, 100, 2, 8300, "local"),
        m58=Minute(START + 58 * 60_000, 3, 13_000, 100, 2, 13_000, "zoo-b died"),
    )
    svg = draw(minutes, UTC, grace_ms=10_000, size=size)
    found = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" class="((?:spike|grace-word)[^"]*)">([^<]+)', svg)
    boxes = []
    for x, y, kind, said in found:
        left = float(x) - (len(said) * 5.6 if "at-end" in kind else 0)
        boxes.append((left, float(y) - 11, left + len(said) * 5.6, float(y)))

    assert len(boxes) == 3
    for one, other in combinations(boxes, 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
