"""Writes outcomes and log lines in batches. Nothing is forgotten until the store has taken or refused it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping
from itertools import islice
from threading import Lock

from onthedot.model.log_line import LogLine
from onthedot.model.outcome import Outcome
from onthedot.node.lease import Claim
from onthedot.stores.answers import Finished
from onthedot.stores.base import Store

BATCH = 500
AGAIN_MS = 100
"""How soon outcomes are brought once more that clashed with others."""
LOGS_EVERY_MS = 500
"""How long a line waits for others, at most."""


class OutcomeWriter:
    """Collects outcomes from any thread; `run_once` writes what there is."""

    def __init__(
        self,
        finish: Callable[[str, list[Outcome]], Finished],
        node_id: Callable[[], str],
        on_finished: Callable[[Finished, Mapping[Claim, Outcome]], None],
        *,
        before_writing: Callable[[], None] = lambda: None,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._finish = finish
        self._node_id = node_id
        self._on_finished = on_finished
        self._before_writing = before_writing
        """What must be in the store before the runs of a batch have ended."""
        self._wake = wake
        self._lock = Lock()
        self._writing = Lock()
        self._pending: dict[Claim, tuple[str, Outcome]] = {}
        self._is_called = False
        """Somebody was woken, and has not looked yet."""

    def add(self, outcome: Outcome) -> None:
        """Take an outcome to be written soon, by the incarnation that is there now.

        Who is to write it may hold on, while others go first: woken for each outcome, it would take their time.
        """
        with self._lock:
            self._keep(outcome)
            wakes, self._is_called = not self._is_called, True
        if wakes:
            self._wake()

    def keep(self, outcome: Outcome) -> None:
        """The same, from somebody who has it written at once: nobody is woken for it."""
        with self._lock:
            self._keep(outcome)

    def _keep(self, outcome: Outcome) -> None:
        self._pending[outcome.run_id, outcome.claim_no] = self._node_id(), outcome

    def pending(self) -> set[Claim]:
        """The claims whose outcomes are on their way."""
        with self._lock:
            return set(self._pending)

    def has(self, claim: Claim) -> bool:
        """Whether the outcome of this claim is on its way."""
        return claim in self._pending

    @property
    def is_writing(self) -> bool:
        """Whether a batch is being written."""
        return self._writing.locked()

    def run_once(self) -> int | None:
        """Write one batch. If that fails, the same outcomes are written again: the store refuses what it has.

        Threads whose runs have ended write as well; one after the other, so that each outcome is brought once.
        """
        with self._writing:
            return self._write_batch()

    def _write_batch(self) -> int | None:
        with self._lock:
            self._is_called = False
            oldest = list(islice(self._pending.items(), BATCH))
        if not oldest:
            return None
        node_id, first = oldest[0][1]  # one incarnation at a time: they are few, and mostly one
        of_a_kind = (each for each in oldest if each[1][0] == node_id and each[1][1].contested == first.contested)
        batch = {claim: outcome for claim, (_, outcome) in of_a_kind}
        self._before_writing()
        try:
            finished = self._finish(node_id, list(batch.values()))
        except BaseException:
            if first.contested:
                self._put_behind(batch)
            raise
        with self._lock:
            for claim, outcome in batch.items():
                if claim in self._pending and self._pending[claim][1] is outcome:
                    held = self._pending.pop(claim)
                    if outcome.run_id in finished.again:  # behind the others
                        self._pending[claim] = held
            more = bool(self._pending)
        self._on_finished(finished, batch)
        return (AGAIN_MS if finished.again else 0) if more else None

    def _put_behind(self, batch: Collection[Claim]) -> None:
        """The others next: these wait for a user's transaction, which may take its time."""
        with self._lock:
            for claim in batch:
                if claim in self._pending:
                    self._pending[claim] = self._pending.pop(claim)


class LogWriter:
    """Collects lines from any thread; `run_once` writes what there is."""

    def __init__(self, store: Store, node_id: Callable[[], str]) -> None:
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
                self._store.log(self._node_id(), batch)
                for _ in batch:
                    self._lines.popleft()
