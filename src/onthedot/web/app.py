"""All of the HTTP API and the pages as one ASGI app: alone, or mounted in another."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from onthedot import __version__
from onthedot.app.app import App
from onthedot.insight.status import read_status
from onthedot.web.dashboard import PAGES, Dashboard, is_for_people
from onthedot.web.keeper import Keeper
from onthedot.web.limits import Bounds, SignInLimit
from onthedot.web.models import Problem
from onthedot.web.problems import problem_of
from onthedot.web.routes import ROUTES
from onthedot.web.security import SCHEMES, Gate
from onthedot.web.settings import WebSettings
from onthedot.web.streams import Streams
from onthedot.web.watching import Watcher

_ABOUT = (
    "Schedules, runs and nodes of one onthedot store. Send a token: `Authorization: Bearer …`. "
    "Errors are problems of RFC 9457. `x-role` says which role a route needs."
)


class _Web(FastAPI):
    """Says in its OpenAPI document how one shows who one is, and what a problem is."""

    def openapi(self) -> dict[str, Any]:
        document = super().openapi()
        parts = document.setdefault("components", {})
        parts["securitySchemes"] = SCHEMES
        parts.setdefault("schemas", {})["Problem"] = Problem.model_json_schema()
        return document


def make_web(app: App, settings: WebSettings) -> FastAPI:
    """The ASGI app. Making it touches no store."""
    web = _Web(
        title="onthedot",
        version=__version__,
        description=_ABOUT,
        docs_url=None,  # its pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # would lead to whatever host the request names
        lifespan=_lifespan,
    )
    web.state.watcher = Watcher(app, Streams(settings.max_streams))
    web.state.gate = Gate(app, settings, SignInLimit(settings.sign_in_attempts, app.clock.monotonic_ms))
    web.state.status = Keeper(read_status, app.clock.monotonic_ms, 0)
    web.state.dashboard = Dashboard(app.clock.monotonic_ms)
    web.router.routes.extend([*ROUTES, *PAGES])
    web.add_exception_handler(HTTPException, _answer)
    web.add_middleware(
        Bounds, hosts=settings.hosts, max_body_bytes=settings.max_body_bytes, patience_s=settings.patience_s
    )
    app.metrics  # noqa: B018  (from now on they are counted)
    return web


@asynccontextmanager
async def _lifespan(web: FastAPI) -> AsyncIterator[None]:
    """Mounted in another app it is never called: there the watcher ends by itself, a while after its last reader."""
    yield
    web.state.watcher.stop()


async def _answer(request: Request, error: Exception) -> Response:
    """To what no route has taken: an unknown path, another method. A browser gets a page."""
    problem = problem_of(error)
    if request.method in ("GET", "HEAD") and is_for_people(request):
        dashboard: Dashboard = request.app.state.dashboard
        return await dashboard.lost(request, problem)
    return problem.response()
