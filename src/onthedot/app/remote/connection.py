"""Requests to the HTTP API, and their answers as documents or as the errors that were raised over there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from onthedot import __version__
from onthedot.app.remote.problems import error_of
from onthedot.errors import (
    AlertNotFound,
    ExtraMissing,
    FreezeNotFound,
    MomentError,
    NodeNotFound,
    NotFound,
    RunNotFound,
    ScheduleNotFound,
    SettingsError,
    StoreError,
    StoreUnavailable,
    TokenNotFound,
    ValueNotFound,
)
from onthedot.moments import ceil_ms
from onthedot.storable import can_be_kept

if TYPE_CHECKING:
    import httpx

    from onthedot.stores.base import Store

_TIMEOUT_S = 30.0
_LONGEST_WAIT_S = 30.0
"""So long the server waits for a run to end before it answers."""
_JSON = {"Content-Type": "application/json"}
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

_MISSING: Mapping[str, Callable[[str], NotFound]] = {
    "schedules": ScheduleNotFound,
    "runs": RunNotFound,
    "nodes": NodeNotFound,
    "tokens": TokenNotFound,
    "calendars": partial(ValueNotFound, "calendar"),
    "triggers": partial(ValueNotFound, "trigger"),
    "freezes": FreezeNotFound,
    "alerts": AlertNotFound,
}

Document = dict[str, Any]


class Answer(Document):
    """A document that has what it should have, or else does not come from onthedot."""

    def __missing__(self, name: str) -> Any:
        raise StoreUnavailable(f"the answer has no {name!r}: it is not as onthedot answers")

    def all(self, name: str) -> list[Document]:
        """The documents of a list."""
        found = self[name]
        if not isinstance(found, list):
            raise StoreUnavailable(f"{name!r} of the answer is no list: it is not as onthedot answers")
        return found


class Connection:
    """To one HTTP API; connections are kept open, each process has its own."""

    def __init__(self, url: str, token: str | None, transport: httpx.BaseTransport | None = None) -> None:
        self.url = _checked(url, token)
        self._token = token
        self._transport = transport
        self._clients: dict[int, httpx.Client] = {}
        self._time_ms: int | None = None

    def get(self, *path: str, **query: Any) -> Answer:
        """What is at this path; parts of it may hold any character."""
        return self._call("GET", path, query=query)

    def post(self, *path: str, body: Any = None, headers: Mapping[str, str] | None = None, **query: Any) -> Answer:
        """Ask for something to be done."""
        return self._call("POST", path, body=body, headers=headers, query=query)

    def put(self, *path: str, body: Any, headers: Mapping[str, str] | None = None) -> Answer:
        """Put something in the place of what is there."""
        return self._call("PUT", path, body=body, headers=headers)

    def patch(self, *path: str, body: Any, headers: Mapping[str, str] | None = None) -> Answer:
        """Change some of it."""
        return self._call("PATCH", path, body=body, headers=headers)

    def delete(self, *path: str, headers: Mapping[str, str] | None = None) -> None:
        """Have it removed."""
        self._call("DELETE", path, headers=headers)

    def no_store(self) -> Store:
        """In place of the way to the store: for what can only be done where the database is."""
        raise StoreError(
            f"{self.url} is an HTTP API, not a database: this must be done where the database can be reached"
        )

    def time_ms(self) -> int:
        """The time over there, as the last answer said it, to the second."""
        if self._time_ms is None:
            self.get("session")
        return self._time_ms or 0

    def close(self) -> None:
        """Let go of connections; the next call opens them anew."""
        client = self._clients.pop(os.getpid(), None)
        if client is not None:
            client.close()

    def _call(
        self,
        method: str,
        path: tuple[str, ...],
        *,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
    ) -> Answer:
        import httpx

        for part in path:
            if part in ("", ".", "..") or "/" in part or not can_be_kept(part):
                raise _MISSING.get(path[0], NotFound)(part)  # nor would a path with it lead there
        where = "/api/v1/" + "/".join(quote(part, safe="") for part in path)
        given = {name.rstrip("_"): value for name, value in (query or {}).items() if value is not None}
        content, sent = (None, {}) if body is None else (_json(body), _JSON)
        try:
            answer = self._client().request(
                method, where, content=content, headers={**sent, **(headers or {})}, params=given
            )
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise StoreUnavailable(f"{self.url} does not answer: {str(error) or type(error).__name__}") from None
        return self._read(answer)

    def _read(self, answer: httpx.Response) -> Answer:
        if "date" in answer.headers:
            self._time_ms = _ms_of(answer.headers["date"]) or self._time_ms
        if answer.status_code == 204:
            return Answer()
        try:
            document = answer.json()
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise StoreUnavailable(f"{self.url} answered {answer.status_code}, and not as onthedot does; is it one?")
        if answer.is_success:
            return Answer(document)
        raise error_of(document, answer.status_code)

    def _client(self) -> httpx.Client:
        client = self._clients.get(os.getpid())
        if client is None:
            client = self._clients[os.getpid()] = self._new_client()
        return client

    def _new_client(self) -> httpx.Client:
        try:
            import httpx
        except ImportError:
            raise ExtraMissing("a store over HTTP", "httpx", "http") from None
        headers = {"User-Agent": f"onthedot/{__version__}"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        # What could not be sent at all is sent again; what may have arrived is not.
        transport = self._transport or httpx.HTTPTransport(retries=2)
        timeout = _TIMEOUT_S + _LONGEST_WAIT_S
        return httpx.Client(base_url=self.url, headers=headers, transport=transport, timeout=timeout)


def _json(body: Any) -> bytes:
    """In ASCII: text that nothing can keep arrives as it is, and is refused over there in the words for it."""
    try:
        return json.dumps(body).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise SettingsError(f"this cannot be sent as JSON: {error}") from None


def _ms_of(date: str) -> int | None:
    """Of a header that a proxy may have written as it likes."""
    try:
        return ceil_ms(parsedate_to_datetime(date))
    except (ValueError, TypeError, MomentError):
        return None


def _checked(url: str, token: str | None) -> str:
    parts = urlsplit(url)
    if not parts.hostname:
        raise SettingsError(f"{url} names no host; write it like https://jobs.example")
    if parts.query or parts.fragment or parts.username or parts.password:
        raise SettingsError("the URL of an HTTP API has no user, query or fragment; a token is given by token=")
    if token and parts.scheme.lower() == "http" and parts.hostname not in _LOOPBACK:
        raise SettingsError(f"{url}: a token would cross the network in the clear; use https://")
    if token is not None and not (token.isascii() and token.isprintable()):
        raise SettingsError("token= has characters that no token has")
    return url.rstrip("/")
