"""Forms of pages: what they do, what they say beforehand, and how they are undone."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import quote, urlencode

import pytest
from tests.surfaces.web.client import Callers, Client

from onthedot import App, every
from onthedot.errors import StoreUnavailable
from onthedot.model.node import Node
from onthedot.moments import iso

NAMES = ("a", "b & <c>", "ü☃'\"")


@pytest.fixture
def three(app: App) -> App:
    for name in NAMES:
        app.schedules.put(name, "report", every("1d"))
    return app


@pytest.fixture
def page(callers: Callers) -> Client:
    """An admin who needs no session: a bearer's forms need no token against forgery."""
    return Client(callers.web, token=callers.admin.token, headers={"Accept": "text/html"}, prefix="")


def _ask(page: Client, act: str) -> str:
    query = urlencode([("act", act), *(("name", name) for name in NAMES)])
    return page.ask("GET", f"/bulk?{query}").text


def _form(text: str) -> list[tuple[str, str]]:
    """The hidden fields of the question, as a browser would send them."""
    question = text[text.index('id="ask"') :]
    return [
        (name, unescape(value)) for name, value in re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', question)
    ]


def _post(page: Client, path: str, fields: list[tuple[str, str]]) -> str:
    """What the page says to which the act leads."""
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = page.ask("POST", path, content=urlencode(fields), headers=headers)
    assert answer.status_code == 303, answer.text
    cookies = "; ".join(f"{name}={value}" for name, value in answer.cookies.items())
    return page.ask("GET", "/changes", headers={"Cookie": cookies}).text


def _undo(text: str) -> tuple[str, list[tuple[str, str]]]:
    toast = text[text.index('class="toast') :]
    toast = toast[: toast.index("</form>")]
    (path,) = re.findall(r'action="([^"]+)"', toast)
    found = re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', toast)
    return path, [(name, unescape(value)) for name, value in found]


def test_many_are_paused_with_a_note_and_resumed_by_undo(three: App, page: Client) -> None:
    question = _ask(page, "pause")
    assert "Pause 3 schedules?" in question
    told = _post(page, "/bulk", [*_form(question), ("note", "OPS-412")])
    assert "Paused 3 schedules" in told
    assert {each.paused_note for each in three.schedules.list()} == {"OPS-412"}
    assert "Resumed 3 schedules" in _post(page, *_undo(told))
    assert all(each.enabled for each in three.schedules.list())


def test_many_are_deleted_and_put_back(three: App, page: Client) -> None:
    before = [(each.name, each.trigger) for each in three.schedules.list()]
    told = _post(page, "/bulk", _form(_ask(page, "delete")))
    assert len(three.schedules.list()) == 0
    assert "Put back 3 schedules" in _post(page, *_undo(told))
    assert [(each.name, each.trigger) for each in three.schedules.list()] == before


def test_what_became_of_each_is_told_where_some_refuse(three: App, page: Client) -> None:
    fields = _form(_ask(page, "trigger"))
    three.schedules.delete("a")
    told = unescape(_post(page, "/bulk", fields))
    assert "Triggered 2 schedules; 1 refused" in told


def test_an_act_that_is_refused_leads_back_and_says_why(three: App, page: Client) -> None:
    told = unescape(_post(page, "/bulk", [("act", "pause"), ("name", "a"), ("expect", "2"), ("back", "/changes")]))
    assert "it would be 1 schedules now, not 2" in told
    assert three.schedules.get("a").enabled


def test_a_dry_run_counts_what_a_pause_would_skip(three: App, page: Client) -> None:
    three.schedules.trigger("a")
    assert "No waiting run is skipped, none is running." in page.ask("GET", "/schedules/a/pause").text


def test_next_runs_are_moved_by_a_moment_that_lies_ahead(three: App, page: Client) -> None:
    answer = page.ask("POST", "/schedules/a/reschedule", data={"at": "yesterday"})
    assert answer.status_code == 422
    assert "is no moment" in unescape(answer.text)
    assert page.ask("POST", "/schedules/a/reschedule", data={"at": "2199-01-01T00:00Z"}).status_code == 303
    assert str(three.schedules.get("a").next_run_at) == "2199-01-01 00:00:00+00:00"


