"""The page of statistics, and the card on a schedule's page: without scripts, and whatever there is to count."""

from __future__ import annotations

import re

import pytest
from tests.surfaces.counted_ends import HOUR_MS, count_ends
from tests.surfaces.web.client import Client

from onthedot import App, every

BROWSER = {"Accept": "text/html"}


@pytest.fixture
def nightly(app: App) -> None:
    app.schedules.put("nightly", "report", every("1h"))


def look(client: Client, path: str, status: int = 200) -> str:
    answer = client.ask("GET", path, headers=BROWSER)
    assert answer.status_code == status, path
    return re.sub(r"\s+", " ", answer.text)


def test_where_nothing_is_counted_the_page_says_so(admin: Client, nightly: None) -> None:
    for path in ("/statistics", "/statistics?schedule=nightly", "/statistics?since=24h"):
        page = look(admin, path)
        assert "has been counted</h1>" in page
        assert '<svg class="series"' not in page
    assert "No run has been counted" in look(admin, "/schedules/nightly")


def test_the_page_tells_how_runs_ended_how_late_how_long_and_what_went_wrong(
    app: App, admin: Client, nightly: None
) -> None:
    count_ends(app, None, good=10, bad=0, ago_ms=2 * HOUR_MS)
    count_ends(app)
    page = look(admin, "/statistics?schedule=nightly&since=7d")
    assert "<h1>80.0 % of what ended well or badly ended well</h1>" in page
    assert "OSError: disk # is &lt;full&gt;" in page
    assert page.count('<svg class="series"') == 6, "each for wide and for narrow screens"
    assert "<title>" in page
    assert re.search(r"<td>began late by</td><td class=\"num\">\d+ ms</td>", page)
    assert re.search(r"<td>took</td><td class=\"num\">2\.\d s</td>", page)
    everything = look(admin, "/statistics")
    assert "<h1>90.0 % of what ended well or badly ended well</h1>" in everything
    card = look(admin, "/schedules/nightly")
    assert re.search(r"<dt>ended well</dt><dd>80\.0 %</dd>", card)
    assert 'href="/statistics?schedule=nightly"' in card


def test_headings_of_numbers_stand_over_their_numbers(app: App, admin: Client, nightly: None) -> None:
    count_ends(app)
    page = look(admin, "/statistics?schedule=nightly&since=24h")
    for table in re.findall(r"<table.*?</table>", page):
        heads = ["num" in each for each in re.findall(r"<th( class=\"num\")?>", table)]
        for row in re.findall(r"<tr>(.*?)</tr>", table)[1:]:
            assert ["num" in each for each in re.findall(r"<td([^>]*)>", row)] == heads


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("/statistics?schedule=nigtly", 404, "Did you mean nightly?"),
        ("/statistics?since=99d", 422, "must lie in the last 31 days"),
        ("/statistics?since=<i>", 422, "&lt;i&gt;"),
    ],
)
def test_what_cannot_be_shown_is_told_as_a_page(
    admin: Client, nightly: None, path: str, status: int, told: str
) -> None:
    assert told in look(admin, path, status)
