"""Pauses of the garbage collector: where a process is a node and nothing else, they are made rare.

A full collection looks at every object of the process, those of imported modules and declared schedules too, and holds
up every thread meanwhile: 43 ms with a thousand schedules, in the middle of a second in which all of them are due.
"""

from __future__ import annotations

import gc

_THRESHOLDS = (50_000, 20, 100)
"""Objects between two collections of the youngest; collections between those of the older ones. A run makes dozens of
objects, which are gone without the collector; what it is needed for are cycles, in what tasks leave behind."""


def make_pauses_rare() -> None:
    """What is there now is taken to stay, and is looked at no more."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
