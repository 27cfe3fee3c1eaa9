"""Browsers that sign in: a cookie for a token."""

from __future__ import annotations

from starlette.datastructures import URL
from starlette.requests import Request
from starlette.responses import Response

from onthedot.app.tokens import SESSION_MS
from onthedot.web.problems import Refused
from onthedot.web.security import COOKIE, Caller, Gate, address_of
from onthedot.web.streams import Streams


def begin_session(gate: Gate, request: Request, response: Response, text: str) -> Caller:
    """The cookie lasts twelve hours, and no longer than the token; `Refused` for what is no token."""
    address = address_of(request)
    gate.sign_ins.check(address)
    token = gate.app.tokens.check(text)
    if token is None:
        gate.sign_ins.failed(address)
        raise Refused(401, "token-wrong", "this is no token, or it has expired or was revoked")
    secret, session = gate.app.tokens.sign_in(token)
    lasts_s = (session.expires_ms - session.created_ms) // 1000
    set_cookie(request, response, secret, min(lasts_s, SESSION_MS // 1000))
    return Caller(token.name, token.role, secret)


def end_session(gate: Gate, streams: Streams, request: Request, response: Response, caller: Caller) -> None:
    """The session is over, and so are its streams."""
    if caller.cookie is not None:
        gate.app.tokens.sign_out(caller.cookie)
        streams.end_session(caller.cookie)
    set_cookie(request, response, "", 0)


def set_cookie(request: Request, response: Response, secret: str, lasts_s: int) -> None:
    """For our own paths only, out of reach of scripts and of other sites."""
    response.set_cookie(
        COOKIE,
        secret,
        max_age=lasts_s,
        path=request.scope.get("root_path") or "/",
        secure=URL(scope=request.scope).scheme == "https",
        httponly=True,
        samesite="strict",
    )
