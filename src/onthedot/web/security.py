"""Who asks, and whether they may. Every route is a `GuardedRoute`: without a role it cannot be made."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from hashlib import sha256
from inspect import isasyncgenfunction, iscoroutinefunction
from ipaddress import ip_address
from typing import Annotated, Any

from fastapi import Depends
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from onthedot.app.acting import acting_as
from onthedot.app.app import App
from onthedot.app.tokens import SignedIn
from onthedot.errors import StoreError
from onthedot.model.token import Role, Token
from onthedot.web.limits import SignInLimit, host_name
from onthedot.web.outside import ask_outside
from onthedot.web.places import CHANGES, LOOKS, look
from onthedot.web.problems import Refused, problem_of
from onthedot.web.settings import LOOPBACK, WebSettings

COOKIE = "onthedot_session"
CSRF_HEADER = "x-csrf-token"
ROLE = "x-role"
"""Under this name a route's role stands in the OpenAPI document."""
OPEN = "open"
"""In place of a role: anybody."""
SCHEMES = {
    "token": {"type": "http", "scheme": "bearer", "description": "onthedot tokens create"},
    "session": {"type": "apiKey", "in": "cookie", "name": COOKIE, "description": f"changes need {CSRF_HEADER} too"},
}
"""How one shows who one is, as the OpenAPI document has it."""
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITE = frozenset({"same-origin", "none"})
_OF_PROXIES = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via")
"""Who has one of these was passed on by a proxy: whoever asks is not on this machine."""
_LOCAL = "local"
_log = logging.getLogger("onthedot.web")
Handle = Callable[[Request], Coroutine[Any, Any, Response]]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: under which name changes are kept, and what they may do."""

    name: str
    role: Role | None
    """None: nobody is known, and may only what is open."""
    cookie: str | None = None
    """The secret of their session, if they came by one."""
    bearer: bool = False
    token: Token | None = None
    """By which they are known."""
    ends_ms: int | None = None
    """When their token or session is over, by the store's time; None: never."""
    outside: bool = False
    """Whether the app in which this one is mounted has said so."""

    def may(self, needed: Role) -> bool:
        """Whether their role is enough."""
        return self.role is not None and self.role.includes(needed)


NOBODY = Caller("nobody", None)


@dataclass(frozen=True, slots=True)
class Gate:
    """Of one ASGI app: finds out who asks."""

    app: App
    settings: WebSettings
    sign_ins: SignInLimit

    def caller_of(self, request: Request) -> Caller:
        """`NOBODY` if no token, session or place speaks for them. What is wrong is never taken for what is missing."""
        header = request.headers.get("authorization")
        cookie = request.cookies.get(COOKIE)
        if header is not None:
            return _known(self.app.tokens.check(_bearer(header)))
        if cookie is not None:
            return _signed_in(self.app.tokens.signed_in(cookie), cookie)
        return self._local(request)

    def _local(self, request: Request) -> Caller:
        """Whoever is on this machine, where that is enough: until somebody makes the first token."""
        here = self.settings.open_on_loopback and is_loopback(address_of(request))
        passed_on = any(name in request.headers for name in _OF_PROXIES)
        if not here or passed_on or host_name(request.headers.get("host", "")) not in LOOPBACK:
            return NOBODY
        return NOBODY if self.app.tokens.list() else Caller(_LOCAL, Role.ADMIN)


def _known(token: Token | None) -> Caller:
    if token is None:
        return NOBODY
    return Caller(token.name, token.role, bearer=True, token=token, ends_ms=token.expires_ms)


def _signed_in(found: SignedIn | None, cookie: str) -> Caller:
    if found is None:
        return NOBODY
    token, ends_ms = found.token, found.session.expires_ms
    return Caller(token.name, token.role, cookie, token=token, ends_ms=min(ends_ms, token.expires_ms or ends_ms))


def _bearer(header: str) -> str:
    scheme, _, text = header.partition(" ")
    return text.strip() if scheme.lower() == "bearer" else ""


def csrf_of(cookie: str) -> str:
    """What a page of ours knows and no other site's: made from the secret of the session, which no script can read."""
    return hmac.new(cookie.encode("utf-8", "surrogatepass"), b"onthedot csrf", sha256).hexdigest()


def address_of(request: Request) -> str:
    """Of whoever asks, as far as the server knows."""
    return "" if request.client is None else request.client.host


def is_loopback(address: str) -> bool:
    """Whether that is this machine itself."""
    try:
        return address == "localhost" or ip_address(address).is_loopback
    except ValueError:
        return False


