"""Is work done? And how much of it: /healthz for whoever restarts what is stuck, /metrics for Prometheus."""

from __future__ import annotations

from fastapi import Request, Response

from onthedot.app.app import App
from onthedot.app.telemetry.metrics import NodePools
from onthedot.errors import OnthedotError
from onthedot.model.token import Role
from onthedot.web import models
from onthedot.web.places import HEALTH
from onthedot.web.routes.router import ANYBODY, VIEWER, new_router
from onthedot.web.security import Gate, TheApp, TheGate

router = new_router("")


@router.get("/healthz", responses={503: {"model": models.Health}}, **ANYBODY)
async def healthz(request: Request, gate: TheGate, response: Response) -> models.Health:
    """Whether the store answers and a node is alive: two statements, whatever there is. A store that says nothing is
    waited for 10 s, by one thread, however many ask."""
    found = await HEALTH.in_time(lambda: _health(gate, request)) or _SILENT
    if not found.healthy:
        response.status_code = 503
    return found


_SILENT = models.Health(healthy=False, reasons=["the store does not answer"])
"""Told to everybody: who asks cannot be known."""


def _health(gate: Gate, request: Request) -> models.Health:
    try:
        caller = gate.caller_of(request)
    except OnthedotError:
        return _SILENT
    reasons = _reasons(gate.app)
    return models.Health(healthy=not reasons, reasons=reasons if caller.may(Role.VIEWER) else None)


def _reasons(app: App) -> list[str]:
    try:
        now_ms = app.open_store().now_ms()
        nodes = app.nodes.list()
    except OnthedotError as error:
        return [str(error)]
    if not nodes:
        return ["no node is alive: nothing will run; start one with `onthedot run`"]
    if all(node.expired(now_ms) for node in nodes):
        return ["no node has renewed its lease"]
    return []


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}}, **VIEWER)
def metrics(app: TheApp, request: Request) -> Response:
    """What this process counts, and how full the pools of all nodes are, for Prometheus."""
    body, content_type = app.metrics.text(request.headers.get("accept", ""), NodePools(app.nodes))
    return Response(body, headers={"Content-Type": content_type})
