"""Events in words, and as JSON documents."""

from __future__ import annotations

import logging
from dataclasses import asdict
from typing import Any

from onthedot.events import (
    NAMES,
    BatchPlanned,
    Draining,
    Event,
    Failure,
    FellBack,
    FileBroken,
    FileLoaded,
    Idle,
    LeaseLost,
    LoopRestarted,
    Misfired,
    NodeStarted,
    NodeStopped,
    OutcomeRefused,
    Parked,
    Paused,
    Recovered,
    RunEnded,
    RunFinished,
    RunSkipped,
    RunStarted,
    TookOver,
)
from onthedot.moments import iso
from onthedot.texts import counted, visible

_LEVELS: dict[type[Event], int] = {
    Idle: logging.DEBUG,
    RunStarted: logging.DEBUG,
    RunEnded: logging.DEBUG,
    BatchPlanned: logging.DEBUG,
    Misfired: logging.WARNING,
    RunSkipped: logging.WARNING,
    TookOver: logging.WARNING,
    OutcomeRefused: logging.WARNING,
    LeaseLost: logging.ERROR,
    Parked: logging.ERROR,
    Failure: logging.ERROR,
    FellBack: logging.ERROR,
    FileBroken: logging.ERROR,
}
_BAD_ENDINGS = ("failed", "timed_out", "lost")


def level_of(event: Event) -> int:
    """How much it matters, as `logging` counts: DEBUG is what happens all the time."""
    if isinstance(event, RunFinished) and event.ending in _BAD_ENDINGS:
        return logging.WARNING
    return _LEVELS.get(type(event), logging.INFO)


def document(event: Event, at_ms: int) -> dict[str, Any]:
    """The event as JSON values: when, its name, and all that it has."""
    if isinstance(event, Failure | FellBack):
        values = {name: getattr(event, name) for name in event.__slots__}
        values["error"] = f"{type(event.error).__name__}: {event.error}"
    else:
        values = asdict(event)
    return {"at": iso(at_ms), "event": NAMES[type(event)], **values}


def told(event: Event, store: str) -> tuple[str, str]:
    """A word and a line; `store` is the store's address as it may be shown."""
    match event:
        case NodeStarted() | NodeStopped() | Draining() | Idle() | LeaseLost() | TookOver():
            return _of_a_node(event, store)
        case RunStarted() | RunFinished() | RunEnded() | RunSkipped() | OutcomeRefused():
            return _of_a_run(event)
        case Misfired() | Parked() | Paused():
            return _of_a_schedule(event)
        case FileLoaded() | FileBroken():
            return _of_a_file(event)
        case BatchPlanned():
            planned = f"{counted(event.schedules, 'schedule')}, {counted(event.runs, 'run')}"
            return "planned", f"{planned} in {_took(event.took_ms)}"
        case Failure():
            return "error", f"{visible(event.stage)}: {_named(event.error)}"
        case LoopRestarted():
            return "restarted", f"{event.stage}: its thread had ended, another goes on"
        case FellBack():
            return "fallback", f"plan: schedule by schedule, since batches fail: {_named(event.error)}"
        case Recovered():
            return "recovered", "plan: in batches again"
        case _:
            return NAMES.get(type(event), type(event).__name__), ""


def _of_a_node(
    event: NodeStarted | NodeStopped | Draining | Idle | LeaseLost | TookOver, store: str
) -> tuple[str, str]:
    match event:
        case NodeStarted():
            return "started", f"node {visible(event.name)} on {visible(store)}"
        case NodeStopped():
            return "stopped", f"node {visible(event.name)}"
        case Draining():
            return "draining", f"node {visible(event.name)}: it takes no more runs"
        case Idle():
            return "idle", "nothing is due, and nothing runs"
        case LeaseLost():
            stopped = f"{counted(event.runs, 'run')} stopped"
            return "lost", f"node {visible(event.name)} has lost its lease: {stopped}; it goes on as a new one"
        case TookOver():
            return (
                "took over",
                f"{counted(event.runs, 'run')} of node {visible(event.name or event.node_id)}, which died",
            )


def _of_a_run(event: RunStarted | RunFinished | RunEnded | RunSkipped | OutcomeRefused) -> tuple[str, str]:
    short = event.run_id[-12:]
    match event:
        case RunStarted():
            return "begun", f"{_name(event)} (run {short}), attempt {event.attempt}, {event.late_ms} ms late"
        case RunFinished():
            because = f": {visible(_last_line(event.error))}" if event.error else ""
            return event.ending, f"{_name(event)} (run {short}) in {_took(event.took_ms)}{because}"
        case RunEnded():
            return "ended", f"{_name(event)} (run {short}): {event.state}"
        case RunSkipped():
            return "skipped", f"{_name(event)} (run {short}): {visible(event.reason or 'left out')}"
        case OutcomeRefused():
            return "refused", f"the outcome of run {short}: it is no longer this node's"


def _of_a_schedule(event: Misfired | Parked | Paused) -> tuple[str, str]:
    name = visible(event.schedule)
    match event:
        case Misfired():
            how_many = "ticks" if event.count is None else counted(event.count, "tick")
            return "left out", f"{name}: {how_many} ({event.reason})"
        case Parked():
            return "parked", f"{name}: {visible(_last_line(event.error))}"
        case Paused():
            return "paused", f"{name}: {counted(event.skipped, 'waiting run')} skipped, {event.running:,} still running"


def _of_a_file(event: FileLoaded | FileBroken) -> tuple[str, str]:
    path = visible(event.path)
    if isinstance(event, FileBroken):
        more = f" (and {len(event.problems) - 1:,} more)" if len(event.problems) > 1 else ""
        return "broken", f"{path}: {visible(event.problems[0])}{more}; the schedules stay as they were"
    parts = {"new": event.created, "changed": event.updated, "deleted": event.pruned}
    said = [f"{what}: {', '.join(map(visible, names))}" for what, names in parts.items() if names]
    left = [name for name in event.removed if name not in event.pruned]
    if left:
        said.append(f"no longer in it: {', '.join(map(visible, left))} (onthedot sync --prune deletes what is left)")
    return "loaded", f"{path}: {'; '.join(said) or 'no schedule has changed'}"


def _name(event: RunStarted | RunFinished | RunEnded | RunSkipped) -> str:
    return visible(event.schedule or event.task)


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {visible(_last_line(str(error)))}"


def _took(ms: int) -> str:
    return f"{ms} ms" if ms < 1000 else f"{ms / 1000:.1f} s"


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2]
