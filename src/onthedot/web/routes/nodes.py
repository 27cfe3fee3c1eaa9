"""Nodes and what they can do."""

from __future__ import annotations

from onthedot.insight.failures import LATELY_MS
from onthedot.model.node import NodeState
from onthedot.web import models
from onthedot.web.reading import node_model, now_ms_of, task_model
from onthedot.web.routes.router import OPERATOR, VIEWER, new_router
from onthedot.web.security import TheApp

router = new_router()


@router.get("/nodes", **VIEWER)
def list_nodes(app: TheApp) -> models.Nodes:
    """Those that are alive, by start, with what they run; and those that died within the last day."""
    nodes, pools, now_ms = app.nodes.list(), app.nodes.pools(), now_ms_of(app)
    died = [node for node in app.nodes.gone() if node.state is NodeState.DEAD and node.renewed_ms > now_ms - LATELY_MS]
    return models.Nodes(
        nodes=[node_model(node, now_ms, pools.get(node.id, ())) for node in nodes],
        died=[node_model(node, now_ms) for node in died],
    )


@router.post("/nodes/{node}/drain", **OPERATOR)
def drain(app: TheApp, node: str) -> models.Node:
    """Ask a node, by its id or name, to take no more runs, and to stop when it has none."""
    draining = app.nodes.drain(node)
    return node_model(draining, now_ms_of(app), app.nodes.pools().get(draining.id, ()))


@router.delete("/nodes/{node}", status_code=204, **OPERATOR)
def forget(app: TheApp, node: str) -> None:
    """Forget a node that has stopped or died, by its id, or all of that name; one that lives or holds runs stays."""
    app.nodes.forget(node)


@router.get("/tasks", **VIEWER)
def list_tasks(app: TheApp) -> models.Tasks:
    """What can be scheduled and enqueued."""
    return models.Tasks(tasks=[task_model(task) for task in app.tasks.list()])
