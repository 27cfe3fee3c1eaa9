"""The few numbers in the navigation: read once in a while for all pages of a process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from onthedot.model.node import NodeState
from onthedot.stores.base import Store

_FRESH_MS = 1500


@dataclass(frozen=True, slots=True)
class Counts:
    """None where it is not known."""

    needs: int | None = None
    schedules: int | None = None
    live_runs: int | None = None
    nodes: int | None = None
    taking: int | None = None
    """Of the nodes, those that take runs."""


class CountKeeper:
    """Reads them again when they are older than a second and a half; one thread at a time, the others take the old."""

    def __init__(self, monotonic_ms: Callable[[], int]) -> None:
        self._monotonic_ms = monotonic_ms
        self._held: tuple[int, Counts] | None = None
        self._lock = Lock()

    def read(self, store: Store) -> Counts:
        """At most a few small statements, whoever looks."""
        held, now_ms = self._held, self._monotonic_ms()
        if held is not None and (now_ms - held[0] < _FRESH_MS or self._lock.locked()):
            return held[1]
        with self._lock:
            counts = read_counts(store)
            self._held = now_ms, counts
        return counts


def read_counts(store: Store) -> Counts:
    """As the store has them now."""
    now_ms, nodes = store.now_ms(), store.nodes()
    alive = [node for node in nodes if node.state is NodeState.ALIVE and not node.expired(now_ms)]
    return Counts(nodes=len(nodes), taking=len(alive))
