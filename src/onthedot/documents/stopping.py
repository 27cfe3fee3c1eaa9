"""The last documents of a process that stops: it waits for them, and says how many are left."""

from __future__ import annotations

import logging

from onthedot.clock import Clock
from onthedot.documents.crew import Crew
from onthedot.texts import counted

LOOK_MS = 200

_log = logging.getLogger("onthedot.documents")


class Stopping:
    """`wait` is called by the thread that stops, `hurry` by any."""

    def __init__(self, crew: Crew, clock: Clock) -> None:
        self._crew = crew
        self._clock = clock
        self._in_a_hurry = False
        self._said = 0

    def hurry(self) -> None:
        """Wait no longer."""
        self._in_a_hurry = True

    def wait(self, for_ms: int) -> bool:
        """Until nothing is worked, so much time has passed, or somebody is in a hurry; whether all have ended."""
        end_ms = self._clock.monotonic_ms() + for_ms
        left_ms = for_ms  # counted too: a clock may stand still
        while not self._crew.join(min(LOOK_MS, max(left_ms, 0))):
            left_ms -= LOOK_MS
            if self._in_a_hurry or left_ms <= 0 or self._clock.monotonic_ms() >= end_ms:
                _log.warning("%s: worked again when the lock is over", self._left("not waited for"))
                return False
            self._say_what_is_left()
        return True

    def _say_what_is_left(self) -> None:
        if self._crew.working != self._said:
            self._said = self._crew.working
            _log.warning(self._left("left"))

    def _left(self, how: str) -> str:
        return f"stopping {counted(self._crew.working, 'document')} {how}"
