"""Clients that send or read too slowly hold nothing for long, whoever serves the app."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from onthedot import App

_SCOPE: dict[str, Any] = {
    "type": "http",
    "asgi": {"version": "3.0", "spec_version": "2.4"},
    "http_version": "1.1",
    "scheme": "http",
    "path": "/api/v1/preview",
    "raw_path": b"/api/v1/preview",
    "query_string": b"",
    "root_path": "",
    "server": ("testserver", 80),
    "client": ("127.0.0.1", 4711),
}


def _scope(app: App, method: str, path: str) -> dict[str, Any]:
    token = app.tokens.create("ann", "viewer").text
    headers = [(b"host", b"testserver"), (b"authorization", f"Bearer {token}".encode())]
    if method == "POST":
        headers.append((b"content-type", b"application/json"))
    return {**_SCOPE, "method": method, "path": path, "raw_path": path.encode(), "headers": headers}


def test_a_body_that_does_not_come_is_not_waited_for(app: App) -> None:
    sent: list[Any] = []
    parts = iter([{"type": "http.request", "body": b'{"trigger"', "more_body": True}])

    async def receive() -> Any:
        part = next(parts, None)
        return part if part is not None else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    web = app.web(patience_s=0.05)
    asyncio.run(web(_scope(app, "POST", "/api/v1/preview"), receive, send))
    assert sent[0]["status"] == 408
    assert "no more of the body came" in json.loads(sent[1]["body"])["detail"]


def test_who_does_not_read_an_answer_is_given_up_and_a_stream_gives_its_place_back(app: App) -> None:
    web = app.web(patience_s=0.05)
    begun: list[Any] = []

    async def receive() -> Any:
        if not begun:
            return {"type": "http.request", "body": b"", "more_body": False}
        return await asyncio.Event().wait()

    async def send(message: Any) -> None:
        begun.append(message)
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()  # it never reads

    asyncio.run(web(_scope(app, "GET", "/api/v1/events"), receive, send))
    assert begun[0]["status"] == 200
    assert len(web.state.watcher.streams) == 0
    web.state.watcher.stop()
