"""HTTP calls: one request, on the event loop, so that a time-out or a cancel really ends it. Signed, where asked."""

from __future__ import annotations

import hashlib
import hmac
import json as json_module
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from onthedot.errors import ExtraMissing
from onthedot.execution.context import Context, WorkFailed
from onthedot.execution.targets.secrets import Secrets, literal_secrets_masked
from onthedot.moments import iso

if TYPE_CHECKING:
    import ssl

    import httpx

MOST_CHARACTERS = 4096
"""What is kept of a response."""
_READ_BYTES = 4 * MOST_CHARACTERS
"""More is read: what is cut off must not begin within a secret."""

SIGNATURE = "Onthedot-Signature"
"""The header that proves who sends a request: `t=SECONDS,v1=HEX`, the HMAC-SHA256 of `SECONDS.BODY`."""
_WITHOUT_A_BODY = frozenset({"GET", "HEAD"})

_tls: list[ssl.SSLContext] = []
"""Made once: reading the certificates costs more than most calls."""


@dataclass(frozen=True, slots=True)
class HttpCall:
    """What to ask for. Declared in code or a file, never read from a store."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | bytes | None = None
    json: Any = None
    expect: tuple[int, ...] = ()
    """The status codes that count as success; none: all from 200 to 299."""
    sign: str | None = None
    """The secret that requests are signed with, or `env:NAME`."""

    def __str__(self) -> str:
        return f"{self.method} {literal_secrets_masked(self.url)}"

    async def __call__(self, context: Context) -> dict[str, Any]:
        """Ask once, and keep the beginning of the answer."""
        import httpx

        secrets = Secrets()
        url = secrets.read(self.url, f"the url of {self}", in_url=True)
        headers = of_run(context) | {
            name: secrets.read(value, f"the header {name} of {self}") for name, value in self.headers.items()
        }
        content, kind = self._content(context.run.args)
        if kind is not None and not any(name.lower() == "content-type" for name in headers):
            headers["Content-Type"] = kind
        if self.sign is not None:
            secret = secrets.read(self.sign, f"the secret of {self}")
            headers[SIGNATURE] = signature(secret, _bytes(content), (context.run.started_ms or 0) // 1000)
        try:
            async with (
                httpx.AsyncClient(verify=_tls_context(), timeout=None) as client,
                client.stream(self.method, url, headers=headers, content=content) as response,
            ):
                result = {
                    "status": response.status_code,
                    "body": secrets.masked(await _beginning(response))[:MOST_CHARACTERS],
                }
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            said = f"{error}" or type(error).__name__
            raise WorkFailed(secrets.masked(f"{self} failed: {said}")) from None
        context.keep("INFO", f"{self} answered {response.status_code}")
        if not self._is_expected(response.status_code):
            raise WorkFailed(secrets.masked(self._unexpected(response)), result)
        return result

    def _content(self, args: Mapping[str, Any]) -> tuple[str | bytes | None, str | None]:
        """What is sent: what was declared; else what the run is about, as an alert says it."""
        if self.json is None and self.body is None and args and self.method not in _WITHOUT_A_BODY:
            return json_module.dumps(dict(args)), "application/json"
        if self.json is not None:
            return json_module.dumps(self.json), "application/json"
        return self.body, "text/plain; charset=utf-8" if isinstance(self.body, str) else None

    def _is_expected(self, status: int) -> bool:
        return status in self.expect if self.expect else 200 <= status < 300

    def _unexpected(self, response: httpx.Response) -> str:
        wanted = " or ".join(map(str, self.expect)) or "200 to 299"
        moved = f"; it redirects to {response.headers['location']}" if response.has_redirect_location else ""
        return f"{self} answered {response.status_code} {response.reason_phrase}, and {wanted} was expected{moved}"


def signature(secret: str, body: bytes, at_s: int) -> str:
    """What `SIGNATURE` says. The moment is signed too, so that an old request cannot be sent again unnoticed."""
    told = hmac.new(secret.encode(), f"{at_s}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at_s},v1={told}"


def _bytes(content: str | bytes | None) -> bytes:
    return content.encode() if isinstance(content, str) else content or b""


def require_httpx(name: str) -> None:
    """`ExtraMissing` where no HTTP call can be made; loads nothing."""
    if find_spec("httpx") is None:
        raise ExtraMissing(f"the HTTP call {name!r}", "httpx", "http")


def of_run(context: Context) -> dict[str, str]:
    """What the other side is told of the run: enough to refuse a call that it has had already."""
    run = context.run
    told = {
        "Run-Id": run.id,
        "Scheduled-At": iso(run.scheduled_ms),
        "Attempt": f"{run.attempt}",
        "Fence": f"{run.fence}",
    }
    if run.schedule is not None:
        told["Schedule"] = quote(run.schedule)
    if run.shard is not None:
        told |= {"Shard": f"{run.shard}", "Shards": f"{run.shards}"}
    return {f"Onthedot-{name}": value for name, value in told.items()}


async def _beginning(response: httpx.Response) -> str:
    """The rest is not even read: a response may be endless."""
    read = b""
    async for chunk in response.aiter_bytes():
        read += chunk
        if len(read) >= _READ_BYTES:
            break
    return read.decode(response.encoding or "utf-8", "replace")


def _tls_context() -> ssl.SSLContext:
    if not _tls:
        import httpx

        _tls.append(httpx.create_ssl_context())
    return _tls[0]
