"""The way to a page: who asks is found out as for the API; what goes wrong is told as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from fastapi import APIRouter
from fastapi.routing import APIRoute
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from onthedot.app.acting import acting_as
from onthedot.errors import StoreError, StoreUnavailable
from onthedot.model.token import Role
from onthedot.web.dashboard.addresses import path_of
from onthedot.web.dashboard.forms import CSRF_FIELD, Form, own_path, read_form
from onthedot.web.outside import ask_outside
from onthedot.web.places import look
from onthedot.web.problems import problem_of
from onthedot.web.security import NOBODY, Caller, Gate, GuardedRoute, Handle, asking, check
from onthedot.web.watching import Watcher

if TYPE_CHECKING:
    from onthedot.web.dashboard.state import Dashboard

SURFACE = "dashboard"
"""Under this word the audit keeps what is done on pages."""


class PageRoute(GuardedRoute):
    """Sends whoever is not known to the sign-in page; acts in the name of the others."""

    def get_route_handler(self) -> Handle:
        handle, needed = APIRoute.get_route_handler(self), self.role

        async def guarded(request: Request) -> Response:
            form = request.state.form = Form()
            try:
                caller = request.state.caller = await _caller_of(request, needed)
                if request.method == "POST":
                    request.state.form = form = await read_form(request)
                check(request, caller, needed, csrf=form[CSRF_FIELD])
                if needed is not None:
                    request.state.version = await look(_version, request)
                with acting_as(caller.name, SURFACE):
                    return await self.handled(request, handle)
            except Exception as error:
                return await self._answer(request, error)

        return guarded

    async def _answer(self, request: Request, error: Exception) -> Response:
        problem = problem_of(error)
        if problem.status == 401:
            return to_sign_in(request)
        if "location" in {name.lower() for name in problem.headers}:  # of the app around this one: sign in there
            return problem.response()
        dashboard: Dashboard = request.app.state.dashboard
        away = isinstance(error, StoreError) or problem.kind in ("store-unavailable", "store-busy")
        return await dashboard.answer(request, problem, away=away)


async def _caller_of(request: Request, needed: Role | None) -> Caller:
    """What is open to anybody, such as style and scripts, is there without the store."""
    if needed is None:
        return NOBODY
    gate: Gate = request.app.state.gate
    await ask_outside(gate.settings.auth, request)  # to whom the last truth may be shown
    refuse_while_away(request)
    return await asking(request)


def _version(request: Request) -> str:
    """The last news before anything of a page is read: what comes after it is told by the page's stream, however late
    that opens. The watcher must have looked by then, or it would not know what is new."""
    watcher: Watcher = request.app.state.watcher
    watcher.snapshot()
    return watcher.streams.id_of()


def refuse_while_away(request: Request) -> None:
    """Nobody waits for a store that is known to be away; the watcher looks whether it is back."""
    watcher: Watcher = request.app.state.watcher
    began, away = watcher.watch(), watcher.away
    if away is not None and not began:  # else it was away a while ago, when somebody looked last
        raise StoreUnavailable(away.why)


def new_pages() -> APIRouter:
    """Every page that is added to it is guarded; none is in the OpenAPI document."""
    return APIRouter(route_class=PageRoute, include_in_schema=False, default_response_class=HTMLResponse)


def to_sign_in(request: Request) -> Response:
    """Sign in first, then see what you wanted to see."""
    if request.headers.get("sec-fetch-site") == "cross-site" and request.method == "GET":
        return _ask_again(request)
    root = request.scope.get("root_path") or ""
    return RedirectResponse(f"{root}/sign-in?next={quote(_wanted(request), safe='/')}", 303)


def _ask_again(request: Request) -> Response:
    """Who follows a link on another site comes without the cookie, which is strict; asked from here, they have it."""
    page = Markup(
        '<!doctype html><meta charset="utf-8"><title>onthedot</title><meta http-equiv="refresh" content="0;url={0}">'
    )
    return HTMLResponse(page.format(_wanted(request)))


def _wanted(request: Request) -> str:
    """This page; after an act, the one on which its form stood. A path can look like another host: then ours."""
    if request.method == "GET":
        path, query = path_of(request), request.url.query
    else:
        path, query = _referer(request)
    return own_path(request, path + (f"?{query}" if query else "")) or f"{request.scope.get('root_path') or ''}/"


def _referer(request: Request) -> tuple[str, str]:
    try:
        parts = urlsplit(request.headers.get("referer", ""))
    except ValueError:
        return "", ""
    return parts.path, parts.query


def to_page(path: str) -> Response:
    """After an act: look at this page."""
    return RedirectResponse(path, 303)
