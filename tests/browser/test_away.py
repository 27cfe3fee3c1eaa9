"""The store is stopped under an open page: it keeps the last truth, says so, and comes back by itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect
from tests.browser.site import Site, served, visiting
from tests.servers.base import Server, running
from tests.servers.postgresql import database_in, version_or_skip


@pytest.fixture
def server() -> Iterator[Server]:
    with running(version_or_skip(15)) as server:
        yield server


@pytest.fixture
def on_server(server: Server) -> Iterator[Site]:
    with database_in(server.url) as url, served(url) as site:
        yield site


def test_a_page_outlives_its_store_and_comes_back_by_itself(browser: Browser, server: Server, on_server: Site) -> None:
    on_server.node("ams-1")
    with visiting(browser, on_server, "operator") as visit:
        page = visit.open("/nodes")
        expect(page.locator("[data-state]")).to_have_text("live")
        server.kill()
        expect(page.get_by_role("alert")).to_contain_text("does not answer")
        expect(page.get_by_role("alert")).to_contain_text("Shown is what was true at")
        expect(page.locator("[data-state]")).to_have_text("not live")
        expect(page.locator("#nodes")).to_contain_text("ams-1")
        expect(page.get_by_role("button", name="Drain…")).to_be_disabled()
        visit.open("/nodes")  # also for whoever comes anew
        expect(page.get_by_role("alert")).to_contain_text("does not answer")
        server.start()
        expect(page.get_by_role("alert")).to_have_count(0)
        expect(page.get_by_role("link", name="Drain ams-1")).to_be_visible()
        expect(page.locator("[data-state]")).to_have_text("live")


def test_whoever_is_not_known_sees_nothing_of_a_store_that_is_away(
    browser: Browser, server: Server, on_server: Site
) -> None:
    on_server.node("ams-1")
    with visiting(browser, on_server, "viewer") as known, visiting(browser, on_server) as stranger:
        known.open("/nodes")
        server.kill()
        page = stranger.open("/nodes")
        expect(page.get_by_role("heading", level=1)).to_have_text("The store does not answer")
        expect(page.locator("body")).not_to_contain_text("ams-1")
        server.start()
        expect(page).to_have_title("Sign in · onthedot")  # it looked again by itself
