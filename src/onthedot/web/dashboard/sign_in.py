"""The door: a token becomes a cookie."""

from __future__ import annotations

from fastapi import Request, Response

from onthedot.web.dashboard.forms import TheForm, own_path
from onthedot.web.dashboard.frame import plain_values, respond
from onthedot.web.dashboard.page_route import new_pages, to_page
from onthedot.web.problems import Refused
from onthedot.web.routes.router import ANYBODY, VIEWER
from onthedot.web.security import TheCaller, TheGate
from onthedot.web.sessions import begin_session, end_session
from onthedot.web.watching import TheWatcher

router = new_pages()


@router.get("/sign-in", **ANYBODY)
async def sign_in_page(request: Request) -> Response:
    """Whoever comes here may paste a token. Needs no thread: it comes also while all of them wait for the store."""
    return _door(request, request.query_params.get("next", ""))


@router.post("/sign-in", **ANYBODY)
def sign_in(request: Request, gate: TheGate, form: TheForm) -> Response:
    """On to where they wanted to go, if that is a page of ours."""
    root = request.scope.get("root_path") or ""
    response = to_page(own_path(request, form["next"]) or f"{root}/")
    try:
        begin_session(gate, request, response, form["token"].strip())
    except Refused as refused:
        return _door(request, form["next"], refused)
    return response


@router.post("/sign-out", **VIEWER)
def sign_out(request: Request, gate: TheGate, caller: TheCaller, watcher: TheWatcher) -> Response:
    """The session is over."""
    response = to_page(f"{request.scope.get('root_path') or ''}/sign-in")
    end_session(gate, watcher.streams, request, response, caller)
    return response


def _door(request: Request, wanted: str, refused: Refused | None = None) -> Response:
    said = None if refused is None else refused.problem
    values = {
        **plain_values(request),
        "next": own_path(request, wanted) or "",
        "wrong": None if said is None else said.detail,
    }
    response = respond(request, "sign_in.html", 200 if said is None else said.status, values)
    response.headers.update({} if said is None else said.headers)
    return response
