"""Which nodes there were, when they were there, and what people call them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.moments import iso
from onthedot.stores.base import Store

May = Callable[[Node], bool]
"""Which nodes are meant."""


@dataclass(frozen=True, slots=True)
class Absence:
    """A time in which none of the nodes that are meant was there."""

    last: Node | None
    """Who was there before; None where nobody is known."""
    first: Node | None
    """Who came then; None while nobody has."""


class NodeHistory:
    """All nodes that the store remembers, living or gone."""

    def __init__(self, nodes: Iterable[Node], now_ms: int, seen: Mapping[str, int] | None = None) -> None:
        self._now_ms = now_ms
        self._nodes = {node.id: node for node in nodes}
        self._seen = seen or {}
        """By id when a node is known to have been there, also without a renewal: it began a run then."""
        self.alive = tuple(node for node in self._nodes.values() if node.lives and not node.expired(now_ms))
        self._living = frozenset(node.id for node in self.alive)

    def find(self, node_id: str) -> Node | None:
        """The node; None if it is forgotten."""
        return self._nodes.get(node_id)

    def knows(self, wanted: str) -> bool:
        """Whether there is, or was, one of that name or id."""
        return wanted in self._nodes or any(node.name == wanted for node in self._nodes.values())

    def name(self, node_id: str) -> str:
        """Its name; the id besides where another node of that name was there at the same time, and alone where the
        node is forgotten, which is said."""
        node = self._nodes.get(node_id)
        if node is None:
            return f"{node_id} (no longer known)"
        others = (each for each in self._nodes.values() if each.name == node.name and each.id != node_id)
        is_shared = any(
            each.started_ms <= self.heard_ms(node) and node.started_ms <= self.heard_ms(each) for each in others
        )
        return f"{node.name} ({node_id})" if is_shared else node.name

    def heard_ms(self, node: Node) -> int:
        """Until when it is known to have been there: now, if it lives."""
        return self._now_ms if node.id in self._living else max(node.renewed_ms, self._seen.get(node.id, 0))

    def there_at(self, moment_ms: int, may: May) -> list[Node]:
        """Who of them was there at that moment, in the order in which they started."""
        found = [node for node in self._nodes.values() if may(node) and self._was_there(node, moment_ms)]
        return sorted(found, key=lambda node: node.started_ms)

    def absence(self, moment_ms: int, may: May) -> Absence | None:
        """The time around that moment in which none of them was there; None if one was."""
        if self.there_at(moment_ms, may):
            return None
        meant = [node for node in self._nodes.values() if may(node)]
        before = [node for node in meant if self.heard_ms(node) < moment_ms]
        after = [node for node in meant if node.started_ms > moment_ms]
        return Absence(
            max(before, key=self.heard_ms, default=None),
            min(after, key=lambda node: node.started_ms, default=None),
        )

    def describe(self, absence: Absence) -> str:
        """ " from …, when node a was last heard of, until …, when node b started"; empty where neither is known."""
        told = ""
        if absence.last is not None:
            since = "from" if absence.first is not None else "since"
            told += (
                f" {since} {at(self.heard_ms(absence.last))}, when node {self.name(absence.last.id)} was last heard of"
            )
        if absence.first is not None:
            comma = "," if told else ""
            is_back = absence.last is not None and absence.last.name == absence.first.name
            how = "came back" if is_back else "started"  # it was started again, or had been frozen or cut off
            told += f"{comma} until {at(absence.first.started_ms)}, when node {self.name(absence.first.id)} {how}"
        return told

    def _was_there(self, node: Node, moment_ms: int) -> bool:
        return node.started_ms <= moment_ms <= self.heard_ms(node)


def read_nodes(store: Store, now_ms: int, runs: Iterable[Run] = ()) -> NodeHistory:
    """As far as the store remembers: as long as it keeps history. The runs are witnesses of who began them."""
    seen: dict[str, int] = {}
    for run in runs:
        if run.owner is not None and run.started_ms is not None:
            seen[run.owner] = max(run.started_ms, seen.get(run.owner, 0))
    return NodeHistory([*store.gone_nodes(limit=10_000), *store.nodes()], now_ms, seen)


def labels_of(nodes: Sequence[Node]) -> dict[str, str]:
    """What to call each of these, by its id: its name, and the id besides where two have the same."""
    shared = Counter(node.name for node in nodes)
    return {node.id: node.name if shared[node.name] == 1 else f"{node.name} ({node.id})" for node in nodes}


def at(ms: int) -> str:
    """A moment as it is told: to the second."""
    return iso(ms // 1000 * 1000)
