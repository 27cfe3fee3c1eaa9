"""`app.nodes`: who is alive, and asking one to make way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from onthedot.app.options import count_of
from onthedot.errors import Conflict, NodeNotFound
from onthedot.insight.pool_use import PoolUse, pools_in_use
from onthedot.model.change import Author
from onthedot.model.node import Node
from onthedot.stores.base import Store
from onthedot.stores.counts import Load

_MOST_GONE = 10_000
_MOST_NAMED = 10


class Nodes:
    """May be called from any process that can reach the store."""

    def __init__(self, open_store: Callable[[], Store], by: Callable[[str], Author]) -> None:
        self._open_store = open_store
        self._by = by

    def list(self) -> Sequence[Node]:
        """Those that are neither dead nor stopped, by start."""
        return self._open_store().nodes()

    def gone(self, limit: int = 100) -> Sequence[Node]:
        """Those that have stopped or died, as far as they are kept; who was heard of last comes first."""
        return self._open_store().gone_nodes(limit=count_of(limit, "limit"))

    def load(self) -> Sequence[Load]:
        """What each runs now, by task and the pool that runs name."""
        return self._open_store().load()

    def pools(self) -> Mapping[str, Sequence[PoolUse]]:
        """The pools of each live node by its id: how many runs each may have at once, and how many it has."""
        store = self._open_store()
        return pools_in_use(store.nodes(), store.load(), store.tasks())

    def drain(self, node: str) -> Node:
        """Ask a node, by its id or name, to take no more runs and to stop when it has none; it learns of it at its next
        heartbeat.
        """
        live = self._open_store().nodes()
        found = _called(node, live)
        if not found:
            raise NodeNotFound(node, [each.name for each in live])
        if len(found) > 1:
            ids = " or ".join(each.id for each in found)
            raise Conflict(f"{len(found)} live nodes are called {node!r}; give the id of the one that you mean: {ids}")
        return self._open_store().drain(found[0].id, self._by("drain"))

    def forget(self, node: str) -> None:
        """Forget a node that has stopped or died, by its id; by its name all that were called so. What they did stays
        in history, under their ids. `Conflict` if it lives, or if the store still holds runs of it.
        """
        store = self._open_store()
        gone = store.gone_nodes(limit=_MOST_GONE)
        found = _called(node, gone) or _called(node, store.nodes())
        if not found:
            raise NodeNotFound(node, dict.fromkeys(each.name for each in gone[:_MOST_NAMED]), live=False)
        for each in found:
            store.forget_node(each.id, self._by("forget"))


def _called(node: str, among: Sequence[Node]) -> Sequence[Node]:
    return [each for each in among if node in (each.id, each.name)]
