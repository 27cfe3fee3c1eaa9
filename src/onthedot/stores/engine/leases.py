"""Nodes: joining, renewing, leaving, and taking over from the dead."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from onthedot.errors import Conflict, NodeDead, NodeNotFound
from onthedot.model.change import Author
from onthedot.model.node import Node, NodeState
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule, ScheduleSummary
from onthedot.model.states import LIVE, State
from onthedot.model.task_info import TaskInfo
from onthedot.model.values import replace
from onthedot.rules import end
from onthedot.stores.answers import Renewal
from onthedot.stores.engine.audit import node_drained, node_forgotten, run_adopted, run_given_back
from onthedot.stores.engine.finishing import Tasks, follow
from onthedot.stores.engine.settling import put_down, raise_versions
from onthedot.stores.transaction import Transaction, TryAgain

Fate = Callable[[Run, ScheduleSummary | None, int], Run]
"""What becomes of a run whose node is gone."""


class Parting(NamedTuple):
    """How a node goes: what it is from then on, what becomes of its runs, and who says so."""

    state: NodeState
    fate: Fate
    by: Author | None = None
    """None: the node itself."""


def join(tx: Transaction, node: Node, tasks: Sequence[TaskInfo]) -> Node:
    """Joining again with its id only publishes its tasks and pools anew."""
    known = tx.node(node.id)
    if known is None and node.started_ms:  # it had joined, and was forgotten: it goes on as another
        return replace(node, state=NodeState.DEAD)
    fresh = replace(node, started_ms=tx.now_ms, renewed_ms=tx.now_ms)
    joined = fresh if known is None else replace(known, tasks=node.tasks, pools=node.pools)
    tx.save_node(joined)
    tx.save_tasks(node.id, tasks)
    return joined


def renew(tx: Transaction, node: Node) -> Renewal:
    """A node that was asked to drain stays so, whatever it says of itself."""
    known = tx.node(node.id)
    if known is None or not known.lives:
        raise NodeDead(node.id)
    renewed = replace(
        known,
        state=NodeState.DRAINING if known.state is NodeState.DRAINING else node.state,
        capacity=node.capacity,
        labels=node.labels,
        renewed_ms=tx.now_ms,
        renewals=known.renewals + 1,
    )
    tx.save_node(renewed)
    return Renewal(renewed, tuple(tx.owned_by(node.id)), tuple(tx.nodes()))


def drain(tx: Transaction, node_id: str, by: Author | None) -> Node:
    """Asking twice is asking once."""
    node = tx.node(node_id)
    if node is None or not node.lives:
        raise NodeNotFound(node_id)
    draining = replace(node, state=NodeState.DRAINING)
    tx.save_node(draining)
    if by is not None and node.state is not NodeState.DRAINING:
        tx.add_changes([node_drained(node, by, tx.now_ms)])
    return draining


def forget(tx: Transaction, node_id: str, by: Author) -> Node:
    """A dead node gets no more runs: where it holds none, none will come."""
    node = tx.node(node_id)
    if node is None:
        raise NodeNotFound(node_id, live=False)
    if node.lives:
        raise Conflict(_why_it_lives(node, tx.now_ms))
    if node_id in tx.owners():
        raise Conflict(
            f"node {node.name} is {node.state}, and the store still holds runs of it: any live node gives them back "
            "within seconds; forget it then (`onthedot nodes list` shows whether one is alive)"
        )
    tx.forget_node(node_id)
    tx.add_changes([node_forgotten(node, by, tx.now_ms)])
    return node


def _why_it_lives(node: Node, now_ms: int) -> str:
    if node.expired(now_ms):
        return (
            f"node {node.name} is silent, but nobody has declared it dead yet: any other live node does within seconds "
            "and takes its runs over; start one if there is none, and forget it then"
        )
    return (
        f"node {node.name} is alive: drain it (`onthedot nodes drain {node.name}`), and forget it when it has stopped"
    )


def leave(tx: Transaction, node_id: str, tasks: Tasks) -> list[Run]:
    """The node ends its own incarnation: what it still holds is given back, and no crash is counted."""
    return _end(tx, node_id, tasks, lambda node: node.lives, Parting(NodeState.STOPPED, end.given_back))


def take_over(tx: Transaction, node_id: str, seen_renewals: int, tasks: Tasks, by: Author) -> list[Run]:
    """From a node whose lease is over and that has not renewed since it was seen."""

    def is_dead(node: Node) -> bool:
        return node.renewals == seen_renewals and (not node.lives or node.expired(tx.now_ms))

    return _end(tx, node_id, tasks, is_dead, Parting(NodeState.DEAD, end.take_over, by))


def give_back_of_dead(tx: Transaction, node_id: str, only: Collection[str], tasks: Tasks, by: Author) -> list[Run]:
    """Some runs of a node that is dead already, where they must be given back one by one."""
    locked = _lock_schedules_of(tx, node_id)
    node = tx.node(node_id)
    if node is not None and node.lives:
        return []
    gone = Node(node_id, node_id) if node is None else node
    return _give_back(tx, gone, Parting(NodeState.DEAD, end.take_over, by), tasks, locked, only)


def mark_dead(tx: Transaction, node_id: str, seen_renewals: int) -> bool:
    """The same without its runs, for where they must be given back one by one."""
    node = tx.node(node_id)
    if node is None or node.renewals != seen_renewals or (node.lives and not node.expired(tx.now_ms)):
        return False
    if node.lives:
        tx.save_node(replace(node, state=NodeState.DEAD))
    return True


def mark_stopped(tx: Transaction, node_id: str) -> None:
    """The node ends its incarnation without its runs, for where they must be given back one by one."""
    node = tx.node(node_id)
    if node is not None and node.lives:
        tx.save_node(_heard_of(node, NodeState.STOPPED, tx.now_ms))


def _end(tx: Transaction, node_id: str, tasks: Tasks, may: Callable[[Node], bool], parting: Parting) -> list[Run]:
    """Its runs wait again, which adds to their schedules: those are locked first, then the node, then the runs."""
    locked = _lock_schedules_of(tx, node_id)
    node = tx.node(node_id)
    if node is None or not may(node):
        return []
    if node.lives:
        tx.save_node(_heard_of(node, parting.state, tx.now_ms))
    return _give_back(tx, node, parting, tasks, locked)


def _heard_of(node: Node, state: NodeState, now_ms: int) -> Node:
    """The node as it goes. One that says so itself is heard of now, unless it was cut off for longer than its lease."""
    says_so = state is NodeState.STOPPED and not node.expired(now_ms)
    return replace(node, state=state, renewed_ms=now_ms if says_so else node.renewed_ms)


def _give_back(  # noqa: PLR0917  (all are needed, and nobody else calls it)
    tx: Transaction,
    node: Node,
    parting: Parting,
    tasks: Tasks,
    locked: Mapping[str, Schedule],
    only: Collection[str] | None = None,
) -> list[Run]:
    """The runs of a node that can no longer do anything, all or some of them."""
    own = [run.id for run in tx.owned_by(node.id) if only is None or run.id in only]
    runs = tx.live_runs(own)
    ids = {run.schedule_id for run in runs.values() if run.schedule_id is not None}
    if not ids <= locked.keys():  # it planned one more before its row was locked
        raise TryAgain
    summaries = tx.summaries(ids)
    by = parting.by or Author(node.name, "node", "leave")
    owned = [run for run in runs.values() if run.owner == node.id and run.state is State.RUNNING]
    adopted = _adopt(tx, node, [run for run in owned if run.remote is not None], by)
    held = [run for run in owned if run.remote is None]
    given_back = [parting.fate(run, summaries.get(run.schedule_id or ""), tx.now_ms) for run in held]
    waiting = {run.schedule_id for run in given_back if run.state in LIVE and run.schedule_id is not None}
    raise_versions(tx, [locked[each] for each in waiting])
    follow(tx, put_down(tx, given_back), summaries, tasks)
    both = zip(held, given_back, strict=True)
    tx.add_changes([run_given_back(before, after, node, by, tx.now_ms) for before, after in both])
    return [*given_back, *adopted]


def hand_over(tx: Transaction, node_id: str) -> list[Run]:
    """What a node that lives has at engines, to others: it takes no part in what becomes of it any more."""
    ids = [run.id for run in tx.owned_by(node_id) if run.remote is not None]
    node = tx.node_shared(node_id) if ids else None
    if node is None:
        return []
    runs = tx.live_runs(ids).values()
    held = [run for run in runs if run.owner == node_id and run.state is State.RUNNING and run.remote is not None]
    return _adopt(tx, node, held, Author(node.name, "node", "hand over"))


def _adopt(tx: Transaction, node: Node, held: Sequence[Run], by: Author) -> list[Run]:
    """Runs at engines go on, watched by others; those that nobody else can watch stay where they are."""
    nodes = tx.nodes() if held else []
    heirs = [(run, heir) for run in held if (heir := end.heir_of(run, nodes, tx.now_ms)) is not None]
    adopted = [end.adopted(run, heir) for run, heir in heirs]
    tx.save_runs(adopted)
    tx.add_changes(
        [run_adopted(run, (node, heir), by, tx.now_ms) for run, (_, heir) in zip(adopted, heirs, strict=True)]
    )
    return adopted


def _lock_schedules_of(tx: Transaction, node_id: str) -> dict[str, Schedule]:
    return tx.lock_schedules({run.schedule_id for run in tx.owned_by(node_id) if run.schedule_id is not None})
