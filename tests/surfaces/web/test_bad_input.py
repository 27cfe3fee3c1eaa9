"""Whatever is sent, the answer is one of ours: nothing that a client writes makes the server fail."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.surfaces.web.client import Callers, Client

from onthedot import App, every

NASTY: list[Any] = [
    None,
    True,
    -1,
    1e308,
    10**30,
    float("nan"),
    "",
    " ",
    "\x00",
    "\ud800",
    "🕰" * 300,
    "x" * 100_000,
    "'; DROP TABLE onthedot_schedules; --",
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "99999-01-01T00:00:00Z",
    "0001-01-01T00:00:00Z",
    "9" * 5000,
    [],
    [[]] * 3,
    {"\ud800": 1},
    {"$ne": 1},
    json.loads("[" * 200 + "]" * 200),
]

DEFINITION: dict[str, Any] = {"task": "report", "trigger": "every 1h", "args": {"to": "x"}, "options": {"tags": ["a"]}}
BODIES: dict[str, dict[str, Any]] = {
    "POST /schedules": {"name": "new", **DEFINITION},
    "PUT /schedules/a": DEFINITION,
    "PATCH /schedules/a": {"trigger": {"cron": "* * * * *", "tz": "UTC", "gap": "skip"}, "args": {}, "options": {}},
    "POST /schedules/a/pause": {"note": "x"},
    "POST /schedules/a/trigger": {"args": {"to": "x"}},
    "POST /schedules/a/reschedule": {"at": "2199-01-01T00:00:00Z"},
    "POST /preview": {"trigger": {"v": 1, "type": "cron", "text": "* * * * *"}, "name": "a", "n": 3},
    "POST /bulk": {"act": "pause", "names": ["a"], "note": "x", "expect": 1, "dry_run": True},
    "POST /check": {"text": "* * * * * true", "timezone": "UTC"},
    "POST /import": {"onthedot": 1, "schedules": [{"name": "a", "task": "report", "trigger": {}}]},
    "POST /runs": {"task": "report", "args": {}, "delay": "1h", "key": "k", "options": {"timeout": "1m"}},
    "POST /runs/x/cancel": {"reason": "x"},
    "POST /runs/x/retry": {"claim_no": 1},
    "POST /tokens": {"name": "t", "role": "viewer", "expires": "1d"},
    "POST /session": {"token": "otd.a.b"},
}
QUERIES = {
    "/schedules": ("tag", "cursor", "limit"),
    "/runs": ("schedule", "state", "cursor", "limit"),
    "/runs/x": ("wait",),
    "/runs/x/logs": ("after", "limit"),
    "/schedules/a/next": ("n",),
    "/schedules/a/explain": ("at",),
    "/changes": ("limit",),
    "/forecast": ("from", "to", "bucket", "tag", "at"),
}


def _spoilt(body: dict[str, Any]) -> Iterator[Any]:
    """The body with each of its values, also inside, replaced by each nasty one; and the nasty ones alone."""
    yield from NASTY
    for name, value in body.items():
        for nasty in NASTY:
            yield {**body, name: nasty}
            if isinstance(value, dict):
                yield {**body, name: {**value, "to": nasty}}
                yield from ({**body, name: {**value, inner: nasty}} for inner in value)
            if isinstance(value, list):
                yield {**body, name: [nasty]}
        yield {**body, f"{name}\ud800": value}


@pytest.fixture
def client(app: App, callers: Callers) -> Client:
    app.schedules.put("a", "report", every("1h"))
    return callers.admin


@pytest.mark.parametrize("route", BODIES)
def test_no_body_makes_the_server_fail(client: Client, route: str) -> None:
    method, path = route.split()
    headers = {"Content-Type": "application/json"}
    for body in _spoilt(BODIES[route]):
        answer = client.ask(method, f"/api/v1{path}", content=json.dumps(body).encode(), headers=headers)
        assert answer.status_code < 500, ascii((body, answer.text))[:2000]
    for content in (b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"a": ' * 5000):
        assert client.ask(method, f"/api/v1{path}", content=content, headers=headers).status_code < 500, content[:20]


@pytest.mark.parametrize("path", QUERIES)
def test_no_query_makes_the_server_fail(client: Client, path: str) -> None:
    texts = [str(each).encode("utf-8", "surrogatepass")[:5000] for each in NASTY]
    for name in QUERIES[path]:
        for text in texts:
            query = f"{name}=".encode() + b"".join(b"%%%02X" % byte for byte in text)
            answer = client.ask("GET", f"/api/v1{path}?{query.decode()}")
            assert answer.status_code < 500, ascii((query[:100], answer.text))


@pytest.mark.parametrize("header", ["If-Match", "Idempotency-Key", "Authorization", "Cookie", "X-CSRF-Token", "Host"])
def test_no_header_makes_the_server_fail(client: Client, header: str) -> None:
    for value in (b"", b"\xff", b'"' * 50, b"Bearer \xc3\xa9", b"onthedot_session=\xff", b"x" * 5000, b"[", b":"):
        for method, path, body in (
            ("PATCH", "/schedules/a", {"args": {}}),
            ("POST", "/schedules/a/trigger", {}),
            ("GET", "/session", None),
        ):
            answer = client.ask(method, f"/api/v1{path}", json=body, headers={header: value})
            assert answer.status_code < 500, ascii((header, value, answer.text))
