"""Events in words, and as JSON documents."""

from __future__ import annotations

import logging
import re
from dataclasses import asdict
from datetime import datetime
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
    HandedBack,
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
    RunRetried,
    RunSkipped,
    RunStarted,
    Stopping,
    TookOver,
)
from onthedot.moments import floor_ms, iso
from onthedot.texts import counted, visible

_LEVELS: dict[type[Event], int] = {
    Idle: logging.DEBUG,
    RunStarted: logging.DEBUG,
    RunFinished: logging.DEBUG,
    BatchPlanned: logging.DEBUG,
    RunRetried: logging.WARNING,
    Stopping: logging.WARNING,
    HandedBack: logging.WARNING,
    TookOver: logging.WARNING,
    OutcomeRefused: logging.WARNING,
    LoopRestarted: logging.WARNING,
    LeaseLost: logging.ERROR,
    Parked: logging.ERROR,
    Failure: logging.ERROR,
    FellBack: logging.ERROR,
    FileBroken: logging.ERROR,
}
_MOST_NAMES = 3
_FRAME = re.compile(r'\s*(\| +)?File "')
_OF_A_GROUP = re.compile(r"\s+\| (\w.*)")
BAD_OUTCOMES = ("failed", "timed_out", "lost")
_WANTED = ("paused", "rescheduled", "skipped", "frozen", "deleted", "max_runs")
"""Reasons for which ticks and runs are left out because somebody asked for it."""


def level_of(event: Event) -> int:
    """How much it matters, as `logging` counts: DEBUG is what happens all the time."""
    match event:
        case RunEnded():
            return logging.ERROR if event.outcome in BAD_OUTCOMES else logging.INFO
        case Misfired() | RunSkipped():
            return logging.INFO if event.reason in _WANTED else logging.WARNING
        case _:
            return _LEVELS.get(type(event), logging.INFO)


def document(event: Event, at_ms: int) -> dict[str, Any]:
    """The event as JSON values: when, its name, and all that it has."""
    if isinstance(event, Failure | FellBack):
        values = {name: getattr(event, name) for name in event.__slots__}
        values["error"] = f"{type(event.error).__name__}: {event.error}"
    else:
        values = {name: _json(value) for name, value in asdict(event).items()}
    return {"at": iso(at_ms), "event": NAMES[type(event)], **values}


def _json(value: Any) -> Any:
    return iso(floor_ms(value)) if isinstance(value, datetime) else value


def told(event: Event, store: str) -> tuple[str, str]:
    """A word and a line; `store` is the store's address as it may be shown."""
    match event:
        case NodeStarted() | NodeStopped() | Draining() | Idle() | LeaseLost() | TookOver():
            return _of_a_node(event, store)
        case Stopping() | HandedBack():
            return _of_the_end(event)
        case RunStarted() | RunFinished() | RunRetried() | RunEnded() | RunSkipped() | OutcomeRefused():
            return _of_a_run(event)
        case Misfired() | Parked() | Paused():
            return _of_a_schedule(event)
        case FileLoaded() | FileBroken():
            return _of_a_file(event)
        case BatchPlanned():
            planned = f"{counted(event.schedules, 'schedule')}, {counted(event.runs, 'run')}"
            return "planned", f"{planned} in {_took(event.duration_ms)}"
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
            return "started", f"node {visible(event.node)} on {visible(store)}"
        case NodeStopped():
            return "stopped", f"node {visible(event.node)}"
        case Draining():
            return "draining", f"node {visible(event.node)}: it takes no more runs"
        case Idle():
            return "idle", "nothing is due, and nothing runs"
        case LeaseLost():
            stopped = f"{counted(event.runs, 'run')} stopped"
            return "lost", f"node {visible(event.node)} has lost its lease: {stopped}; it goes on as a new one"
        case TookOver():
            return (
                "took over",
                f"{counted(event.runs, 'run')} of node {visible(event.node or event.node_id)}, which died",
            )


def _of_the_end(event: Stopping | HandedBack) -> tuple[str, str]:
    names = ", ".join(map(visible, event.names[:_MOST_NAMES]))
    more = f" and {event.runs - _MOST_NAMES:,} more" if event.runs > _MOST_NAMES else ""
    if isinstance(event, HandedBack):
        return "handed back", f"{counted(event.runs, 'run')}: {names}{more}, to be begun anew"
    age = f"{event.duration_ms // 1000} s"
    oldest = age if event.runs == 1 else f"the oldest for {age}"
    return "stopping", f"{counted(event.runs, 'run')} left: {names}{more}, {oldest}"


def _of_a_run(
    event: RunStarted | RunFinished | RunRetried | RunEnded | RunSkipped | OutcomeRefused,
) -> tuple[str, str]:
    short = event.run_id[-12:]
    match event:
        case RunStarted():
            return "begun", f"{_name(event)} (run {short}), attempt {event.attempt}, {event.lateness_ms} ms late"
        case RunFinished():
            return "finished", f"{_name(event)} (run {short}), attempt {event.attempt}: {event.outcome}{_why(event)}"
        case RunRetried():
            failed = f"attempt {event.attempt} {event.outcome}{_why(event)}"
            return "retry", f"{_name(event)} (run {short}), {failed}; again at {event.due_at:%H:%M:%S}Z"
        case RunEnded():
            return event.outcome, f"{_name(event)} (run {short}) in {_took(event.duration_ms)}{_why(event)}"
        case RunSkipped():
            return "skipped", f"{_name(event)} (run {short}): {visible(event.reason or 'left out')}"
        case OutcomeRefused():
            return "refused", f"the outcome of run {short}: it is no longer this node's"


def _why(event: RunFinished | RunRetried | RunEnded) -> str:
    reason = event.reason if isinstance(event, RunEnded) else None
    text = error_line(event.error) if event.error else reason
    return f": {visible(text)}" if text else ""


def _of_a_schedule(event: Misfired | Parked | Paused) -> tuple[str, str]:
    name = visible(event.schedule)
    match event:
        case Misfired():
            how_many = "ticks" if event.count is None else counted(event.count, "tick")
            return "left out", f"{name}: {how_many} ({event.reason})"
        case Parked():
            return "parked", f"{name}: {visible(error_line(event.error))}"
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


def _name(event: RunStarted | RunFinished | RunRetried | RunEnded | RunSkipped) -> str:
    return visible(event.schedule or event.task)


def _named(error: BaseException) -> str:
    text = visible(_last_line(str(error)))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _took(ms: int) -> str:
    return f"{ms} ms" if ms < 1000 else f"{ms / 1000:.1f} s"


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2]


def error_line(error: str) -> str:
    """The line of an error that names it: behind the frames of a traceback; else the first."""
    lines = error.strip().split("\n")
    in_group = next(filter(None, map(_OF_A_GROUP.match, lines)), None)
    if in_group is not None:
        return in_group[1]
    behind = max((number for number, line in enumerate(lines) if _FRAME.match(line)), default=-1) + 1
    return next((line for line in lines[behind:] if line and not line[0].isspace()), lines[-1])


def error_place(error: str) -> str:
    """The deepest line of code that a traceback names; nothing where there is none."""
    return next((line.strip() for line in reversed(error.split("\n")) if _FRAME.match(line)), "")
