"""Engines that do not answer, as the nodes that need them say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from onthedot.model.node import WARNING_LABEL, Node

_ABOUT = f"{WARNING_LABEL}engine "


def silent_engines(nodes: Sequence[Node]) -> tuple[str, ...]:
    """One sentence each: which engine, for which nodes, and what it said."""
    told: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for node in nodes:
        for label, text in node.labels.items():
            if label.startswith(_ABOUT):
                told[label.removeprefix(_ABOUT)].append((node.name, text.partition("; ")[0]))
    return tuple(
        f"engine {engine}: {said[0][1]} ({', '.join(name for name, _ in said)})"
        for engine, said in sorted(told.items())
    )
