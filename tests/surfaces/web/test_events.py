"""What changes is told as it happens: by whoever it was done, to whoever may look, and for as long as they read."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from threading import Event, Thread
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from starlette.requests import Request
from tests.patience import LONGEST_S
from tests.surfaces.web.client import kind_of
from tests.surfaces.web.streaming import listening

from onthedot import App, Context, every
from onthedot.web.limits import SignInLimit
from onthedot.web.patience import PatientProtocol
from onthedot.web.security import COOKIE, Gate
from onthedot.web.serving import Place, WebServer
from onthedot.web.settings import WebSettings
from onthedot.web.snapshot import Message
from onthedot.web.streams import MOST_WAITING
from onthedot.web.watching import Watcher, holder_of, is_over


@pytest.fixture
def server(app: App) -> Iterator[WebServer]:
    server = WebServer(app, Place(port=0))
    with server.beside():
        yield server


def _watcher(server: WebServer) -> Watcher:
    watcher: Watcher = server._web.state.watcher
    return watcher


def _wait(until: Callable[[], bool]) -> None:
    end = time.monotonic() + LONGEST_S
    while not until():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def test_a_run_that_another_process_asks_for_shows_as_a_message(app: App, server: WebServer) -> None:
    app.schedules.put("nightly", "report", every("1h"))
    with listening(server.address) as heard:
        heard.wait_for("open")
        command = [sys.executable, "-m", "onthedot", "schedules", "trigger", "nightly", "--store", app.url]
        subprocess.run(command, check=True, capture_output=True)
        (run,) = app.runs.list()
        assert heard.wait_for("runs", run.id).data["schedules"] == ["nightly"]


def test_only_what_was_asked_for_is_told(app: App, server: WebServer) -> None:
    with listening(server.address, "/events?topics=changes,minute") as heard:
        heard.wait_for("open")
        app.schedules.put("nightly", "report", every("1h"))
        told = next(told for told in heard if told.event != "minute")
        assert (told.event, told.data["ids"]) == ("changes", [app.schedules.changes()[0].id])


def test_who_comes_back_hears_what_was_missed_and_who_comes_too_late_is_told_to_begin_anew(
    app: App, server: WebServer
) -> None:
    watcher = _watcher(server)
    with listening(server.address) as heard:
        last = heard.wait_for("open").id
    assert last is not None
    watcher.streams.publish([Message("runs", ("missed",))])
    with listening(server.address, last_event_id=last) as heard:
        assert heard.wait_for("runs", "missed").id == watcher.streams.id_of()
    with listening(server.address, last_event_id="another-17") as heard:
        assert next(iter(heard)).event == "reset"


def test_a_page_is_told_what_came_after_it_was_read_however_late_its_stream_opens(app: App, server: WebServer) -> None:
    page = httpx.get(f"{server.address}/changes", timeout=LONGEST_S).text
    version = page.partition(' data-version="')[2].partition('"')[0]
    app.schedules.put("nightly", "report", every("1h"))
    _watcher(server).look()  # whoever listens has been told by now
    with listening(server.address, f"/events?topics=changes&after={version}") as heard:
        heard.wait_for("changes", app.schedules.changes()[0].id)
    with listening(server.address, f"/events?topics=changes&after={version}", last_event_id="another-17") as heard:
        assert next(iter(heard)).event == "reset", "the header counts more"


def test_who_has_missed_more_than_a_stream_holds_begins_anew_and_is_not_cut_off_again_and_again(
    server: WebServer,
) -> None:
    streams = _watcher(server).streams
    last = streams.id_of()
    streams.publish([Message("runs", (str(number),)) for number in range(MOST_WAITING + 1)])
    with listening(server.address, "/events?topics=runs", last_event_id=last) as heard:
        assert heard.wait_for("reset").id == streams.id_of()
        streams.publish([Message("runs", ("next",))])
        heard.wait_for("runs", "next")
    with listening(server.address, "/events?topics=nodes", last_event_id=last) as heard:
        assert next(iter(heard)).event == "open", "of its own topics it has missed nothing"


def test_two_hundred_streams_then_503_and_a_place_is_free_when_one_goes(server: WebServer) -> None:
    host, port = server._socket.getsockname()
    ask = f"GET /api/v1/events HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()
    with ExitStack() as stack:
        clients = [stack.enter_context(socket.create_connection((host, port), LONGEST_S)) for _ in range(200)]
        for client in clients:
            client.sendall(ask)
            assert client.recv(12) == b"HTTP/1.1 200"
        answer = httpx.get(f"{server.address}/api/v1/events", timeout=LONGEST_S)
        assert (answer.status_code, kind_of(answer)) == (503, "too-many-streams")
        assert int(answer.headers["retry-after"]) > 0
        assert httpx.get(f"{server.address}/api/v1/schedules", timeout=LONGEST_S).status_code == 200
        clients[0].close()
        _wait(lambda: len(_watcher(server).streams) < 200)
        with listening(server.address) as heard:
            heard.wait_for("open")
    _wait(lambda: len(_watcher(server).streams) == 0)


def test_who_does_not_read_is_cut_off_and_the_others_are_told(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PatientProtocol, "read_s", 0.2)
    server = WebServer(app, Place(port=0))
    host, port = server._socket.getsockname()
    with server.beside(), socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect((host, port))
        client.sendall(f"GET /api/v1/events HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        streams = _watcher(server).streams
        _wait(lambda: len(streams) == 1)
        long = Message("runs", tuple(f"{number:036}" for number in range(1000)))

        def told() -> bool:
            streams.publish([long])
            return len(streams) == 0

        _wait(told)
        with listening(server.address) as heard:
            heard.wait_for("open")
            streams.publish([Message("runs", ("quick",))])
            heard.wait_for("runs", "quick")


def test_who_does_not_end_the_head_of_a_request_is_cut_off(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PatientProtocol, "head_s", 0.1)
    server = WebServer(app, Place(port=0))
    address = server._socket.getsockname()
    # Which of the calls finds it cut off is not told.
    with server.beside(), suppress(ConnectionError), socket.create_connection(address, LONGEST_S) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: loc")
        assert client.recv(100) == b""


def test_the_stream_of_a_revoked_token_ends(app: App, server: WebServer) -> None:
    app.tokens.create("bob", "admin")
    text = app.tokens.create("ann", "viewer").text
    with listening(server.address, authorization=f"Bearer {text}") as heard:
        heard.wait_for("open")
        app.tokens.revoke("ann")
        assert {told.event for told in heard} <= {"changes", "minute"}  # it comes to an end
    _wait(lambda: len(_watcher(server).streams) == 0)


def test_who_needed_no_token_needs_one_as_soon_as_there_is_one(app: App, server: WebServer) -> None:
    with listening(server.address) as heard:
        heard.wait_for("open")
        app.tokens.create("ann", "admin")
        assert [told.event for told in heard][-1] in ("changes", "minute")


def test_who_signs_out_hears_nothing_more(app: App, server: WebServer) -> None:
    text = app.tokens.create("ann", "viewer").text
    with httpx.Client(base_url=f"{server.address}/api/v1", timeout=LONGEST_S) as browser:
        csrf = browser.post("/session", json={"token": text}).json()["csrf"]
        with browser.stream("GET", "/events") as response:
            lines = response.iter_lines()
            assert next(lines) == "event: open"
            assert browser.delete("/session", headers={"X-CSRF-Token": csrf}).status_code == 204
            assert [line for line in lines if line.startswith("event: runs")] == []


def test_the_stream_of_a_session_ends_with_the_session_however_late_it_was_opened(app: App) -> None:
    token = app.tokens.create("ann", "viewer").token
    secret, session = app.tokens.sign_in(token)
    gate = Gate(app, WebSettings(), SignInLimit(10, app.clock.monotonic_ms))
    caller = gate.caller_of(Request({"type": "http", "headers": [(b"cookie", f"{COOKIE}={secret}".encode())]}))
    assert holder_of(caller, 0).expires_ms == session.expires_ms
    assert not is_over(holder_of(caller, 0), [token], session.expires_ms - 1)
    assert is_over(holder_of(caller, 0), [token], session.expires_ms)


def test_the_server_stops_though_somebody_listens(app: App) -> None:
    server = WebServer(app, Place(port=0))
    with ExitStack() as stack:
        thread = stack.enter_context(server.beside())
        heard = ExitStack()
        listener = heard.enter_context(listening(server.address))
        listener.wait_for("open")
        stack.close()
        assert not thread.is_alive()
        assert [told.event for told in listener if told.event != "minute"] == []
        heard.close()


def test_mounted_in_another_app_it_tells_too_and_ends_by_itself(app: App) -> None:
    outer = FastAPI()
    web = app.web()
    outer.mount("/jobs", web)
    text = app.tokens.create("ann", "viewer").text
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(outer, log_config=None))
        thread = Thread(target=server.run, args=([listener],))
        thread.start()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/jobs"
        try:
            with listening(address, authorization=f"Bearer {text}") as heard:
                heard.wait_for("open")
                app.schedules.put("nightly", "report", every("1h"))
                heard.wait_for("schedules", "nightly")
            _wait(lambda: len(web.state.watcher.streams) == 0)
        finally:
            web.state.watcher.stop()
            server.should_exit = True
            thread.join(LONGEST_S)


# a run's log


def test_a_log_is_followed_line_by_line_until_the_run_has_ended(app: App, server: WebServer) -> None:
    go_on = Event()

    @app.task
    def talk(ctx: Context) -> None:
        ctx.log.info("first")
        go_on.wait(LONGEST_S)
        ctx.log.info("last")

    with app.running(log=False):
        run = app.enqueue("talk")
        with listening(server.address, f"/runs/{run.id}/logs?follow=true") as heard:
            told = iter(heard)
            first = next(told)
            assert (first.event, first.data["text"], first.id) == ("line", "first", "1")
            go_on.set()
            rest = [(each.event, each.data.get("text") or each.data.get("state")) for each in told]
            assert rest == [("line", "last"), ("end", "succeeded")]
        with listening(server.address, f"/runs/{run.id}/logs?follow=true", last_event_id="1") as heard:
            assert [each.event for each in heard] == ["line", "end"]


def test_the_log_of_a_run_that_there_is_not_is_not_followed(server: WebServer) -> None:
    answer = httpx.get(f"{server.address}/api/v1/runs/missing/logs?follow=true", timeout=LONGEST_S)
    assert (answer.status_code, kind_of(answer)) == (404, "run-not-found")


@pytest.mark.parametrize("topics", ["all", "runs;nodes", "store", "runs,<script>"])
def test_an_unknown_topic_is_refused_with_those_that_there_are(server: WebServer, topics: str) -> None:
    answer = httpx.get(f"{server.address}/api/v1/events", params={"topics": topics}, timeout=LONGEST_S)
    assert (answer.status_code, kind_of(answer)) == (422, "settings")
    document: dict[str, Any] = answer.json()
    assert "runs, schedules, nodes, changes, minute" in document["detail"]
