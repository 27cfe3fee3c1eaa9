"""Writes outcomes and log lines in batches. Nothing is forgotten until the store has taken or refused it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import islice
from threading import Lock

from onthedot.model.outcome import Outcome
from onthedot.stores.base import Finished, LogLine, Store

BATCH = 500


class OutcomeWriter:
    """Collects outcomes from any thread; `run_once` writes what there is."""

    def __init__(self, store: Store, node_id: str, on_finished: Callable[[Finished], None]) -> None:
        self._store = store
        self._node_id = node_id
        self._on_finished = on_finished
        self._lock = Lock()
        self._pending: dict[str, Outcome] = {}
        self.wake: Callable[[], None] = lambda: None
        self.before_writing: Callable[[], None] = lambda: None
        """What must be in the store before the runs of a batch have ended."""

    def add(self, outcome: Outcome) -> None:
        """Take an outcome to be written soon."""
        with self._lock:
            self._pending[outcome.run_id] = outcome
        self.wake()

    def pending(self) -> dict[str, int]:
        """The runs whose outcomes are on their way, with their claim numbers."""
        with self._lock:
            return {run_id: outcome.claim_no for run_id, outcome in self._pending.items()}

    def run_once(self) -> int | None:
        """Write one batch. If that fails, the same outcomes are written again: the store refuses what it has."""
        with self._lock:
            batch = list(self._pending.values())[:BATCH]
        if not batch:
            return None
        self.before_writing()
        finished = self._store.finish(self._node_id, batch)
        with self._lock:
            for outcome in batch:
                if self._pending.get(outcome.run_id) is outcome:
                    self._pending.pop(outcome.run_id)
            more = bool(self._pending)
        self._on_finished(finished)
        return 0 if more else None


LOGS_EVERY_MS = 500
"""How long a line waits for others, at most."""


class LogWriter:
    """Collects lines from any thread; `run_once` writes what there is."""

    def __init__(self, store: Store, node_id: str) -> None:
        self._store = store
        self._node_id = node_id
        self._lines: deque[LogLine] = deque()
        self._writing = Lock()

    def add(self, line: LogLine) -> None:
        """Take a line to be written soon. Takes no lock: a time-out may be raised in the midst of it."""
        self._lines.append(line)

    def run_once(self) -> int:
        """Write all that there is."""
        self.flush()
        return LOGS_EVERY_MS

    def flush(self) -> None:
        """Write all lines that were added before. If that fails, they are kept for the next time."""
        with self._writing:
            for _ in range(0, len(self._lines), BATCH):
                batch = list(islice(self._lines, BATCH))
                self._store.log(self._node_id, batch)
                for _ in batch:
                    self._lines.popleft()
