"""What a node begins and ends, counted by the minute: fed by every run, written now and then."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from threading import Lock
from typing import Literal, NamedTuple

from onthedot.model.histogram import bucket_of
from onthedot.model.minute import MINUTE_MS, Minute
from onthedot.model.run import Run

MOST_UNCOUNTED = 100_000
"""So many runs are remembered until somebody writes; where nobody does, the oldest are forgotten."""
_KEPT = 3
"""Minutes that may still get more: a run that ended is told of a little later."""


class _Began(NamedTuple):
    node_id: str
    at_ms: int
    late_ms: int
    run_id: str
    name: str


class _Ended(NamedTuple):
    node_id: str
    at_ms: int
    outcome: str
    kind: Literal["run", "step", "flow"]


@dataclass(slots=True)
class _Counts:
    """Of one minute of one incarnation."""

    begun: int = 0
    ended: dict[str, int] = field(default_factory=dict)
    ended_steps: dict[str, int] = field(default_factory=dict)
    ended_flows: dict[str, int] = field(default_factory=dict)
    lateness: dict[int, int] = field(default_factory=dict)
    latest: _Began | None = None

    def add(self, told: _Began | _Ended) -> None:
        if isinstance(told, _Ended):
            self._add_end(told)
            return
        bucket = bucket_of(told.late_ms)
        self.begun += 1
        self.lateness[bucket] = self.lateness.get(bucket, 0) + 1
        if self.latest is None or told.late_ms > self.latest.late_ms:
            self.latest = told

    def _add_end(self, told: _Ended) -> None:
        counts = {"run": [self.ended], "step": [self.ended, self.ended_steps], "flow": [self.ended_flows]}[told.kind]
        for each in counts:
            each[told.outcome] = each.get(told.outcome, 0) + 1

    def minute(self, node_id: str, minute_ms: int) -> Minute:
        latest = self.latest
        return Minute(
            minute_ms,
            node_id,
            self.begun,
            dict(self.ended),
            dict(self.lateness),
            latest_ms=0 if latest is None else latest.late_ms,
            latest_run=None if latest is None else latest.run_id,
            latest_name=None if latest is None else latest.name,
            ended_steps=dict(self.ended_steps),
            ended_flows=dict(self.ended_flows),
        )


class Tally:
    """`began` and `ended` may be called from any thread, and take no lock; `write` by one thread at a time."""

    def __init__(self) -> None:
        self._told: deque[_Began | _Ended] = deque(maxlen=MOST_UNCOUNTED)
        self._counts: dict[tuple[int, str], _Counts] = {}
        self._unwritten: set[tuple[int, str]] = set()
        self._writing = Lock()

    def began(self, node_id: str, run: Run, at_ms: int, late_ms: int) -> None:
        """A task is called."""
        self._told.append(_Began(node_id, at_ms, late_ms, run.id, run.schedule or run.task))

    def ended(self, node_id: str, runs: Iterable[Run]) -> None:
        """The store has recorded what became of these; those that are tried again have not ended."""
        for run in runs:
            if run.is_final:
                kind: Literal["run", "step"] = "step" if run.is_step else "run"
                self._told.append(_Ended(node_id, run.finished_ms or 0, run.state.value, kind))

    def flows_ended(self, node_id: str, flows: Iterable[Run]) -> None:
        """The store has ended these. A flow in a flow is a step of it, of which lists do not tell."""
        for flow in flows:
            if flow.is_final and not flow.is_step:
                self._told.append(_Ended(node_id, flow.finished_ms or 0, flow.state.value, "flow"))

    def write(self, keep: Callable[[list[Minute]], object]) -> None:
        """Hand over the minutes that have changed, as they are by now; if that fails, again next time."""
        with self._writing:
            self._count()
            if not self._unwritten:
                return
            keep([self._counts[key].minute(key[1], key[0]) for key in sorted(self._unwritten)])
            self._unwritten.clear()
            self._forget()

    def _count(self) -> None:
        for _ in range(len(self._told)):
            told = self._told.popleft()
            key = told.at_ms // MINUTE_MS * MINUTE_MS, told.node_id
            self._counts.setdefault(key, _Counts()).add(told)
            self._unwritten.add(key)

    def _forget(self) -> None:
        newest_ms = max(minute_ms for minute_ms, _ in self._counts)
        old = [key for key in self._counts if key[0] <= newest_ms - _KEPT * MINUTE_MS]
        for key in old:
            del self._counts[key]
