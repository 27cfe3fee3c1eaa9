"""Runs, nodes, tasks and health over HTTP."""

from __future__ import annotations

import json
import re
import socket
import sys
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.surfaces.web.client import Callers, Client, kind_of

from onthedot import App, every
from onthedot.model.log_line import LogLine
from onthedot.model.node import Node
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.model.values import replace
from onthedot.web.reading import run_model
from onthedot.web.routes import runs
from onthedot.web.serving import Place, WebServer


def test_a_run_is_enqueued_under_its_key_and_found_again(callers: Callers) -> None:
    given = {"task": "report", "args": {"to": "bob"}, "delay": "1h", "key": "invoice-7"}
    first, second = (callers.operator.post("/runs", given) for _ in range(2))
    assert (first.status_code, first.json()["state"]) == (202, "waiting")
    assert first.json()["id"] == second.json()["id"]
    assert first.json()["key"] == "invoice-7"
    del given["key"]
    by_header = callers.operator.post("/runs", given, headers={"Idempotency-Key": "invoice-7"})
    assert by_header.json()["id"] == first.json()["id"]
    assert callers.viewer.get(f"/runs/{first.json()['id']}").json() == first.json()
    (line,) = [each for each in callers.viewer.get("/changes").json()["changes"] if each["run"]]
    assert (line["who"], line["what"], line["run"]) == ("the-operator", "enqueue", first.json()["id"])


@pytest.mark.parametrize(
    ("other", "what"),
    [
        ({"args": {"to": "eve"}}, "args"),
        ({"delay": "2h"}, "delay"),
        ({"delay": None}, "delay"),
        ({"delay": None, "at": "2199-01-01T00:00:00Z"}, "at"),
        ({"options": {"timeout": "6m"}}, "options"),
        ({"args": {}, "options": {"retries": 4}}, "options and args"),
    ],
)
def test_another_request_under_the_same_idempotency_key_is_refused_and_the_same_is_the_first(
    app: App, callers: Callers, other: dict[str, Any], what: str
) -> None:
    given = {"task": "report", "args": {"to": "bob"}, "delay": "1h", "options": {"timeout": "5m"}}
    client = callers.operator.with_headers(Idempotency_Key="invoice-7")
    first = client.post("/runs", given)
    refused = client.post("/runs", {**given, **other})
    assert (refused.status_code, kind_of(refused)) == (422, "idempotency-key")
    assert f"run {first.json()['id']}, which was asked for with other {what};" in refused.json()["detail"]
    assert client.post("/runs", given).json() == first.json()
    by_key = callers.operator.post("/runs", {**given, **other, "key": "invoice-7"})
    assert by_key.json()["id"] == first.json()["id"], "a key of the work is not one of a request"
    assert len(app.runs.list()) == 1


def test_what_is_asked_for_at_a_moment_is_the_same_request_when_it_is_repeated(callers: Callers) -> None:
    client = callers.operator.with_headers(Idempotency_Key="xmas")
    first, second = (client.post("/runs", {"task": "report", "at": "2199-12-24T18:00:00+01:00"}) for _ in range(2))
    assert first.status_code == 202
    assert second.json() == first.json()


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"task": "reprot"}, "task-not-found"),
        ({"task": "report", "args": {"too": 1}}, "arguments"),
        ({"task": "report", "delay": "soon"}, "duration"),
        ({"task": "report", "at": "soon"}, "moment"),
        ({"task": "report", "delay": "1m", "at": "2199-01-01T00:00:00Z"}, "settings"),
        ({"task": "report", "options": {"unchecked": True}}, "settings"),
        ({"task": "report", "options": {"tags": ["x"]}}, "settings"),
        ({"task": "report", "command": "rm"}, "request"),
    ],
)
def test_what_cannot_be_enqueued_is_refused(callers: Callers, given: dict[str, object], kind: str) -> None:
    answer = callers.operator.post("/runs", given)
    assert (answer.status_code, kind_of(answer)) == (422, kind), answer.text


def test_runs_are_listed_newest_first_by_cursor_and_state(callers: Callers) -> None:
    ids = [callers.operator.post("/runs", {"task": "report"}).json()["id"] for _ in range(3)]
    page = callers.viewer.get("/runs?limit=2").json()
    assert [run["id"] for run in page["runs"]] == ids[:0:-1]
    rest = callers.viewer.get("/runs", params={"cursor": page["cursor"], "limit": 2}).json()
    assert ([run["id"] for run in rest["runs"]], rest["cursor"]) == (ids[:1], None)
    assert callers.viewer.get("/runs?state=running").json()["runs"] == []
    assert kind_of(callers.viewer.get("/runs?state=odd")) == "settings"


