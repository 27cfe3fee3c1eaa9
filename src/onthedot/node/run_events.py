"""What becomes of runs, as events."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from onthedot.events import Emitter, RunEnded, RunRetried
from onthedot.model.outcome import Outcome
from onthedot.model.run import Run
from onthedot.model.states import State

_BAD = frozenset({State.FAILED, State.TIMED_OUT, State.LOST})
_TRIED = ("failed", "timed_out")


def emit_recorded(emitter: Emitter, runs: Collection[Run], outcomes: Mapping[Any, Outcome]) -> None:
    """Tell what the store has made of these outcomes: an end, or another attempt. Successes only if they are heard."""
    emit_ended(emitter, runs)
    waiting = {run.id: run for run in runs if run.state is State.WAITING}
    for outcome in outcomes.values() if waiting else ():
        run = waiting.get(outcome.run_id)
        if run is not None and outcome.ending in _TRIED:
            emitter.emit(
                RunRetried(run.id, run.task, run.schedule, run.attempt, outcome.ending, run.due_at, outcome.error)
            )


def emit_ended(emitter: Emitter, runs: Collection[Run]) -> None:
    """Tell which of these have ended for good. Successes only if they are heard."""
    wants_all = emitter.is_heard(RunEnded)
    for run in runs:
        if run.state in _BAD or (wants_all and run.is_final):
            emitter.emit(_ended(run))


def _ended(run: Run) -> RunEnded:
    duration_ms = run.duration_ms or 0
    return RunEnded(run.id, run.task, run.schedule, run.attempt, run.state.value, duration_ms, run.error, run.reason)
