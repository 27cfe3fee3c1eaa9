"""The loop that every stage runs in: one pass after another, woken early, surviving errors, stopping cleanly."""

from __future__ import annotations

import random
from collections.abc import Callable
from threading import Event, Thread

from onthedot.clock import Clock
from onthedot.errors import Clash, StoreUnavailable

_FIRST_PAUSE_MS, _LONGEST_PAUSE_MS = 100, 10_000
_LONGEST_AWAY_MS = 1000
"""While the store is away: as often as it is asked when it is there, so that its return is noticed within a second."""


class Loop:
    """A thread around `run_once`, which makes one pass and says how many milliseconds may pass until the next.

    `None` means: until somebody calls `wake`. A pass that raises, whatever it is, is reported and tried again, after a
    pause that doubles up to ten seconds (one while the store is away), less a part at random.
    """

    def __init__(
        self,
        name: str,
        run_once: Callable[[], int | None],
        clock: Clock,
        on_error: Callable[[str, BaseException], None],
    ) -> None:
        self.name = name
        self._run_once = run_once
        self._clock = clock
        self._on_error = on_error
        self._wake = Event()
        self._stopping = False
        self._pause_ms = _FIRST_PAUSE_MS
        self._busy_since_ms: int | None = None
        self._thread = self._make_thread()

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Make the next pass now."""
        self._wake.set()

    def stop(self) -> None:
        """Make no further pass; does not wait for the one that is under way."""
        self._stopping = True
        self._wake.set()

    def join(self, timeout_s: float | None = None) -> None:
        if self._thread.ident is not None:
            self._thread.join(timeout_s)

    def restart_if_dead(self) -> bool:
        """Make a new thread where the old one has ended without being told to; whether that was so."""
        if self._stopping or self._thread.ident is None or self._thread.is_alive():
            return False
        self._thread = self._make_thread()
        self._thread.start()
        return True

    def busy_for_ms(self) -> int:
        """For how long the pass that is under way has been; 0 between passes."""
        since_ms = self._busy_since_ms
        return 0 if since_ms is None else self._clock.monotonic_ms() - since_ms

    @property
    def is_woken(self) -> bool:
        """Whether somebody asked for a pass since the last one began."""
        return self._wake.is_set()

    def step(self) -> int | None:
        """One pass in the caller's thread, and how long until the next: simulations drive it so, without the thread."""
        self._wake.clear()
        self._busy_since_ms = self._clock.monotonic_ms()
        try:
            return self._pass()
        finally:
            self._busy_since_ms = None

    def step_here(self) -> None:
        """One pass in the caller's thread, which saves waking the loop's own; that goes on where it leaves something.

        None where the loop was not started: somebody makes its passes by hand.
        """
        runs = self._thread.ident is not None and not self._stopping
        if not runs or self._pass() is not None:
            self.wake()

    def _make_thread(self) -> Thread:
        return Thread(target=self._run, name=f"onthedot-{self.name}", daemon=True)

    def _run(self) -> None:
        while not self._stopping:
            wait_ms = self.step()
            if not self._stopping:
                self._clock.wait(self._wake, wait_ms)

    def _pass(self) -> int | None:
        try:
            wait_ms = self._run_once()
        except BaseException as error:  # SystemExit too: whatever it is, the node must go on
            self._on_error(self.name, error)
            pause = min(self._pause_ms, _longest_pause_ms(error))
            self._pause_ms = pause * 2
            return int(pause * random.uniform(0.5, 1))  # so that all nodes do not come back in the same moment
        self._pause_ms = _FIRST_PAUSE_MS
        return wait_ms


def _longest_pause_ms(error: BaseException) -> int:
    away = isinstance(error, StoreUnavailable) and not isinstance(error, Clash)
    return _LONGEST_AWAY_MS if away else _LONGEST_PAUSE_MS
