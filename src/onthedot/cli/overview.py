"""`onthedot status` and `onthedot tasks`: how it is, and what it can do."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from onthedot.app.json_documents import status_document, task_document
from onthedot.cli.apps import open_app
from onthedot.cli.called import typed
from onthedot.cli.commands import command
from onthedot.cli.json_output import show_json
from onthedot.cli.options import as_json, store_url
from onthedot.cli.texts import visible

if TYPE_CHECKING:
    from onthedot.app.app import App


@command("status")
@store_url
@as_json
def show_status(*, store: str | None, as_json: bool) -> None:
    """Say whether all is well, what is late, what failed lately and who is alive. Exit code 1 if it is not well."""
    with closing(open_app(store)) as app:
        told, lines = _read(app)
        if as_json:
            show_json(told)
        else:
            _show(lines, is_healthy=told["healthy"])
        if not told["healthy"]:
            raise click.exceptions.Exit(1)


def _read(app: App) -> tuple[Mapping[str, Any], Sequence[str]]:
    """As the store tells it, or the HTTP API."""
    from onthedot.app.remote.values import of_onthedot
    from onthedot.cli.status_text import status_lines
    from onthedot.stores.open import mask_url

    if app.connection is not None:
        there = app.connection.get("status")
        return there, of_onthedot(status_lines)(there)
    told = status_document(app.status(), mask_url(app.url))
    return told, status_lines(told)


def _show(lines: Sequence[str], *, is_healthy: bool) -> None:
    """The verdict in colour, where somebody sees it; without rich, which would take longer than the question."""
    for number, line in enumerate(map(typed, lines)):
        coloured = number == 0 and "NO_COLOR" not in os.environ
        click.echo(click.style(line, fg="green" if is_healthy else "red") if coloured else line)


@command("tasks")
@store_url
@as_json
def show_tasks(*, store: str | None, as_json: bool) -> None:
    """List the tasks that live nodes can run."""
    with closing(open_app(store)) as app:
        tasks = app.tasks.list()
        if as_json:
            show_json({"tasks": [task_document(task) for task in tasks]})
            return
        if not tasks:
            click.echo("no tasks: no live node has published any")
            return
        from onthedot.cli.screen import Screen, plain_table

        table = plain_table()
        for heading in ("task", "takes", ""):
            table.add_column(heading)
        for task in tasks:
            takes = ", ".join(
                f"{each['name']}" if each["required"] else f"[{each['name']}]" for each in task.parameters
            )
            table.add_row(visible(task.name), visible(takes), visible(task.doc.partition("\n")[0]))
        Screen().print(table)
