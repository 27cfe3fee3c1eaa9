"""The last runs of a node that stops: it waits for them, says for which, and gives back what does not end."""

from __future__ import annotations

from collections.abc import Callable

from onthedot.clock import Clock
from onthedot.events import Emitter, HandedBack, Stopping
from onthedot.execution.worker import Worker
from onthedot.model.node import Node

LOOK_MS = 200
SAY_AGAIN_MS = 10_000
"""How often it is said for what the node waits, if nothing changes."""


class Drain:
    """`wait` and `hand_back` are called by the thread that stops the node, `hurry` by any."""

    def __init__(self, worker: Worker, clock: Clock, emitter: Emitter, node: Callable[[], Node]) -> None:
        self._worker = worker
        self._clock = clock
        self._emitter = emitter
        self._node = node
        self._in_a_hurry = False
        self._said: tuple[str, ...] = ()
        self._said_ms = 0

    def hurry(self) -> None:
        """Wait no longer."""
        self._in_a_hurry = True

    def wait(self, for_ms: int) -> bool:
        """Until nothing runs, so much time has passed, or somebody is in a hurry; whether all have ended."""
        end_ms = self._clock.monotonic_ms() + for_ms
        left_ms = for_ms  # counted too: where a clock stands still, as in simulations, this still comes to an end
        while left_ms > 0 and self._clock.monotonic_ms() < end_ms and not self._in_a_hurry:
            if self._worker.wait_empty(min(LOOK_MS, left_ms)):
                return True
            left_ms -= LOOK_MS
            self._say_what_runs()
        return self._worker.wait_empty(0)

    def _say_what_runs(self) -> None:
        left, now_ms = self._worker.running(), self._clock.monotonic_ms()
        names = tuple(name for name, _ in left)
        if left and (names != self._said or now_ms - self._said_ms >= SAY_AGAIN_MS):
            self._said, self._said_ms = names, now_ms
            self._emitter.emit(Stopping(self._node().id, self._node().name, len(left), names, left[0][1]))

    def hand_back(self) -> None:
        """Tell what still runs to stop, and give it to others."""
        names = tuple(name for name, _ in self._worker.running())
        self._worker.hand_back(entered=True)
        if names:
            self._emitter.emit(HandedBack(self._node().id, self._node().name, len(names), names))
