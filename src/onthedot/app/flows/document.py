"""Graphs in an export: a schedule of a flow is worth nothing where nobody has its graph."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from onthedot.errors import FileError
from onthedot.model.graph import Graph
from onthedot.stores.base import Store


def exported_graphs(store: Store, hashes: Iterable[str | None]) -> list[dict[str, Any]]:
    """These graphs and those of the flows in them, as JSON; one that the store no longer has is left out."""
    left, found = [each for each in hashes if each is not None], dict[str, Graph]()
    while left:
        graph = store.graph(left.pop())
        if graph is not None and graph.hash not in found:
            found[graph.hash] = graph
            left += [step.graph for step in graph.steps if step.graph is not None]
    return [json.loads(graph.text) for graph in sorted(found.values(), key=lambda graph: (graph.name, graph.hash))]


def read_graphs(
    store: Store, document: object, schedules: Mapping[str, Mapping[str, Any]], path: str
) -> Sequence[Graph]:
    """The graphs of an export; `FileError` if one cannot be read, or a schedule's is neither there nor in the store."""
    said = document.get("graphs", []) if isinstance(document, dict) else []
    try:
        graphs = [Graph.from_text(json.dumps(each)) for each in said]
        known = {graph.hash for graph in graphs}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise FileError(path, [f"graphs: one of them is no graph of a flow: {type(error).__name__}: {error}"]) from None
    wanted = {name: item.get("graph") for name, item in schedules.items() if item.get("graph") is not None}
    missing = [name for name, each in wanted.items() if each not in known and store.graph(f"{each}") is None]
    if missing:
        raise FileError(
            path, [f"schedule {name}: the graph of its flow is not in the file; export it anew" for name in missing]
        )
    return graphs
