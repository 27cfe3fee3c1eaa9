"""The page of a flow in a browser: it changes while the flow goes on, and retries what went wrong."""

from __future__ import annotations

import re
from threading import Event

from playwright.sync_api import Browser, expect
from tests.browser.site import Site, visiting
from tests.patience import LONGEST_S


def test_a_flow_is_watched_and_retried_on_its_page(open_site: Site, browser: Browser) -> None:
    app, goes_on, is_mended = open_site.app, Event(), Event()

    @app.task
    def names() -> list[str]:
        return ["ann", "bob", "eve"]

    @app.task
    def greet(name: str) -> None:
        assert goes_on.wait(LONGEST_S)
        if name == "eve" and not is_mended.is_set():
            raise RuntimeError("eve is out")

    @app.flow
    def hello() -> None:
        greet.map(names())

    with app.running(), visiting(browser, open_site) as visit:
        run = app.enqueue(hello)
        page = visit.open(f"/runs/{run.id}")
        picture = page.locator("#graph .only-l")
        expect(picture.locator("text", has_text="0 of 3")).to_be_visible()
        goes_on.set()
        expect(picture.locator("text", has_text="all 3, 1 bad")).to_be_visible()
        visit.context.grant_permissions(["clipboard-write"])
        page.get_by_role("button", name="Copy").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        is_mended.set()
        page.get_by_text("Retry…").click()
        page.get_by_role("button", name="Retry it").click()
        expect(picture.locator("text", has_text=re.compile("^all 3$"))).to_be_visible()
        expect(page.locator("h1").first).to_contain_text("succeeded")
        picture.locator("a", has_text="greet").click()
        expect(page.get_by_role("link", name="greet[2]")).to_be_visible()
        visit.check()
