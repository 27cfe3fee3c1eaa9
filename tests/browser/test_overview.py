"""The overview in a real browser: answers first, alive by itself, and readable without colour, motion or scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
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

from onthedot import App, cron, every
from onthedot.model.change import Author
from onthedot.model.minute import Minute
from onthedot.model.node import SKEW_LABEL
from onthedot.model.outcome import Outcome
from onthedot.moments import from_ms, iso
from onthedot.web.dashboard.charts.ring import Ring, draw

MOST_BYTES = 60_000


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with served(sqlite_in(tmp_path_factory.mktemp("site"))) as site:
        furnish(site)
        yield site


def furnish(site: Site) -> None:
    """A run under way, one that failed until tomorrow, a crowd, a node that died; names that are hard to show."""
    app, store = site.app, site.app.open_store()
    here, dying = site.node("ams-1", labels={SKEW_LABEL: "2"}), site.node("nyc-2")
    weekly = every("7d", anchor=from_ms(store.now_ms()))  # far away, on whatever day of the week this runs
    app.schedules.put("nightly", "report", weekly, args={"to": "ann"})
    app.schedules.put(NAUGHTY, "report", weekly, args={"to": "bob"})
    app.schedules.put("quick", "report", every("7s"), args={"to": "cy"})
    for number in range(30):
        app.schedules.put(f"backup-{number:02}", "report", cron("* * * * *"), args={"to": "dee"})
    for name in ("nightly", NAUGHTY):
        app.schedules.trigger(name)
    failed, _ = store.start_due(here.id, app.tasks.names(), 2).runs
    error = "RuntimeError: upstream answered <503>"
    store.finish(here.id, [Outcome(failed.id, failed.claim_no, "failed", error=error)])
    minute = store.now_ms() // 60_000 * 60_000 - 600_000
    store.tally([Minute(minute, here.id, 120, {"failed": 1}, {5: 119, 50: 1}, 31_000, "r", NAUGHTY)])
    store.leave(dying.id)
    store.take_over(dying.id, dying.renewals, Author("ams-1", "node", "take over"))


def test_it_is_complained_about_by_nobody(browser: Browser, furnished: Site) -> None:
    with visiting(browser, furnished, "operator") as visit:
        page = visit.open("/")
        expect(page.locator("[data-state]").first).to_have_text("live")
        for _ in each_look(page):
            assert not is_wider_than_the_window(page)
            assert barriers(page) == ""
        visit.check()


def test_its_heading_is_what_it_found(browser: Browser, furnished: Site) -> None:
    with visiting(browser, furnished, "operator") as visit:
        page = visit.open("/")
        needs = page.locator("#needs li")
        count = needs.count()

        assert count >= 1
        expect(page.locator("h1")).to_contain_text("One thing needs you" if count == 1 else f"{count} things need you")
        expect(page.locator("#needs")).to_contain_text("RuntimeError: upstream answered <503>")
        expect(needs.filter(has_text="failed").get_by_role("link", name="Open run").first).to_be_visible()


def test_without_scripts_it_reads_and_its_acts_work(browser: Browser, furnished: Site) -> None:
    with visiting(browser, furnished, "operator", scripts=False) as visit:
        page = visit.open("/")
        for part in ("#minute", "#needs", "#running", "#next", "#lateness", "#nodes"):
            expect(page.locator(part)).to_be_visible()
        expect(page.locator("#next")).to_contain_text("30 schedules")
        expect(page.locator(".ring .coming")).not_to_have_count(0)
        page.locator("#needs").get_by_role("link", name="Pause").first.click()
        expect(page.locator("h1")).to_contain_text("Pause")
        visit.check()


def test_a_run_that_another_process_starts_shows_by_itself(browser: Browser, site: Site) -> None:
    node = site.node("ams-1")
    site.app.schedules.put("nightly", "report", every("7d"), args={"to": "ann"})
    with visiting(browser, site, "viewer") as visit:
        page = visit.open("/")
        expect(page.locator("#running")).to_contain_text("Nothing runs")
        expect(page.locator("[data-state]").first).to_have_text("live")
        page.evaluate("window.still = true")
        elsewhere = _another(site)
        elsewhere.schedules.trigger("nightly")
        store = elsewhere.open_store()
        (run,) = store.start_due(node.id, elsewhere.tasks.names(), 1).runs

        expect(page.locator(f"#running [data-id='{run.id}']")).to_be_visible()
        store.finish(node.id, [Outcome(run.id, run.claim_no, "succeeded")])
        expect(page.locator("#running")).to_contain_text("Nothing runs")
        expect(page.locator("#running .ended")).to_contain_text("nightly")
        assert page.evaluate("window.still")
        elsewhere.close()
        visit.check()


def test_the_ring_counts_what_the_forecast_counts(browser: Browser, furnished: Site) -> None:
    with visiting(browser, furnished, "viewer", scripts=False) as visit:
        total = visit.open("/").locator("[data-ring-sum]")
        first_ms, end_ms = int(total.get_attribute("data-from") or 0), int(total.get_attribute("data-to") or 0)
        shown = int(total.get_attribute("data-coming") or 0)
        asked: dict[str, str | float | bool] = {"from": iso(first_ms), "to": iso(end_ms), "bucket": "1s"}
        answer = visit.page.request.get(f"{furnished.address}/api/v1/forecast", params=asked).json()

        assert (end_ms - first_ms, shown) == (60_000, answer["runs"])
        assert shown > 30
        expect(total).to_contain_text(f"{shown} to come")


def test_the_browser_draws_the_ring_that_the_server_draws(browser: Browser, furnished: Site) -> None:
    with visiting(browser, furnished, "viewer") as visit:
        page = visit.open("/")
        expect(page.get_by_role("slider", name="Second of the minute")).to_be_visible()
        drawn: dict[str, Any] = page.evaluate(
            """() => ({facts: JSON.parse(document.getElementById("ring-data").textContent),
                       time: document.querySelector("[data-ring-time]").textContent,
                       slots: document.querySelector("[data-ring-slots]").innerHTML})"""
        )
        assert _shapes(drawn["slots"]) == _shapes(_as_the_server_draws(drawn))


def _as_the_server_draws(drawn: dict[str, Any]) -> str:
    facts = drawn["facts"]
    hour, minute, second = map(int, drawn["time"].split(":"))
    day_ms = facts["now"] // 86_400_000 * 86_400_000
    now_ms = day_ms + (hour * 3600 + minute * 60 + second) * 1000
    passed = now_ms // 1000 - facts["now"] // 1000
    ring = Ring(now_ms, facts["coming"][passed:], {int(at): states for at, states in facts["came"].items()})
    return str(draw(ring, UTC, "UTC"))


def _shapes(svg: str) -> list[str]:
    """All that is drawn in the slots, without the ends of tags, which browsers write in their own way."""
    inside = svg.partition("data-ring-slots>")[2] or svg
    inside = inside.partition('<path class="held"')[0]
    without_titles = re.sub(r"<title>.*?</title>", "", inside)
    return re.findall(r'(?:class|d|opacity|href|y|x|transform|text-anchor)="[^"]*"|\d+ at [\d:]+', without_titles)


def test_a_second_is_named_by_the_keys(browser: Browser, furnished: Site) -> None:
    with visiting(browser, furnished, "viewer") as visit:
        page = visit.open("/")
        ring = page.get_by_role("slider", name="Second of the minute")
        ring.focus()
        page.keyboard.press("ArrowRight")
        chosen = int(ring.get_attribute("aria-valuenow") or -1)
        for _ in range((60 - chosen) % 60):
            page.keyboard.press("ArrowRight")

        expect(ring).to_have_attribute("aria-valuetext", re.compile(r"^:00: 3\d to come"))
        expect(page.locator("[data-ring-said]")).to_contain_text(":00:")
        page.get_by_text("As a table").click()
        expect(page.locator(".ring-table")).to_contain_text("to come")


def test_where_motion_is_unwanted_nothing_moves_and_seconds_still_count(browser: Browser, furnished: Site) -> None:
    with visiting(browser, furnished, "viewer") as visit:
        visit.page.emulate_media(reduced_motion="reduce")
        page = visit.open("/")
        clock = page.locator("[data-ring-time]")
        expect(page.get_by_role("slider")).to_be_visible()
        before = clock.text_content() or ""

        expect(clock).not_to_have_text(before)
        assert page.evaluate("document.getAnimations().length") == 0
        expect(page.locator("[data-ring-hand]")).to_be_hidden()


def test_otherwise_only_the_hand_and_the_live_dot_move(browser: Browser, furnished: Site) -> None:
    with visiting(browser, furnished, "viewer") as visit:
        page = visit.open("/")
        expect(page.locator("[data-state]").first).to_have_text("live")
        page.wait_for_function("document.querySelector('.hand.turns')")
        moving = page.evaluate("document.getAnimations().map(each => each.animationName).sort()")

        assert set(moving) == {"pulse", "sweep"}


def test_states_can_be_told_without_colour(browser: Browser, furnished: Site) -> None:
    with visiting(browser, furnished, "viewer") as visit:
        page = visit.open("/")
        page.emulate_media(media="print", forced_colors="active")
        shapes = page.evaluate(
            "[...document.querySelectorAll('.ring defs [id]')].map(each => each.cloneNode())"
            ".map(each => (each.removeAttribute('id'), each.outerHTML))"
        )

        assert len(set(shapes)) == len(shapes)


def test_the_zone_changes_every_moment_and_nothing_else(browser: Browser, furnished: Site) -> None:
    with visiting(browser, furnished, "viewer", scripts=False) as visit:
        utc = _moments(visit.open("/?zone=utc"), "#needs time, #nodes time")
        tokyo = _moments(visit.open("/?zone=Asia/Tokyo"), "#needs time, #nodes time")

        assert [title for title, _ in utc] == [title for title, _ in tokyo]
        assert utc
        assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z", title) for title, _ in tokyo)
        assert all(one != other for (_, one), (_, other) in zip(utc, tokyo, strict=True))


def _moments(page: Page, which: str) -> list[tuple[str, str]]:
    found: list[list[str]] = page.eval_on_selector_all(which, "all => all.map(each => [each.title, each.textContent])")
    return [(title, text) for title, text in found]


def test_it_is_small(browser: Browser, furnished: Site) -> None:
    with visiting(browser, furnished, "admin") as visit:
        body = visit.page.request.get(f"{furnished.address}/").body()

        assert len(body) <= MOST_BYTES
        data = re.search(rb'id="ring-data">(.*?)</script>', body)
        assert data is not None
        assert len(json.loads(data[1])["coming"]) == 120


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_an_empty_store_shows_the_first_program_and_notices_when_it_is_alive(
    browser: Browser, open_site: Site, width: int
) -> None:
    with visiting(browser, open_site, width=width) as visit:
        page = visit.open("/")
        expect(page.locator("h1")).to_have_text("Nothing is scheduled yet")
        expect(page.locator("pre").first).to_contain_text("@app.schedule")
        expect(page.locator("[data-state]").first).to_have_text("live")
        assert barriers(page) == ""
        elsewhere = _another(open_site)
        elsewhere.schedules.put("hello", "report", every("5s"), args={"to": "ann"})

        expect(page.locator("#minute")).to_be_visible()
        expect(page.locator("#next")).to_contain_text("hello")
        expect(page.get_by_role("slider", name="Second of the minute")).to_be_visible()
        elsewhere.close()
        visit.check()


def _another(site: Site) -> App:
    """As another process has it: it shares nothing but the store."""
    app = App(site.app.url)

    @app.task
    def report(to: str, copies: int = 1) -> str:
        return to

    return app
