"""Scripts off: everything can be read and done with plain links and forms."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Page, expect
from tests.browser.site import Site, visiting

from onthedot import every


def test_whoever_is_not_known_signs_in_and_comes_to_the_page_that_they_wanted(browser: Browser, site: Site) -> None:
    text = site.app.tokens.create("ann", "operator").text
    with visiting(browser, site, scripts=False) as visit:
        page = visit.open("/changes?name=nightly")
        page.get_by_label("Your token").fill("otd.the-admin.wrong")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("this is no token")
        page.get_by_label("Your token").fill(text)
        page.get_by_role("button", name="Sign in").click()
        expect(page).to_have_url(f"{site.address}/changes?name=nightly")
        page.get_by_role("button", name="sign out").click()
        expect(page).to_have_url(f"{site.address}/sign-in")
        visit.open("/nodes")
        expect(page).to_have_title("Sign in · onthedot")


def test_a_node_is_asked_to_drain_after_a_question(browser: Browser, site: Site) -> None:
    node = site.node()
    with visiting(browser, site, "operator", scripts=False) as visit:
        page = visit.open("/nodes")
        page.get_by_role("link", name="Drain ams-1").click()
        expect(page.locator("#ask")).to_contain_text("No other node takes runs: nothing will run")
        page.get_by_role("button", name="Drain it").click()
        expect(page).to_have_url(f"{site.address}/nodes")
        expect(page.get_by_role("status")).to_contain_text("ams-1 drains")
        expect(page.locator(f"#node-{node.id}")).to_contain_text("draining")
    (line, *_) = site.app.schedules.changes()
    assert (line.by.who, line.by.surface, line.by.what) == ("the-operator", "dashboard", "drain")


def test_each_pool_of_a_node_has_its_bar(browser: Browser, site: Site) -> None:
    node, store = site.node(), site.app.open_store()
    for _ in range(3):
        site.app.enqueue("report", args={"to": "ann"})
    site.app.enqueue("report", args={"to": "ann"}, pool="slow")
    store.start_due(node.id, ["report"], 4)
    with visiting(browser, site, "viewer", scripts=False) as visit:
        page = visit.open("/nodes")
        load = page.locator(f"#node-{node.id} .load")
        expect(load).to_have_text(re.compile(r"fast\s*3 / 32\s*slow\s*1 / 16"))
        expect(load.locator("svg.bar")).to_have_count(2)
        expect(page.locator(".sub")).to_contain_text("44 more runs could begin now")


def test_a_node_that_died_is_forgotten_by_an_operator_and_not_by_a_viewer(browser: Browser, site: Site) -> None:
    store = site.app.open_store()
    site.node("ams-2")
    dead = site.node("ams-1", lease_ms=0)
    store.take_over(dead.id, 0)
    with visiting(browser, site, "viewer", scripts=False) as visit:
        page = visit.open("/nodes")
        expect(page.locator(f"#node-{dead.id}")).to_contain_text("It cannot come back as itself")
        expect(page.get_by_role("button", name="Forget")).to_have_count(0)
    with visiting(browser, site, "operator", scripts=False) as visit:
        page = visit.open("/nodes")
        page.locator(f"#node-{dead.id}").get_by_role("button", name="Forget").click()
        expect(page.get_by_role("status")).to_contain_text("ams-1 is forgotten")
        expect(page.locator(f"#node-{dead.id}")).to_have_count(0)
    (line, *_) = site.app.schedules.changes()
    assert (line.by.who, line.by.surface, line.by.what) == ("the-operator", "dashboard", "forget")


def test_a_token_is_made_shown_once_and_revoked(browser: Browser, site: Site) -> None:
    with visiting(browser, site, "admin", scripts=False) as visit:
        page = visit.open("/tokens")
        page.get_by_label("Name, as the audit shows it").fill("deploy-bot")
        page.get_by_label("Role").select_option("operator")
        page.get_by_label("Ends in").fill("90d")
        page.get_by_role("button", name="Make it").click()
        text = page.locator(".secret").inner_text()
        token = site.app.tokens.check(text)
        assert token is not None
        assert (token.name, str(token.role)) == ("deploy-bot", "operator")
        visit.open("/tokens")
        assert text not in page.content()
        page.get_by_role("link", name="Revoke deploy-bot").click()
        page.get_by_role("button", name="Revoke").click()
        expect(page.get_by_role("status")).to_contain_text("Revoked deploy-bot")
        assert site.app.tokens.check(text) is None


def test_a_token_that_cannot_be_made_says_why_and_keeps_what_was_written(browser: Browser, site: Site) -> None:
    with visiting(browser, site, "admin", scripts=False) as visit:
        page = visit.open("/tokens")
        page.get_by_label("Name, as the audit shows it").fill("the-viewer")
        page.get_by_role("button", name="Make it").click()
        expect(page.get_by_role("alert")).to_contain_text("the-viewer")
        expect(page.get_by_label("Name, as the audit shows it")).to_have_value("the-viewer")


def test_the_zone_switch_changes_every_moment_and_nothing_else(browser: Browser, site: Site) -> None:
    site.app.schedules.put("nightly", "report", every("1d"), args={"to": "ann"})
    with visiting(browser, site, "viewer", scripts=False) as visit:
        page = visit.open("/changes")
        utc = _moments(page)
        page.get_by_role("link", name="Its own").click()
        visit.open("/changes?zone=Asia/Kathmandu")
        there = _moments(page)
        assert [title for _, title in there] == [title for _, title in utc]
        assert all(shown != before for (shown, _), (before, _) in zip(there, utc, strict=True))
        visit.open("/changes")
        assert _moments(page) == there  # it stays
        page.get_by_role("link", name="UTC").click()
        assert _moments(page) == utc


def _moments(page: Page) -> list[tuple[str, str]]:
    """What is shown, and its ISO text in UTC."""
    found = page.locator("main li time[title]:not([data-counts])").all()
    assert found
    return [(each.inner_text(), each.get_attribute("title") or "") for each in found]


def test_a_pause_says_beforehand_what_it_does_and_is_undone_by_a_new_act(browser: Browser, site: Site) -> None:
    site.app.schedules.put("nightly", "report", every("1d"), args={"to": "ann"})
    with visiting(browser, site, "operator", scripts=False) as visit:
        page = visit.open("/schedules/nightly/pause?back=/changes")
        expect(page.locator("#ask")).to_contain_text("No waiting run is skipped, none is running.")
        page.get_by_label("Why? Shown to everybody who asks").fill("OPS-412")
        page.get_by_role("button", name="Pause").click()
        expect(page).to_have_url(f"{site.address}/changes")
        assert site.app.schedules.get("nightly").paused_note == "OPS-412"
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("status")).to_contain_text("Resumed nightly")
    assert site.app.schedules.get("nightly").enabled
    assert [line.by.what for line in site.app.schedules.changes("nightly")] == ["resume", "pause", "put"]


def test_a_deletion_wants_the_name_and_can_be_put_back(browser: Browser, site: Site) -> None:
    site.app.schedules.put("nightly", "report", every("1d"), args={"to": "ann"})
    site.app.schedules.pause("nightly", note="OPS-412")
    with visiting(browser, site, "admin", scripts=False) as visit:
        page = visit.open("/schedules/nightly/delete?back=/changes")
        page.get_by_label("Type its name").fill("nightl")
        page.get_by_role("button", name="Delete").click()
        expect(page.locator("#ask")).to_contain_text("this is not its name")
        page.get_by_label("Type its name").fill("nightly")
        page.get_by_role("button", name="Delete").click()
        assert not [*site.app.schedules.list()]
        page.get_by_role("button", name="Put it back").click()
        expect(page.get_by_role("status")).to_contain_text("nightly is back")
    back = site.app.schedules.get("nightly")
    assert (back.args, back.enabled, back.paused_note) == ({"to": "ann"}, False, "OPS-412")


def test_a_task_runs_once_with_arguments_that_are_checked(browser: Browser, site: Site) -> None:
    with visiting(browser, site, "operator", scripts=False) as visit:
        page = visit.open("/tasks")
        page.get_by_role("link", name="Run report once").click()
        page.get_by_label("to").fill("ann")
        page.get_by_label("copies").fill("ten")
        page.get_by_role("button", name="Run it").click()
        expect(page.locator("#ask")).to_contain_text("copies: a whole number is wanted, not 'ten'")
        expect(page.get_by_label("to")).to_have_value("ann")
        page.get_by_label("copies").fill("3")
        page.get_by_label("Begin in").fill("1h")
        page.get_by_role("button", name="Run it").click()
        expect(page.get_by_role("status")).to_contain_text("report is enqueued, to begin in 1h")
    (run,) = site.app.runs.list()
    assert run.args == {"to": "ann", "copies": 3}
