"""A node: one start of a process that plans, executes, or both. Each start is an incarnation of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

SKEW_LABEL = "skew_ms"
"""By this label a node says how far its wall clock is ahead of the store's."""
ZONES_LABEL = "tzdata"
"""By this label a node says which version of the time zone data it goes by."""

SLOW_LABEL = "slow_tasks"
"""By this label a node says which tasks it has found to be slow, one in a line: their runs go to its slow pool."""

ENGINES_LABEL = "engines"
"""By this label a node says to which engines it can give runs, one in a line."""

WARNING_LABEL = "warns."
"""By labels that begin so, and go on with a word for what it is about, a node says what it cannot promise, and what to
do about it."""
NOTE_LABEL = "notes."
"""The same for what cannot be helped."""


class NodeState(StrEnum):
    """A dead one never comes back: the process goes on as another incarnation."""

    ALIVE = "alive"
    DRAINING = "draining"
    STOPPED = "stopped"
    DEAD = "dead"


@dataclass(frozen=True)  # no slots: see values.replace
class Node:
    """One row, never reused. The name is only a label."""

    id: str
    name: str
    group: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    capacity: int = 0
    roles: tuple[str, ...] = ("plan", "execute")
    tasks: tuple[str, ...] = ()
    state: NodeState = NodeState.ALIVE
    pools: Mapping[str, int] = field(default_factory=dict)
    """How many runs each of its pools may have at once; told when it joins, not with each renewal."""
    started_ms: int = 0
    renewed_ms: int = 0
    renewals: int = 0
    """+1 with each renewal: how a taker sees, by its own monotonic time, that nobody renews."""
    lease_ms: int = 30_000

    @property
    def lives(self) -> bool:
        """Whether it may renew, plan, start and record."""
        return self.state in (NodeState.ALIVE, NodeState.DRAINING)

    def expired(self, now_ms: int) -> bool:
        """Whether its lease is over by the store's clock, also where that was set back behind the last renewal."""
        return not self.renewed_ms <= now_ms < self.renewed_ms + self.lease_ms


def engines(node: Node) -> frozenset[str]:
    """The engines that the node can reach, by their names; whether they answer is another matter."""
    return frozenset(node.labels.get(ENGINES_LABEL, "").split("\n")) - {""}


def slow_tasks(node: Node) -> frozenset[str]:
    """What the node has found to be slow."""
    return frozenset(node.labels.get(SLOW_LABEL, "").split("\n"))
