"""What runs say, line by line, and waiting for the end of one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from onthedot.app.json_documents import run_document
from onthedot.cli.json_output import show_json
from onthedot.cli.notes import show_note
from onthedot.cli.texts import utc_text
from onthedot.model.tracebacks import telling_line

if TYPE_CHECKING:
    from onthedot.app.app import App
    from onthedot.model.log_line import LogLine
    from onthedot.model.run import Run


def log_text(line: LogLine) -> str:
    """When, how grave, and what."""
    return f"{utc_text(line.at_ms, seconds=True)}  {line.level:<8} {kept(line.text)}"


def kept(line: str) -> str:
    """The line with its indentation, without characters that a terminal would obey."""
    return "".join(letter if letter.isprintable() else " " if letter.isspace() else "?" for letter in line.rstrip())


def show_made(app: App, run: Run, line: str, *, wait: bool, as_json: bool) -> None:
    """Of a run that was just made: this line, or all of it, or what it says until it has ended."""
    if wait:
        watch(app, run.id, as_json=as_json)
    elif as_json:
        show_json(run_document(run))
    else:
        click.echo(line)


def watch(app: App, run_id: str, *, as_json: bool) -> None:
    """Show what the run says until it has ended; exit code 1 unless it succeeded. As JSON: the run at its end."""
    try:
        for line in app.runs.follow(run_id):
            click.echo(log_text(line), err=as_json)
            sys.stdout.flush()
    except KeyboardInterrupt:
        show_note(f"run {run_id} goes on; onthedot runs cancel {run_id} stops it")
        raise
    ended = app.runs.get(run_id)
    if as_json:
        show_json(run_document(ended))
    else:
        why = ended.reason or telling_line(ended.error)
        click.echo(f"run {ended.id} {ended.state}" + (f": {kept(why)}" if why else ""), err=True)
    if ended.state != "succeeded":
        raise click.exceptions.Exit(1)
