"""What the pages of one ASGI app hold between requests, and how they answer when something is wrong."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any
from urllib.parse import unquote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from onthedot.errors import OnthedotError, StoreError
from onthedot.insight.needs import read_needs
from onthedot.model.token import Role
from onthedot.web.dashboard import examination
from onthedot.web.dashboard import toast as toasts
from onthedot.web.dashboard.forms import own_path
from onthedot.web.dashboard.frame import frame_values, plain_values, respond
from onthedot.web.dashboard.kept_pages import KeptPages
from onthedot.web.dashboard.kinds_keeper import KindsKeeper
from onthedot.web.dashboard.page_route import to_page, to_sign_in
from onthedot.web.dashboard.schedule_list import read_standing
from onthedot.web.dashboard.squares import SquareKeeper
from onthedot.web.keeper import Keeper
from onthedot.web.places import look
from onthedot.web.problems import Problem, Refused, problem_of
from onthedot.web.security import asking, check
from onthedot.web.watching import Watcher

_NEEDS_MS = 900
_STANDING_MS = 900
_PAGES = ("/timeline", "/schedules", "/runs", "/nodes", "/tasks", "/changes", "/tokens")


class Dashboard:
    """`request.app.state.dashboard`."""

    def __init__(self, monotonic_ms: Callable[[], int]) -> None:
        self.kept = KeptPages()
        self.standing = Keeper(read_standing, monotonic_ms, _STANDING_MS)
        self.examination = Keeper(examination.look, monotonic_ms, examination.EVERY_MS)
        self.needs = Keeper(read_needs, monotonic_ms, _NEEDS_MS)
        self.squares = SquareKeeper()
        self.kinds = KindsKeeper()

    async def answer(self, request: Request, problem: Problem, *, away: bool = False) -> Response:
        """A problem as a page. An act that is refused leads back to where it was asked for, and says why there."""
        if away:
            return await run_in_threadpool(self._away, request, problem)
        if request.method == "POST" and problem.status not in (401, 403, 500):
            return self._refused(request, problem)
        try:
            return await look(self._wrong, request, problem)
        except Refused:
            return self._plainly(request, problem)

    def _refused(self, request: Request, problem: Problem) -> Response:
        root = request.scope.get("root_path") or ""
        response = to_page(own_path(request, request.state.form["back"]) or f"{root}/")
        toasts.leave(request, response, toasts.Toast(problem.detail, bad=True))
        return response

    def _away(self, request: Request, problem: Problem) -> Response:
        """The last truth where there is one; acts are off in it."""
        watcher: Watcher = request.app.state.watcher
        page = self.kept.find(request, watcher.last_now_ms()) if request.method == "GET" else None
        if page is None:
            response = respond(request, "away.html", 503, {**plain_values(request), "problem": problem})
        else:
            response = respond(request, page.template, 503, {**page.values, "away": problem.detail})
        response.headers.update(problem.headers)
        return response

    def _wrong(self, request: Request, problem: Problem) -> Response:
        values: dict[str, Any] = {"problem": problem, "nearest": []}
        try:
            values |= frame_values(request)
            if problem.status == 404:
                values["nearest"] = _nearest(request, problem)
        except (StoreError, AttributeError):  # nobody is known yet, or the store went away just now
            return self._plainly(request, problem)
        return respond(request, "problem.html", problem.status, values)

    def _plainly(self, request: Request, problem: Problem) -> Response:
        """For whoever is not known, and while the store says nothing."""
        return respond(request, "refused.html", problem.status, {**plain_values(request), "problem": problem})

    async def lost(self, request: Request, problem: Problem) -> Response:
        """For an address that nothing is at: the nearest ones, for those who may see them."""
        try:
            request.state.caller = await asking(request)
            check(request, request.state.caller, Role.VIEWER)
        except Exception as error:
            refused = problem_of(error)
            if refused.status in (401, 403):
                return to_sign_in(request)
            return await self.answer(request, refused, away=refused.status == 503)  # who asks is not known
        return await self.answer(request, problem)


def is_for_people(request: Request) -> bool:
    """Whether a browser shows the answer to somebody: the API answers with problems whoever asks."""
    path = request.url.path.removeprefix(request.scope.get("root_path") or "")
    return "text/html" in request.headers.get("accept", "") and not path.startswith("/api/")


def _nearest(request: Request, problem: Problem) -> list[tuple[str, str]]:
    """Words and addresses, below the root."""
    asked = unquote(request.url.path).removeprefix(request.scope.get("root_path") or "")
    word = asked.rstrip("/").rpartition("/")[2]
    app = request.app.state.gate.app
    pages = [(page[1:], page) for page in get_close_matches(asked, _PAGES, n=2, cutoff=0.5)]
    try:
        names = [each.name for each in app.open_store().schedules(limit=1000)]
    except OnthedotError:
        names = []
    close = [*problem.values.get("nearest", ()), *get_close_matches(word, names, n=3)]
    return [*pages, *((name, "schedule") for name in dict.fromkeys(close))]
