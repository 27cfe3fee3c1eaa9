"""`app.flows` over HTTP."""

from __future__ import annotations

from collections.abc import Sequence

from onthedot.app.flow_graphs import Flows
from onthedot.app.remote.connection import Connection
from onthedot.app.remote.values import graph_of
from onthedot.model.graph import Graph


class RemoteFlows(Flows):
    """Each call is one request."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._open_store = connection.no_store

    def list(self) -> Sequence[Graph]:
        return [graph_of(each) for each in self._connection.get("flows").all("flows")]

    def get(self, name: str) -> Graph:
        return graph_of(self._connection.get("flows", name))

    def of_run(self, run_id: str) -> Graph | None:
        said = self._connection.get("runs", run_id, "graph")["graph"]
        return None if said is None else graph_of(said)
