"""What a node does, one line for each event, on stderr."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, assert_never

import typer

from onthedot.clock import SystemClock
from onthedot.events import (
    Draining,
    Event,
    Failure,
    FellBack,
    Idle,
    Misfired,
    NodeStarted,
    NodeStopped,
    Parked,
    Recovered,
    RunFinished,
    RunStarted,
)
from onthedot.moments import iso
from onthedot.surfaces.cli.run_tables import short_id
from onthedot.surfaces.cli.texts import counted, utc_text, visible

if TYPE_CHECKING:
    from onthedot.app.app import App

Told = NodeStarted | NodeStopped | Draining | Failure | FellBack | Recovered | RunFinished | Misfired | Parked

_COLOURS = {
    "failed": "red",
    "timed_out": "red",
    "lost": "red",
    "error": "red",
    "fallback": "red",
    "parked": "red",
    "skipped": "yellow",
    "left out": "yellow",
}


def show_events(app: App, store: str, log_format: str) -> None:
    """Print every event that somebody may want to see: all but the beginning of runs, and idleness."""
    clock = SystemClock()

    def show(event: Told) -> None:
        now_ms = clock.now_ms()
        if log_format == "json":
            typer.echo(json.dumps(_document(event, now_ms), ensure_ascii=False), err=True)
            return
        word, text = _told(event, store)
        styled = typer.style(f"{word:<9}", fg=_COLOURS.get(word, "green"))
        typer.echo(f"{utc_text(now_ms, seconds=True)[:19]}Z {styled} {text}", err=True)

    for topic in ("start", "stop", "draining", "error", "fallback", "recovery", "run_finished", "misfire", "parked"):
        app.on(topic)(show)


def _told(event: Told, store: str) -> tuple[str, str]:
    match event:
        case NodeStarted():
            return "started", f"node {visible(event.name)} on {visible(store)}"
        case NodeStopped():
            return "stopped", f"node {visible(event.name)}"
        case Draining():
            return "draining", f"node {visible(event.name)}: it takes no more runs"
        case RunFinished():
            because = f": {visible(_last_line(event.error))}" if event.error else ""
            name = visible(event.schedule or event.task)
            return event.ending, f"{name} (run {short_id(event.run_id)}) in {_took(event.took_ms)}{because}"
        case Misfired():
            how_many = "ticks" if event.count is None else counted(event.count, "tick")
            return "left out", f"{visible(event.schedule)}: {how_many} ({event.reason})"
        case Parked():
            return "parked", f"{visible(event.schedule)}: {visible(_last_line(event.error))}"
        case Failure():
            return "error", f"{event.stage}: {_named(event.error)}"
        case FellBack():
            return "fallback", f"plan: schedule by schedule, since batches fail: {_named(event.error)}"
        case Recovered():
            return "recovered", "plan: in batches again"
        case _:
            assert_never(event)


def _document(event: Event, now_ms: int) -> dict[str, Any]:
    if isinstance(event, Failure | FellBack):
        values = {name: getattr(event, name) for name in event.__slots__}
        values["error"] = f"{type(event.error).__name__}: {event.error}"
    else:
        values = asdict(event)
    return {"at": iso(now_ms), "event": _NAMES[type(event)], **values}


_NAMES: dict[type[Event], str] = {
    NodeStarted: "start",
    NodeStopped: "stop",
    Draining: "draining",
    Idle: "idle",
    Failure: "error",
    RunStarted: "run_started",
    RunFinished: "run_finished",
    Misfired: "misfire",
    Parked: "parked",
    FellBack: "fallback",
    Recovered: "recovery",
}


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {visible(_last_line(str(error)))}"


def _took(ms: int) -> str:
    return f"{ms} ms" if ms < 1000 else f"{ms / 1000:.1f} s"


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2]
