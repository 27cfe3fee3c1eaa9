"""Chooses nodes for runs, and remembers its choices for the routes that go by use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.rules.routing import Known, Question, choose, eligible


class Router:
    """One planner's. What it remembers is lost with its process: `lru` and `lfu` are best effort."""

    def __init__(self) -> None:
        self._used: Counter[str] = Counter()
        self._last_used: dict[str, int] = {}
        self._choices = 0
        self._nodes: Sequence[Node] = ()
        self._eligible: dict[tuple[str, str | None], tuple[Node, ...]] = {}

    def __call__(
        self,
        run: Run,
        turn: int,
        nodes: Sequence[Node],
        now_ms: int,
        *,
        busy: Mapping[str, int],
    ) -> str | None:
        """The node for this run among the live ones; None for whoever is free."""
        known = Known(busy, self._used, self._last_used)
        chosen = choose(Question(run, turn, self._able(run, nodes), now_ms, known))
        if chosen is not None:
            self._choices += 1
            self._used[chosen] += 1
            self._last_used[chosen] = self._choices
        return chosen

    def _able(self, run: Run, nodes: Sequence[Node]) -> tuple[Node, ...]:
        """Found once for each task and group, as long as the very same nodes are asked about: a batch long."""
        if nodes is not self._nodes:
            self._nodes, self._eligible = nodes, {}
        key = run.task, run.policy.group
        able = self._eligible.get(key)
        if able is None:
            able = self._eligible[key] = eligible(nodes, *key)
        return able
