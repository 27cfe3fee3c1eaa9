"""The last lines of a log, however long it is."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from onthedot.insight.run_report import Try
from onthedot.model.attempt import Attempt
from onthedot.model.log_line import LogLine
from onthedot.web.dashboard.room import cut, cut_front, size
from onthedot.web.dashboard.run_log import LONGEST, MOST_BYTES, SHOWN, LogPage, Wanted, length, read_page

TRIES = (Try(Attempt(1, 1, "n", 0, 5, "failed"), "ams-1"), Try(Attempt(2, 3, "n", 6), "ams-2"))


class Kept:
    """A log, and how many times it was asked for lines."""

    def __init__(self, lines: Sequence[LogLine]) -> None:
        self.lines = lines
        self.reads = 0

    def __call__(self, after: int, limit: int) -> Sequence[LogLine]:
        self.reads += 1
        return self.lines[after : after + limit]


def lines(count: int, level: str = "INFO", claim_no: int = 1, text: str = "line") -> list[LogLine]:
    return [LogLine("r", claim_no, number, level, f"{text} {number}") for number in range(count)]


def shown(page: LogPage) -> list[str]:
    return [line.text for part in page.parts for line in part.lines]


@pytest.mark.parametrize("count", [0, 1, SHOWN - 1, SHOWN, SHOWN + 1, 399, 400, 401, 1000, 12_345])
def test_the_length_of_a_log_is_found_by_few_looks(count: int) -> None:
    kept = Kept(lines(count))
    assert length(kept) == count
    assert kept.reads <= 1 + 2 * 16


def test_the_last_lines_are_shown_and_a_link_leads_to_those_before() -> None:
    kept = Kept(lines(450))
    page = read_page(kept, Wanted(), TRIES)
    assert (shown(page)[0], shown(page)[-1], page.older, page.end, page.newest) == (
        "line 250",
        "line 449",
        250,
        450,
        True,
    )
    before = read_page(kept, Wanted(before=page.older), TRIES)
    assert (shown(before)[0], shown(before)[-1], before.older, before.newest) == ("line 50", "line 249", 50, False)
    first = read_page(kept, Wanted(before=before.older), TRIES)
    assert (len(shown(first)), first.older) == (50, None)


def test_lines_stand_in_parts_by_attempt() -> None:
    kept = Kept([*lines(2), *lines(2, claim_no=3), *lines(1, claim_no=9)])
    page = read_page(kept, Wanted(), TRIES)
    assert [(part.heading, len(part.lines)) for part in page.parts] == [
        ("attempt 1 on ams-1", 2),
        ("attempt 2 on ams-2", 2),
        ("claim 9", 1),
    ]
    assert len(shown(read_page(kept, Wanted(claim_no=3), TRIES))) == 2


def test_warnings_are_found_among_thousands_of_others() -> None:
    kept = Kept([*lines(3, "WARNING", text="loud"), *lines(5000), *lines(2, "ERROR", text="bad"), *lines(10)])
    page = read_page(kept, Wanted(warnings=True), TRIES)
    assert shown(page) == ["loud 0", "loud 1", "loud 2", "bad 0", "bad 1"]
    assert page.older is None


def test_the_search_for_warnings_ends_somewhere_and_can_go_on() -> None:
    kept = Kept([*lines(1, "WARNING", text="loud"), *lines(30_000)])
    page = read_page(kept, Wanted(warnings=True), TRIES)
    assert (shown(page), page.older) == ([], 20_001)


def test_a_page_stays_small_however_long_its_lines_are() -> None:
    kept = Kept(lines(300, text="x" * 1000))
    page = read_page(kept, Wanted(), TRIES)
    assert len(shown(page)) > 20
    assert sum(map(len, shown(page))) <= MOST_BYTES
    assert page.older == 300 - len(shown(page))
    huge = read_page(Kept(lines(1, text="x" * 10 * LONGEST)), Wanted(), TRIES)
    assert len(shown(huge)) == 1


@pytest.mark.parametrize("text", ["", "short", "<&>" * 500, "🕰" * 500, "x" * 10_000, "'" * 99])
def test_a_text_is_cut_to_what_there_is_room_for(text: str) -> None:
    for most in (10, 100, 1000):
        assert size(cut(text, most)) <= most
        assert cut_front(text, most) == text or cut_front(text, most).startswith("…")
    assert cut(text, size(text)) == text
