"""`app.flows`: the graphs of flows, as they are drawn now or as a run began with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches

from onthedot.app.flows.flow import PREFIX
from onthedot.app.tasks import Tasks
from onthedot.errors import NotFound, RunNotFound
from onthedot.model.graph import Graph
from onthedot.storable import brief, can_be_kept
from onthedot.stores.base import Store

_MOST_NAMED = 5


class Flows:
    """May be called from any process that can reach the store."""

    def __init__(self, open_store: Callable[[], Store], tasks: Tasks) -> None:
        self._open_store = open_store
        self._tasks = tasks

    def list(self) -> Sequence[Graph]:
        """The flows of this process, and those that live nodes have published, by name."""
        store = self._open_store()
        published = {info.name.removeprefix(PREFIX): info.graph for info in store.tasks() if info.graph is not None}
        found = {name: graph for name, each in published.items() if (graph := store.graph(each)) is not None}
        found |= {flow.name: flow.graph for flow in self._tasks.flows()}
        return [found[name] for name in sorted(found)]

    def get(self, name: str) -> Graph:
        """The flow of that name; `NotFound`."""
        known = {graph.name: graph for graph in self.list()}
        if name.removeprefix(PREFIX) not in known:
            near = get_close_matches(name, known, n=1) or sorted(known)[:_MOST_NAMED]
            hint = f"There is {', '.join(near)}." if known else "No live node has published one."
            raise NotFound(f"No flow named {brief(name)}. {hint}")
        return known[name.removeprefix(PREFIX)]

    def of_run(self, run_id: str) -> Graph | None:
        """The graph that a flow's run began with; None of other runs, or where it is not kept; `RunNotFound`."""
        store = self._open_store()
        found = store.runs(ids=[run_id]) if can_be_kept(run_id) else []
        if not found:
            raise RunNotFound(run_id)
        return None if found[0].graph is None else store.graph(found[0].graph)
