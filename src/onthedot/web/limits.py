"""Bounds around every request: the size of its body, the host that it is for, and how often one may guess."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from threading import Lock

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from onthedot.web.problems import Problem, Refused

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
}
_MINUTE_MS = 60_000
_MOST_ADDRESSES = 10_000


class Bounds:
    """The outermost layer: what it refuses costs next to nothing."""

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...] | None, max_body_bytes: int) -> None:
        self._app = app
        self._hosts = None if hosts is None else {host.lower() for host in hosts}
        self._most = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        sending = _with_headers(send)
        problem = self._host_problem(headers) or self._size_problem(headers)
        if problem is not None:
            await problem.response()(scope, receive, sending)
            return
        await self._app(scope, self._bounded(receive), sending)

    def _host_problem(self, headers: Headers) -> Problem | None:
        host = host_name(headers.get("host", ""))
        if self._hosts is None or host in self._hosts:
            return None
        return Problem(
            400, "host", f"{host!r} is no host of this server; --allowed-host, or hosts=, names those it has"
        )

    def _size_problem(self, headers: Headers) -> Problem | None:
        length = headers.get("content-length", "0")
        return self._too_large() if not length.isdecimal() or int(length) > self._most else None

    def _too_large(self) -> Problem:
        return Problem(413, "body-too-large", f"a body may have {self._most:,} bytes", {"max_bytes": self._most})

    def _bounded(self, receive: Receive) -> Receive:
        """For bodies that do not say how long they are."""
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._most:
                raise HTTPException(413, self._too_large().detail)
            return message

        return counted


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending


def host_name(host: str) -> str:
    """What a Host header says, without its port."""
    name = host.lower().strip()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0] if name.count(":") == 1 else name


class SignInLimit:
    """How often a wrong token may be tried within a minute, by address; of one process."""

    def __init__(self, attempts: int, monotonic_ms: Callable[[], int]) -> None:
        self._attempts = attempts
        self._monotonic_ms = monotonic_ms
        self._failures: dict[str, deque[int]] = {}
        self._lock = Lock()

    def check(self, address: str) -> None:
        """Refuses, with how long to wait, whoever has failed too often."""
        with self._lock:
            failures = self._recent(address)
            if len(failures) < self._attempts:
                return
            wait_s = (failures[0] + _MINUTE_MS - self._monotonic_ms()) // 1000 + 1
        said = f"too many wrong tokens; try again in {wait_s} s"
        raise Refused(429, "too-many-attempts", said, headers={"Retry-After": str(wait_s)})

    def failed(self, address: str) -> None:
        """One more."""
        with self._lock:
            if len(self._failures) >= _MOST_ADDRESSES:
                self._forget(list(self._failures))
            self._failures.setdefault(address, deque(maxlen=self._attempts)).append(self._monotonic_ms())

    def _recent(self, address: str) -> deque[int]:
        failures = self._failures.get(address, deque())
        since_ms = self._monotonic_ms() - _MINUTE_MS
        while failures and failures[0] <= since_ms:
            failures.popleft()
        return failures

    def _forget(self, addresses: Iterable[str]) -> None:
        """Those who have not failed lately; all, if everybody has."""
        for address in addresses:
            if not self._recent(address):
                del self._failures[address]
        if len(self._failures) >= _MOST_ADDRESSES:
            self._failures.clear()
