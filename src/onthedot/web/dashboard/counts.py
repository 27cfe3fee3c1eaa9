"""The few numbers in the navigation. The watcher has them: no page asks the store for them."""

from __future__ import annotations

from dataclasses import dataclass

from onthedot.model.node import NodeState
from onthedot.web.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of what is stored stop at 10,000."""

    schedules: int
    live_runs: int
    """Waiting and running."""
    nodes: int
    taking: int
    """Of the nodes, those that take runs."""
    needs: int | None = None
    """What needs somebody; None where it is not known."""


def counts_of(seen: Snapshot) -> Counts:
    """As they were at the last look."""
    alive = [node for node in seen.nodes if node.state is NodeState.ALIVE and not seen.is_silent(node)]
    return Counts(
        schedules=seen.schedules.total,
        live_runs=seen.runs.waiting + seen.runs.running,
        nodes=len(seen.nodes),
        taking=len(alive),
    )
