"""A server that is no onthedot, or means harm: an error of ours in one line, and the token goes nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from onthedot import App
from onthedot.app.remote.connection import Connection
from onthedot.app.remote.problems import error_of
from onthedot.errors import OnthedotError, StoreUnavailable

ASKING: dict[str, Callable[[App], Any]] = {
    "a run": lambda app: app.runs.get("x"),
    "runs": lambda app: app.runs.list(limit=3),
    "a schedule": lambda app: app.schedules.get("x"),
    "schedules": lambda app: app.schedules.list(),
    "nodes": lambda app: app.nodes.list(),
    "an explanation": lambda app: app.schedules.explain("x", "2026-11-01T00:00Z"),
}
ANSWERS = [b"", b"[]", b"{}", b"\xff\xfe", b'{"runs": 5, "schedules": null}', b'{"runs": [{}], "schedules": [{}]}']
ANSWERS += [b"[" * 100_000, b'{"nodes": [5], "runs": [[]], "cursor": null}']


def answering(status: int, body: bytes, **headers: str) -> tuple[App, list[httpx.Request]]:
    """An app over there that gives the same answer to everything, and what it was asked."""
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(status, content=body, headers=headers)

    app = App("http://localhost:1", token="otd.a.b")
    connection: Connection = app.runs._connection  # type: ignore[attr-defined]
    connection._transport = httpx.MockTransport(answer)
    return app, asked


@pytest.mark.parametrize("what", ASKING)
@pytest.mark.parametrize("body", ANSWERS, ids=range(len(ANSWERS)))
def test_an_answer_that_is_not_as_ours_is_one_error_of_ours(what: str, body: bytes) -> None:
    app, _ = answering(200, body)
    with pytest.raises(StoreUnavailable):
        ASKING[what](app)


def test_a_date_that_is_none_does_not_matter() -> None:
    app, _ = answering(200, b'{"nodes": []}', date="yesterday")
    assert list(app.nodes.list()) == []


def test_the_same_page_again_and_again_has_an_end() -> None:
    body = b'{"runs": [], "schedules": [], "changes": [], "cursor": "x"}'
    app, asked = answering(200, body)
    assert (len(app.runs.list()), len(app.schedules.list()), len(app.schedules.changes())) == (0, 0, 0)
    assert len(asked) == 6


@pytest.mark.parametrize(
    "document",
    [
        {"type": "urn:onthedot:problem:trigger", "column": "x"},
        {"type": "urn:onthedot:problem:file", "problems": 5},
        {"type": "urn:onthedot:problem:schedule-not-found", "nearest": 5},
        {"type": "urn:onthedot:problem:forecast-too-large"},
        {"type": 5, "detail": []},
    ],
)
def test_a_problem_with_other_values_is_still_an_error_of_ours(document: dict[str, Any]) -> None:
    assert isinstance(error_of(document, 422), OnthedotError)


def test_a_token_is_not_sent_where_an_answer_points_to() -> None:
    app, asked = answering(307, b"{}", location="https://evil.example/api/v1/nodes")
    with pytest.raises(OnthedotError):
        app.nodes.list()
    assert {request.url.host for request in asked} == {"localhost"}
