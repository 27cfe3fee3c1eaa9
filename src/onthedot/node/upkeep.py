"""What must be done now and then, by threads that nobody waits for: sweeping, routing again, carrying new revisions on,
declaring, pruning."""

from __future__ import annotations

from collections.abc import Callable

from onthedot.clock import Clock
from onthedot.node.carrying import LEFT_ALONE_MS, carry_new
from onthedot.stores.base import Store
from onthedot.stores.retention import Retention

DECLARE_MS = 300_000
"""How often a node says that it still declares its schedules: after an hour of silence they count as undeclared."""
PRUNE_MS = 60_000


class Upkeep:
    """`sweep_once` and `prune_once` are called by a thread each."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        sweep_ms: int,
        retention: Retention,
        may: Callable[[], bool],
        declare: Callable[[], None],
        write_tally: Callable[[], None],
        wake: Callable[[], None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._sweep_ms = sweep_ms
        self._retention = retention
        self._may = may
        self._declare = declare
        self._write_tally = write_tally
        self._wake = wake
        self._declared_ms = clock.monotonic_ms()

    def sweep_once(self) -> int:
        """What a lost wake-up or a dead node left behind; and what this node has counted."""
        if not self._may():
            return self._sweep_ms
        self._write_tally()
        if self._store.sweep() + self._store.reroute():
            self._wake()
        while self._store.carry_out_freezes() and self._may():  # what somebody began, and died over
            pass
        carry_new(self._store, older_ms=LEFT_ALONE_MS)
        if self._clock.monotonic_ms() - self._declared_ms >= DECLARE_MS:
            self._declared_ms = self._clock.monotonic_ms()
            self._declare()
        return self._sweep_ms

    def prune_once(self) -> int:
        """Count what ended and forget what is old; again at once while there is more, so that it keeps up with any
        rate."""
        if self._may() and self._store.prune(self._retention).more:
            return 0
        return PRUNE_MS
