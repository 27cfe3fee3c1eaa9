"""Routing again what its node did not take."""

from __future__ import annotations

from collections.abc import Collection

from onthedot.model.node import NodeState
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.rules.routing import BY_LOAD, Router
from onthedot.stores.transaction import Transaction

IN_TIME_MS = 10_000
"""A routed run that its node has not started so long after its moment goes to another."""


def reroute(tx: Transaction, limit: int) -> int:
    """Another node for due runs whose node is gone, drains, or, but for shards, did not start them in time; says for
    how many."""
    nodes = tx.nodes()
    able = {node.id for node in nodes if node.state is NodeState.ALIVE}
    stranded = _stranded(tx, able, limit)
    if not stranded:
        return 0
    load = tx.load() if any(run.policy.route in BY_LOAD for run in stranded) else {}
    router = Router(nodes, load, tx.now_ms)
    found = tx.live_runs([run.id for run in stranded]).values()
    waiting = [run for run in found if run.state is State.WAITING and run.target is not None]
    changed = [run for each in waiting if (run := _elsewhere(each, router)) is not None]
    tx.save_runs(changed)
    return len(changed)


def _stranded(tx: Transaction, able: Collection[str], limit: int) -> list[Run]:
    """Those that nobody takes. Shards that wait for a busy node, which does its own, do not hide the others."""
    late_ms, asked = tx.now_ms - IN_TIME_MS, limit
    while True:
        found = tx.routed_runs(asked)
        stranded = [run for run in found if run.target not in able or (run.due_ms <= late_ms and not run.is_shard)]
        if stranded or len(found) < asked:
            return stranded[:limit]
        asked *= 4


def _elsewhere(run: Run, router: Router) -> Run | None:
    """A shard goes to whoever is free: all others have their own."""
    if not router.able(run, run.target):
        return None
    chosen = router.choose(run, not_=run.target)
    return replace(run, target=None if chosen is None else chosen.id)
