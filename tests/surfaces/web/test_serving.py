"""The server from outside: `onthedot dashboard`, `run --dashboard`, `tokens`; and where it refuses to listen."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.patience import LONGEST_S
from tests.surfaces.test_operate import Place as Folder
from tests.surfaces.test_operate import Running, _environment, refusal

from onthedot import App
from onthedot.errors import SettingsError
from onthedot.web.serving import Place, WebServer

SHOP = """\
from onthedot import App

app = App("sqlite:///jobs.db")

@app.task
def report() -> str:
    return "sent"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "shop.py").write_text(SHOP, encoding="utf-8")
    return Folder(tmp_path)


@pytest.fixture
def started(folder: Folder) -> Iterator[list[Running]]:
    """Put processes here that shall not outlive the test."""
    running: list[Running] = []
    yield running
    for each in running:
        if each.process.poll() is None:
            each.process.kill()
        each.process.wait()
        assert each.process.stderr is not None
        each.process.stderr.close()


def _start(folder: Folder, *arguments: str) -> Running:
    return Running(
        subprocess.Popen(
            [sys.executable, "-u", "-m", "onthedot", *arguments],
            cwd=folder.folder,
            env=_environment({"ONTHEDOT_STORE": folder.url}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
    )


def _address(running: Running) -> str:
    found = re.search(r"(http://127\.0\.0\.1:\d+)/", running.wait_for("http://"))
    assert found is not None
    return found[1]


def test_a_dashboard_alone_serves_a_store_until_it_is_told_to_stop(folder: Folder, started: list[Running]) -> None:
    started.append(_start(folder, "dashboard", "--port", "0"))
    with httpx.Client(base_url=_address(started[0]), timeout=LONGEST_S) as client:
        assert client.get("/healthz").json()["healthy"] is False
        assert client.get("/api/v1/session").json() == {"name": "local", "role": "admin", "how": "local", "csrf": None}
        assert client.get("/api/v1/session", headers={"Host": "evil.example"}).status_code == 400
        text = folder.printed("tokens", "create", "ann", "--role", "admin").strip()
        assert client.get("/api/v1/session").status_code == 401
        bearer = {"Authorization": f"Bearer {text}"}
        assert client.get("/api/v1/session", headers=bearer).json()["name"] == "ann"
        assert [each["name"] for each in folder.document("tokens", "list")["tokens"]] == ["ann"]
        folder.printed("tokens", "create", "bob")
        assert folder.printed("tokens", "revoke", "ann") == "ann is revoked\n"
        assert client.get("/api/v1/session", headers=bearer).status_code == 401
        assert "asks for none any more" in folder.printed("tokens", "revoke", "bob")
        assert client.get("/api/v1/session").json()["role"] == "admin"
    assert started[0].stop() == 0


def test_a_node_serves_beside_its_work(folder: Folder, started: list[Running]) -> None:
    started.append(_start(folder, "run", "shop:app", "--dashboard", "--port", "0"))
    with httpx.Client(base_url=_address(started[0]), timeout=LONGEST_S) as client:
        run_id = client.post("/api/v1/runs", json={"task": "report"}).json()["id"]
        while (ended := client.get(f"/api/v1/runs/{run_id}", params={"wait": 30}).json())["finished_at"] is None:
            continue
        assert (ended["state"], ended["result"]) == ("succeeded", "sent")
        while (health := client.get("/healthz").json())["reasons"] == ["the store does not answer"]:
            continue  # the machine stood still for seconds
        assert health == {"healthy": True, "reasons": []}
        assert 'onthedot_runs_total{outcome="succeeded",task="report"} 1.0' in client.get("/metrics").text
    assert started[0].stop() == 0


def test_it_serves_in_a_thread_and_lets_go_of_its_port(app: App) -> None:
    server = WebServer(app, Place(port=0))
    with server.beside():
        assert httpx.get(f"{server.address}/healthz", timeout=LONGEST_S).status_code == 503
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{server.address}/healthz", timeout=LONGEST_S)


@pytest.mark.parametrize(
    "place",
    [Place("0.0.0.0", 0), Place("::", 0), Place(port=0, root_path="/jobs"), Place(port=0, trusted_proxies=("::1",))],
)
def test_where_others_can_reach_it_a_token_is_needed(app: App, place: Place) -> None:
    with pytest.raises(SettingsError, match="onthedot tokens create NAME --role admin"):
        WebServer(app, place)
    assert not place.settings().open_on_loopback


@pytest.mark.parametrize(("trusted", "is_safe"), [(("127.0.0.1",), True), (("192.0.2.7",), False)])
def test_only_a_trusted_proxy_is_believed_about_who_asks_and_how(
    app: App, trusted: tuple[str, ...], is_safe: bool
) -> None:
    token = app.tokens.create("ann").text
    server = WebServer(app, Place(port=0, trusted_proxies=trusted))
    said = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "198.51.100.3"}
    with server.beside(), httpx.Client(base_url=server.address, headers=said, timeout=LONGEST_S) as client:
        signed_in = client.post("/api/v1/session", json={"token": token})
    assert ("secure" in signed_in.headers["set-cookie"].lower()) == is_safe


def test_behind_a_proxy_that_takes_a_path_away_it_knows_its_own(app: App) -> None:
    token = app.tokens.create("ann").text
    server = WebServer(app, Place(port=0, root_path="/jobs", allowed_hosts=("scheduler.example",)))
    direct = server.address.removesuffix("/jobs")
    with (
        server.beside(),
        httpx.Client(base_url=direct, headers={"Host": "scheduler.example"}, timeout=LONGEST_S) as client,
    ):
        signed_in = client.post("/api/v1/session", json={"token": token})
        assert (signed_in.status_code, client.get("/openapi.json").json()["servers"]) == (201, [{"url": "/jobs"}])
        assert "path=/jobs;" in signed_in.headers["set-cookie"].lower()
        assert client.get("/healthz", headers={"Host": "evil.example"}).status_code == 400


def test_a_port_that_is_taken_is_told_in_one_line(folder: Folder) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        line = refusal(folder.run("dashboard", "--port", str(port)), 2)
    assert line == (
        f"error: the dashboard cannot be served on 127.0.0.1:{port}: address already in use; choose another --port"
    )


@pytest.mark.parametrize("arguments", [("dashboard",), ("run", "shop:app", "--dashboard")], ids=["dashboard", "run"])
def test_without_its_extra_it_says_what_to_install(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    for name in [each for each in sys.modules if each.startswith("onthedot.web")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    line = refusal(folder.run(*arguments), 2)
    assert line == "error: the HTTP API needs fastapi, which is not installed: pip install 'onthedot[web]'"
