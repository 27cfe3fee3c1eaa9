"""With scripts: pages keep true by themselves, questions are dialogs, and keys do what links do."""

from __future__ import annotations

from playwright.sync_api import Browser, Route, expect
from tests.browser.site import NARROW, Site, visiting

from onthedot import every


def test_what_another_process_does_is_seen_without_a_reload(browser: Browser, site: Site) -> None:
    with visiting(browser, site, "viewer") as visit:
        page = visit.open("/nodes")
        expect(page.get_by_role("heading", level=1)).to_have_text("None is alive: nothing will run")
        page.evaluate("window.untouched = true")
        site.node("ams-1")
        expect(page.get_by_role("heading", level=1)).to_have_text("One node takes runs")
        expect(page.locator("#nav")).to_contain_text("Nodes1")
        assert page.evaluate("window.untouched")
        visit.check()


def test_what_happens_before_the_stream_of_a_page_is_open_is_not_missed(browser: Browser, site: Site) -> None:
    site.app.schedules.put("nightly", "report", every("1h"), args={"to": "ann"})
    with visiting(browser, site, "viewer") as visit:

        def happen(route: Route) -> None:
            site.app.schedules.update("nightly", args={"to": "bob"})
            site.watcher.look()  # whoever listens has been told by now; the page does not yet
            route.continue_()

        visit.page.route("**/api/v1/events*", happen)
        page = visit.open("/changes")
        expect(page.locator("main")).to_contain_text("bob")
        visit.check()


def test_what_was_typed_and_where_one_stands_outlives_a_change_of_the_page(browser: Browser, site: Site) -> None:
    with visiting(browser, site, "admin") as visit:
        page = visit.open("/tasks")
        find = page.get_by_label("Find a task")
        find.fill("half a wo")
        site.node("ams-1")
        expect(page.locator("#tasks")).to_contain_text("ams-1")
        expect(find).to_have_value("half a wo")
        expect(find).to_be_focused()
        visit.check()


def test_a_question_is_a_dialog_and_gives_the_focus_back(browser: Browser, site: Site) -> None:
    site.node("ams-1")
    with visiting(browser, site, "operator") as visit:
        page = visit.open("/nodes")
        page.get_by_role("link", name="Drain ams-1").click()
        expect(page.get_by_role("dialog", name="Drain ams-1?")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("link", name="Drain ams-1")).to_be_focused()
        page.get_by_role("link", name="Drain ams-1").click()
        page.get_by_role("button", name="Drain it").click()
        expect(page.get_by_role("status")).to_contain_text("ams-1 drains")
        expect(page.locator("#nodes")).to_contain_text("draining")
        expect(page.get_by_role("dialog")).to_have_count(0)
        visit.check()


def test_keys_find_go_and_move_and_are_silent_in_fields(browser: Browser, site: Site) -> None:
    site.node("ams-1")
    site.node("ams-2")
    with visiting(browser, site, "operator") as visit:
        page = visit.open("/tasks")
        expect(page.locator("[data-state]")).to_have_text("live")
        page.keyboard.press("/")
        expect(page.get_by_label("Find a task")).to_be_focused()
        page.keyboard.type("gn?")
        expect(page.get_by_label("Find a task")).to_have_value("gn?")
        page.keyboard.press("Escape")
        page.keyboard.press("g")
        page.keyboard.press("n")
        expect(page).to_have_url(f"{site.address}/nodes")
        expect(page.locator("[data-state]")).to_have_text("live")
        page.keyboard.press("j")
        page.keyboard.press("j")
        expect(page.locator(".here")).to_contain_text("ams-2")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
        page.get_by_role("button", name="Turn the keys off").click()
        page.keyboard.press("Escape")
        page.keyboard.press("k")
        expect(page.locator(".here")).to_contain_text("ams-2")
        visit.check()


def test_an_act_can_be_undone_by_a_key(browser: Browser, site: Site) -> None:
    with visiting(browser, site, "operator") as visit:
        page = visit.open("/tasks")
        page.get_by_role("link", name="Run report once").click()
        page.get_by_label("to").fill("ann")
        page.get_by_role("button", name="Run it").click()
        expect(page.get_by_role("status")).to_contain_text("report is enqueued")
        page.keyboard.press("z")
        expect(page.get_by_role("status")).to_contain_text("Cancelled report")
        visit.check()
    (run,) = site.app.runs.list()
    assert run.state == "cancelled"


def test_yours_is_the_zone_of_the_browser(browser: Browser, site: Site) -> None:
    with visiting(browser, site, "viewer", zone="America/New_York") as visit:
        page = visit.open("/changes")
        expect(page.locator("[data-state]")).to_have_text("live")
        page.get_by_role("link", name="Yours").click()
        expect(page.locator("body")).to_have_attribute("data-zone-name", "America/New_York")
        visit.check()


def test_a_phone_has_tabs_below_and_the_rest_behind_the_clock(browser: Browser, site: Site) -> None:
    with visiting(browser, site, "admin", width=NARROW) as visit:
        page = visit.open("/nodes")
        expect(page.locator(".tabs a")).to_have_count(5)
        expect(page.get_by_role("link", name="Its own")).to_be_hidden()
        page.get_by_role("link", name="Zone of times, and more").click()
        page.get_by_role("link", name="Its own").click()
        expect(page.locator("body")).to_have_attribute("data-zone", "own")
        heights = "[...document.querySelectorAll('.tabs a,.rail .live')].map(e => e.getBoundingClientRect().height)"
        assert min(page.evaluate(heights)) >= 44
        visit.check()


def test_who_is_signed_out_elsewhere_is_told_so_and_sees_nothing_new(browser: Browser, site: Site) -> None:
    with visiting(browser, site, "viewer") as visit:
        page = visit.open("/nodes")
        expect(page.locator("[data-state]")).to_have_text("live")
        site.app.tokens.revoke("the-viewer")
        expect(page.locator("[data-state]")).to_have_text("signed out")
