"""Alerts: who is told when a schedule goes wrong; and what has been told of it so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, NamedTuple

from onthedot.model.policy import HOUR

AlertKind = Literal["failure", "recovery", "misfire", "overdue"]
KINDS: tuple[AlertKind, ...] = ("failure", "recovery", "misfire", "overdue")

PingKind = Literal["start", "success", "fail"]
PING_KINDS: tuple[PingKind, ...] = ("start", "success", "fail")


@dataclass(frozen=True, slots=True)
class Alert:
    """A run of a task when something happens to a schedule. Durations are in milliseconds."""

    name: str
    task: str
    on: tuple[AlertKind, ...] = ("failure",)
    after: int = 1
    """So many bad ends in a row are a failure."""
    every_ms: int = HOUR
    """It is sent no more often than this; what is held back is counted, and told with the next."""
    overdue_ms: int | None = None
    """So long after the latest success the schedule is overdue."""

    def as_json(self) -> dict[str, Any]:
        """Only what differs from the defaults."""
        said = {each.name: getattr(self, each.name) for each in fields(self)}
        kept = {name: value for name, value in said.items() if name not in _DEFAULTS or value != _DEFAULTS[name]}
        return {**kept, "on": list(self.on)} if "on" in kept else kept

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Alert:
        """What `as_json` gave, of this or an earlier version; names of a later one are left out."""
        known = {each.name: values[each.name] for each in fields(cls) if each.name in values}
        if not isinstance(known.get("name"), str) or not isinstance(known.get("task"), str):
            raise TypeError(f"{values!r} is no alert")
        if "on" in known:
            known["on"] = tuple(known["on"])
        return cls(**known)


_DEFAULTS = asdict(Alert("", ""))
del _DEFAULTS["name"], _DEFAULTS["task"]


class Followers(NamedTuple):
    """What a schedule wants to be done when one of its runs has ended."""

    then: tuple[str, ...] = ()
    """The tasks that follow a success."""
    on_failure: tuple[str, ...] = ()
    alerts: tuple[Alert, ...] = ()
    ping: tuple[str, ...] = ()
    """Which of `PING_KINDS` are sent; where to, only the nodes that declare the schedule know."""


class Told(NamedTuple):
    """What one alert has said of one schedule."""

    sent_ms: int | None = None
    held: int = 0
    """How often it was held back since it was sent."""
    open: bool = False
    """The bad ends that go on now were told."""
    late: bool = False
    """That it is overdue was told."""


@dataclass(frozen=True, slots=True)
class AlertState:
    """How a schedule stands with its alerts. Written in the transactions that end its runs."""

    bad: int = 0
    """Bad ends in a row."""
    good_ms: int | None = None
    """When one of its runs last ended well; kept where an alert asks for it."""
    told: Mapping[str, Told] = field(default_factory=dict)
    """By the alert's name."""


def ping_task(schedule: str) -> str:
    """The task that sends the pings of a schedule. Only nodes that declare the schedule have it."""
    from hashlib import sha256

    return f"@ping:{schedule}" if len(schedule) <= 180 else f"@ping:{sha256(schedule.encode()).hexdigest()}"
