"""What somebody would try who means harm: with forms, addresses, headers and documents that no page of ours makes."""

from __future__ import annotations

import copy
import html
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import pytest
from tests.surfaces.web.client import Callers, Client

from onthedot import App, every
from onthedot.errors import ScheduleNotFound

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
BROWSER = {"Accept": "text/html"}
DEEP = "[" * 100_000 + "]" * 100_000


def send(client: Client, path: str, **fields: str | list[str]) -> httpx.Response:
    return client.ask("POST", path, content=urlencode(fields, doseq=True), headers={**FORM, **BROWSER})


@pytest.fixture
def nightly(app: App) -> None:
    app.schedules.put("nightly", "report", every("1h"))


# who may do what


def test_an_operator_cannot_put_definitions_back_by_way_of_many(app: App, callers: Callers, nightly: None) -> None:
    app.schedules.delete("nightly")
    answer = send(callers.operator, "/bulk", act="put back", name="nightly", revisions="1")
    assert answer.status_code == 403
    with pytest.raises(ScheduleNotFound):
        app.schedules.get("nightly")
    assert send(callers.admin, "/bulk", act="put back", name="nightly", revisions="1").status_code == 303
    assert app.schedules.get("nightly").task == "report"


def test_a_page_imports_only_tasks_that_somebody_has(app: App, admin: Client, nightly: None) -> None:
    document = app.schedules.export()
    document["schedules"][0] |= {"name": "evil", "task": "rm"}
    for do in ("look", "import"):
        answer = send(admin, "/import", document=json.dumps(document), do=do)
        assert answer.status_code == 422
        assert "nobody has the task" in answer.text
    assert [each.name for each in app.schedules.list()] == ["nightly"]


# where one is sent


@pytest.mark.parametrize("path", ["//evil.example/x", "//evil.example", "///evil.example", "//evil.example/a?b=c"])
def test_a_link_that_begins_like_another_host_leads_nowhere_else(callers: Callers, path: str) -> None:
    browser = callers.nobody.with_headers(Accept="text/html", Sec_Fetch_Site="cross-site")
    answer = browser.ask("GET", f"http://testserver{path}")
    assert "url=//" not in answer.text
    assert not answer.headers.get("location", "/").startswith("//")


@pytest.mark.parametrize("wanted", ["//[", "http://[", "//[::1", "/\\evil", "/%5cevil", "//evil.example"])
def test_an_address_that_is_none_of_ours_is_not_followed(callers: Callers, nightly: None, wanted: str) -> None:
    quoted = quote(wanted, safe="")
    assert callers.nobody.ask("GET", f"/sign-in?next={quoted}").status_code == 200
    assert callers.admin.ask("GET", f"/schedules/nightly/pause?back={quoted}").status_code == 200
    assert callers.admin.ask("GET", "/keys", headers={"Referer": wanted}).status_code == 200
    assert send(callers.nobody.with_headers(Referer=wanted), "/schedules/nightly/pause").status_code == 303
    answer = send(callers.operator, "/schedules/nightly/resume", back=wanted)
    assert (answer.status_code, answer.headers["location"]) == (303, "/schedules/nightly")


@pytest.mark.parametrize("host", ["[", "a/b?c#", "evil.example", "a@b:c", "x" * 5000])
def test_whatever_host_is_named_nobody_is_sent_there(admin: Client, host: str) -> None:
    for path in ("/nodes", "/nodes/", "/api/v1/nodes/", "/nosuch", "//x"):
        answer = admin.ask("GET", f"http://testserver{path}", headers={"Host": host, **BROWSER})
        assert answer.status_code < 500
        assert host not in answer.headers.get("location", "")
        assert host not in answer.text


@pytest.mark.parametrize("name", ["a?b", "50%", "50%25", "a#b", "🕰", '"><script>'])
def test_a_form_leads_back_to_a_name_with_any_character(app: App, admin: Client, name: str) -> None:
    app.schedules.put(name, "report", every("1h"))
    path = f"/schedules/{quote(name, safe='')}"
    page = html.unescape(admin.ask("GET", f"{path}?zone=own").text)
    assert f'href="{path}?zone=utc"' in page
    signed_out = admin.with_token(None).ask("GET", path, headers=BROWSER)
    assert signed_out.headers["location"] == f"/sign-in?next={quote(path)}"


# what is sent


