"""Graphs as a process remembers them, and for how long they are kept without anybody who needs them."""

from __future__ import annotations

from collections.abc import Collection
from threading import Lock

from onthedot.model.graph import Graph

KEPT_MS = 86_400_000
"""So long after somebody last asked to keep it, whoever needs it: time enough to write what refers to it."""
_LONG_MS = KEPT_MS // 2
_MOST = 1000


def is_long_ago(seen_ms: int, now_ms: int) -> bool:
    """Whether it must be written anew that somebody has asked to keep it; not each time."""
    return now_ms - seen_ms > _LONG_MS


class Graphs:
    """The latest that were read, by hash: a graph never changes. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._graphs: dict[str, Graph] = {}

    def __contains__(self, graph_hash: str) -> bool:
        return graph_hash in self._graphs

    def add(self, graph_hash: str, graph: Graph) -> None:
        """Remember it."""
        with self._lock:
            self._graphs[graph_hash] = graph
            for each in list(self._graphs)[: max(len(self._graphs) - _MOST, 0)]:
                del self._graphs[each]

    def among(self, hashes: Collection[str]) -> dict[str, Graph]:
        """Those of these that are remembered."""
        found = ((each, self._graphs.get(each)) for each in hashes)
        return {each: graph for each, graph in found if graph is not None}
