"""A line of the audit in words, after the name of whoever did it: "paused it: “disk is full”"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from onthedot.durations import format_duration
from onthedot.model.change import Change
from onthedot.moments import iso
from onthedot.texts import counted
from onthedot.triggers.written import written

_MOST_LETTERS = 80
_QUIET = frozenset({
    "next_run_ms", "settled_ms", "rescheduled", "given", "declared_hash", "planned_runs", "fence", "created_ms", "id",
    "last_run_ms", "last_enqueued_ms", "routed", "name", "kind", "mode", "origin", "enabled", "deleted", "paused_note",
    "skipped", "running", "skips", "frozen", "uses",
})  # fmt: skip
"""Fields that follow from others, or are told in other words."""


def describe_change(change: Change) -> tuple[str, str]:
    """What was done in one word, and in a few."""
    before, after = change.before, change.after
    if "run" in after:
        return _of_run(change)
    if after.get("deleted") is True:
        return "deleted", "deleted it"
    if not before or before.get("deleted") is True:
        return "created", _created(change)
    if after.get("enabled") is False or (
        set(after) <= {"paused_note", "skipped", "running"} and "paused_note" in after
    ):
        return "paused", _paused(after)
    if after.get("enabled") is True:
        return "resumed", "resumed it"
    if "skips" in after:
        skips = after["skips"]
        return "changed", f"asked to skip its next {counted(skips, 'tick')}" if skips else "took back a skip"
    if after.get("rescheduled") is True and after.get("next_run_ms") is not None:
        return "changed", f"moved its next run to {iso(after['next_run_ms'])}"
    return ("parked", f"parked it: {after['error']}") if after.get("error") else ("changed", _changed(before, after))


def _of_run(change: Change) -> tuple[str, str]:
    after = change.after
    if "heir" in after:
        return (
            "node",
            f"node {after['heir']} watches the run at engine {after['engine']}, in the place of {after['node']}",
        )
    if "node" in after:
        how = "died while it ran, and the run was taken over" if after.get("died") else "stopped, and gave the run back"
        return "node", f"node {after['node']} {how}"
    why = f": {after['reason']}" if after.get("reason") else ""
    match change.by.what:
        case "trigger":
            return "resumed", "triggered a run"
        case "retry":
            return "resumed", "had the run done again"
        case "cancel":
            return "cancelled", f"cancelled the run{why}"
        case what:
            return "changed", f"{what} of a run{why}"


def _created(change: Change) -> str:
    after = change.after
    verb = "declared it" if after.get("origin") in ("code", "file") else "created it"
    verb = "put it again" if change.before.get("deleted") is True else verb
    return ": ".join(filter(None, [verb, ", ".join(_said(after))]))


def _said(after: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(after.get("trigger"), Mapping):
        yield written(after["trigger"])
    if isinstance(after.get("policy"), Mapping):
        yield from (f"{name.removesuffix('_ms')} {_value(name, value)}" for name, value in after["policy"].items())


def _paused(after: Mapping[str, Any]) -> str:
    note = after.get("paused_note")
    told = f"paused it: “{note}”" if note else "paused it"
    if after.get("skipped"):
        told += f"; skipped {counted(int(after['skipped']), 'waiting run')}"
    return told


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    told = list(_differences(before, after))
    return f"changed {', '.join(told)}" if told else "changed it"


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for name in (name for name in after if name not in _QUIET):
        old, new = before.get(name), after[name]
        if name == "policy" and isinstance(new, Mapping):
            yield from _of_policy(old if isinstance(old, Mapping) else {}, new)
        elif name == "trigger" and isinstance(old, Mapping) and isinstance(new, Mapping):
            yield f"{written(old)} to {written(new)}"
        else:
            yield f"{name} to {_short(new)}"


def _of_policy(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            yield f"{name.removesuffix('_ms')} to {_value(name, new.get(name, 'its default'))}"


def _value(name: str, value: object) -> str:
    return format_duration(value) if name.endswith("_ms") and isinstance(value, int) else _short(value)


def _short(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 1]}…"