def test_a_run_is_cancelled_and_retried_by_the_claim_that_was_seen(callers: Callers) -> None:
    run_id = callers.operator.post("/runs", {"task": "report"}).json()["id"]
    ended = callers.operator.post(f"/runs/{run_id}/cancel", {"reason": "not today"}).json()
    assert (ended["state"], ended["reason"]) == ("cancelled", "not today")
    stale = callers.operator.post(f"/runs/{run_id}/retry", {"claim_no": 99})
    assert (stale.status_code, kind_of(stale)) == (409, "conflict")
    again = callers.operator.post(f"/runs/{run_id}/retry", {"claim_no": ended["claim_no"]})
    assert (again.status_code, again.json()["state"]) == (200, "waiting")
    assert callers.operator.post(f"/runs/{run_id}/retry").status_code == 409


def test_who_waits_for_a_run_gets_it_when_it_has_ended(app: App, callers: Callers, node: Node) -> None:
    run = _ended(app, node)
    told = callers.viewer.get(f"/runs/{run.id}?wait=30").json()
    assert (told["state"], told["result"]) == ("succeeded", None)  # a number that JSON does not have
    waiting = callers.operator.post("/runs", {"task": "report"}).json()["id"]
    assert callers.viewer.get(f"/runs/{waiting}?wait=0.3").json()["state"] == "waiting"
    assert callers.viewer.get(f"/runs/{waiting}?wait=31").status_code == 422


