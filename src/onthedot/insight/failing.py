"""Which schedules failed of late, told cheaply: by a few bounded questions, however many schedules there are."""

from __future__ import annotations

from dataclasses import dataclass

from onthedot.insight.failures import LATELY_MS
from onthedot.model.states import State
from onthedot.stores.base import Store

MOST_RUNS = 300
"""So many of the newest runs of each way to fail are looked at."""
_FAILED = (State.FAILED, State.TIMED_OUT, State.LOST)


@dataclass(frozen=True, slots=True)
class Failing:
    """Names of schedules; who failed last comes first."""

    names: tuple[str, ...] = ()
    """They failed within the last day."""
    is_whole: bool = True
    """Whether all failures of the last day were looked at."""


def read_failing(store: Store) -> Failing:
    """Three questions by index."""
    since_ms = store.now_ms() - LATELY_MS
    found = [store.runs(state=state, since_ms=since_ms, limit=MOST_RUNS) for state in _FAILED]
    ended = sorted((run for runs in found for run in runs), key=lambda run: run.finished_ms or 0, reverse=True)
    names = dict.fromkeys(run.schedule for run in ended if run.schedule is not None)
    return Failing(tuple(names), all(len(runs) < MOST_RUNS for runs in found))
