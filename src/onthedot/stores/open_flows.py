"""The flows that this process has moved, as it wrote them, so that moving one on need not read all of it again.

While a flow runs under one claim number, only its ledger, its deadline and a request to stop change its row; whoever
else writes it raises the number. So who finds the same claim in the row knows the rest. A ledger that stands there as
it was written is not taken apart again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Any

from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.stores.json_text import UNREADABLE, json_object

_MOST = 2000
COLUMNS = ("id", "state", "claim_no", "cancel_requested_ms", "reason", "until_ms", "ledger")
"""What must be read again."""


class OpenFlows:
    """Holds the latest of them, up to a bound. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._flows: dict[str, tuple[Run, str | None]] = {}
        """Each with its ledger as it was written."""

    def __contains__(self, flow_id: str) -> bool:
        return flow_id in self._flows

    def add(self, flows: Iterable[tuple[Run, str | None]]) -> None:
        """Remember flows as they have been committed, each with the text of its ledger."""
        with self._lock:
            for flow, ledger in flows:
                self._flows.pop(flow.id, None)
                self._flows[flow.id] = flow, ledger
            while len(self._flows) > _MOST:
                del self._flows[next(iter(self._flows))]

    def remove(self, run_ids: Iterable[str]) -> None:
        """Forget flows that have ended."""
        with self._lock:
            for run_id in run_ids:
                self._flows.pop(run_id, None)

    def run_of(self, row: Sequence[Any]) -> Run | None:
        """The flow of a row of `COLUMNS`; None if it must be read whole."""
        flow_id, state, claim_no, cancel_requested_ms, reason, until_ms, ledger = row
        flow, known = self._flows.get(flow_id, (None, None))
        if flow is None or ledger is None or state != State.RUNNING or flow.claim_no != claim_no:
            return None
        stands = flow.cancel_requested_ms, flow.reason, flow.until_ms, known
        if stands == (cancel_requested_ms, reason, until_ms, ledger):
            return flow
        try:
            said = flow.ledger if known == ledger else json_object(ledger)
        except UNREADABLE:
            return None
        return replace(flow, cancel_requested_ms=cancel_requested_ms, reason=reason, until_ms=until_ms, ledger=said)
