"""The pages of schedules in a real browser: points 1 to 3, 5, 6, 8, 10 and 11 of what the dashboard must show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.site import NARROW, NAUGHTY, Site, barriers, each_look, is_wider_than_the_window, visiting
from tests.browser.weeks import LEFT_OUT, weeks

from onthedot.app.acting import acting_as
from onthedot.triggers import cron, every

PAGES = (
    "/schedules",
    "/schedules?q=tag:eu&state=ended",
    f"/schedules/nightly?tick={LEFT_OUT}",
    "/schedules/nightly",
    "/schedules/gone",
    "/schedules/invoices",
    f"/schedules/{quote(NAUGHTY, safe='')}",
    "/schedules/nightly/edit",
    "/new",
    "/import",
)


@pytest.fixture(scope="module")
def seen() -> Iterator[Site]:
    """For looking at: no test changes it."""
    with weeks() as site:
        yield site


@pytest.fixture
def lived() -> Iterator[Site]:
    """For acting on."""
    with weeks() as site:
        yield site


@pytest.mark.parametrize("path", PAGES)
def test_each_page_is_in_nobodys_way_and_no_larger_than_it_may_be(browser: Browser, seen: Site, path: str) -> None:
    with visiting(browser, seen, "admin") as visit:
        page = visit.open(path)
        for _ in each_look(page):
            assert not is_wider_than_the_window(page)
            assert barriers(page) == ""
        assert len(page.request.get(seen.address + path).body()) <= 60_000
        visit.check()


def test_a_name_is_shown_as_it_is_written(browser: Browser, seen: Site) -> None:
    with visiting(browser, seen, "admin") as visit:
        page = visit.open("/schedules?q=tag:odd")
        page.get_by_role("link", name=NAUGHTY, exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_contain_text(NAUGHTY)
        visit.check()


def test_a_tick_is_asked_by_choosing_it_and_the_address_keeps_it(browser: Browser, seen: Site) -> None:
    with visiting(browser, seen, "viewer") as visit:
        page = visit.open("/schedules/nightly")
        page.locator("svg.ticks a.hold:visible").first.click()
        expect(page.locator("#why .a")).to_have_text("It was paused.")
        expect(page.locator("#why")).to_contain_text("ops-2 paused it: “warehouse migration, OPS-412”")
        expect(page.locator("#why")).to_contain_text("3 ticks left out, one decision; this is the first of them")
        assert "tick=2026-03-13T01%3A30%3A00Z" in page.url
        page.go_back()
        expect(page.locator("#why .a")).to_contain_text("connection refused")


def test_the_next_ten_name_the_night_in_which_the_clock_jumps(browser: Browser, seen: Site) -> None:
    with visiting(browser, seen, "viewer") as visit:
        page = visit.open("/schedules/nightly")
        expect(page.locator("#next")).to_contain_text("Sun 29 Mar 03:00")
        expect(page.locator("#next")).to_contain_text("the clock jumps from 02:00 to 03:00")


def test_the_zone_changes_every_moment_and_nothing_else(browser: Browser, seen: Site) -> None:
    def shown(page: Page) -> tuple[list[str], list[str], str]:
        times = page.locator("main section time[title]:visible")
        titles = times.evaluate_all("all => all.map(each => each.title)")
        texts = times.evaluate_all("all => all.map(each => each.textContent)")
        rest = page.evaluate(
            """() => { const copy = document.querySelector('main').cloneNode(true);
            for (const each of copy.querySelectorAll('.head,time,svg,.q')) each.remove(); return copy.textContent; }"""
        )
        return titles, texts, re.sub(r"\s+", " ", rest)

    with visiting(browser, seen, "viewer", scripts=False) as visit:
        titles, texts, rest = shown(visit.open(f"/schedules/nightly?tick={LEFT_OUT}"))
        own_titles, own_texts, own_rest = shown(visit.open(f"/schedules/nightly?tick={LEFT_OUT}&zone=own"))
    assert own_titles == titles
    assert own_rest == rest
    assert all(re.fullmatch(r"2026-\d\d-\d\dT[\d:.]+Z", title) for title in titles)
    assert "12 Mar 08:00" in texts
    assert "12 Mar 09:00" in own_texts


# acting


@pytest.mark.parametrize("scripts", [True, False])
def test_three_are_picked_paused_with_a_note_and_that_is_undone(browser: Browser, lived: Site, scripts: bool) -> None:
    names = ["stock-00", "stock-01", "stock-02"]
    with visiting(browser, lived, "operator", scripts=scripts) as visit:
        page = visit.open("/schedules?q=stock")
        for name in names:
            page.get_by_label(f"select {name}").check()
        expect(page.locator(".bulk")).to_contain_text("selected")
        page.get_by_role("button", name="Pause…").click()
        expect(page.get_by_role("heading", name="Pause 3 schedules?")).to_be_visible()
        page.get_by_label("Why? Shown to everybody who asks").fill("stock taking")
        page.get_by_role("button", name="Pause 3").click()
        expect(page.locator(".toast")).to_contain_text("Paused 3 schedules")
        expect(page.locator("main")).to_contain_text("“stock taking”")
        assert all(not lived.app.schedules.get(name).enabled for name in names)
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".toast")).to_contain_text("Resumed 3 schedules")
        assert all(lived.app.schedules.get(name).enabled for name in names)
        visit.check()


def test_the_keyboard_alone_finds_picks_pauses_and_undoes(browser: Browser, lived: Site) -> None:
    with visiting(browser, lived, "operator") as visit:
        page = visit.open("/schedules")
        page.keyboard.press("/")
        expect(page.get_by_role("searchbox")).to_be_focused()
        page.keyboard.type("stock-1")
        page.keyboard.press("Enter")
        page.wait_for_url("**q=stock-1*")
        for _ in range(3):
            page.keyboard.press("j")
            page.keyboard.press("x")
        expect(page.locator(".bulk")).to_contain_text("3 selected")
        page.keyboard.press("p")
        expect(page.get_by_label("Why? Shown to everybody who asks")).to_be_focused()
        page.keyboard.type("by keys")
        page.keyboard.press("Enter")
        expect(page.locator(".toast")).to_contain_text("Paused 3 schedules")
        assert page.evaluate("document.activeElement !== document.body")
        page.keyboard.press("z")
        expect(page.locator(".toast")).to_contain_text("Resumed 3 schedules")
        visit.check()


def test_pause_says_before_what_it_skips_and_explain_names_who_and_why(browser: Browser, lived: Site) -> None:
    with visiting(browser, lived, "operator") as visit:
        page = visit.open("/schedules/nightly")
        page.get_by_role("link", name="Pause…").click()
        expect(page.locator("dialog")).to_contain_text("none is running")
        page.get_by_label("Why? Shown to everybody who asks").fill("disk is full")
        page.get_by_role("button", name="Pause", exact=True).click()
        expect(page.locator(".toast")).to_contain_text("Paused nightly")
        page = visit.open("/schedules/nightly?tick=2026-03-27T01:30Z")
        expect(page.locator("#why")).to_contain_text("the-operator paused it: “disk is full”")
        visit.check()


def test_a_wrong_trigger_is_marked_as_it_is_typed_and_cannot_be_saved(browser: Browser, lived: Site) -> None:
    with visiting(browser, lived, "admin") as visit:
        page = visit.open("/schedules/nightly")
        field, save = (
            page.locator("#edit").get_by_label("Trigger"),
            page.locator("#edit").get_by_role("button", name="Save"),
        )
        field.fill("30 2 * * 8")
        expect(page.locator("#edit pre")).to_contain_text("day of week: 8 is not 0-7")
        expect(page.locator("#edit pre")).to_contain_text("(column 10)")
        assert (page.locator("#edit pre").text_content() or "").startswith(" " * 9 + "^")
        expect(save).to_be_disabled()
        expect(field).to_have_attribute("aria-invalid", "true")
        assert barriers(page) == ""
        page.get_by_role("button", name="30 2 * * sat").click()
        expect(page.locator("#edit")).to_contain_text("At 02:30, on Saturday")
        field.fill("30 2 * * *")
        expect(page.locator("#edit")).to_contain_text("Sun 29 Mar 2026 03:00")
        expect(page.locator("#edit")).to_contain_text("the clock jumps from 02:00 to 03:00")
        expect(save).to_be_enabled()
        field.fill("0 7 * * *")
        expect(page.locator("#edit")).to_contain_text("At 07:00 every day")
        save.click()
        expect(page.locator(".toast")).to_contain_text("Changed nightly")
        assert lived.app.schedules.get("nightly").trigger["text"] == "0 7 * * *"
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".toast")).to_contain_text("revision 1 again")
        visit.check()


def test_without_scripts_a_trigger_is_checked_by_a_button(browser: Browser, lived: Site) -> None:
    with visiting(browser, lived, "admin", scripts=False) as visit:
        page = visit.open("/schedules/nightly")
        page.locator("#edit").get_by_label("Trigger").fill("30 2 * * 8")
        page.locator("#edit").get_by_role("button", name="Check").click()
        expect(page.locator("pre.checked")).to_contain_text("day of week: 8 is not 0-7")
        expect(page.get_by_role("button", name="Save")).to_be_disabled()
        page.get_by_role("button", name="30 2 * * 7").click()
        expect(page.get_by_label("Trigger")).to_have_value("30 2 * * 7")
        page.get_by_role("button", name="Save").click()
        assert lived.app.schedules.get("nightly").trigger["text"] == "30 2 * * 7"


def test_the_second_of_two_who_edit_sees_both_and_loses_nothing(browser: Browser, lived: Site) -> None:
    with visiting(browser, lived, "admin") as visit:
        page = visit.open("/schedules/nightly/edit")
        page.get_by_label("Trigger").fill("0 9 * * *")
        page.get_by_label("Tags").fill("etl, mine")
        with acting_as("ops-2", "dashboard"):
            lived.app.schedules.update("nightly", trigger=cron("0 5 * * *", tz="Europe/Berlin"))
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("ops-2 changed nightly while you were editing")
        expect(page.get_by_label("Trigger")).to_have_value("0 9 * * *")
        expect(page.get_by_label("Tags")).to_have_value("etl, mine")
        expect(page.locator("main")).to_contain_text("0 5 * * *")
        assert barriers(page) == ""
        page.get_by_role("button", name="Save yours over it").click()
        expect(page.locator(".toast")).to_contain_text("Changed nightly")
        now = lived.app.schedules.get("nightly")
        assert (now.trigger["text"], now.tags) == ("0 9 * * *", ("etl", "mine"))


@pytest.mark.parametrize("scripts", [True, False])
def test_what_was_deleted_can_be_put_back(browser: Browser, lived: Site, scripts: bool) -> None:
    with visiting(browser, lived, "admin", scripts=scripts) as visit:
        page = visit.open("/schedules/nightly")
        page.get_by_role("link", name="Delete…").click()
        page.get_by_label("Type its name").fill("nightly")
        page.get_by_role("button", name="Delete", exact=True).click()
        expect(page.locator(".toast")).to_contain_text("Deleted nightly")
        page.get_by_role("button", name="Put it back").click()
        expect(page.locator(".toast")).to_contain_text("nightly is back")
        assert not lived.app.schedules.get("nightly").deleted
        visit.check()


def test_a_schedule_is_made_of_a_form_with_what_it_will_do(browser: Browser, lived: Site) -> None:
    lived.app.open_store()
    with visiting(browser, lived, "admin") as visit:
        page = visit.open("/schedules")
        page.get_by_role("link", name="New").click()
        page.get_by_label("Name").fill("fresh")
        page.get_by_label("Trigger").fill("every 15m")
        expect(page.locator("#preview")).to_contain_text("Every 15 minutes")
        page.get_by_role("button", name="Create").click()
        expect(page.locator(".toast")).to_contain_text("fresh is planned")
        assert lived.app.schedules.get("fresh").trigger["interval"] == "15m"
        visit.check()


def test_a_long_name_and_a_long_legend_fit_on_a_phone(browser: Browser, lived: Site) -> None:
    name = "x" * 200
    lived.app.schedules.put(name, "send", every("1d"))
    with visiting(browser, lived, "admin", width=NARROW) as visit:
        for path in (f"/schedules/{name}", "/schedules", "/schedules/nightly"):
            page = visit.open(path)
            more = "<span>1 waiting</span><span>9 left out</span><span>1 running</span><span>3 lost</span>"
            page.evaluate("more => document.querySelector('.more.legend')?.insertAdjacentHTML('beforeend', more)", more)
            assert not is_wider_than_the_window(page), path


def test_the_moment_to_ask_about_follows_until_somebody_types(browser: Browser, lived: Site) -> None:
    with visiting(browser, lived, "admin") as visit:
        page = visit.open("/schedules/stock-00")
        field = page.locator("#ask-tick")
        outcome = page.evaluate(
            """async () => {
                const live = [...document.scripts].find((script) => script.src.endsWith("live.js"));
                const { morph } = await import(live.src.replace("live.js", "morph.js"));
                const field = document.getElementById("ask-tick"), wanted = field.cloneNode();
                wanted.setAttribute("value", "2026-03-26T14:00Z");
                morph(field, wanted);
                const followed = field.value;
                field.value = "typed";
                wanted.setAttribute("value", "2026-03-26T14:10Z");
                morph(field, wanted);
                return [followed, field.value];
            }"""
        )
        assert outcome == ["2026-03-26T14:00Z", "typed"]
        expect(field).to_have_value("typed")
