"""What the doctor said when it looked last: an examination costs more than a page may."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onthedot.clock import SystemClock
from onthedot.insight.doctor import examine
from onthedot.model.finding import Finding
from onthedot.stores.base import Store

EVERY_MS = 10_000
_ORDER = {"problem": 0, "warning": 1, "ok": 2}


@dataclass(frozen=True, slots=True)
class Examination:
    """What was found, and when, by the store's clock."""

    at_ms: int
    findings: Sequence[Finding]


def look(store: Store) -> Examination:
    """Now. What is worst comes first."""
    at_ms = store.now_ms()
    return Examination(at_ms, sorted(examine(store, SystemClock()), key=lambda each: _ORDER[each.level]))
