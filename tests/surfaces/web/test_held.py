"""Schedules that nobody declares, that leave out ticks, or that nobody can run: found, counted, and told as such."""

from __future__ import annotations

import html

import pytest
from tests.surfaces.web.client import Callers, Client

from onthedot import App, every
from onthedot.model.change import Author
from onthedot.model.node import Node
from onthedot.model.schedule import UNDECLARED_AFTER_MS
from onthedot.model.values import replace
from onthedot.moments import ceil_ms, iso
from onthedot.rules.effects import Before, Effects


@pytest.fixture
def able(app: App) -> Node:
    """A node that has the task."""
    return app.open_store().join(Node("n1", "web", tasks=("report",)), app.tasks.infos())


@pytest.fixture
def three(app: App, able: Node) -> None:
    """One that runs, one that nobody declares, one that left out a tick a moment ago."""
    for name in ("fine", "forgotten", "crowded"):
        app.schedules.put(name, "report", every("20s"))
    now_ms = app.open_store().now_ms()
    _overwrite(app, "forgotten", declared_seen_ms=now_ms - UNDECLARED_AFTER_MS - 1)
    _overwrite(app, "crowded", left_out_ms=now_ms)


def _overwrite(app: App, name: str, **fields: int) -> None:
    def edit(before: Before, _: int) -> Effects:
        assert before.schedule is not None
        return Effects(schedule=replace(before.schedule, **fields, version=before.schedule.version + 1))

    app.open_store().change([name], edit, Author("test", "test", "overwrite"))


def look(client: Client, path: str) -> str:
    response = client.ask("GET", path)
    assert response.status_code == 200
    return html.unescape(response.text)


def test_the_list_has_a_facet_for_each_with_its_count(three: None, callers: Callers) -> None:
    page = look(callers.viewer, "/schedules")
    for words, state in (("Left out, 24 h <b>1</b>", "leaving_out"), ("Undeclared <b>1</b>", "undeclared")):
        assert words in page
        assert f"state={state}" in page
    assert ">crowded</a>" in look(callers.viewer, "/schedules?state=leaving_out")
    undeclared = look(callers.viewer, "/schedules?state=undeclared")
    assert (">forgotten</a>" in undeclared, ">fine</a>" in undeclared) == (True, False)
    assert "no node declares it since" in undeclared


def test_the_same_is_asked_over_http_and_by_many(three: None, admin: Client) -> None:
    def names(state: str) -> list[str]:
        return [each["name"] for each in admin.get(f"/schedules?state={state}").json()["schedules"]]

    assert (names("undeclared"), names("leaving_out")) == (["forgotten"], ["crowded"])
    assert len(names("active")) == 3
    told = admin.post("/bulk", {"act": "delete", "filter": {"state": "undeclared"}, "dry_run": True}).json()
    assert [each["name"] for each in told["results"]] == ["forgotten"]


def test_what_nobody_declares_is_not_to_come_anywhere(app: App, three: None, callers: Callers) -> None:
    assert "None while no live node declares it." in look(callers.viewer, "/schedules/forgotten")
    assert "coming" not in {each["kind"] for each in callers.viewer.get("/schedules/forgotten/ticks").json()["ticks"]}
    told = callers.viewer.get("/schedules/forgotten/next").json()
    assert (told["state"], told["held"]) == (
        "undeclared",
        "no live node declares it any more: its ticks are left out",
    )
    forecast = callers.viewer.get("/forecast").json()
    assert forecast["notes"] == ["1 schedule is not counted: no live node declares it any more"]
    alone = 24 * 3600 // 20
    assert 2 * alone - 2 <= forecast["runs"] <= 2 * alone + 2
    assert forecast["notes"][0] in look(callers.viewer, "/timeline")
    assert ">forgotten</a>" not in look(callers.viewer, "/").partition('id="next"')[2]


