"""Who may not is refused, and nothing has changed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.surfaces.web.client import Callers, Client
from tests.surfaces.web.test_bad_input import BODIES

from onthedot import App, every
from onthedot.web.security import COOKIE

CHANGES = {route: body for route, body in BODIES.items() if route not in ("POST /preview", "POST /check")} | {
    "DELETE /schedules/a": {},
    "DELETE /tokens/the-admin": {},
    "POST /schedules/a/resume": {},
    "POST /nodes/n1/drain": {},
    "DELETE /nodes/n1": {},
}


def _kept(app: App) -> tuple[Any, ...]:
    return app.schedules.export(), app.runs.list().items, app.tokens.list(), app.schedules.changes()


@pytest.mark.parametrize("route", CHANGES)
def test_without_a_token_or_role_or_from_another_site_nothing_changes(app: App, callers: Callers, route: str) -> None:
    app.schedules.put("a", "report", every("1h"))
    secret, _ = app.tokens.sign_in(app.tokens.list()[0])
    browser = callers.nobody.with_headers(Cookie=f"{COOKIE}={secret}")
    before = _kept(app)
    strangers: list[Client] = [
        callers.nobody,
        callers.nobody.with_token("otd.the-admin.guess"),
        callers.viewer,
        browser,
        browser.with_headers(Sec_Fetch_Site="cross-site"),
    ]
    method, path = route.split()
    for who in strangers if path != "/session" else strangers[4:]:
        answer = who.ask(method, f"/api/v1{path}", json=CHANGES[route])
        assert answer.status_code in (401, 403), answer.text
    assert _kept(app) == before
