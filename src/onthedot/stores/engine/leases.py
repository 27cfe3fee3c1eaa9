"""Nodes: joining, renewing, leaving, and taking over from the dead."""

from __future__ import annotations

from collections.abc import Sequence

from onthedot.model.node import Node, NodeState
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.rules import end as ending
from onthedot.stores.base import Renewal, TaskInfo
from onthedot.stores.engine.chains import followers
from onthedot.stores.engine.transactions import Transactions
from onthedot.stores.transaction import Transaction


class Leases(Transactions):
    """`join`, `renew`, `leave` and `take_over`."""

    def join(self, node: Node, tasks: Sequence[TaskInfo]) -> Node:
        def work(rows: Transaction) -> Node:
            known = rows.node(node.id)
            fresh = replace(node, started_ms=rows.now_ms, renewed_ms=rows.now_ms)
            joined = fresh if known is None else replace(known, tasks=node.tasks)
            rows.save_node(joined)
            rows.save_tasks(node.id, tasks)
            return joined

        return self._transact(work)

    def renew(self, node: Node) -> Renewal:
        def work(rows: Transaction) -> Renewal:
            known = self._alive(rows, node.id)
            renewed = replace(
                known,
                state=NodeState.DRAINING if known.state is NodeState.DRAINING else node.state,
                capacity=node.capacity,
                labels=node.labels,
                renewed_ms=rows.now_ms,
                renewals=known.renewals + 1,
            )
            rows.save_node(renewed)
            return Renewal(renewed, tuple(rows.owned_by(node.id)), tuple(rows.nodes()))

        return self._transact(work)

    def leave(self, node_id: str) -> None:
        def work(rows: Transaction) -> list[Run]:
            node = rows.node(node_id)
            if node is None or not node.lives:
                return []
            rows.save_node(replace(node, state=NodeState.STOPPED))
            return self._give_back(rows, node_id)

        given_back = self._transact(work)
        self._wake_blocked(given_back)
        self._look_behind_groups(given_back)
        self.notify()

    def take_over(self, node_id: str, seen_renewals: int) -> list[Run]:
        def work(rows: Transaction) -> list[Run]:
            node = rows.node(node_id)
            if node is None or node.renewals != seen_renewals:
                return []
            if node.lives:
                if not node.expired(rows.now_ms):
                    return []
                rows.save_node(replace(node, state=NodeState.DEAD))
            return self._give_back(rows, node_id)

        given_back = self._transact(work)
        self._wake_blocked(given_back)
        self._look_behind_groups(given_back)
        self.notify()
        return given_back

    def _give_back(self, rows: Transaction, node_id: str) -> list[Run]:
        runs = rows.live_runs([run.id for run in rows.owned_by(node_id)])
        schedules = rows.standing({run.schedule_id for run in runs.values() if run.schedule_id is not None})
        given_back = [
            ending.take_over(run, schedules.get(run.schedule_id or ""), rows.now_ms)
            for run in runs.values()
            if run.owner == node_id and run.state is State.RUNNING
        ]
        following = followers(self._settle(rows, given_back), schedules, rows.now_ms, self.tasks)
        rows.save_runs(following)
        return given_back
