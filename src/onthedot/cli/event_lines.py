"""What a node does, one line for each event, on stderr."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

import click

from onthedot.app.telemetry.event_text import document, level_of, told
from onthedot.cli.texts import utc_text
from onthedot.clock import SystemClock
from onthedot.events import TOPICS, Event, Stopping

if TYPE_CHECKING:
    from onthedot.app.app import App

_COLOURS = {logging.DEBUG: "bright_black", logging.INFO: "green", logging.WARNING: "yellow", logging.ERROR: "red"}
_RED = {"failed", "timed_out", "lost"}


def show_events(app: App, store: str, log_format: str, *, verbose: bool = False) -> None:
    """Print every event that somebody may want to see; `verbose` adds what happens all the time."""
    clock = SystemClock()
    least = logging.DEBUG if verbose else logging.INFO

    def show(event: Event) -> None:
        level = level_of(event)
        if level < least:
            return
        now_ms = clock.now_ms()
        if log_format == "json":
            click.echo(json.dumps(document(event, now_ms), ensure_ascii=False), err=True)
            return
        word, text = told(event, store)
        text += "; Ctrl-C again hands back what runs" if isinstance(event, Stopping) else ""
        styled = click.style(f"{word:<9}", fg="red" if word in _RED else _COLOURS[level])
        click.echo(f"{utc_text(now_ms, seconds=True)[:19]}Z {styled} {text}", err=True)

    for topic in TOPICS:
        app.on(topic)(show)
