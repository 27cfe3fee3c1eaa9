"""What all modules of routes begin with."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from onthedot.model.token import Role
from onthedot.web.problems import MEDIA_TYPE
from onthedot.web.security import GuardedRoute, needs

PREFIX = "/api/v1"
ANYBODY = needs(None)
VIEWER, OPERATOR, ADMIN = (needs(role) for role in (Role.VIEWER, Role.OPERATOR, Role.ADMIN))


_PROBLEM: dict[str, Any] = {
    "description": "A problem of RFC 9457, with the error's own values",
    "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


def new_router(prefix: str = PREFIX) -> APIRouter:
    """Every route that is added to it is guarded, and says that it may answer with a problem."""
    return APIRouter(prefix=prefix, route_class=GuardedRoute, responses={"4XX": _PROBLEM, "5XX": _PROBLEM})
