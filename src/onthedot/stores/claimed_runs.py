"""The runs that this process has started, as it wrote them, so that ending one need not read all of it again.

While a run is running under one claim number, only a request to cancel, what it says of its progress and where it is
executed change its row; whoever else writes it raises the number. So who finds the same claim in the row knows the
rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Any

from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.values import replace

_MOST = 20_000
COLUMNS = ("id", "state", "owner", "claim_no", "cancel_requested_ms", "reason", "progress", "remote")
"""What must be read again."""


class ClaimedRuns:
    """Holds the latest of them, up to a bound. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._runs: dict[str, Run] = {}

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._runs

    def get(self, run_id: str) -> Run | None:
        """As it was when it was started."""
        return self._runs.get(run_id)

    def add(self, runs: Iterable[Run]) -> None:
        """Remember runs as they have been committed."""
        with self._lock:
            for run in runs:
                self._runs[run.id] = run
            while len(self._runs) > _MOST:
                del self._runs[next(iter(self._runs))]

    def remove(self, run_ids: Iterable[str]) -> None:
        """Forget runs that have ended."""
        with self._lock:
            for run_id in run_ids:
                self._runs.pop(run_id, None)

    def run_of(self, row: Sequence[Any]) -> Run | None:
        """The run of a row of `COLUMNS`; None if it is no longer under the claim that is remembered."""
        run_id, state, owner, claim_no, cancel_requested_ms, reason, progress, remote = row
        run = self._runs.get(run_id)
        if run is None or state != State.RUNNING or (run.owner, run.claim_no) != (owner, claim_no):
            return None
        if cancel_requested_ms is None:
            same = (run.progress, run.remote) == (progress, remote)
            return run if same else replace(run, progress=progress, remote=remote)
        asked = {"cancel_requested_ms": cancel_requested_ms, "reason": reason}
        return replace(run, progress=progress, remote=remote, **asked)