def test_what_nobody_can_run_says_so_where_its_ticks_are_shown(app: App, able: Node, callers: Callers) -> None:
    app.schedules.put("elsewhere", "report", every("1h"), group="gpu")
    why = "no live node is in the group gpu"
    assert callers.viewer.get("/schedules/elsewhere/next").json()["held"] == f"{why}: its runs wait for one"
    page = look(callers.viewer, "/schedules/elsewhere")
    assert f"Its ticks come, and nothing runs them:</b> {why}: its runs wait for one." in page
    assert callers.viewer.get("/forecast").json()["notes"] == [f"elsewhere cannot run: {why}"]
    assert f"elsewhere cannot run: {why}." in look(callers.viewer, "/timeline")
    assert why in look(callers.viewer, "/").partition('id="next"')[2]
    app.schedules.put("here", "report", every("1h"))
    assert callers.viewer.get("/schedules/here/next").json()["held"] is None
    assert "nothing runs them" not in look(callers.viewer, "/schedules/here")


def test_a_paused_one_says_that_its_moments_come_to_nothing(app: App, able: Node, admin: Client) -> None:
    app.schedules.put("s", "report", every("1h"))
    app.schedules.pause("s")
    assert admin.get("/schedules/s/next").json()["held"] == "it is paused: its ticks are left out"


def test_what_has_gone_by_while_it_was_held_is_not_to_come(app: App, three: None, admin: Client) -> None:
    gone_ms = app.open_store().now_ms() - 60_000
    app.schedules.pause("fine")
    _overwrite(app, "fine", next_run_ms=gone_ms)
    _overwrite(app, "forgotten", next_run_ms=gone_ms)
    _overwrite(app, "crowded", next_run_ms=gone_ms)
    for name, is_over in (("fine", True), ("forgotten", True), ("crowded", False)):
        first = admin.get(f"/schedules/{name}/next?n=2").json()["moments"][0]["at"]
        assert (ceil_ms(first) > gone_ms) == is_over, name


def test_no_more_is_told_to_come_than_it_may_still_have(app: App, able: Node, admin: Client) -> None:
    app.schedules.put("thrice", "report", every("20s"), max_runs=3)
    _overwrite(app, "thrice", planned_runs=1)
    assert len(admin.get("/schedules/thrice/next?n=10").json()["moments"]) == 2
    assert len(app.schedules.next("thrice", 10)) == 2


def test_the_story_of_what_nobody_declares_has_no_next_tick(app: App, three: None, callers: Callers) -> None:
    told = callers.viewer.get(f"/schedules/forgotten/explain?at={iso(app.open_store().now_ms() - 3_600_000)}").json()
    assert "coming" not in {fact["kind"] for fact in told["story"]}
    told = callers.viewer.get(f"/schedules/fine/explain?at={iso(app.open_store().now_ms() - 3_600_000)}").json()
    assert "coming" in {fact["kind"] for fact in told["story"]}


def test_those_that_a_freeze_holds_now_are_counted_and_listed(app: App, able: Node, callers: Callers) -> None:
    app.schedules.put("prod", "report", every("1h"), tags=["prod"])
    app.schedules.put("test", "report", every("1h"))
    app.freeze("xmas", "2020-01-01T00:00Z", "2199-01-01T00:00Z", where={"tag": "prod"})
    page = look(callers.viewer, "/schedules?state=frozen")
    assert "Frozen now <b>1</b>" in page
    assert (">prod</a>" in page, ">test</a>" in page) == (True, False)
    assert '#m-frozen"/></svg><a class="strong" href="/schedules/prod"' in page
    assert '#m-frozen"/></svg>frozen</span></h1>' in look(callers.viewer, "/schedules/prod")
    states = [callers.viewer.get(f"/schedules/{name}").json()["state"] for name in ("prod", "test")]
    assert states == ["frozen", "active"]
    assert callers.viewer.get("/schedules/prod/next").json()["state"] == "frozen"
    assert [each["name"] for each in callers.viewer.get("/schedules?state=frozen").json()["schedules"]] == ["prod"]
    assert "/schedules?state=frozen" in look(callers.viewer, "/freezes")
    assert callers.viewer.get("/status").json()["frozen"] == 1
