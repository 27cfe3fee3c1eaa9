"""Which runs an address asks for, and how that is told."""

from __future__ import annotations

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from onthedot.moments import ceil_ms
from onthedot.web.dashboard.run_filters import Filters, read_filters

NOW = ceil_ms("2026-03-26T14:00:00Z")
HOUR = 3_600_000


def test_nothing_given_asks_for_all() -> None:
    filters = read_filters({}, NOW, UTC)
    assert filters == Filters()
    assert not filters.any


def test_moments_are_told_as_spans_as_iso_or_in_the_zone_of_the_page() -> None:
    assert read_filters({"from": "1h"}, NOW, UTC).since_ms == NOW - HOUR
    assert read_filters({"to": "2026-03-26T12:00:00Z"}, NOW, UTC).until_ms == NOW - 2 * HOUR
    berlin = ZoneInfo("Europe/Berlin")
    assert read_filters({"from": "2026-03-26 13:00"}, NOW, berlin).since_ms == NOW - 2 * HOUR
    assert read_filters({"from": "2026-03-26 13:00+00:00"}, NOW, berlin).since_ms == NOW - HOUR


def test_late_is_asked_for_by_its_own_name_or_as_a_state() -> None:
    assert read_filters({"late": "true"}, NOW, UTC).state == "late"
    assert read_filters({"state": "late"}, NOW, UTC).state == "late"
    assert read_filters({"late": "no", "state": "failed"}, NOW, UTC).state == "failed"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"state": "done"}, "There is no state 'done'"),
        ({"from": "yesterday"}, "“from”: 'yesterday' is no moment"),
        ({"to": "5 bananas"}, "“to”: '5 bananas' is no moment"),
        ({"from": "9999-12-31"}, "lies outside"),
        ({"from": "0001-01-01"}, "lies outside"),
        ({"from": "1h", "to": "2h"}, "is not before"),
        ({"from": "99999999999999w"}, "is no moment"),
        ({"from": "2026-13-45\x00"}, "is no moment"),
    ],
)
def test_what_cannot_be_understood_is_said_in_a_line(query: dict[str, str], said: str) -> None:
    (line,) = read_filters(query, NOW, UTC).wrong
    assert said in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("state", "count", "more", "text"),
    [
        ("failed", 0, False, "No run failed"),
        ("failed", 1, False, "1 run failed"),
        ("waiting", 3, False, "3 runs wait"),
        ("running", 40, True, "More than 40 runs are under way"),
        ("late", 2, False, "2 runs began late"),
        ("", 0, False, "No run was made"),
    ],
)
def test_the_finding_is_a_sentence(state: str, count: int, more: bool, text: str) -> None:
    assert Filters(state).finding(count, more) == text
