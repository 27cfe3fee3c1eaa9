"""Which node a run goes to: each route a small pure function of the run, the live nodes and their load.

One router for all callers: planning, enqueuing and routing again. The load comes in as a value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from onthedot.model.node import Node, NodeState
from onthedot.model.run import Run
from onthedot.triggers.stable_hash import spread_over

_BITS = (1 << 64) - 1
_ODD = 0x9E3779B97F4A7C15  # 2^64 / golden ratio: multiplied and folded, all bits of a number count in all bits

BY_LOAD = frozenset({"busyover", "lfu", "lru"})
"""Routes for which the load must be known: of `lfu` and `lru` only for runs without a schedule."""
BY_USE = frozenset({"lfu", "lru"})


@dataclass(frozen=True, slots=True)
class Question:
    """A run to be routed, and the nodes that may take it, in the order in which they started; there is one at least."""

    run: Run
    turn: int
    """Which of its schedule's runs it is."""
    nodes: tuple[Node, ...]
    now_ms: int
    load: Mapping[str, int]
    """How many runs each node has running."""
    used: Mapping[str, int] | None
    """What the schedule remembers of its nodes, by name; None for a run without a schedule."""

    def part_busy(self, node: Node) -> float:
        """Which part of a node's workers is busy."""
        return self.load.get(node.id, 0) / max(node.capacity, 1)


def eligible(nodes: Iterable[Node], task: str, group: str | None, not_: str | None = None) -> tuple[Node, ...]:
    """The nodes that may take a run of this task and group, but that one; in a fixed order."""
    able = [node for node in nodes if takes(node, task, group) and node.id != not_]
    return tuple(sorted(able, key=lambda node: (node.started_ms, node.id)))


def takes(node: Node, task: str, group: str | None) -> bool:
    """Whether a node takes runs of this task and group at all."""
    return node.state is NodeState.ALIVE and suits(node, task, group)


def suits(node: Node, task: str, group: str | None) -> bool:
    """Whether runs of this task and group are for such a node, whatever has become of it."""
    return "execute" in node.roles and task in node.tasks and (group is None or node.group == group)


def why_nobody(nodes: Sequence[Node], task: str, group: str | None) -> str | None:
    """Why none of the live nodes takes runs of this task and group; None where one does."""
    if any(takes(node, task, group) for node in nodes):
        return None
    if not nodes:
        return "no node is alive"
    if group is not None and not any(node.group == group for node in nodes):
        return f"no live node is in the group {group}"
    inside = "" if group is None else f" of the group {group}"
    if any(suits(node, task, group) for node in nodes):
        return f"every node{inside} that has the task {task} is draining"
    return f"no live node{inside} has the task {task}"


def is_routed(run: Run) -> bool:
    """Whether a node is chosen for it; a broadcast goes to all, once it starts."""
    return run.policy.route not in ("any", "broadcast")


class Router:
    """Chooses nodes for the runs of one batch, among the nodes that lived when it began.

    What it chooses counts as load for the next of the batch. It remembers nothing beyond that: what `lru` and `lfu` go
    by is kept with the schedule, under whose lock a run is planned, so that all planners go by the same.
    """

    def __init__(self, nodes: Sequence[Node], load: Mapping[str, int], now_ms: int) -> None:
        self._nodes = nodes
        self._load = Counter(load)
        self._now_ms = now_ms
        self._eligible: dict[tuple[str, str | None, str | None], tuple[Node, ...]] = {}

    def choose(
        self, run: Run, turn: int = 0, used: Mapping[str, int] | None = None, not_: str | None = None
    ) -> Node | None:
        """The node for this run; None for whoever is free, and where no live node may take it."""
        able = self.able(run, not_)
        if not is_routed(run) or not able:
            return None
        chosen = ROUTES[run.policy.route](Question(run, turn, able, self._now_ms, self._load, used))
        self._load[chosen.id] += 1
        return chosen

    def able(self, run: Run, not_: str | None = None) -> tuple[Node, ...]:
        """The nodes that may take it, found once for each task and group."""
        key = run.task, run.policy.group, not_
        able = self._eligible.get(key)
        if able is None:
            able = self._eligible[key] = eligible(self._nodes, *key)
        return able

    def why_nobody(self, run: Run) -> str | None:
        """Why no live node takes such a run; None where one does."""
        return None if self.able(run) else why_nobody(self._nodes, run.task, run.policy.group)


def used_after(used: Mapping[str, int], route: str, chosen: Node, turn: int, nodes: Iterable[Node]) -> dict[str, int]:
    """What the schedule remembers after this choice: for `lfu` how often, for `lru` when last; of live nodes only.

    One that comes new begins where the least used one stands, or all runs would go to it until it has caught up.
    """
    if route == "lru":
        return {node.name: used[node.name] for node in nodes if node.name in used} | {chosen.name: turn + 1}
    counts = {node.name: _count_of(used, node) for node in nodes}
    return {**counts, chosen.name: counts[chosen.name] + 1}


def _count_of(used: Mapping[str, int], node: Node) -> int:
    return used[node.name] if node.name in used else min(used.values(), default=0)


def _first(question: Question) -> Node:
    return question.nodes[0]


def _last(question: Question) -> Node:
    return question.nodes[-1]


def _round(question: Question) -> Node:
    return question.nodes[question.turn % len(question.nodes)]


def _random(question: Question) -> Node:
    return question.nodes[spread_over(question.run.id, "route", len(question.nodes))]


def _lfu(question: Question) -> Node:
    used = question.used
    if used is None:
        return _busyover(question)
    return min(question.nodes, key=lambda node: _count_of(used, node))


def _lru(question: Question) -> Node:
    used = question.used
    if used is None:
        return _busyover(question)
    return min(question.nodes, key=lambda node: used.get(node.name, 0))


def _hash(question: Question) -> Node:
    """Rendezvous: where a node comes or goes, only what it wins or held moves. By name: a restart moves nothing."""
    run = _number(question.run.schedule or question.run.task)
    numbers = map(_number, [node.name for node in question.nodes])
    mixed = [((product := (run ^ number) * _ODD) ^ product >> 64) & _BITS for number in numbers]
    return question.nodes[mixed.index(max(mixed))]


@lru_cache(maxsize=1 << 16)
def _number(name: str) -> int:
    """Digests are made once a name: one for each pair of run and node would cost more than planning the run."""
    return spread_over(name, "rendezvous", 1 << 64)


def _failover(question: Question) -> Node:
    """The first whose lease is not over; if all are, the one that was heard of last."""
    healthy = [node for node in question.nodes if not node.expired(question.now_ms)]
    return healthy[0] if healthy else max(question.nodes, key=lambda node: node.renewed_ms)


def _busyover(question: Question) -> Node:
    """The first that is idle; if none is, the one with the smallest part of its workers busy."""
    return min(question.nodes, key=question.part_busy)


ROUTES: dict[str, Callable[[Question], Node]] = {
    "first": _first,
    "last": _last,
    "round": _round,
    "random": _random,
    "lfu": _lfu,
    "lru": _lru,
    "hash": _hash,
    "failover": _failover,
    "busyover": _busyover,
}
"""`any` needs no choice, and `broadcast` takes all."""
