"""Ticks of the past are filled in from the dashboard, without scripts."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Page, expect
from tests.browser.past_runs import Cast
from tests.browser.site import Site, barriers, each_look, is_wider_than_the_window, visiting

from onthedot import cron
from onthedot.model.outcome import Ending
from onthedot.model.run import Run


def _shown(page: Page, site: Site, start: str, end: str) -> None:
    page.goto(f"{site.address}/schedules/nightly")
    page.get_by_role("link", name="Backfill this range…").click()
    page.get_by_label("From").fill(start)
    page.get_by_label("To, itself left out").fill(end)
    page.get_by_role("button", name="Show which").click()


def _next(site: Site, node: str) -> Run:
    """The run of its next tick; the backfill itself may have to be opened before."""
    store, tasks = site.app.open_store(), site.app.tasks.names()
    (run,) = store.start_due(node, tasks, 10).runs or store.start_due(node, tasks, 10).runs
    return run


def test_a_range_is_looked_at_filled_in_and_watched(browser: Browser, site: Site) -> None:
    site.app.schedules.put("nightly", "report", cron("0 3 * * *", tz="Europe/Berlin"), args={"to": "ann"})
    node = Cast(site).node("ams-1")
    store = site.app.open_store()
    with visiting(browser, site, "viewer", scripts=False) as visit:
        page = visit.open("/schedules/nightly")
        expect(page.get_by_role("link", name="Backfill this range…")).to_have_count(0)
    with visiting(browser, site, "operator", scripts=False) as visit:
        page = visit.page
        _shown(page, site, "2026-10-04", "2026-10-01")
        expect(page.get_by_role("alert")).to_contain_text("is not after start")
        expect(page.get_by_label("From")).to_have_value("2026-10-04")
        _shown(page, site, "2026-10-01", "2026-10-04")  # on the schedule's wall clock
        expect(page.locator("#would h2")).to_have_text("3 ticks would be filled in")
        expect(page.locator("#would tbody tr")).to_have_count(3)
        expect(page.locator("#would")).to_contain_text("the schedule did not exist yet")
        assert store.runs(limit=10) == []
        page.get_by_role("button", name="Fill them in").click()
        expect(page.get_by_role("status")).to_contain_text("Fills in 3 ticks of nightly")
        expect(page).to_have_url(re.compile(r"/runs/[0-9a-f-]+$"))
        expect(page.locator("#filling h2")).to_contain_text("0 of 3")
        expect(page.get_by_role("link", name="Run the same…")).to_have_count(0)
        again = page.request.get(f"{page.url}/again")
        assert (again.status, "begin another at its schedule" in again.text()) == (409, True)
        endings: tuple[Ending, ...] = ("succeeded", "failed")
        for ending in endings:
            Cast(site).end(_next(site, node), ending)
            store.tend_flows()
        page.reload()
        expect(page.locator("#filling h2")).to_contain_text("2 of 3, 1 bad")
        page.locator("#filling tbody tr", has_text="failed").get_by_role("link").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("nightly")
        expect(page.locator("#facts")).to_contain_text("filled in for nightly")
        expect(page.locator("#facts dt", has_text="backfill")).to_have_count(1)
    (line, *_) = site.app.schedules.changes()
    assert (line.by.who, line.by.surface, line.by.what) == ("the-operator", "dashboard", "backfill")


def test_its_pages_are_in_nobodys_way(browser: Browser, site: Site) -> None:
    site.app.schedules.put("nightly", "report", cron("0 3 * * *"), args={"to": "ann"})
    begun = site.app.schedules.backfill("nightly", "2026-10-01T00:00Z", "2026-11-01T00:00Z").run
    assert begun is not None
    _next(site, Cast(site).node("ams-1"))
    asked = "/schedules/nightly/backfill?start=2026-10-01&end=2026-12-01&which=all&limit=4&order=newest"
    with visiting(browser, site, "operator") as visit:
        for path in (asked, f"{asked}&limit=99", f"/runs/{begun.id}"):
            page = visit.open(path)
            for look in each_look(page):
                assert not is_wider_than_the_window(page), look
                assert barriers(page) == "", look
