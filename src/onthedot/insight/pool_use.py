"""How full the pools of nodes are: what they published of themselves, beside what the store says that they run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from onthedot.model.node import Node, slow_tasks
from onthedot.model.task_info import TaskInfo
from onthedot.stores.counts import Load

_BY_ITSELF = "fast"
"""Where a task goes of which nothing is known."""


@dataclass(frozen=True, slots=True)
class PoolUse:
    """One pool of a node."""

    pool: str
    size: int
    """How many runs it may have at once; 0 where the node has not published it."""
    running: int
    """How many of the node's runs belong there; some may still wait in its queue."""
    is_needed: bool = True
    """Whether anything runs there, or a task of the node goes there by itself."""

    @property
    def free(self) -> int:
        """How many more runs could begin there."""
        return max(self.size - self.running, 0)

    @property
    def part(self) -> float:
        """How full it is."""
        return min(self.running / self.size, 1.0) if self.size else float(self.running > 0)


def pools_in_use(
    nodes: Iterable[Node], load: Sequence[Load], tasks: Iterable[TaskInfo]
) -> dict[str, tuple[PoolUse, ...]]:
    """The pools of each of these nodes, by its id: those that it published, and what else it runs anything in."""
    own = {task.name: task.pool for task in tasks}
    return {node.id: _of(node, [each for each in load if each.node_id == node.id], own) for node in nodes}


def _of(node: Node, load: Iterable[Load], own: Mapping[str, str]) -> tuple[PoolUse, ...]:
    slow = slow_tasks(node)
    running: Counter[str] = Counter()
    for each in load:
        running[_pool_of(each, own, slow)] += each.running
    needed = {own.get(task, _BY_ITSELF) for task in node.tasks} | running.keys()
    names = [*node.pools, *sorted(running.keys() - node.pools.keys())]
    return tuple(PoolUse(name, node.pools.get(name, 0), running[name], name in needed) for name in names)


def _pool_of(load: Load, own: Mapping[str, str], slow: frozenset[str]) -> str:
    """As the node decides it: what is async stays on the loop, unless it goes to a process."""
    by_itself = own.get(load.task, _BY_ITSELF)
    if load.pool is None:
        return "slow" if by_itself == _BY_ITSELF and load.task in slow else by_itself
    return "loop" if by_itself == "loop" and load.pool != "process" else load.pool
