"""A store that hangs keeps those who ask it, a bounded number of them: all others are answered."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice

import httpx
import pytest
from tests.patience import LONGEST_S
from tests.servers.base import Server, running
from tests.servers.postgresql import database_in, version_or_skip
from tests.surfaces.web.client import kind_of

from onthedot import App, every
from onthedot.web import places
from onthedot.web.serving import Place, WebServer

MANY = 60
"""More than there are threads for requests."""
_FOR_EVER = "read_timeout=1000&connect_timeout=1000"


@dataclass(frozen=True, slots=True)
class Hung:
    """A dashboard that is served, and a database server that has been frozen under it."""

    address: str
    server: Server
    clients: ThreadPoolExecutor

    def get(self, path: str) -> httpx.Response:
        return httpx.get(self.address + path, timeout=LONGEST_S)

    def submit(self, method: str, path: str, count: int) -> list[Future[httpx.Response]]:
        asked = self.address + path
        return [self.clients.submit(httpx.request, method, asked, timeout=LONGEST_S) for _ in range(count)]


@pytest.fixture
def server() -> Iterator[Server]:
    with running(version_or_skip(15)) as server:
        yield server


@pytest.fixture
def hung(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hung]:
    with database_in(server.url) as url, closing(_app(f"{url}?{_FOR_EVER}")) as app:
        web = WebServer(app, Place(port=0))
        with web.beside(), ThreadPoolExecutor(2 * MANY) as clients:
            assert httpx.get(f"{web.address}/schedules", timeout=LONGEST_S).status_code == 200
            monkeypatch.setattr(places, "PATIENCE_S", 0.1)
            with _frozen(server):
                yield Hung(web.address, server, clients)
            monkeypatch.setattr(places, "PATIENCE_S", LONGEST_S)
            httpx.get(f"{web.address}/healthz", timeout=LONGEST_S)  # after whoever was left behind by another of these


@contextmanager
def _frozen(server: Server) -> Iterator[None]:
    server.freeze()
    try:
        yield
    finally:
        server.thaw()


def _app(url: str) -> App:
    app = App(url)

    @app.task
    def report() -> None:
        pass

    app.open_store(create=True)
    app.schedules.put("nightly", "report", every("1h"))
    return app


def test_those_for_whom_there_is_no_place_are_told_to_come_back(hung: Hung, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = hung.submit("GET", "/api/v1/schedules", MANY)
    for each in islice(as_completed(looks, LONGEST_S), MANY - places.LOOKS.most):
        answer = each.result()
        assert (answer.status_code, kind_of(answer)) == (503, "store-busy")
        assert int(answer.headers["retry-after"]) > 0
    held = [each for each in looks if not each.done()]
    for path in ("/api/v1/runs/x?wait=30", "/api/v1/runs/x/logs?follow=true", "/api/v1/events", "/metrics"):
        answer = hung.get(path)
        assert (answer.status_code, kind_of(answer)) == (503, "store-busy"), path
    for each in hung.submit("POST", "/api/v1/schedules/nightly/pause", 3):
        assert each.result().status_code == 503
    assert not any(each.done() for each in held)
    monkeypatch.setattr(places, "PATIENCE_S", LONGEST_S)
    hung.server.thaw()
    assert {each.result().status_code for each in held} == {200}


def test_what_needs_no_store_is_there_while_all_places_are_taken(hung: Hung) -> None:
    looks = hung.submit("GET", "/api/v1/schedules", MANY)
    for _ in islice(as_completed(looks, LONGEST_S), MANY - places.LOOKS.most):
        pass
    pages = hung.submit("GET", "/runs", MANY)
    for path in ("/static/x/style.css", "/favicon.ico", "/sign-in", "/openapi.json"):
        assert hung.get(path).status_code == 200, path
    health = hung.get("/healthz")
    assert (health.status_code, health.json()) == (503, {"healthy": False, "reasons": ["the store does not answer"]})
    kept = hung.get("/schedules")
    assert kept.status_code == 503
    assert "Shown is what was true at" in kept.text
    assert "nightly" in kept.text
    assert int(kept.headers["retry-after"]) > 0
    assert {each.result().status_code for each in pages} == {503}
    assert hung.get("/api/v1/nothing").status_code == 404
    lost = httpx.get(f"{hung.address}/nothing", headers={"Accept": "text/html"}, timeout=LONGEST_S)
    assert lost.status_code == 503, "nobody is sent to sign in because the store is silent"
