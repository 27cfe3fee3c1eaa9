"""Tokens, and browsers that sign in with one."""

from __future__ import annotations

from typing import Literal

from fastapi import Request, Response

from onthedot.web import models
from onthedot.web.reading import now_ms_of, token_model
from onthedot.web.routes.router import ADMIN, ANYBODY, VIEWER, new_router
from onthedot.web.security import Caller, TheApp, TheCaller, TheGate, csrf_of
from onthedot.web.sessions import begin_session, end_session
from onthedot.web.watching import TheWatcher

router = new_router()


@router.get("/tokens", **ADMIN)
def list_tokens(app: TheApp) -> models.Tokens:
    """All tokens by name."""
    now_ms = now_ms_of(app)
    return models.Tokens(tokens=[token_model(each, now_ms) for each in app.tokens.list()])


@router.post("/tokens", status_code=201, **ADMIN)
def create_token(app: TheApp, wanted: models.NewToken) -> models.MadeToken:
    """A new token. Its text is shown this once."""
    made = app.tokens.create(wanted.name, wanted.role, expires=wanted.expires)
    return models.MadeToken(**token_model(made.token, made.token.created_ms).model_dump(), text=made.text)


@router.delete("/tokens/{name}", status_code=204, **ADMIN)
def revoke_token(app: TheApp, name: str) -> None:
    """From now on it opens nothing, nor does a session that was begun with it."""
    app.tokens.revoke(name)


@router.get("/session", **VIEWER)
def show_session(caller: TheCaller) -> models.Session:
    """Who is asking, and what they may do."""
    return _session(caller)


@router.post("/session", status_code=201, **ANYBODY)
def sign_in(gate: TheGate, request: Request, response: Response, given: models.SignIn) -> models.Session:
    """A cookie for a token: it lasts twelve hours, and no longer than the token."""
    return _session(begin_session(gate, request, response, given.token))


@router.delete("/session", status_code=204, **VIEWER)
def sign_out(gate: TheGate, caller: TheCaller, watcher: TheWatcher, *, request: Request, response: Response) -> None:
    """The session is over, and so are its streams."""
    end_session(gate, watcher.streams, request, response, caller)


def _session(caller: Caller) -> models.Session:
    assert caller.role is not None
    csrf = None if caller.cookie is None else csrf_of(caller.cookie)
    if caller.bearer:
        return models.Session(name=caller.name, role=caller.role, how="token", csrf=None)
    if caller.outside:
        return models.Session(name=caller.name, role=caller.role, how="outside", csrf=None)
    how: Literal["local", "session"] = "local" if csrf is None else "session"
    return models.Session(name=caller.name, role=caller.role, how=how, csrf=csrf)
