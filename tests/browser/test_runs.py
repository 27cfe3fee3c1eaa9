"""The list of runs, and the page of one, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.past_runs import Cast, Past, furnish
from tests.browser.site import NAUGHTY, Site, barriers, each_look, is_wider_than_the_window, served, sqlite_in, visiting

PAGES = (
    "/runs",
    "/runs?state=failed",
    "/runs?state=lost&from=1h",
    "/runs?from=someday",
    "/runs/{running}",
    "/runs/{failed}",
    "/runs/{naughty}",
    "/runs/{waiting}",
    "/runs/{cancelled}?zone=own",
    "/runs/{running}?log=warnings",
    "/runs/{running}/cancel",
    "/runs/{failed}/retry",
    "/runs/{failed}/again",
    "/runs-bulk?act=cancel&id={running}&id={waiting}&id={failed}",
)
_EXPECTED = {"/runs?from=someday": "422"}


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Past]]:
    with served(sqlite_in(tmp_path_factory.mktemp("site"))) as site:
        yield site, furnish(site)


@pytest.fixture
def own(site: Site) -> tuple[Site, Past]:
    """For tests that change something."""
    return site, furnish(site)


def address(path: str, past: Past) -> str:
    return path.format(**{name: getattr(past, name) for name in past.__slots__})


# 1: everybody can use them


@pytest.mark.parametrize("path", PAGES)
def test_a_page_of_runs_is_complained_about_by_nobody(
    browser: Browser, furnished: tuple[Site, Past], path: str
) -> None:
    site, past = furnished
    with visiting(browser, site, "operator") as visit:
        page = visit.open(address(path, past))
        for _ in each_look(page):
            assert not is_wider_than_the_window(page)
            assert barriers(page) == ""
        visit.check(but=_EXPECTED.get(path))


def test_a_run_that_is_not_kept_says_so_and_leads_to_its_tick(browser: Browser, furnished: tuple[Site, Past]) -> None:
    site, _ = furnished
    with visiting(browser, site, "viewer") as visit:
        gone = "01a00000-0000-7000-8000-000000000000"
        page = visit.open(f"/runs/{gone}?schedule=ledger-close&tick=2026-03-26T13:30:00Z")
        expect(page.get_by_role("heading", level=1)).to_have_text("This run is not kept any more")
        link = page.get_by_role("link", name="why did ledger-close run")
        expect(link).to_have_attribute("href", "/schedules/ledger-close?tick=2026-03-26T13%3A30%3A00Z")
        for _ in each_look(page):
            assert barriers(page) == ""
        visit.check(but="404")


# what they say


def test_the_story_the_attempts_and_the_log_tell_of_deaths_and_failures(
    browser: Browser, furnished: tuple[Site, Past]
) -> None:
    site, past = furnished
    with visiting(browser, site, "viewer") as visit:
        page = visit.open(f"/runs/{past.running}")
        expect(page.locator(".story")).to_contain_text("Its first node died, its second attempt failed, and the third")
        chart = page.locator("svg.attempts").first
        expect(chart).to_have_attribute(
            "aria-label",
            "attempt 1 on nyc-2: the node died; attempt 2 on ams-2: "
            "failed: ConnectionResetError: ledger-api: connection reset by peer; attempt 3 on ams-1: running, 62 %",
        )
        expect(page.locator(".log .sep")).to_have_text(
            ["attempt 1 on nyc-2", "attempt 2 on ams-2", "attempt 3 on ams-1"]
        )
        expect(page.locator(".progress")).to_contain_text("ledger 11 of 14")
        expect(page.locator("#trace")).to_contain_text("ConnectionResetError")
        expect(page.get_by_role("link", name="Cancel")).to_have_count(0)  # a viewer only looks


def test_the_list_is_chosen_by_its_address_and_says_what_it_found(
    browser: Browser, furnished: tuple[Site, Past]
) -> None:
    site, past = furnished
    with visiting(browser, site, "viewer") as visit:
        page = visit.open("/runs")
        expect(page.get_by_role("heading", level=1)).to_have_text("1 under way, 1 waits")
        page.get_by_role("link", name="Failed").click()
        expect(page).to_have_url(f"{site.address}/runs?state=failed")
        expect(page.get_by_role("heading", level=1)).to_have_text("2 runs failed")
        assert rows(page) == [past.failed, past.naughty]
        page = visit.open("/runs?node=ams-2")
        assert rows(page) == [past.naughty]
        page = visit.open("/runs?schedule=ledger-close&state=failed&from=1h")
        expect(page.locator(".empty")).to_contain_text("No run failed since")
        page.get_by_role("link", name="any state").click()
        assert rows(page) == [past.running, past.succeeded]
        visit.check()


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("state=broken", "There is no state 'broken'"),
        ("from=someday", "“from”: 'someday' is no moment; write it like 1h, 7d or 2026-12-24 18:00."),
        ("node=nowhere", "No node named 'nowhere' is remembered."),
        ("from=1h&to=2h", "“from” is not before “to”"),
    ],
)
def test_a_filter_that_cannot_be_understood_is_told_in_one_line(
    browser: Browser, furnished: tuple[Site, Past], query: str, said: str
) -> None:
    with visiting(browser, furnished[0], "viewer") as visit:
        page = visit.open(f"/runs?{query}")
        expect(page.get_by_role("alert")).to_contain_text(said)
        expect(page.locator("tbody tr")).to_have_count(0)


def rows(page: Page) -> list[str]:
    expect(page.locator("[data-row]").first).to_be_visible()
    return [str(row.get_attribute("data-id")) for row in page.locator("[data-row]").all()]


# 2: without scripts


def test_without_scripts_a_run_is_cancelled_with_a_reason_retried_and_done_once_more(
    browser: Browser, own: tuple[Site, Past]
) -> None:
    site, past = own
    with visiting(browser, site, "operator", scripts=False) as visit:
        page = visit.open(f"/runs/{past.waiting}")
        page.get_by_role("link", name="Cancel…").click()
        expect(page.locator("#ask")).to_contain_text("It waits: it ends at once.")
        page.get_by_label("Why?").fill("not wanted")
        page.get_by_role("button", name="Cancel it").click()
        expect(page.locator(".story")).to_have_text(
            "Cancelled by the-operator (dashboard) before it began: not wanted."
        )
        page.get_by_role("link", name="Retry…").click()
        expect(page.locator("#ask")).to_contain_text("This will be attempt 1. You see claim 0")
        page.get_by_role("button", name="Retry it").click()
        expect(page.locator("h1 .chip")).to_contain_text("waiting")
        page.get_by_role("link", name="Run the same…").click()
        page.get_by_role("button", name="Run now").click()
        expect(page.get_by_role("status")).to_contain_text("report runs now")
    newest = site.app.runs.list(limit=1).items[0]
    assert (newest.args, newest.state) == ({"to": "carl"}, "waiting")


def test_without_scripts_nobody_is_offered_a_copy_that_nothing_makes(
    browser: Browser, furnished: tuple[Site, Past]
) -> None:
    site, past = furnished
    with visiting(browser, site, "viewer", scripts=False) as visit:
        page = visit.open(f"/runs/{past.failed}")
        expect(page.locator("#trace")).to_be_visible()
        expect(page.get_by_role("button", name="Copy")).to_be_hidden()


def test_without_scripts_picked_runs_are_cancelled_after_a_page_that_says_what_will_become_of_them(
    browser: Browser, own: tuple[Site, Past]
) -> None:
    site, past = own
    with visiting(browser, site, "operator", scripts=False) as visit:
        page = visit.open("/runs")
        for run_id in (past.running, past.waiting, past.failed):
            page.locator(f"input[value='{run_id}']").check()
        page.get_by_role("button", name="Cancel…").click()
        expect(page.locator("#ask")).to_contain_text("1 waits and ends at once; 1 is under way: it is asked to stop")
        expect(page.locator("#ask")).to_contain_text("1 has ended, and stays as it is")
        page.get_by_label("Why?").fill("wrong day")
        page.get_by_role("button", name="Cancel 2").click()
        expect(page.get_by_role("status")).to_contain_text("Cancelled 2 runs")
    assert site.app.runs.get(past.waiting).reason == "wrong day"
    assert site.app.runs.get(past.running).cancel_requested_ms is not None
    assert site.app.runs.get(past.failed).state == "failed"


# live


def test_runs_come_into_a_list_that_was_empty(browser: Browser, site: Site) -> None:
    with visiting(browser, site, "viewer") as visit:
        page = visit.open("/runs")
        expect(page.locator(".empty")).to_contain_text("No run was made")
        expect(page.locator("[data-state]").first).to_have_text("live")
        run = site.app.enqueue("report", args={"to": "ann"}, delay="1h")
        expect(page.locator(f"[data-id='{run.id}']")).to_contain_text("waiting, enqueued")
        expect(page.get_by_role("heading", level=1)).to_have_text("Nothing is under way, 1 waits")
        visit.check()


def test_the_log_follows_and_the_page_shows_the_end_without_a_reload(browser: Browser, own: tuple[Site, Past]) -> None:
    site, past = own
    cast, run = Cast(site), site.app.runs.get(past.running)
    with visiting(browser, site, "operator") as visit:
        page = visit.open(f"/runs/{past.running}")
        expect(page.locator("[data-following]")).to_have_text("following")
        cast.say(run, "ERROR", NAUGHTY)
        expect(page.locator(".log .e").last).to_contain_text(NAUGHTY)
        cast.end(run, "succeeded")
        expect(page.locator("h1 .chip")).to_contain_text("succeeded")
        expect(page.locator(".story")).to_contain_text("and the third succeeded after")
        expect(page.locator("[data-following]")).to_have_text("it has ended")
        visit.check()


def test_runs_are_picked_by_keys_and_asked_about_in_a_dialog(browser: Browser, own: tuple[Site, Past]) -> None:
    site, past = own
    with visiting(browser, site, "operator") as visit:
        page = visit.open("/runs?state=failed")
        expect(page.locator("[data-state]").first).to_have_text("live")
        page.keyboard.press("j")
        page.keyboard.press("x")
        page.keyboard.press("j")
        page.keyboard.press("x")
        expect(page.locator(".bulk")).to_be_visible()
        page.get_by_role("button", name="Retry…").click()
        expect(page.get_by_role("dialog")).to_contain_text("2 wait again")
        page.get_by_role("button", name="Retry 2").click()
        expect(page.get_by_role("status")).to_contain_text("Tried again: 2 runs")
        visit.check()
    assert site.app.runs.get(past.failed).state == "waiting"


# 10: zones


def test_the_zone_changes_every_moment_and_nothing_else(browser: Browser, furnished: tuple[Site, Past]) -> None:
    site, past = furnished
    with visiting(browser, site, "viewer", scripts=False) as visit:
        for path in ("/runs", f"/runs/{past.naughty}"):
            utc, there = moments(visit.open(f"{path}?zone=UTC")), moments(visit.open(f"{path}?zone=Asia/Kathmandu"))
            assert [title for title, _ in utc] == [title for title, _ in there]
            assert all(title.endswith("Z") for title, _ in utc)
            changed = [(a, b) for (_, a), (_, b) in zip(utc, there, strict=True)]
            assert all(a != b for a, b in changed if ":" in a)
            assert all(a == b for a, b in changed if ":" not in a)
            assert any(":" in a for a, _ in changed)


def moments(page: Page) -> list[tuple[str, str]]:
    """Of what stands still: how long ago something was is other each time one looks."""
    found = page.locator("main time:not([data-counts]):not(.live time)").all()
    return [(str(each.get_attribute("title")), each.inner_text()) for each in found if each.is_visible()]


# 11: bad names


def test_a_bad_name_is_shown_as_it_is_written(browser: Browser, furnished: tuple[Site, Past]) -> None:
    site, past = furnished
    with visiting(browser, site, "operator") as visit:
        page = visit.open("/runs")
        expect(page.locator(f"[data-id='{past.naughty}'] a")).to_have_text(NAUGHTY)
        page.locator(f"[data-id='{past.naughty}'] a").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text(NAUGHTY)
        expect(page.locator("#trace")).to_have_text(NAUGHTY)
        expect(page.locator(".log .w")).to_contain_text(NAUGHTY)
        visit.check()
