"""Finds dead nodes: the lease over by the store's clock, and unrenewed for one lease of our own monotonic time."""

from __future__ import annotations

from collections.abc import Iterable

from onthedot.clock import Clock
from onthedot.model.node import Node


class Reaper:
    """Remembers when each node was first seen with its present count of renewals."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[str, tuple[int, int]] = {}

    def suspects(self, nodes: Iterable[Node], own_id: str, now_ms: int) -> list[tuple[str, int]]:
        """The nodes that may be taken over, each with the renewals that it was seen with."""
        here, found = self._clock.monotonic_ms(), []
        seen: dict[str, tuple[int, int]] = {}
        for node in nodes:
            renewals, since = self._seen.get(node.id, (-1, here))
            since = since if renewals == node.renewals else here
            seen[node.id] = (node.renewals, since)
            if node.id != own_id and here - since >= node.lease_ms and node.expired(now_ms):
                found.append((node.id, node.renewals))
        self._seen = seen
        return found
