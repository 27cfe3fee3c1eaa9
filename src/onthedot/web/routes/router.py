"""What all modules of routes begin with."""

from __future__ import annotations

from fastapi import APIRouter

from onthedot.model.token import Role
from onthedot.web.security import GuardedRoute, needs

PREFIX = "/api/v1"
ANYBODY = needs(None)
VIEWER, OPERATOR, ADMIN = (needs(role) for role in (Role.VIEWER, Role.OPERATOR, Role.ADMIN))


def new_router(prefix: str = PREFIX) -> APIRouter:
    """Every route that is added to it is guarded."""
    return APIRouter(prefix=prefix, route_class=GuardedRoute)
