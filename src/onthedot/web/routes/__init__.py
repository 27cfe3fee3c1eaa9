"""The routes, by what they are about. A new one needs a role, and so a line in the test of all roles."""

from fastapi.routing import APIRoute

from onthedot.web.routes import (
    access,
    alerts,
    bulk,
    events,
    files,
    flows,
    freezes,
    health,
    insight,
    nodes,
    runs,
    schedules,
    steering,
    values,
)

ROUTES: tuple[APIRoute, ...] = tuple(
    route
    for module in (
        health,
        access,
        alerts,
        schedules,
        steering,
        bulk,
        freezes,
        values,
        files,
        flows,
        runs,
        nodes,
        insight,
        events,
    )
    for route in module.router.routes
    if isinstance(route, APIRoute)
)

__all__ = ["ROUTES"]
