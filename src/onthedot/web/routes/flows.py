"""Flows: their graphs, as they are drawn now or as a run began with."""

from __future__ import annotations

from onthedot.app.json_documents import graph_document
from onthedot.web import models
from onthedot.web.routes.router import VIEWER, new_router
from onthedot.web.security import TheApp

router = new_router()


@router.get("/flows", **VIEWER)
def list_flows(app: TheApp) -> models.Flows:
    """Those that live nodes have published."""
    return models.Flows(flows=[models.Flow(**graph_document(each)) for each in app.flows.list()])


@router.get("/flows/{name}", **VIEWER)
def show_flow(app: TheApp, name: str) -> models.Flow:
    """One flow, as it is drawn now."""
    return models.Flow(**graph_document(app.flows.get(name)))


@router.get("/runs/{run_id}/graph", **VIEWER)
def show_graph(app: TheApp, run_id: str) -> models.RunGraph:
    """The graph that the run of a flow began with; how far its steps are stands in the run itself."""
    graph = app.flows.of_run(run_id)
    return models.RunGraph(graph=None if graph is None else models.Flow(**graph_document(graph)))
