"""Each page of the frame, light and dark, wide and narrow: nothing is complained about, nothing is in anybody's way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect
from tests.browser.site import (
    NARROW,
    NAUGHTY,
    WIDE,
    Site,
    barriers,
    each_look,
    is_wider_than_the_window,
    served,
    sqlite_in,
    visiting,
)

from onthedot import calendar, every
from onthedot.model.change import Author
from onthedot.model.node import SKEW_LABEL, ZONES_LABEL

PAGES = (
    "/nodes",
    "/tasks",
    "/tasks/report/enqueue",
    "/changes",
    "/calendars",
    "/calendars/de?year=2026",
    "/tokens",
    "/tokens/the-viewer/revoke",
    "/keys",
    "/nodes/id-ams-1/drain",
    "/schedules/nightly/pause",
    "/schedules/nightly/trigger",
    "/schedules/nightly/delete",
)


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with served(sqlite_in(tmp_path_factory.mktemp("site"))) as site:
        furnish(site)
        yield site


def furnish(site: Site) -> None:
    """A node that is well, one that drains, one whose clock is wrong, one that died with a run."""
    app, store = site.app, site.app.open_store()
    app.calendars.put("de", {"2026-12-25": "Christmas Day", "2026-12-30..2026-12-31": ""})
    app.triggers.put("nightly", every("1d") - calendar("de"))
    site.node("ams-1", group="large", labels={SKEW_LABEL: "2", ZONES_LABEL: "2026a"})
    site.node("nyc-1", labels={SKEW_LABEL: "1180", ZONES_LABEL: "2025b"})
    site.node(NAUGHTY)
    dying = site.node("nyc-2")
    app.nodes.drain("nyc-1")
    app.schedules.put("nightly", "report", every("1d"), args={"to": "ann"})
    app.schedules.put(NAUGHTY, "report", every("1d"), args={"to": NAUGHTY})
    app.schedules.pause("nightly", note=NAUGHTY)
    app.schedules.trigger("nightly")
    store.start_due(dying.id, app.tasks.names(), 1)
    store.leave(dying.id)
    store.take_over(dying.id, dying.renewals, Author("ams-1", "node", "take over"))


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_complained_about_by_nobody(browser: Browser, furnished: Site, path: str) -> None:
    with visiting(browser, furnished, "admin") as visit:
        page = visit.open(path)
        expect(page.locator("[data-state]").first).to_have_text("live")
        for _ in each_look(page):
            assert not is_wider_than_the_window(page)
            assert barriers(page) == ""
        visit.check()


def test_the_sign_in_page_is_complained_about_by_nobody(browser: Browser, furnished: Site) -> None:
    with visiting(browser, furnished) as visit:
        page = visit.open("/nodes")
        expect(page).to_have_title("Sign in · onthedot")
        for _ in each_look(page):
            assert not is_wider_than_the_window(page)
            assert barriers(page) == ""
        visit.check()


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_an_address_that_is_none_names_the_nearest_pages_and_schedules(
    browser: Browser, furnished: Site, width: int
) -> None:
    with visiting(browser, furnished, "viewer", width=width) as visit:
        page = visit.open("/node")
        expect(page.get_by_role("heading", level=1)).to_have_text("Nothing is here")
        expect(page.get_by_role("link", name="nodes", exact=True)).to_be_visible()
        page = visit.open("/nightl")
        expect(page.get_by_role("link", name="nightly", exact=True)).to_have_attribute("href", "/schedules/nightly")
        assert not is_wider_than_the_window(page)
        assert barriers(page) == ""
        visit.check(but="404")


@pytest.mark.parametrize("path", ["/nodes", "/changes", "/tasks"])
def test_a_bad_name_is_shown_as_it_is_written(browser: Browser, furnished: Site, path: str) -> None:
    with visiting(browser, furnished, "admin") as visit:
        page = visit.open(path)
        if path != "/tasks":
            expect(page.locator("main")).to_contain_text(NAUGHTY)
        expect(page.locator("main")).not_to_contain_text("49 DROP")
        visit.check()


def test_nothing_moves_where_people_want_it_so_and_seconds_still_count(browser: Browser, furnished: Site) -> None:
    with visiting(browser, furnished, "viewer") as visit:
        visit.page.emulate_media(reduced_motion="reduce")
        page = visit.open("/nodes")
        expect(page.locator("[data-state]")).to_have_text("live")
        moving = "[...document.querySelectorAll('*')].filter(e => getComputedStyle(e).animationName !== 'none').length"
        assert page.evaluate(moving) == 0
        up = page.locator("#node-id-ams-1 [data-counts]")
        before = up.inner_text()
        expect(up).not_to_have_text(before)


def test_what_a_page_loads_of_styles_and_scripts_stays_within_their_budgets() -> None:
    from onthedot.web.dashboard.static_files import STYLE, static_files

    sizes = {name: len(content) for name, content in static_files().by_name.items()}
    everywhere = sum(sizes[name] for name in ("live.js", "morph.js", "keys.js", "dialogs.js", "times.js"))
    own = [size for name, size in sizes.items() if name.endswith(".css") and name != STYLE]
    assert sizes[STYLE] + max(own) <= 24 * 1024
    assert everywhere + max(size for name, size in sizes.items() if name.endswith(".js")) <= 25 * 1024
