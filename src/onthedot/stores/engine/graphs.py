"""Graphs by their hashes: the one of broadcasts is known, all others are kept in the store."""

from __future__ import annotations

from collections.abc import Collection

from onthedot.model.graph import BROADCAST, Graph
from onthedot.stores.transaction import Transaction


def graphs_of(tx: Transaction, hashes: Collection[str]) -> dict[str, Graph]:
    """Those of them that are known."""
    kept = [each for each in hashes if each != BROADCAST.hash]
    found = tx.graphs(kept) if kept else {}
    return {**found, BROADCAST.hash: BROADCAST} if len(kept) < len(hashes) else found


def graph_of(tx: Transaction, graph_hash: str) -> Graph | None:
    """The one, where it is known."""
    return graphs_of(tx, [graph_hash]).get(graph_hash)
