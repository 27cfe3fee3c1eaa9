"""Steps of flows: before a step is called, its references become values, and its condition is judged."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar

from onthedot.errors import StoreError
from onthedot.execution.context import Context, GiveUp, Skip
from onthedot.execution.results import MOST_STEP_BYTES, Expected, expected_of
from onthedot.model.graph import Graph
from onthedot.model.outcome import Outcome
from onthedot.model.references import (
    ARG,
    PATH,
    RESULT,
    Unresolved,
    at_path,
    condition_text,
    holds,
    is_reference,
    references_in,
    resolve,
)
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.values import copied, replace
from onthedot.storable import json_size
from onthedot.stores.base import Store

T = TypeVar("T")

_PAGE = 1000
_FLOWS_KEPT = 200
"""Each with its arguments. Only those that the store does not hold: another process has moved them."""
_EXPECTED_KEPT = 2000
_SOURCES_KEPT = 4
"""Lists that are mapped over: each may have a megabyte."""


class Steps:
    """What steps need to know of their flows, read from the store and kept for the next step. Thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._flows: _Kept[_Flow] = _Kept(_FLOWS_KEPT)
        self._sources: _Kept[Any] = _Kept(_SOURCES_KEPT)
        self._expected: _Kept[Expected] = _Kept(_EXPECTED_KEPT)

    def begin(self, context: Context) -> Outcome | None:
        """Give the run of a step its arguments as values; how it ends, if it is not to be called.

        Reads the store, unless `is_at_hand`. A store that is away hands the run back: it did nothing wrong.
        """
        run = context.run
        try:
            flow = self._flow(run)
            step = flow.graph[run.step or ""]
            context.expected = self._expected_of(flow.graph, step.name)
            values = _Values(self, flow, run)
            if step.when is not None and not holds(step.when, values):
                raise Skip(f"when {condition_text(step.when)}: it does not hold")
            if run.is_shard:  # one node's part of the schedule's own run
                run = replace(run, schedule=flow.run.schedule)
            if run.args:
                run = replace(run, args=resolve(run.args, values))
            context.run = run
        except Unresolved as error:
            raise GiveUp(f"its arguments cannot be had: {error}") from None
        except StoreError as error:
            return Outcome(run.id, run.claim_no, "handed_back", reason=f"its flow could not be read: {error}")
        return None

    def is_at_hand(self, run: Run) -> bool:
        """Whether `begin` reads nothing."""
        flow = self._held(run)
        if flow is None:
            return False
        step = flow.graph[run.step or ""]
        if not run.args and step.when is None:
            return True
        return not flow.run.is_step and all(ARG in each for each in references_in([run.args, step.when]))

    # what flows are

    def _flow(self, run: Run) -> _Flow:
        return self._held(run) or self._flows.get(run.parent_id or "", lambda: self._read_flow(run))

    def _held(self, run: Run) -> _Flow | None:
        """What is kept here, or by the store, which mostly has moved the flow to this step."""
        flow_id = run.parent_id or ""
        held = self._flows.held(flow_id)
        if held is None and (known := self._store.known_flow(flow_id)) is not None:
            return _Flow(*known)
        return held

    def _expected_of(self, graph: Graph, name: str) -> Expected:
        return self._expected.get((graph.hash, name), lambda: expected_of(graph, name))

    def _read_flow(self, run: Run) -> _Flow:
        found = self._store.runs(ids=[run.parent_id or ""])
        graph = self._store.graph(found[0].graph or "") if found else None
        if graph is None:
            raise GiveUp(f"its flow {run.parent_id}, or the graph of it, is no longer in the store")
        return _Flow(found[0], graph)

    # what steps returned

    def results(self, flow: _Flow, name: str, budget: _Budget) -> Any:
        """What a step returned: of a map the list of all, in order."""
        if not flow.graph[name].is_map:
            return budget.spent_on(self.result(flow, name), name)
        found: list[Any] = []
        while page := self._store.results(flow.run.id, name, len(found), _PAGE):
            for number, state, result in page:
                found += [None] * (number - len(found))
                found.append(budget.spent_on(result, name) if state is State.SUCCEEDED else None)
            if len(page) < _PAGE:
                break
        return found

    def result(self, flow: _Flow, name: str, item: int = 0) -> Any:
        """What one run of a step returned; None where it has no good end."""
        for number, state, result in self._store.results(flow.run.id, name, item, 1):
            if number == item and state is State.SUCCEEDED:
                return result
        return None

    def source(self, flow: _Flow, name: str) -> Any:
        """What a step returned that others are mapped over: many ask for it."""
        return self._sources.get((flow.run.id, name), lambda: self.result(flow, name))

    def values(self, run: Run) -> _Values:
        """What the run of a step may refer to."""
        return _Values(self, self._flow(run), run)


class _Flow(NamedTuple):
    """A flow's run, and its graph."""

    run: Run
    graph: Graph


class _Values:
    """What one step refers to; see `model.references.Known`."""

    def __init__(self, steps: Steps, flow: _Flow, run: Run) -> None:
        self._steps, self._flow, self._run = steps, flow, run
        self._results: dict[str, Any] = {}
        self._budget = _Budget()

    def result(self, step: str) -> Any:
        if step not in self._results:
            self._results[step] = self._steps.results(self._flow, step, self._budget)
        return self._results[step]

    def item(self) -> Any:
        over, number = self._flow.graph[self._run.step or ""].over, self._run.item or 0
        if not is_reference(over):
            return copied(over[number])
        source = over.get(RESULT)
        if source is not None and self._flow.graph[source].is_map:
            return self._steps.result(self._flow, source, number)
        items = self.arg(over[ARG]) if source is None else self._steps.source(self._flow, source)
        items = at_path(items, over.get(PATH, ()), "what it is mapped over")
        if not isinstance(items, list) or number >= len(items):
            raise Unresolved(f"there is no item {number} any more in what it is mapped over")
        return copied(items[number])

    def arg(self, name: str) -> Any:
        flow = self._flow.run
        value = flow.args[name] if name in flow.args else self._flow.graph.defaults.get(name)
        if flow.is_step:  # of a flow in a flow: what it was given refers to the one around it
            return copied(resolve(value, self._steps.values(flow)))
        return copied(value)


class _Budget:
    """How much one step may be given of results."""

    def __init__(self) -> None:
        self._left = MOST_STEP_BYTES

    def spent_on(self, result: Any, step: str) -> Any:
        """The result; `Unresolved` if it is too much."""
        self._left -= json_size(result)
        if self._left < 0:
            raise Unresolved(
                f"the results of {step} are more than {MOST_STEP_BYTES:,} bytes; leave out the argument, write"
                f' after=[…] and read them in the task, one after the other: for each in ctx.results("{step}")'
            )
        return result


class _Kept(Generic[T]):
    """The latest of what was read. Read twice where two ask at once: it never changes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._held: OrderedDict[Hashable, T] = OrderedDict()

    def held(self, key: Hashable) -> T | None:
        """What is kept, if anything is."""
        with self._lock:
            return self._held.get(key)

    def get(self, key: Hashable, read: Callable[[], T]) -> T:
        """What is kept, or is read now."""
        found = self.held(key)
        if found is None:
            found = read()
        with self._lock:
            self._held[key] = found
            self._held.move_to_end(key)
            if len(self._held) > self._most:
                self._held.popitem(last=False)
        return found
