"""Chooses nodes for runs, and remembers its choices for the routes that go by use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from onthedot.model.node import Node
from onthedot.model.rules.routing import Known, Question, choose, eligible
from onthedot.model.run import Run


class Router:
    """One planner's. What it remembers is lost with its process: `lru` and `lfu` are best effort."""

    def __init__(self) -> None:
        self._used: Counter[str] = Counter()
        self._last_used: dict[str, int] = {}
        self._choices = 0

    def __call__(
        self,
        run: Run,
        turn: int,
        nodes: Sequence[Node],
        now_ms: int,
        *,
        busy: Mapping[str, int],
        not_: str | None = None,
    ) -> str | None:
        """The node for this run among the live ones; None for whoever is free."""
        able = eligible(nodes, run.task, run.policy.group, not_)
        chosen = choose(Question(run, turn, able, now_ms, Known(busy, self._used, self._last_used)))
        if chosen is not None:
            self._choices += 1
            self._used[chosen] += 1
            self._last_used[chosen] = self._choices
        return chosen
