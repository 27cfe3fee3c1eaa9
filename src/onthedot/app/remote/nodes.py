"""`app.nodes` over HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onthedot.app.nodes import Nodes
from onthedot.app.remote.connection import Connection
from onthedot.app.remote.values import node_of, pool_use_of
from onthedot.insight.pool_use import PoolUse
from onthedot.model.node import Node


class RemoteNodes(Nodes):
    """Each call is one request."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._open_store = connection.no_store

    def list(self) -> Sequence[Node]:
        return [node_of(each) for each in self._connection.get("nodes").all("nodes")]

    def pools(self) -> Mapping[str, Sequence[PoolUse]]:
        nodes = self._connection.get("nodes").all("nodes")
        return {node_of(each).id: [pool_use_of(pool) for pool in each["pools"]] for each in nodes}

    def drain(self, node: str) -> Node:
        return node_of(self._connection.post("nodes", node, "drain"))

    def forget(self, node: str) -> None:
        self._connection.delete("nodes", node)
