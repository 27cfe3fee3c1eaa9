"""Which runs somebody asks for: all that is given must hold."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from onthedot.model.ids import least_id
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.stores.asking import is_late


@dataclass(frozen=True, slots=True)
class RunFilter:
    """What `Store.runs` is asked for, live and ended; which of them come is said there."""

    ids: Collection[str] | None = None
    schedule: str | None = None
    task: str | None = None
    node: str | None = None
    """The incarnation that has or had it last."""
    parent: str | None = None
    """The broadcast that it is a shard of, the flow that it is a step of, or the run that it follows."""
    step: str | None = None
    """Of this step of a flow; "shard" in a broadcast."""
    steps: bool = True
    """Without: no step of a flow."""
    state: State | None = None
    late: bool = False
    since_ms: int | None = None
    """Made then or later."""
    until_ms: int | None = None
    """Made before."""
    before: str | None = None
    """Its id is less: the last one of the page before."""
    limit: int = 100

    @property
    def first(self) -> str:
        """The least id that may come."""
        return "" if self.since_ms is None else least_id(max(self.since_ms, 0))

    @property
    def end(self) -> str | None:
        """Every id is less, if it is given."""
        until = None if self.until_ms is None else least_id(max(self.until_ms, 0))
        return min((end for end in (until, self.before) if end is not None), default=None)

    def __contains__(self, run: Run) -> bool:
        """Judged by its row, for stores without an index to ask."""
        first, end = self.first, self.end
        return (
            first <= run.id
            and (end is None or run.id < end)
            and (self.ids is None or run.id in self.ids)
            and self.schedule in (None, run.schedule)
            and self.task in (None, run.task)
            and self.node in (None, run.owner)
            and self.parent in (None, run.parent_id)
            and self.step in (None, run.step)
            and (self.steps or run.step is None)
            and self.state in (None, run.state)
            and (not self.late or is_late(run))
        )