def test_a_run_is_triggered_with_other_arguments_and_cancelled_by_undo(three: App, page: Client) -> None:
    told = _post(page, "/schedules/a/trigger", [("arg.to", "bob"), ("back", "/changes")])
    (run,) = three.runs.list()
    assert run.args == {"to": "bob"}
    _post(page, *_undo(told))
    assert three.runs.get(run.id).state == "cancelled"


def test_a_node_that_died_is_forgotten_from_its_page_and_one_that_lives_says_why_not(three: App, page: Client) -> None:
    store = three.open_store()
    node = store.join(Node("n-1", "ams-1"), [])
    assert "drain it" in _post(page, "/nodes/n-1/forget", [])
    assert [each.id for each in three.nodes.list()] == ["n-1"]
    store.leave(node.id)
    _post(page, "/nodes/n-1/forget", [])
    assert three.nodes.gone() == []
    (line, *_) = three.schedules.changes()
    assert (line.by.surface, line.by.what, line.after["node"]) == ("dashboard", "forget", "ams-1")


@pytest.mark.parametrize(
    "path", ["/schedules/none/pause", "/runs/none/cancel", "/nodes/none/drain", "/tasks/none/enqueue"]
)
def test_what_is_not_there_is_told_as_a_page(page: Client, path: str) -> None:
    answer = page.ask("GET", path)
    assert answer.status_code in (404, 422)
    assert "<h1>" in answer.text


def test_a_body_that_is_no_form_is_refused(three: App, page: Client) -> None:
    assert page.ask("POST", "/schedules/a/pause", json={"note": "x"}).headers["location"] == "/"
    assert three.schedules.get("a").enabled
    many = urlencode([("name", "x")] * 3000)
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = page.ask("POST", "/bulk", content=many, headers=headers)
    assert answer.status_code < 500


def test_more_runs_than_are_changed_at_once_are_refused_and_not_left_out(app: App, page: Client) -> None:
    run = app.enqueue("report", delay="1h")
    told = _post(page, "/runs-bulk", [("act", "cancel"), ("id", run.id), *(("id", str(each)) for each in range(1000))])
    assert "1,001 runs; at most 1,000 at once" in told
    assert app.runs.get(run.id).state == "waiting"


def test_a_store_that_goes_away_amid_many_acts_is_not_asked_for_each_of_the_rest(
    app: App, page: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def away(run_id: str, **_: str) -> None:
        asked.append(run_id)
        raise StoreUnavailable("it went away")

    monkeypatch.setattr(app.runs, "cancel", away)
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = page.ask("POST", "/runs-bulk", content="act=cancel&id=1&id=2&id=3", headers=headers)
    assert (answer.status_code, asked) == (503, ["1"])


def test_schedules_are_frozen_and_thawed_and_bad_windows_told(three: App, page: Client) -> None:
    window = [("start", iso(three.now_ms() - 1000)), ("end", iso(three.now_ms() + 3_600_000))]
    told = _post(page, "/freezes", [("name", "x & <mas>"), *window, ("pattern", "b*")])
    assert "x &amp; &lt;mas&gt; freezes those named b*" in told
    assert [bool(each.frozen) for each in three.schedules.list()] == [False, True, False]
    shown = page.ask("GET", f"/schedules/{quote(NAMES[1])}").text
    assert "It is frozen by" in shown
    assert "As things stand" not in shown
    assert "frozen</span>" in page.ask("GET", "/schedules").text
    assert "lasts until" in page.ask("GET", "/freezes").text
    assert "Thawed" in _post(page, *_undo(told))
    assert "Nothing is frozen" in page.ask("GET", "/freezes").text
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    wrong = page.ask("POST", "/freezes", content=urlencode([("name", "y"), ("start", "soon")]), headers=headers)
    assert (wrong.status_code, "&#39;soon&#39; is no moment" in wrong.text) == (422, True)


def test_ticks_are_skipped_and_given_back_by_undo(three: App, page: Client) -> None:
    before = three.schedules.get("a").next_run_ms
    assert "How many ticks" in page.ask("GET", "/schedules/a/skip").text
    told = _post(page, "/schedules/a/skip", [("n", "2")])
    assert "a skips 2 ticks" in told
    assert three.schedules.get("a").skips == 2
    assert "2 ticks will be skipped" in page.ask("GET", "/schedules/a").text
    assert "skips nothing any more" in _post(page, *_undo(told))
    assert three.schedules.get("a").next_run_ms == before
