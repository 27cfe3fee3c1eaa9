"""The timeline in a real browser: everything is in the address."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.site import NAUGHTY, Site, barriers, each_look, is_wider_than_the_window, served, sqlite_in, visiting

from onthedot import cron, every
from onthedot.moments import iso

MOST_BYTES = 60_000


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with served(sqlite_in(tmp_path_factory.mktemp("site"))) as site:
        furnish(site)
        yield site


def furnish(site: Site) -> None:
    """A crowd on the full hour, some with a tag, and a name that is hard to show."""
    app = site.app
    site.node("ams-1")
    for number in range(40):
        zone = "Europe/Berlin" if number % 2 else None
        tags = ("eu",) if number % 2 else ()
        app.schedules.put(f"backup-{number:02}", "report", cron("0 * * * *", tz=zone), args={"to": "ann"}, tags=tags)
    for number in range(5):
        app.schedules.put(f"check-{number}", "report", cron("*/5 * * * *"), args={"to": "ann"})
    app.schedules.put(NAUGHTY, "report", cron("0 * * * *"), args={"to": "ann"}, tags=(NAUGHTY,))
    app.schedules.put("poll", "report", every("30s"), args={"to": "ann"})


@pytest.mark.parametrize("path", ["/timeline", "/timeline?range=1h", "/timeline?range=7d", "/timeline?tag=nobody"])
def test_it_is_complained_about_by_nobody(browser: Browser, furnished: Site, path: str) -> None:
    with visiting(browser, furnished, "viewer") as visit:
        page = visit.open(path)
        expect(page.locator("[data-state]").first).to_have_text("live")
        for _ in each_look(page):
            assert not is_wider_than_the_window(page)
            assert barriers(page) == ""
        visit.check()


def test_its_heading_counts_what_the_forecast_counts(browser: Browser, furnished: Site) -> None:
    with visiting(browser, furnished, "viewer", scripts=False) as visit:
        page = visit.open("/timeline?range=6h")
        answer = visit.page.request.get(f"{furnished.address}/api/v1/forecast", params=_next_hours(page, 6)).json()

        expect(page.locator("h1")).to_have_text(f"{answer['runs']:,} runs in the next 6 hours")


def _next_hours(page: Page, hours: int) -> dict[str, str | float | bool]:
    now_ms = int(page.locator("body").get_attribute("data-now") or 0)
    return {"from": iso(now_ms), "to": iso(now_ms + hours * 3_600_000), "bucket": "1h"}


def test_the_fullest_minute_is_chosen_and_told_by_group(browser: Browser, furnished: Site) -> None:
    with visiting(browser, furnished, "viewer", scripts=False) as visit:
        page = visit.open("/timeline")

        expect(page.locator("#chosen .big")).to_contain_text("48 runs")
        expect(page.locator(".groups li").first).to_contain_text("backup-*")
        expect(page.locator(".groups li").first).to_contain_text("40")
        expect(page.locator(".busy a")).to_have_count(5)
        expect(page.locator(".busy [aria-current]")).to_have_count(1)


def test_what_h_would_do_is_told_with_the_new_lines(browser: Browser, furnished: Site) -> None:
    with visiting(browser, furnished, "viewer", scripts=False) as visit:
        page = visit.open("/timeline")
        peaks = page.locator("#spread b").all_inner_texts()

        assert int(peaks[0]) < int(peaks[1]) == 48
        expect(page.locator("#new-lines")).to_contain_text("backup-01 = cron('H * * * *', tz='Europe/Berlin')")
        expect(page.locator("#new-lines")).to_contain_text("check-0 = cron('H/5 * * * *'")


def test_without_scripts_a_moment_is_chosen_by_links_and_by_a_form(browser: Browser, furnished: Site) -> None:
    with visiting(browser, furnished, "viewer", scripts=False) as visit:
        page = visit.open("/timeline?tag=eu")
        page.locator(".busy a").nth(2).click()
        chosen = parse_qs(urlsplit(page.url).query)
        assert chosen["tag"] == ["eu"]
        expect(page.locator("#chosen .big")).to_contain_text("20 runs")

        page.locator("#at").fill("2031-05-04T10:00Z")
        page.get_by_role("button", name="Show").click()
        assert parse_qs(urlsplit(page.url).query)["at"] == ["2031-05-04T10:00Z"]
        visit.check()


def test_a_square_is_chosen_by_a_click_and_by_the_keys_and_back_leads_back(browser: Browser, furnished: Site) -> None:
    with visiting(browser, furnished, "viewer") as visit:
        page = visit.open("/timeline")
        squares = page.get_by_role("slider", name="Squares of the map")
        box = page.locator(".heat-map").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] * 5.5 / 60, box["y"] + box["height"] * 3.5 / 24)
        expect(page.locator("[data-heat-said]")).to_have_text(re.compile(r"^\w{3},? \d\d:05: 7 runs$"))
        page.mouse.down()
        page.mouse.up()
        page.wait_for_url(re.compile(r"at=.*05%3A00Z|at=.*05:00Z"))
        expect(page.locator("#chosen .big")).to_contain_text("7 runs")
        page.mouse.move(0, 0)  # where the map is drawn anew under it, it would name a square, or none, between the keys
        page.go_back()
        expect(page.locator("#chosen .big")).to_contain_text("48 runs")

        squares.focus()
        for key in ("ArrowDown", "ArrowRight", "ArrowLeft", "Enter"):
            page.keyboard.press(key)
        page.wait_for_url(re.compile(r"at="))
        expect(page.locator("#chosen .big")).to_contain_text("48 runs")
        visit.check()


def test_a_change_of_the_schedules_shows_by_itself(browser: Browser, site: Site) -> None:
    site.node("ams-1")
    site.app.schedules.put("hourly", "report", cron("0 * * * *"), args={"to": "ann"})
    with visiting(browser, site, "viewer") as visit:
        page = visit.open("/timeline")
        expect(page.locator("h1")).to_have_text("24 runs in the next 24 hours")
        expect(page.locator("[data-state]").first).to_have_text("live")
        site.app.schedules.put("other", "report", cron("30 * * * *"), args={"to": "ann"})

        expect(page.locator("h1")).to_have_text("48 runs in the next 24 hours")
        visit.check()


def test_the_zone_changes_every_moment_and_nothing_else(browser: Browser, furnished: Site) -> None:
    with visiting(browser, furnished, "viewer", scripts=False) as visit:
        seen = {}
        for zone in ("utc", "Asia/Tokyo"):
            page = visit.open(f"/timeline?zone={zone}")
            heat = page.locator("[data-heat]")
            seen[zone] = (
                [heat.get_attribute(name) for name in ("data-first", "data-cell")],
                page.locator(".hours li").all_inner_texts(),
                page.eval_on_selector_all(".busy time", "all => all.map(each => each.title)"),
                page.locator(".busy b time").all_inner_texts(),
                page.locator("#chosen .big").inner_text(),
            )
        utc, tokyo = seen["utc"], seen["Asia/Tokyo"]

        assert (utc[0], utc[2], utc[4]) == (tokyo[0], tokyo[2], tokyo[4])
        assert utc[1] != tokyo[1]
        assert all(one != other for one, other in zip(utc[3], tokyo[3], strict=True))
        assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", title) for title in utc[2])


def test_names_and_tags_are_shown_as_written(browser: Browser, furnished: Site) -> None:
    with visiting(browser, furnished, "viewer") as visit:
        page = visit.open("/timeline")
        page.get_by_text("Show the 4").click()
        expect(page.locator(".names")).to_contain_text(NAUGHTY)
        page.locator(".menu summary").click()
        page.locator(".menu").get_by_text(NAUGHTY).click()
        expect(page.locator(".sub")).to_contain_text(NAUGHTY)
        visit.check()


@pytest.mark.parametrize("path", ["/timeline", "/timeline?range=7d", "/timeline?range=1h"])
def test_it_is_small(browser: Browser, furnished: Site, path: str) -> None:
    with visiting(browser, furnished, "admin") as visit:
        assert len(visit.page.request.get(f"{furnished.address}{path}").body()) <= MOST_BYTES


@pytest.mark.parametrize("at", ["never", "2026-13-01T00:00Z", "9999-01-01T00:00Z", "2026-01-01"])
def test_what_is_no_moment_is_not_chosen(browser: Browser, furnished: Site, at: str) -> None:
    with visiting(browser, furnished, "viewer", scripts=False) as visit:
        page = visit.open(f"/timeline?at={at}&range=nonsense")

        expect(page.locator("#chosen .big")).to_contain_text("48 runs")


def test_the_new_lines_are_copied_all_of_them(browser: Browser, furnished: Site) -> None:
    with visiting(browser, furnished, "viewer") as visit:
        visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = visit.open("/timeline")
        page.get_by_role("button", name="Copy the 46 new lines").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        copied: str = page.evaluate("navigator.clipboard.readText()")

        assert len(copied.splitlines()) == 46
        assert copied.count("= cron('H") == 46
        visit.check()


def test_the_legend_is_one_line_and_the_busiest_stay_in_their_places(browser: Browser, furnished: Site) -> None:
    with visiting(browser, furnished, "viewer") as visit:
        page = visit.open("/timeline")
        legend = page.locator("#map .legend").bounding_box()
        assert legend is not None
        assert legend["height"] < 30
        inside = "each => each.scrollWidth <= each.clientWidth"
        assert all(each.evaluate(inside) for each in page.locator(".busy a").all())
