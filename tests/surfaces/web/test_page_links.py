"""Whatever a page links to is there, and has the style that it is drawn with."""

from __future__ import annotations

import html
import re
from importlib.resources import files

import pytest
from tests.surfaces.web.client import Client

from onthedot import App, calendar, cron, every
from onthedot.model.node import Node

BROWSER = {"Accept": "text/html"}
PAGES = (
    "/",
    "/timeline",
    "/schedules",
    "/schedules/nightly",
    "/runs",
    "/nodes",
    "/tasks",
    "/changes",
    "/tokens",
    "/statistics",
    "/freezes",
    "/calendars",
    "/calendars/de",
)
_CLASS = re.compile(r"\.([a-zA-Z][\w-]*)")


def look(client: Client, path: str) -> str:
    answer = client.ask("GET", path, headers=BROWSER)
    assert answer.status_code == 200, path
    return answer.text


@pytest.fixture
def furnished(app: App, node: Node) -> None:
    app.schedules.put("nightly", "report", cron("30 2 * * *", tz="Europe/Berlin"), args={"to": "ann"}, tags=["eu"])
    app.schedules.put("often", "report", every("10s"), args={"to": "ann"})
    app.schedules.trigger("nightly")
    app.calendars.put("de", {"2026-12-25": "Christmas Day"})
    app.triggers.put("hourly", every("1h") - calendar("de"))
    app.freeze("late", "2199-01-01T00:00Z", "2199-02-01T00:00Z", where={"tag": "eu"})


@pytest.mark.parametrize("path", PAGES)
def test_every_link_of_a_page_leads_somewhere(admin: Client, furnished: None, path: str) -> None:
    page = look(admin, path)
    links = {html.unescape(each).partition("#")[0] for each in re.findall(r'href="(/[^"]*)"', page)}
    for link in sorted(links):
        assert admin.ask("GET", link, headers=BROWSER).status_code in (200, 303), link


def styles(text: str) -> set[str]:
    """The classes that a style speaks of."""
    return set(_CLASS.findall(re.sub(r"\{[^{}]*\}", "{}", text)))


@pytest.mark.parametrize("path", PAGES)
def test_a_page_loads_the_style_of_everything_that_it_shows(admin: Client, furnished: None, path: str) -> None:
    page = look(admin, path)
    folder = files("onthedot.web.dashboard").joinpath("static").joinpath("css")
    known = styles("".join(part.read_text() for part in folder.iterdir()))
    sheets = re.findall(r'<link rel="stylesheet" href="([^"]+)"', page)
    loaded = styles("".join(admin.ask("GET", sheet).text for sheet in sheets))
    shown = {name for names in re.findall(r'class="([^"]*)"', page) for name in names.split()}

    assert (shown & known) - loaded == set()
