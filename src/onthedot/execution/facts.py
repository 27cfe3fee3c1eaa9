"""What a run may ask of the store: the runs before it, and to be ended in somebody else's transaction."""

from __future__ import annotations

from typing import Any, Protocol

from onthedot.errors import Conflict, OnthedotError
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.stores.base import Store

_PAGE = 100


class Facts(Protocol):
    """Asked only when a task asks."""

    def previous_ms(self, run: Run) -> int | None:
        """The nominal moment of the latest run of the schedule before this one that was begun."""

    def last_success_ms(self, run: Run) -> int | None:
        """The nominal moment of the latest run of the schedule before this one that succeeded."""

    def results(self, run: Run, step: str, first: int, limit: int) -> list[tuple[int, State, Any]]:
        """How runs of another step of its flow ended, and what they returned, in the order of items from `first` on."""

    def complete(self, run: Run, outcome: Outcome, connection: Any) -> None:
        """End the run in the caller's own transaction."""


class StoreFacts:
    """Reads the store at each question."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def previous_ms(self, run: Run) -> int | None:
        return self._latest(run, None)

    def last_success_ms(self, run: Run) -> int | None:
        return self._latest(run, State.SUCCEEDED)

    def results(self, run: Run, step: str, first: int, limit: int) -> list[tuple[int, State, Any]]:
        return self._store.results(run.parent_id or "", step, first, limit)

    def complete(self, run: Run, outcome: Outcome, connection: Any) -> None:
        if not self._store.finish_in(connection, run.owner or "", outcome):
            raise Conflict(f"run {run.id} is no longer this node's: roll back, somebody else does it")

    def _latest(self, run: Run, state: State | None) -> int | None:
        """Newest first by id, which is nearly the order of moments; one page is looked at to be sure."""
        if run.schedule is None:
            return None
        before: str | None = None
        while True:
            page = self._store.runs(schedule=run.schedule, state=state, before=before, limit=_PAGE)
            earlier = [
                each.scheduled_ms
                for each in page
                if each.scheduled_ms < run.scheduled_ms and each.started_ms is not None
            ]
            if earlier or len(page) < _PAGE:
                return max(earlier, default=None)
            before = page[-1].id


class NoFacts:
    """For a context that was made by hand."""

    def previous_ms(self, run: Run) -> int | None:
        return None

    def last_success_ms(self, run: Run) -> int | None:
        return None

    def results(self, run: Run, step: str, first: int, limit: int) -> list[tuple[int, State, Any]]:
        return []

    def complete(self, run: Run, outcome: Outcome, connection: Any) -> None:
        raise OnthedotError("this context belongs to no run in a store: there is nothing to complete")


NOTHING = NoFacts()
