"""HTTP calls, to a real server."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import pytest
from tests.patience import LONGEST_S
from tests.unit.execution.places import app_in_memory, done, ended, said

from onthedot import App, ExtraMissing, SettingsError, cron


class Server(ThreadingHTTPServer):
    """Answers by path, and remembers what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self.arrived, self.let_go, self.hung_up = Event(), Event(), Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        return None

    def _answer(self) -> None:
        server = self.server
        assert isinstance(server, Server)
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        server.asked.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        path = self.path.partition("?")[0]
        if path == "/hang":
            server.arrived.set()
            if self.connection.recv(1) == b"":
                server.hung_up.set()
            return
        if path == "/endless":
            self.send_response(200)
            self.end_headers()
            try:
                while not server.let_go.is_set():
                    self.wfile.write(b"x" * 10_000)
            except OSError:
                server.hung_up.set()
            self.close_connection = True
            return
        status = int(path[1:]) if path[1:].isdigit() else 200
        self.send_response(status)
        if status == 301:
            self.send_header("Location", "/elsewhere")
        answer = body or f"hello {self.headers.get('authorization', '')} {self.path}".encode()
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST = do_PUT = _answer  # noqa: N815


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.let_go.set()
    server.shutdown()
    server.server_close()
    thread.join(LONGEST_S)


@pytest.fixture
def app() -> Iterator[App]:
    app = app_in_memory()
    with app.running():
        yield app


def test_an_expected_answer_succeeds_and_its_beginning_is_kept(app: App, server: Server) -> None:
    run = done(app, app.http("ping", "GET", f"{server.url}/ok"))
    assert (run.state, run.result) == ("succeeded", {"status": 200, "body": "hello  /ok"})
    assert said(app, run) == [("INFO", f"GET {server.url}/ok answered 200")]


def test_an_unexpected_one_fails_and_is_kept_too(app: App, server: Server) -> None:
    run = done(app, app.http("ping", "GET", f"{server.url}/503"))
    assert (run.state, run.result) == ("failed", {"status": 503, "body": "hello  /503"})
    assert run.error == f"GET {server.url}/503 answered 503 Service Unavailable, and 200 to 299 was expected"


def test_expect_says_what_counts_as_success(app: App, server: Server) -> None:
    assert done(app, app.http("gone", "GET", f"{server.url}/404", expect=[404])).state == "succeeded"
    assert done(app, app.http("here", "GET", f"{server.url}/ok", expect=204)).state == "failed"


def test_a_redirect_is_not_followed_and_is_told(app: App, server: Server) -> None:
    run = done(app, app.http("moved", "GET", f"{server.url}/301"))
    assert "it redirects to /elsewhere" in (run.error or "")


def test_method_headers_and_body_are_sent_and_the_other_side_is_told_of_the_run(app: App, server: Server) -> None:
    app.http("post", "post", f"{server.url}/x", headers={"X-A": "1"}, json={"a": ["ü"]})
    app.schedules.put("näch", "post", cron("0 0 1 1 *"))
    run = ended(app, app.schedules.trigger("näch"))
    ((method, _, headers, body),) = server.asked
    assert (method, json.loads(body), headers["x-a"]) == ("POST", {"a": ["ü"]}, "1")
    assert headers["content-type"] == "application/json"
    assert (headers["onthedot-run-id"], headers["onthedot-attempt"]) == (run.id, "1")
    assert headers["onthedot-schedule"] == "n%C3%A4ch"


def test_a_text_is_sent_as_it_is(app: App, server: Server) -> None:
    run = done(app, app.http("put", "PUT", f"{server.url}/x", body="grüße", headers={"content-type": "text/x"}))
    assert run.result == {"status": 200, "body": "grüße"}
    assert server.asked[0][2]["content-type"] == "text/x"


