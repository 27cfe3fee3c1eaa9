"""Each route with each role: the table is the app's own, so a new route is here too."""

from __future__ import annotations

import re

import pytest
from fastapi.routing import APIRoute
from tests.surfaces.web.client import Callers, kind_of

from onthedot.model.token import Role
from onthedot.web.routes import ROUTES
from onthedot.web.routes.router import PREFIX, new_router
from onthedot.web.security import GuardedRoute

# What the handbook says; whoever changes a role changes it here too.
TABLE = {
    None: "GET /healthz, POST session",
    Role.VIEWER: "GET /metrics, GET session, DELETE session, GET schedules, GET schedules/{name},"
    " GET schedules/{name}/next, GET schedules/{name}/explain, GET schedules/{name}/changes, GET changes, POST preview,"
    " GET export, GET runs, GET runs/{run_id}, GET runs/{run_id}/logs,"
    " GET runs/{run_id}/story, GET nodes, GET tasks, GET status, GET doctor,"
    " GET forecast, GET lateness, GET statistics, GET schedules/{name}/ticks, GET events, GET freezes,"
    " GET alerts, GET schedules/{name}/alerts,"
    " GET calendars, GET calendars/{name}, GET triggers, GET triggers/{name},"
    " GET flows, GET flows/{name}, GET runs/{run_id}/graph",
    Role.OPERATOR: "POST schedules/{name}/pause, POST schedules/{name}/resume, POST schedules/{name}/trigger,"
    " POST schedules/{name}/reschedule, POST schedules/{name}/skip, POST schedules/{name}/backfill,"
    " PUT freezes/{name}, DELETE freezes/{name},"
    " POST bulk, POST check, POST runs, POST runs/{run_id}/cancel, POST alerts/{name}/test,"
    " POST runs/{run_id}/retry, POST nodes/{node}/drain, DELETE nodes/{node}",
    Role.ADMIN: "POST schedules, PUT schedules/{name}, PATCH schedules/{name}, DELETE schedules/{name}, POST import,"
    " PUT templates/{name},"
    " PUT calendars/{name}, DELETE calendars/{name}, PUT triggers/{name}, DELETE triggers/{name},"
    " GET tokens, POST tokens, DELETE tokens/{name}",
}
WHO = ("nobody", "viewer", "operator", "admin")


def _method(route: APIRoute) -> str:
    (method,) = list(route.methods or ())
    return method


def _named(route: APIRoute) -> str:
    return f"{_method(route)} {route.path.removeprefix(f'{PREFIX}/')}"


def test_every_route_has_the_role_of_the_handbook() -> None:
    expected = {name.strip(): role for role, names in TABLE.items() for name in names.split(",")}
    assert all(isinstance(route, GuardedRoute) for route in ROUTES)
    assert {_named(route): route.role for route in ROUTES if isinstance(route, GuardedRoute)} == expected


def test_a_route_without_a_role_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="has no role"):
        new_router().get("/forgotten")(lambda: None)


def test_only_the_openapi_document_stands_beside_the_guarded_routes(callers: Callers) -> None:
    others = [route for route in callers.web.routes if not isinstance(route, GuardedRoute)]
    assert [getattr(route, "path", None) for route in others] == ["/openapi.json"]


@pytest.mark.parametrize("route", ROUTES, ids=_named)
def test_each_route_lets_in_those_whose_role_includes_its_own_and_nobody_else(
    callers: Callers, route: GuardedRoute
) -> None:
    path = re.sub(r"\{\w+\}", "missing", route.path)
    for who in WHO:
        # a stream would not end: it is refused for another reason
        params = {"topics": "none"} if route.path.endswith("/events") else {}
        answer = callers.named()[who].ask(_method(route), path, params=params)
        if route.role is None or (who != "nobody" and Role(who).includes(route.role)):
            assert answer.status_code not in (401, 403), who
        else:
            wanted = (401, "token-needed") if who == "nobody" else (403, "role")
            assert (answer.status_code, kind_of(answer)) == wanted, who
        assert answer.status_code < 500 or route.path == "/healthz", answer.text
