"""Routing again what its node did not take, and asking a node to take no more."""

from __future__ import annotations

from onthedot.errors import NodeNotFound
from onthedot.model.node import Node, NodeState
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.rules import routing
from onthedot.rules.effects import Reroute
from onthedot.stores.engine.transactions import Transactions
from onthedot.stores.transaction import Transaction

IN_TIME_MS = 10_000
"""A routed run that its node has not started so long after its moment goes to another."""


class Routing(Transactions):
    """`reroute` and `drain`."""

    def reroute(self, choose: Reroute, limit: int = 1000) -> int:
        def work(rows: Transaction) -> int:
            nodes = rows.nodes()
            able = {node.id for node in nodes if node.state is NodeState.ALIVE}
            late_ms = rows.now_ms - IN_TIME_MS
            stranded = [run for run in rows.routed_runs(limit) if run.target not in able or run.due_ms <= late_ms]
            changed = []
            for run in rows.live_runs([run.id for run in stranded]).values():
                others = routing.eligible(nodes, run.task, run.policy.group, run.target)
                if run.state is State.WAITING and run.target is not None and others:
                    changed.append(replace(run, target=choose(run, others, rows.now_ms)))
            rows.save_runs(changed)
            return len(changed)

        rerouted = self._transact(work)
        if rerouted:
            self.notify()
        return rerouted

    def drain(self, node_id: str) -> Node:
        def work(rows: Transaction) -> Node:
            node = rows.node(node_id)
            if node is None or not node.lives:
                raise NodeNotFound(node_id)
            draining = replace(node, state=NodeState.DRAINING)
            rows.save_node(draining)
            return draining

        node = self._transact(work)
        self.notify()
        return node
