"""What MongoDB forgets is looked for in several places, and nobody stands still meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from pymongo import MongoClient
from pymongo.monitoring import CommandFailedEvent, CommandListener, CommandStartedEvent, CommandSucceededEvent

from onthedot.model.graph import Graph, Step
from onthedot.model.states import State
from onthedot.stores.open import open_store
from onthedot.stores.retention import Retention
from onthedot.testing.clock import ManualClock
from onthedot.testing.conformance import START_MS
from onthedot.testing.conformance.scene import BY, DAY, Scene


class _Between(CommandListener):
    """Does something once, after the first search for runs of a graph has been answered."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act
        self._searches: set[int] = set()
        self.done = False

    def started(self, event: CommandStartedEvent) -> None:
        if event.command_name == "find" and "graph" in event.command.get("filter", {}):
            self._searches.add(event.request_id)

    def succeeded(self, event: CommandSucceededEvent) -> None:
        if event.request_id in self._searches and not self.done:
            self.done = True
            self._act()

    def failed(self, event: CommandFailedEvent) -> None:
        """Whoever asked is told."""


def test_the_graph_of_a_flow_that_is_retried_while_graphs_are_forgotten_is_kept(
    mongodb_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, graph = ManualClock(START_MS), Graph("etl", (Step("one", "job"),))
    store = open_store(mongodb_url, create=True, now_ms=clock)
    scene = Scene(store, clock)
    store.save_graphs([graph])
    flow = scene.waiting_run(task="@etl", graph=graph.hash)
    store.request_cancel(flow.id, "enough", BY)
    scene.wait(2 * DAY)

    def retry() -> None:
        store.retry(flow.id, scene.run(flow).claim_no, BY)

    between = _Between(retry)
    watched = partial(MongoClient, event_listeners=[between])
    monkeypatch.setattr("onthedot.stores.mongo.connect.MongoClient", watched)
    pruning = open_store(mongodb_url, create=False, now_ms=clock)
    pruned = pruning.prune(Retention(), thorough=True)
    assert between.done
    assert (pruned.graphs, scene.run(flow).state) == (0, State.WAITING)
    assert pruning.graph(graph.hash) == graph
    for each in (store, pruning):
        each.close()
