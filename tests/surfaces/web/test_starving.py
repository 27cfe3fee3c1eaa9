"""While the store makes changes wait, whoever only looks does not wait for them."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from tests.patience import LONGEST_S

from onthedot import App, every
from onthedot.web import places
from onthedot.web.serving import Place, WebServer

MANY = 60
"""More than there are threads for requests."""


def test_pages_and_style_come_while_many_changes_wait_for_the_store(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "PATIENCE_S", LONGEST_S)
    app.schedules.put("nightly", "report", every("1h"))
    server = WebServer(app, Place(port=0))
    asked = f"{server.address}/api/v1/schedules/nightly/pause"
    with server.beside(), ThreadPoolExecutor(MANY) as clients, closing(_locking(tmp_path / "jobs.db")) as lock:
        httpx.get(f"{server.address}/nodes", timeout=LONGEST_S).raise_for_status()
        lock.execute("BEGIN IMMEDIATE")
        waiting = [clients.submit(httpx.post, asked, timeout=LONGEST_S) for _ in range(MANY)]
        for path in ("/nodes", "/static/x/style.css", "/sign-in", "/api/v1/schedules") * 3:
            assert httpx.get(server.address + path, timeout=LONGEST_S).status_code == 200
            assert not any(each.done() for each in waiting), path
        lock.execute("ROLLBACK")
        assert {each.result().status_code for each in waiting} == {200}


def _locking(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False)
