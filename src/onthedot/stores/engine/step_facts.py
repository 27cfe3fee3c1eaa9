"""What the runs of steps are made with, besides their flow: published policies, and the lists that are mapped over.

Both are remembered by the process for a while, so that a flow of many steps asks for them once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple

from onthedot.model.graph import Graph, Step
from onthedot.model.ledger import Ledger
from onthedot.model.policy import Policy
from onthedot.model.references import PATH, Unresolved, at_path
from onthedot.model.run import Run
from onthedot.model.task_info import TaskInfo
from onthedot.rules.flows.judging import listed, mapped_over
from onthedot.rules.flows.making import id_of
from onthedot.stores.transaction import Transaction

PUBLISHED_MS = 1000
"""So long what tasks were published with is not asked for again, unless one is not among them."""
_MOST_LISTS, _MOST_FLOWS = 32, 2000
_OF_LATE_MS = 60_000
"""So long a flow is remembered that nothing here has moved since: another process may have ended it."""


class _Moved(NamedTuple):
    """A flow as it was written, what was read from that, and when."""

    flow: Run
    graph: Graph
    ledger: Ledger
    at_ms: int


class StepFacts:
    """One for each store; any thread may use it."""

    def __init__(self, tasks: Callable[[], Sequence[TaskInfo]]) -> None:
        self._tasks = tasks
        self._lock = Lock()
        self._read_ms = -PUBLISHED_MS
        self._published: Mapping[str, Mapping[str, Any]] = {}
        self._policies: dict[tuple[str, str, int], Policy] = {}
        self._lists: dict[str, Sequence[Any]] = {}
        self._flows: dict[str, _Moved] = {}
        """By their ids, the latest last."""

    def ledger(self, flow: Run) -> Ledger:
        """The flow's, read once: it is mostly as this process wrote it last."""
        known = self._flows.get(flow.id)
        if known is None or not (known.flow.ledger is flow.ledger or known.flow.ledger == flow.ledger):
            return Ledger.from_json(flow.ledger)
        return known.ledger

    def flow(self, flow_id: str) -> tuple[Run, Graph] | None:
        """One that was moved here of late, as it was then."""
        known = self._flows.get(flow_id)
        return None if known is None else (known.flow, known.graph)

    def note(self, flow: Run, graph: Graph, ledger: Ledger, now_ms: int) -> None:
        """It is about to be written so."""
        with self._lock:
            self._flows.pop(flow.id, None)
            self._flows[flow.id] = _Moved(flow, graph, ledger, now_ms)
            while len(self._flows) > _MOST_FLOWS or self._oldest().at_ms <= now_ms - _OF_LATE_MS:
                del self._flows[next(iter(self._flows))]

    def _oldest(self) -> _Moved:
        return next(iter(self._flows.values()))

    def forget(self, flow_id: str) -> None:
        """It is about to end."""
        with self._lock:
            self._flows.pop(flow_id, None)

    def policy(self, flow: Run, graph: Graph, step: Step, now_ms: int) -> Policy:
        """What is said for the step, then what its task was published with. Its priority is that of its flow."""
        with self._lock:
            fresh = 0 <= now_ms - self._read_ms < PUBLISHED_MS
            if not fresh or step.task not in self._published:
                self._read(step, now_ms, fresh=fresh)
            key = graph.hash, step.name, flow.policy.priority
            found = self._policies.get(key)
            if found is None:
                said = {**self._published.get(step.task, {}), "priority": flow.policy.priority, **step.policy}
                found = self._policies[key] = Policy.from_json(said)
            return found

    def _read(self, step: Step, now_ms: int, *, fresh: bool) -> None:
        if fresh and step.graph is not None:  # a sub-flow has all that it needs in the graph
            return
        published = {task.name: task.policy for task in self._tasks()}
        if published != self._published or not fresh:
            self._policies.clear()
        self._published, self._read_ms = {step.task: {}, **published}, now_ms

    def items(self, tx: Transaction, flow: Run, graph: Graph, step: Step) -> Sequence[Any] | None:
        """What a step is mapped over; None where that is not a list that is known here. A result never changes."""
        name = mapped_over(step)
        if name is None:
            found = listed(step, flow, graph)
            return found if isinstance(found, list) else None
        source = graph[name]
        if source.is_map:
            return None
        run_id = id_of(flow, source, 0, Ledger())
        result = self._lists.get(run_id)
        if result is None:
            run = tx.ended_runs([run_id]).get(run_id)
            result = None if run is None else self._list(run, step.over.get(PATH, ()))
            if result is None:
                return None
            with self._lock:
                self._lists[run_id] = result
                while len(self._lists) > _MOST_LISTS:
                    del self._lists[next(iter(self._lists))]
        return result

    def _list(self, run: Run, path: Sequence[Any]) -> Sequence[Any] | None:
        try:
            found = at_path(run.result, path, run.id)
        except Unresolved:
            return None
        return found if isinstance(found, list) else None
