"""Which node a run goes to: each route a small pure function of the run, the live nodes and what is known of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from onthedot.model.node import Node, NodeState
from onthedot.model.run import Run
from onthedot.triggers.stable_hash import spread_over

_BITS = (1 << 64) - 1
_ODD = 0x9E3779B97F4A7C15  # 2^64 / golden ratio: multiplied and folded, all bits of a number count in all bits


@dataclass(frozen=True, slots=True)
class Known:
    """What a planner knows of the nodes besides their rows. Best effort: each planner counts for itself."""

    busy: Mapping[str, int] = field(default_factory=dict)
    """How many runs each has running."""
    used: Mapping[str, int] = field(default_factory=dict)
    """How often each was chosen."""
    last_used: Mapping[str, int] = field(default_factory=dict)
    """A number that grows with every choice, as it was when each was last chosen."""


@dataclass(frozen=True, slots=True)
class Question:
    """A run to be routed, and the nodes that may take it, in the order in which they started; there is one at least."""

    run: Run
    turn: int
    """Which of its schedule's runs it is."""
    nodes: tuple[Node, ...]
    now_ms: int
    known: Known


def eligible(nodes: Iterable[Node], task: str, group: str | None, not_: str | None = None) -> tuple[Node, ...]:
    """The nodes that may take a run of this task and group, but that one; in a fixed order."""
    able = [node for node in nodes if takes(node, task, group) and node.id != not_]
    return tuple(sorted(able, key=lambda node: (node.started_ms, node.id)))


def takes(node: Node, task: str, group: str | None) -> bool:
    """Whether a node takes runs of this task and group at all."""
    return (
        node.state is NodeState.ALIVE
        and "execute" in node.roles
        and task in node.tasks
        and (group is None or node.group == group)
    )


def is_routed(run: Run) -> bool:
    """Whether a node is chosen for it; a broadcast goes to all, once it starts."""
    return run.policy.route not in ("any", "broadcast")


def is_whole(run: Run) -> bool:
    """Whether it is a broadcast that shall be given a shard for each node, once it starts."""
    return run.policy.route == "broadcast" and not run.is_shard


def _first(question: Question) -> Node:
    return question.nodes[0]


def _last(question: Question) -> Node:
    return question.nodes[-1]


def _round(question: Question) -> Node:
    return question.nodes[question.turn % len(question.nodes)]


def _random(question: Question) -> Node:
    return question.nodes[spread_over(question.run.id, "route", len(question.nodes))]


def _lfu(question: Question) -> Node:
    return min(question.nodes, key=lambda node: question.known.used.get(node.id, 0))


def _lru(question: Question) -> Node:
    return min(question.nodes, key=lambda node: question.known.last_used.get(node.id, 0))


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
    return min(question.nodes, key=lambda node: question.known.busy.get(node.id, 0) / max(node.capacity, 1))


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


def choose(question: Question) -> str | None:
    """The id of the node that the run goes to; None for whoever is free."""
    if not is_routed(question.run) or not question.nodes:
        return None
    return ROUTES[question.run.policy.route](question).id
