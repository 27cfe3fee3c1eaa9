"""Lines of the audit as people read them: a sentence, and what was before and after. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from onthedot.durations import format_duration
from onthedot.errors import OnthedotError
from onthedot.model.change import Change
from onthedot.triggers.codec import decode
from onthedot.triggers.pinned import KINDS

Kind = Literal["text", "moment"]
About = Literal["schedule", "run", "node", "token", "freeze", "calendar", "trigger", ""]
_DONE = {
    "put": "put",
    "update": "changed",
    "pause": "paused",
    "resume": "resumed",
    "reschedule": "moved the next run of",
    "skip": "skipped ticks of",
    "freeze": "froze",
    "thaw": "thawed",
    "delete": "deleted",
    "put back": "put back",
    "trigger": "triggered",
    "enqueue": "enqueued",
    "cancel": "cancelled a run of",
    "retry": "retried a run of",
    "drain": "drained the node",
    "forget": "forgot the node",
    "create token": "made the token",
    "revoke token": "revoked the token",
    "put calendar": "put the calendar",
    "delete calendar": "deleted the calendar",
    "put trigger": "put the trigger",
    "delete trigger": "deleted the trigger",
    "import": "imported",
    "sync": "declared",
}
_NOT_SHOWN = frozenset(
    {
        *("run", "task", "node", "node_id", "died", "renewed_ms", "started_ms"),  # the sentence says them
        *("token", "freeze", "calendar", "uses"),
        *("id", "name", "kind", "origin", "given", "declared_hash", "created_ms", "paused_note", "frozen"),
        *("settled_ms", "fence", "routed", "planned_runs", "rescheduled"),  # how it is planned, not what somebody said
    }
)
_EMPTY: tuple[Any, ...] = (None, False, 0, "", [], {}, ())
_USUAL = {"enabled": True, "mode": "durable"}
"""What a new schedule has without anybody saying so."""
_MOMENTS = frozenset({"start_ms", "end_ms", "next_run_ms", "renewed_ms", "started_ms", "expires_ms", "created_ms"})
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Value:
    """What a field was or is."""

    text: str = ""
    ms: int | None = None
    """For a moment, which is told in the page's zone."""


NOTHING = Value("–")


@dataclass(frozen=True, slots=True)
class Field:
    """One thing that differs."""

    name: str
    before: Value
    after: Value


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the audit."""

    change: Change
    did: str
    what: str
    """A schedule, a task, a node or a token, by its name."""
    about: About
    note: str
    fields: tuple[Field, ...]

    @property
    def run(self) -> str | None:
        """The run that it is about."""
        found = self.change.after.get("run")
        return found if isinstance(found, str) else None

    @property
    def from_node(self) -> str | None:
        """The node that had the run, and is gone."""
        return str(self.change.after.get("node")) if self.change.after.get("died") is not None else None


def line_of(change: Change) -> Line:
    """The line as it is told."""
    after = change.after
    what, about = _subject(change)
    did = "took over a run of" if after.get("died") is not None else _DONE.get(change.by.what, change.by.what)
    did = "handed over a run of" if "heir" in after else did
    note = str(after.get("paused_note") or "") if after.get("enabled") is False else ""
    return Line(change, did, what, about, note, tuple(_fields(change.before, after)))


def _subject(
    change: Change,
) -> tuple[str, About]:
    after = change.after
    if "run" in after:
        return change.schedule or str(after.get("task", "")), "run"
    if change.schedule:
        return change.schedule, "schedule"
    if "token" in after:
        return str(after["token"]), "token"
    if "freeze" in after:
        return str(after["freeze"]), "freeze"
    for kind in KINDS:
        if isinstance(after.get(kind), str):
            return str(after[kind]), kind
    return (str(after["node"]), "node") if "node" in after else ("", "")


def _fields(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Field]:
    for name in dict.fromkeys((*before, *after)):
        if name in _NOT_SHOWN or (name == "trigger" and isinstance(after.get(name), str)):
            continue
        old, new = before.get(name), after.get(name)
        if isinstance(old, Mapping | None) and isinstance(new, Mapping) and name == "policy":
            yield from _parts(old or {}, new)
        elif old != new and not (name not in before and (new in _EMPTY or _USUAL.get(name) == new)):
            yield Field(_plain(name), _value(name, old), _value(name, new))


def _parts(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Field]:
    """Of the policies only those that differ; of a new schedule none, since all of them do."""
    for name in dict.fromkeys((*old, *new)) if old else ():
        if old.get(name) != new.get(name):
            yield Field(_plain(name), _value(name, old.get(name)), _value(name, new.get(name)))


def _plain(name: str) -> str:
    return name.removesuffix("_ms").replace("_", " ")


def _value(name: str, value: Any) -> Value:
    if value is None:
        return NOTHING
    if name in _MOMENTS and isinstance(value, int):
        return Value(ms=value)
    if name.endswith("_ms") and isinstance(value, int) and value >= 0:
        return Value(format_duration(value))
    return Value(_text(name, value)[:_LONGEST])


def _text(name: str, value: Any) -> str:
    if name == "trigger" and isinstance(value, Mapping):
        try:
            return str(decode(dict(value)))
        except OnthedotError:
            pass
    match value:
        case str():
            return value
        case bool():
            return "yes" if value else "no"
        case list() | tuple() if all(isinstance(each, str) for each in value):
            return ", ".join(value) or "none"
        case _:
            return json.dumps(value, ensure_ascii=False, default=str)
