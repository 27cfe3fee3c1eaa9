"""Alerts: who is told when a schedule goes wrong; and what has been told of it so far."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from onthedot.durations import format_duration, to_duration_ms
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
        """As users write it, in stores, exports and documents alike."""
        said = {"name": self.name, "task": self.task, "on": list(self.on), "after": self.after}
        overdue = {} if self.overdue_ms is None else {"overdue": format_duration(self.overdue_ms)}
        return {**said, "every": format_duration(self.every_ms), **overdue}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Alert:
        """What `as_json` gave; `ValueError` or `TypeError` if that cannot be what was written."""
        name, task, on, after = (values.get(each) for each in ("name", "task", "on", "after"))
        if not (isinstance(name, str) and isinstance(task, str) and isinstance(on, list) and isinstance(after, int)):
            raise TypeError(f"{values!r} is no alert")
        overdue = values.get("overdue")
        overdue_ms = None if overdue is None else to_duration_ms(overdue)
        return cls(name, task, tuple(on), after, to_duration_ms(values.get("every", "1h")), overdue_ms)


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

    def to_text(self) -> str:
        """As a key keeps it."""
        told = {name: list(each) for name, each in self.told.items()}
        return json.dumps({"bad": self.bad, "good": self.good_ms, "told": told}, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str | None) -> AlertState:
        """What a key keeps; what cannot be read is told anew."""
        try:
            said = json.loads(text or "{}")
            told = {name: Told(*each) for name, each in said.get("told", {}).items()}
            return cls(said.get("bad", 0), said.get("good"), told)
        except (ValueError, TypeError, AttributeError):
            return cls()


_HELD_BACK = "was held back: it was sent less than its every= ago"


def held_back_text(alert: Alert) -> str:
    """The line in the log of the run that would have sent it."""
    return f"alert {alert.name} {_HELD_BACK}"


def is_held_back(line: str) -> bool:
    """Whether the line of a log is such a one."""
    return line.startswith("alert ") and line.endswith(_HELD_BACK)


def ends_key(schedule_id: str) -> str:
    """The key that keeps what the ends of a schedule's runs have told."""
    return f"a:{schedule_id}"


def plans_key(schedule_id: str) -> str:
    """The same of its planners."""
    return f"am:{schedule_id}"


def keys_of_alerts(schedule_ids: Iterable[str]) -> dict[str, str]:
    """All keys that keep what was told of these schedules, each with its schedule."""
    return {key(each): each for each in schedule_ids for key in (ends_key, plans_key)}


def alert_states_from(keys: Mapping[str, str], kept: Iterable[tuple[str, str | None]]) -> dict[str, AlertState]:
    """By schedule what was told: what ends have told, and planners, as one. `kept` has each key's text."""
    found = dict(sorted(kept))  # what ends have told comes first
    states: dict[str, AlertState] = {}
    for key, text in found.items():
        state, before = AlertState.from_text(text), states.get(keys[key])
        states[keys[key]] = state if before is None else _joined(before, state)
    return states


def _joined(ends: AlertState, plans: AlertState) -> AlertState:
    told = dict(ends.told)
    for name, each in plans.told.items():
        before = told.get(name, Told())
        sent = [moment for moment in (before.sent_ms, each.sent_ms) if moment is not None]
        told[name] = before._replace(sent_ms=max(sent, default=None), held=before.held + each.held)
    return replace(ends, told=told)


_MOST_OF_A_NAME = 180
"""Of 200 that a task's name may have."""


def ping_task(schedule: str) -> str:
    """The task that sends the pings of a schedule. Only nodes that declare the schedule have it."""
    short = len(schedule) <= _MOST_OF_A_NAME
    return f"@ping:{schedule}" if short else f"@ping:{sha256(schedule.encode()).hexdigest()}"
