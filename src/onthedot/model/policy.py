"""How runs are treated: late, overlapping, failing. What a schedule leaves out follows the task, then the app."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

Misfire = Literal["fire_once", "skip", "catch_up"]
Overlap = Literal["serial", "discard", "cover", "concurrent"]
Delivery = Literal["at_least_once", "at_most_once"]

SECOND, HOUR, DAY = 1000, 3_600_000, 86_400_000


@dataclass(frozen=True, slots=True)
class Policy:
    """All durations in milliseconds. The defaults are those of the public face."""

    misfire: Misfire = "fire_once"
    grace_ms: int = 10 * SECOND
    catch_up_window_ms: int = DAY
    max_catch_up: int = 100
    overlap: Overlap = "serial"
    max_waiting: int = 1
    max_concurrent_runs: int | None = None
    limit: str | None = None
    group: str | None = None
    route: str = "any"
    pool: str | None = None
    retries: int = 0
    crash_retries: int = 3
    backoff_ms: int = 10 * SECOND
    max_backoff_ms: int = HOUR
    timeout_ms: int | None = None
    expires_ms: int | None = None
    """So long after it was due a run is still worth beginning."""
    delivery: Delivery = "at_least_once"
    depends_on: tuple[str, ...] = ()
    within_ms: int | None = None
    priority: int = 0
    """Who goes first where not all that are due can start: a level is worth a minute of waiting."""
    jitter_ms: int = 0

    def as_json(self) -> dict[str, Any]:
        """Only what differs from the defaults."""
        return {name: value for name, value in self._items() if value != getattr(DEFAULT, name)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Policy:
        """What `as_json` gave, of this or an earlier version; names of a later one are left out."""
        known = {each.name: values[each.name] for each in fields(cls) if each.name in values}
        if "depends_on" in known:
            known["depends_on"] = tuple(known["depends_on"])
        return cls(**known)

    @property
    def slots(self) -> int | None:
        """How many runs of a schedule may run at once, cluster-wide; None for any number."""
        return self.max_concurrent_runs if self.overlap == "concurrent" else 1

    @property
    def most_waiting(self) -> int:
        """How many ticks may wait behind a slot: what is caught up waits its turn, and is not left out for it."""
        return max(self.max_waiting, self.max_catch_up) if self.misfire == "catch_up" else self.max_waiting

    @property
    def group_limit(self) -> tuple[str, int] | None:
        """The group whose runs share so many places, cluster-wide: `limit="mail:5"`."""
        if self.limit is None:
            return None
        name, _, most = self.limit.rpartition(":")
        return (name, int(most)) if most.isdecimal() else None  # a row that nobody could have put: no limit, no harm

    def _items(self) -> list[tuple[str, Any]]:
        return [(each.name, getattr(self, each.name)) for each in fields(self)]


DEFAULT = Policy()
