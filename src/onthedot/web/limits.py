"""Bounds around every request: the size of its body, the host that it is for, and how often one may guess."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from threading import Lock

import anyio
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


class _TooSlow(OSError):
    """A client takes too long to read what it asked for. An `OSError`, as if it had gone."""


class Bounds:
    """The outermost layer: what it refuses costs next to nothing, and who is too slow holds nothing for long."""

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...] | None, max_body_bytes: int, patience_s: float) -> None:
        self._app = app
        self._hosts = None if hosts is None else {host.lower() for host in hosts}
        self._most = max_body_bytes
        self._patience_s = patience_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        sending = _Sending(send, self._patience_s)
        problem = self._host_problem(headers) or self._size_problem(headers)
        if problem is not None:
            await problem.response()(scope, receive, sending)
            return
        try:
            await self._app(scope, self._bounded(receive), sending)
        except Exception:
            if not sending.is_given_up:
                raise

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
        """For bodies that do not say how long they are, or do not come."""
        seen, more = 0, True

        async def counted() -> Message:
            nonlocal seen, more
            message = await self._in_time(receive) if more else await receive()
            seen, more = seen + len(message.get("body", b"")), message.get("more_body", False)
            if seen > self._most:
                raise HTTPException(413, self._too_large().detail)
            return message

        return counted

    async def _in_time(self, receive: Receive) -> Message:
        try:
            with anyio.fail_after(self._patience_s):
                return await receive()
        except TimeoutError:
            raise HTTPException(408, f"no more of the body came for {self._patience_s:g} s") from None


class _Sending:
    """Adds our headers, and gives up on who does not read."""

    def __init__(self, send: Send, patience_s: float) -> None:
        self._send = send
        self._patience_s = patience_s
        self.is_given_up = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        try:
            with anyio.fail_after(self._patience_s):
                await self._send(message)
        except TimeoutError:
            self.is_given_up = True
            raise _TooSlow("the client does not read") from None


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