@pytest.mark.parametrize("number", ["9" * 5000, "9" * 30, "9" * 19, "٣", "²"])
def test_no_number_of_a_form_is_too_large_for_us(app: App, admin: Client, nightly: None, number: str) -> None:
    run = app.enqueue("report")
    answers = [
        send(admin, "/schedules/nightly/put-back", revision=number),
        send(admin, "/bulk", act="pause", name="nightly", expect=number),
        send(admin, "/bulk", act="put back", name="nightly", revisions=number),
        send(admin, f"/runs/{run.id}/retry", claim_no=number),
        send(admin, "/schedules/nightly/edit", do="save", revision=number, trigger="every 2h"),
        send(admin, "/tasks/report/enqueue", delay=f"{number}s"),
        send(admin, "/schedules/nightly/reschedule", at=number),
        admin.post("/runs", {"task": "report", "delay": f"{number}s"}),
        admin.post("/preview", {"trigger": f"every {number}s"}),
    ]
    assert [each.status_code for each in answers if each.status_code >= 500] == []


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/x-www-form-urlencoded", "&".join(["name=x"] * 10_000)),
        ("application/x-www-form-urlencoded", "name=%ff"),
        ("application/json", "{}"),
        ("text/plain", "act=pause&name=nightly"),
    ],
)
def test_what_is_no_form_is_refused_and_changes_nothing(
    app: App, admin: Client, nightly: None, kind: str, body: str
) -> None:
    answer = admin.ask("POST", "/bulk", content=body, headers={"Content-Type": kind, **BROWSER})
    assert answer.status_code < 500
    assert app.schedules.get("nightly").enabled


def test_documents_that_are_nested_deeper_than_anybody_reads_are_refused(admin: Client, nightly: None) -> None:
    answers = [
        send(admin, "/import", document=DEEP),
        send(admin, "/schedules/nightly/edit", do="save", args=DEEP, options=DEEP),
        send(admin, "/schedules/nightly/trigger", args=DEEP),
        send(admin, "/tasks/report/enqueue", **{"arg.to": DEEP}),
        send(admin, "/schedules/nightly/trigger", **{"arg.to": DEEP}),
        admin.post("/check", {"text": f"a = {DEEP}"}),
        *(admin.ask("POST", f"/api/v1/{path}", content=DEEP, headers={"Content-Type": "application/json"})
          for path in ("runs", "import", "schedules", "session")),
    ]  # fmt: skip
    assert [each.status_code for each in answers if each.status_code >= 500] == []


def _spoilt(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The document with each value of its first schedule in turn exchanged for others."""
    for key in document["schedules"][0]:
        for wrong in (None, "x", -1, 10**30, 1.5, True, [], [1], {}, {"a": 1}, "\ud800", "9" * 5000, [["\ud800"]]):
            spoilt = copy.deepcopy(document)
            spoilt["schedules"][0][key] = wrong
            yield spoilt


def test_no_document_makes_an_import_fail(app: App, admin: Client, nightly: None) -> None:
    failed: set[str] = set()
    for document in _spoilt(app.schedules.export()):
        text = json.dumps(document)
        answer = admin.ask(
            "POST", "/api/v1/import?dry_run=true", content=text, headers={"Content-Type": "application/json"}
        )
        failed |= {text[:400]} if answer.status_code >= 500 else set()
    assert failed == set()


def test_what_no_encoding_takes_is_refused_or_shown(app: App, admin: Client, nightly: None) -> None:
    lone = json.dumps({"to": "\ud800"})
    answers = [
        send(admin, "/schedules/nightly/trigger", args=lone),
        send(admin, "/schedules/nightly/edit", do="save", args=lone),
        send(admin, "/schedules/nightly/edit", do="look", args=lone),
        send(admin, "/schedules/nightly/edit", do="save", options=lone),
        send(admin, "/tasks/report/enqueue", **{"arg.to": '"\\ud800"'}),
        send(admin, "/tasks/report/enqueue", arguments=lone),
        send(admin, "/import", document=json.dumps({"onthedot": 1, "schedules": [{"name": "\ud800"}]})),
        admin.ask("GET", "/schedules/nightly"),
        admin.ask("GET", "/runs"),
        *(admin.ask("GET", f"/runs/{run.id}") for run in app.runs.list()),
    ]
    assert [each.status_code for each in answers if each.status_code >= 500] == []


def test_nobody_is_asked_about_a_token_that_there_is_not(admin: Client) -> None:
    assert admin.ask("GET", "/tokens/the-viewer/revoke").status_code == 200
    assert admin.ask("GET", f"/tokens/{'x' * 60_000}/revoke").status_code == 404