def test_secrets_are_sent_and_shown_nowhere(app: App, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", "s3cr3t/ä")
    task = app.http(
        "call", "GET", f"{server.url}/403?key=env:API_TOKEN", headers={"Authorization": "Bearer env:API_KEY"}
    )
    monkeypatch.setenv("API_KEY", "k3y-of-all")
    run = done(app, task)
    assert server.asked[0][1] == "/403?key=s3cr3t%2F%C3%A4"
    assert server.asked[0][2]["authorization"] == "Bearer k3y-of-all"
    assert run.result == {"status": 403, "body": "hello Bearer *** /403?key=***"}
    assert "key=env:API_TOKEN" in (run.error or "")
    everything = f"{run} {said(app, run)} {app.tasks.list()}"
    assert "s3cr3t" not in everything
    assert "k3y" not in everything


def test_a_secret_that_is_not_set_fails_the_run_and_names_it(app: App, server: Server) -> None:
    run = done(app, app.http("call", "GET", server.url, headers={"Authorization": "env:NOT_SET_ANYWHERE"}))
    assert "the header Authorization" in (run.error or "")
    assert "has no NOT_SET_ANYWHERE" in (run.error or "")
    assert server.asked == []


def test_a_password_in_a_url_is_not_published(app: App) -> None:
    app.http("call", "GET", "https://me:pa55@example.org/x")
    assert "pa55" not in f"{app.tasks.list()}"


def test_a_time_out_ends_the_call(app: App, server: Server) -> None:
    run = done(app, app.http("hang", "GET", f"{server.url}/hang", timeout="3s"))
    assert run.state == "timed_out"
    assert server.hung_up.wait(LONGEST_S), "the connection was left open"


def test_a_cancel_ends_the_call(app: App, server: Server) -> None:
    run = app.enqueue(app.http("hang", "GET", f"{server.url}/hang"))
    assert server.arrived.wait(LONGEST_S)
    app.runs.cancel(run.id)
    assert ended(app, run).state == "cancelled"
    assert server.hung_up.wait(LONGEST_S), "the connection was left open"


def test_an_endless_answer_is_not_read_to_its_end(app: App, server: Server) -> None:
    run = done(app, app.http("endless", "GET", f"{server.url}/endless"))
    assert run.result == {"status": 200, "body": "x" * 4096}
    assert server.hung_up.wait(LONGEST_S)


def test_a_server_that_is_not_there_fails_the_run_in_one_line(app: App) -> None:
    run = done(app, app.http("nobody", "GET", "http://127.0.0.1:1/x"))
    assert run.state == "failed"
    assert (run.error or "").startswith("GET http://127.0.0.1:1/x failed: ")
    assert "\n" not in (run.error or "")


def test_it_has_a_time_out_unless_another_is_named(app: App) -> None:
    app.http("ping", "GET", "https://example.org")
    app.schedules.put("ping", "ping", cron("0 0 1 1 *"))
    assert app.schedules.get("ping").policy.timeout_ms == 60_000


def test_calls_run_on_the_surrounding_loop(server: Server) -> None:
    async def main() -> object:
        app = app_in_memory()
        async with app.running():
            run = app.enqueue(app.http("ping", "GET", server.url))
            return (await asyncio.to_thread(ended, app, run)).result

    assert asyncio.run(main()) == {"status": 200, "body": "hello  /"}


@pytest.mark.parametrize(
    ("method", "url", "options", "said"),
    [
        ("", "https://example.org", {}, "method ''"),
        ("GET", "ftp://example.org", {}, "begins with https://"),
        ("GET", "https://example.org", {"body": "a", "json": 1}, "not both"),
        ("GET", "https://example.org", {"expect": ["ok"]}, "status codes"),
        ("GET", "https://example.org", {"pool": "process"}, "for Python functions"),
    ],
)
def test_a_wrong_declaration_is_refused(method: str, url: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        app_in_memory().http("call", method, url, **options)


def test_without_httpx_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onthedot.execution.targets.http.find_spec", lambda name: None)
    with pytest.raises(ExtraMissing, match=r"pip install 'onthedot\[http\]'"):
        app_in_memory().http("ping", "GET", "https://example.org")


def test_declaring_a_call_does_not_load_httpx() -> None:
    code = "import sys; from onthedot import App; App('memory://').http('p', 'GET', 'https://x.org')"
    ended = subprocess.run([sys.executable, "-c", f"{code}; sys.exit('httpx' in sys.modules)"], check=False)
    assert ended.returncode == 0
