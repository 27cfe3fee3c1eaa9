"""Pauses of the garbage collector: where a process is a node and nothing else, they are made rare; elsewhere they come
a moment later where a crowd begins (docs/decisions/0090-collections-wait.md).

A full collection looks at every object of the process, those of imported modules and declared schedules too, and holds
up every thread meanwhile: 43 ms with a thousand schedules, in the middle of a second in which all of them are due.
"""

from __future__ import annotations

import gc
from threading import Lock

_THRESHOLDS = (50_000, 20, 100)
"""Objects between two collections of the youngest; collections between those of the older ones. A run makes dozens of
objects, which are gone without the collector; what it is needed for are cycles, in what tasks leave behind."""


def make_pauses_rare() -> None:
    """What is there now is taken to stay, and is looked at no more."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)


class Collections:
    """Those of this process, which wait while anybody holds them: for a node. Whoever has turned them off keeps that."""

    _lock = Lock()
    _holders = 0
    _to_be_enabled = False

    def __init__(self) -> None:
        self._holds = False

    def hold(self) -> None:
        """Until `let_go`, which must come soon."""
        if self._holds:
            return
        self._holds = True
        with Collections._lock:
            Collections._holders += 1
            if Collections._holders == 1 and gc.isenabled():
                Collections._to_be_enabled = True
                gc.disable()

    def let_go(self) -> None:
        """May be called again."""
        if not self._holds:
            return
        self._holds = False
        with Collections._lock:
            Collections._holders -= 1
            if Collections._holders == 0 and Collections._to_be_enabled:
                Collections._to_be_enabled = False
                gc.enable()