# the guard


def check(request: Request, caller: Caller, needed: Role | None, *, csrf: str = "") -> None:
    """`Refused` unless they may. `csrf` is what a form says, where the header says nothing."""
    if needed is not None and caller.role is None:
        said = "a token is needed: Authorization: Bearer …; onthedot tokens create makes one"
        raise Refused(401, "token-needed", said, headers={"WWW-Authenticate": "Bearer"})
    if needed is not None and not caller.may(needed):
        raise Refused(403, "role", f"{needed} is needed here; {caller.name} is {caller.role}")
    if request.method not in _SAFE and not caller.bearer:
        check_site(request)
        if caller.cookie is not None and needed is not None:  # whoever signs in anew has no page of ours yet
            _check_csrf(request.headers.get(CSRF_HEADER) or csrf, caller.cookie)


def check_site(request: Request) -> None:
    """A browser says from which page it asks; it must be one of ours. An older one, or one that came without TLS, says
    only of which site that page is: it must be the one that was asked, so a proxy must leave the Host as it is."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is None:
        own = origin is None or origin.partition("://")[2] == request.headers.get("host")
    else:
        own = site in _OWN_SITE
    if not own:
        raise Refused(403, "other-site", "another site may not ask for changes")


def _check_csrf(given: str, cookie: str) -> None:
    if not hmac.compare_digest(given.encode("utf-8", "surrogatepass"), csrf_of(cookie).encode()):
        raise Refused(403, "csrf", f"the header {CSRF_HEADER} is missing or wrong; GET /api/v1/session tells it")


def needs(role: Role | None) -> dict[str, Any]:
    """For the decorator of a route: `@router.get("/path", **needs(Role.VIEWER))`; None is open to anybody."""
    if role is None:
        return {"openapi_extra": {ROLE: OPEN}}
    return {"openapi_extra": {ROLE: str(role), "security": [{name: []} for name in SCHEMES]}}


class GuardedRoute(APIRoute):
    """Finds out who asks before it reads anything else, and lets them act under their own name."""

    @property
    def role(self) -> Role | None:
        """What is needed; None for what is open to anybody."""
        named = (self.openapi_extra or {}).get(ROLE)
        if named is None:
            raise TypeError(f"{self.path} has no role; give it one: **needs(Role.VIEWER)")
        return None if named == OPEN else Role(named)

    async def handled(self, request: Request, handle: Handle) -> Response:
        """In a place before the store. A coroutine that only looks takes places itself, for as long as it asks."""
        if request.method not in _SAFE:
            return await _change(request, handle)
        if iscoroutinefunction(self.endpoint) or isasyncgenfunction(self.endpoint):
            return await handle(request)
        async with LOOKS.taken():
            return await handle(request)

    def get_route_handler(self) -> Handle:
        handle, needed = super().get_route_handler(), self.role

        async def guarded(request: Request) -> Response:
            try:
                caller = request.state.caller = NOBODY if needed is None else await asking(request)
                check(request, caller, needed)
                with acting_as(caller.name, "http"):
                    return await self.handled(request, handle)
            except Exception as error:
                return problem_of(error).response()

        return guarded


async def _change(request: Request, handle: Handle) -> Response:
    """In a place of its own, which nobody holds who is still sending; the watcher is told that something was done."""
    await request.body()
    async with CHANGES.taken():
        answer = await handle(request)
    request.app.state.watcher.hasten()
    return answer


async def asking(request: Request) -> Caller:
    """Who asks. Where the store is, nobody is told before they are known."""
    gate: Gate = request.app.state.gate
    try:
        known = await ask_outside(gate.settings.auth, request)
        return await look(gate.caller_of, request) if known is None else Caller(*known, outside=True)
    except StoreError as error:
        _log.warning("who asks is not known: %s", error)
        raise Refused(503, "store-unavailable", "the store does not answer", headers={"Retry-After": "5"}) from None


# what routes ask for


async def _gate(request: Request) -> Gate:
    gate: Gate = request.app.state.gate
    return gate


async def _app(request: Request) -> App:
    gate: Gate = request.app.state.gate
    return gate.app


async def _caller(request: Request) -> Caller:
    caller: Caller = request.state.caller
    return caller


TheGate = Annotated[Gate, Depends(_gate)]
TheApp = Annotated[App, Depends(_app)]
TheCaller = Annotated[Caller, Depends(_caller)]
