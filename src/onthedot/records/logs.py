"""Writes what runs say in batches, and before their outcomes: a run that has ended takes no more lines."""

from __future__ import annotations

from collections import deque
from itertools import islice
from threading import Lock

from onthedot.stores.base import LogLine, Store

BATCH = 500
EVERY_MS = 500
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
        return EVERY_MS

    def flush(self) -> None:
        """Write all lines that were added before. If that fails, they are kept for the next time."""
        with self._writing:
            for _ in range(0, len(self._lines), BATCH):
                batch = list(islice(self._lines, BATCH))
                self._store.log(self._node_id, batch)
                for _ in batch:
                    self._lines.popleft()