def test_nobody_asks_for_one_who_waited_and_has_gone(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many of them would keep all places before the store, for half a minute."""
    run = app.enqueue("report")
    handled = Event()

    def told(run: Run) -> Any:
        handled.set()
        return run_model(run)

    monkeypatch.setattr(runs, "run_model", told)
    server = WebServer(app, Place(port=0))
    where = urlsplit(server.address)
    with server.beside():
        with socket.create_connection((where.hostname, where.port)) as waiting:
            waiting.sendall(f"GET /api/v1/runs/{run.id}?wait=30 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert not handled.wait(1)
        assert handled.wait(10)


def test_the_log_of_a_run_comes_in_pages(app: App, callers: Callers, node: Node) -> None:
    run = _ended(app, node, lines=3)
    first = callers.viewer.get(f"/runs/{run.id}/logs?limit=2").json()
    assert ([line["text"] for line in first["lines"]], first["after"]) == (["line 0", "line 1"], 2)
    rest = callers.viewer.get(f"/runs/{run.id}/logs?after=2").json()
    assert ([line["text"] for line in rest["lines"]], rest["after"]) == (["line 2"], 3)
    assert kind_of(callers.viewer.get("/runs/nobody/logs")) == "run-not-found"


# nodes, tasks, health


def test_a_node_is_asked_to_drain_and_the_audit_says_by_whom(callers: Callers, node: Node) -> None:
    assert [each["name"] for each in callers.viewer.get("/nodes").json()["nodes"]] == ["web"]
    assert callers.operator.post("/nodes/web/drain").json()["state"] == "draining"
    line = callers.viewer.get("/changes").json()["changes"][0]
    assert (line["who"], line["what"], line["after"]["node"]) == ("the-operator", "drain", "web")
    assert kind_of(callers.operator.post("/nodes/gone/drain")) == "node-not-found"


def test_a_node_that_is_gone_is_forgotten_by_an_operator_and_one_that_lives_is_not(
    app: App, callers: Callers, node: Node
) -> None:
    refused = callers.operator.delete("/nodes/web")
    assert (refused.status_code, kind_of(refused)) == (409, "conflict")
    assert "node web is alive: drain it" in refused.json()["detail"]
    app.open_store().leave(node.id)
    assert callers.viewer.delete("/nodes/web").status_code == 403
    assert callers.operator.delete("/nodes/web").status_code == 204
    assert app.nodes.gone() == []
    line = callers.viewer.get("/changes").json()["changes"][0]
    assert (line["who"], line["what"], line["after"]["node_id"]) == ("the-operator", "forget", node.id)
    again = callers.operator.delete("/nodes/web")
    assert (again.status_code, kind_of(again)) == (404, "node-not-found")


def test_nodes_are_told_with_the_sizes_of_their_pools_and_what_runs_there(
    app: App, callers: Callers, node: Node
) -> None:
    store = app.open_store()
    store.join(replace(node, pools={"fast": 40, "loop": 40}), app.tasks.infos())
    for _ in range(3):
        app.enqueue("report")
    store.start_due(node.id, ["report"], 2)
    (told,) = callers.viewer.get("/nodes").json()["nodes"]
    assert told["pools"] == [
        {"pool": "fast", "size": 40, "running": 2, "is_needed": True},
        {"pool": "loop", "size": 40, "running": 0, "is_needed": False},
    ]
    assert told["running"] == 2
    scraped = callers.viewer.ask("GET", "/metrics").text
    assert 'onthedot_node_pool_size{node="web",pool="fast"} 40.0' in scraped
    assert 'onthedot_node_pool_running{node="web",pool="fast"} 2.0' in scraped


def test_tasks_are_told_with_their_parameters(callers: Callers) -> None:
    (task,) = callers.viewer.get("/tasks").json()["tasks"]
    assert (task["name"], [each["name"] for each in task["parameters"]]) == ("report", ["to"])


def test_status_and_doctor_say_what_the_command_line_says(callers: Callers, node: Node) -> None:
    status = callers.viewer.get("/status").json()
    assert (status["schedules"], [each["name"] for each in status["nodes"]]) == (0, ["web"])
    assert {each["about"] for each in callers.viewer.get("/doctor").json()["findings"]} >= {"schema"}


def test_whether_it_is_healthy_is_told_to_anybody_and_why_to_those_who_may_know(app: App, callers: Callers) -> None:
    open_, known = callers.nobody.ask("GET", "/healthz"), callers.viewer.ask("GET", "/healthz")
    assert (open_.status_code, open_.json()) == (503, {"healthy": False, "reasons": None})
    assert known.json()["reasons"] == ["no node is alive: nothing will run; start one with `onthedot run`"]
    wrong = callers.nobody.with_token("otd.a.b").ask("GET", "/healthz")
    assert wrong.json()["reasons"] is None
    app.open_store().join(Node("n1", "web"), [])
    assert callers.nobody.ask("GET", "/healthz").status_code == 200


def test_metrics_are_those_of_this_process(callers: Callers) -> None:
    answer = callers.viewer.ask("GET", "/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    assert "onthedot_runs_total" in answer.text or "onthedot_runs" in answer.text


def test_the_openapi_document_tells_each_role_and_has_examples(callers: Callers) -> None:
    document = callers.nobody.ask("GET", "/openapi.json").json()
    assert document["paths"]["/api/v1/schedules"]["post"]["x-role"] == "admin"
    assert document["components"]["schemas"]["NamedDefinition"]["examples"][0]["name"] == "nightly"
    operations = [each for path in document["paths"].values() for each in path.values()]
    assert all({"4XX", "5XX"} <= each["responses"].keys() for each in operations)
    assert all("security" in each for each in operations if each["x-role"] != "open")
    named = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document)))
    assert named <= document["components"]["schemas"].keys()


# forecast


def test_the_forecast_counts_by_bucket(app: App, admin: Client) -> None:
    app.schedules.put("quarter", "report", every("15m"), tags=["x"])
    app.schedules.put("paused", "report", every("1m"), enabled=False)
    window = {"from": "2199-01-01T00:00:00Z", "to": "2199-01-01T04:00:00Z", "bucket": "1h"}
    told = admin.get("/forecast", params=window).json()
    assert (told["runs"], told["counts"]) == (16, [4, 4, 4, 4])
    one = admin.get("/forecast", params={**window, "at": "2199-01-01T01:00:00Z", "tag": "x"}).json()
    assert [each["name"] for each in one["coming"]] == ["quarter"] * 4
    assert admin.get("/forecast", params={**window, "tag": "y"}).json()["runs"] == 0


@pytest.mark.parametrize(
    "window",
    [
        {"from": "2199-01-01T00:00:00Z", "to": "2199-03-01T00:00:00Z"},
        {"from": "2199-01-02T00:00:00Z", "to": "2199-01-01T00:00:00Z"},
        {"bucket": "1s"},
        {"from": "soon"},
    ],
)
def test_a_window_that_is_too_long_or_none_is_refused(admin: Client, window: dict[str, str]) -> None:
    assert admin.get("/forecast", params=window).status_code == 422


def test_without_its_extra_the_forecast_says_what_to_install(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in sys.modules if each.startswith("onthedot.forecast")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "numpy", None)
    answer = admin.get("/forecast")
    assert (answer.status_code, kind_of(answer)) == (501, "extra-missing")
    assert "pip install 'onthedot[forecast]'" in answer.json()["detail"]


# a store that is away


def test_while_the_store_is_away_nobody_is_told_where_it_is(app: App, callers: Callers, tmp_path: Path) -> None:
    app.close()
    for file in tmp_path.glob("jobs.db*"):
        file.unlink()
    (tmp_path / "jobs.db").write_bytes(b"no database" * 1000)
    answer = callers.viewer.get("/schedules")
    assert (answer.status_code, kind_of(answer)) == (503, "store-unavailable")
    assert "retry-after" in answer.headers
    assert "jobs.db" not in answer.text


def _ended(app: App, node: Node, lines: int = 0) -> Run:
    """A run that a node has begun and ended, with a log."""
    app.enqueue("report")
    store = app.open_store()
    (run,) = store.start_due(node.id, ["report"], 10).runs
    store.log(node.id, [LogLine(run.id, run.claim_no, 0, "INFO", f"line {number}") for number in range(lines)])
    (ended,) = store.finish(node.id, [Outcome(run.id, run.claim_no, "succeeded", result=float("inf"))]).recorded
    return ended
