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

    def hurry(self) -> None:
        """Wait no longer."""
        self._in_a_hurry = True

    def wait(self, for_ms: int) -> bool:
        """Until nothing runs, so much time has passed, or somebody is in a hurry; whether all have ended."""
        began_ms = said_ms = self._clock.monotonic_ms()
        end_ms = began_ms + for_ms
        said: tuple[str, ...] = ()
        while not self._worker.wait_empty(min(LOOK_MS, for_ms)):
            now_ms = self._clock.monotonic_ms()
            if self._in_a_hurry or now_ms >= end_ms:
                return False
            left = self._worker.running()
            names = tuple(name for name, _ in left)
            if left and (names != said or now_ms - said_ms >= SAY_AGAIN_MS):
                said, said_ms = names, now_ms
                self._emitter.emit(Stopping(self._node().id, self._node().name, len(left), names, left[0][1]))
        return True

    def hand_back(self) -> None:
        """Tell what still runs to stop, and give it to others."""
        names = tuple(name for name, _ in self._worker.running())
        self._worker.hand_back(entered=True)
        if names:
            self._emitter.emit(HandedBack(self._node().id, self._node().name, len(names), names))
