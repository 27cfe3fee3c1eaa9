"""Taking times: the best of several turns, since everything else on the machine only ever adds to them."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from typing import Any

MICRO = 1e6
MILLI = 1e3


def best(action: Callable[[], Any], turns: int = 7, before: Callable[[], Any] | None = None) -> float:
    """Seconds for the fastest of so many turns; `before` runs ahead of each and is not counted."""
    fastest = float("inf")
    gc.collect()
    gc.disable()
    try:
        for _ in range(turns):
            if before is not None:
                before()
            start = time.perf_counter()
            action()
            fastest = min(fastest, time.perf_counter() - start)
    finally:
        gc.enable()
    return fastest


def interleaved(actions: dict[str, Callable[[], Any]], turns: int = 5) -> dict[str, float]:
    """The best of several turns for each, taken in turn, so that a busy moment of the machine hits all alike.

    Each turn is done twice and the second counts: the first one warms the caches that collecting garbage has cooled.
    """
    fastest = dict.fromkeys(actions, float("inf"))
    for _ in range(turns):
        for name, action in actions.items():
            fastest[name] = min(fastest[name], best(action, 2))
    return fastest


def part(ordered: Sequence[float], of: float) -> float:
    """The value below which this part of them lies; 0 if there are none."""
    return ordered[min(int(len(ordered) * of), len(ordered) - 1)] if ordered else 0.0
