"""Is work done? And how much of it: /healthz for whoever restarts what is stuck, /metrics for Prometheus."""

from __future__ import annotations

from fastapi import Request, Response

from onthedot.app.app import App
from onthedot.app.telemetry.metrics import NodePools
from onthedot.errors import OnthedotError
from onthedot.model.token import Role
from onthedot.web import models
from onthedot.web.routes.router import ANYBODY, VIEWER, new_router
from onthedot.web.security import TheApp, TheCaller

router = new_router("")


@router.get("/healthz", responses={503: {"model": models.Health}}, **ANYBODY)
def healthz(app: TheApp, caller: TheCaller, response: Response) -> models.Health:
    """Whether the store answers and a node is alive: two statements, whatever there is."""
    reasons = _reasons(app)
    if reasons:
        response.status_code = 503
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
