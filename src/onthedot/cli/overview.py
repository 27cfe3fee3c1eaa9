"""`onthedot status` and `onthedot tasks`: how it is, and what it can do."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import typer

from onthedot.app.json_documents import status_document, task_document
from onthedot.cli.apps import open_app
from onthedot.cli.options import AsJson, StoreUrl
from onthedot.cli.run_tables import short_id
from onthedot.cli.screen import Screen, plain_table, show_json
from onthedot.cli.texts import counted, span_text, visible
from onthedot.model.node import NodeState

if TYPE_CHECKING:
    from onthedot.insight.status import Status
    from onthedot.model.node import Node

_SHOWN = 10


def show_status(*, store: StoreUrl = None, as_json: AsJson = False) -> None:
    """Say whether all is well, what is late, what failed lately and who is alive. Exit code 1 if it is not well."""
    from onthedot.insight.status import read_status
    from onthedot.stores.open import mask_url

    with closing(open_app(store)) as app:
        if app.connection is not None:
            _show_told(app.connection.get("status"), as_json=as_json)
            return
        status = read_status(app.open_store())
        if as_json:
            show_json(status_document(status, mask_url(app.url)))
        else:
            _show(status, mask_url(app.url))
        if not status.healthy:
            raise typer.Exit(1)


def _show_told(told: dict[str, Any], *, as_json: bool) -> None:
    """What an HTTP API says of its store; in brief, if not as JSON."""
    if as_json:
        show_json(told)
    else:
        verdict = "healthy" if told["healthy"] else f"not healthy: {'; '.join(told['problems'])}"
        typer.echo(f"{visible(told['store'])} is {visible(verdict)}")
        schedules = counted(told["schedules"], "schedule")
        typer.echo(f"{schedules}, {told['waiting']:,} waiting, {told['running']:,} running")
        for node in told["nodes"]:
            typer.echo(f"node {visible(node['name'])}: {node['state']}, renewed {node['renewed_for']} ago")
        for failed in told["failed"][:_SHOWN]:
            typer.echo(f"failed: {visible(failed['name'])}, {failed['count']:,} since {failed['since']}")
    if not told["healthy"]:
        raise typer.Exit(1)


def show_tasks(*, store: StoreUrl = None, as_json: AsJson = False) -> None:
    """List the tasks that live nodes can run."""
    with closing(open_app(store)) as app:
        tasks = app.tasks.list()
        if as_json:
            show_json({"tasks": [task_document(task) for task in tasks]})
            return
        if not tasks:
            typer.echo("no tasks: no live node has published any")
            return
        table = plain_table()
        for heading in ("task", "takes", ""):
            table.add_column(heading)
        for task in tasks:
            takes = ", ".join(
                f"{each['name']}" if each["required"] else f"[{each['name']}]" for each in task.parameters
            )
            table.add_row(visible(task.name), visible(takes), visible(task.doc.partition("\n")[0]))
        Screen().print(table)


def _show(status: Status, store: str) -> None:
    from onthedot.insight.node_history import labels_of

    screen = Screen()
    verdict = "healthy" if status.healthy else f"not healthy: {'; '.join(status.problems)}"
    screen.print(f"{visible(store)} is {visible(verdict)}", style="green" if status.healthy else "red", soft_wrap=True)
    counts = [
        counted(status.schedules, "schedule") + (f" ({status.paused:,} paused)" if status.paused else ""),
        f"{_at_most(status.waiting)} waiting",
        f"{_at_most(status.running)} running",
    ]
    screen.print(", ".join(counts))
    names = labels_of(status.nodes)
    for node in status.nodes:
        screen.print(_node_line(node, names[node.id], status), soft_wrap=True)
    for deaths in status.died[:_SHOWN]:
        screen.print(f"node {visible(str(deaths))}", soft_wrap=True)
    for paused in status.pauses[:_SHOWN]:
        screen.print(f"paused: {visible(str(paused))}", soft_wrap=True)
    for name in status.undeclared[:_SHOWN]:
        said = "no live node has declared it for an hour, and it does not run; onthedot sync --prune deletes it"
        screen.print(f"undeclared: {visible(name)}: {said}", soft_wrap=True)
    for schedule in status.parked[:_SHOWN]:
        screen.print(f"parked: {visible(schedule.name)}: {visible(schedule.error or '')}", soft_wrap=True)
    for late in status.late[:_SHOWN]:
        line = f"late: {visible(late.name)} was due {span_text(late.late_ms)} ago: {visible(late.reason)}"
        screen.print(line, soft_wrap=True)
    if status.late_count > _SHOWN:
        screen.print(f"late: {_at_most(status.late_count)} in all")
    for failures in status.failed[:_SHOWN]:
        line = f"failed: {visible(str(failures))} (run {short_id(failures.last.id)})"
        screen.print(line, soft_wrap=True)
    if status.failed_count > _SHOWN:
        screen.print(f"failed: {status.failed_count - _SHOWN:,} others too")


def _node_line(node: Node, name: str, status: Status) -> str:
    seen = f"renewed {span_text(max(status.now_ms - node.renewed_ms, 0))} ago"
    state = str(node.state)
    if node.expired(status.now_ms):
        others = "the others take its runs over" if status.alive else "no other is alive to take its runs over"
        state = f"expired ({others})"
    elif node.state is NodeState.DRAINING:
        state = "draining (it takes no more runs)"
    return f"node {visible(name)}: {state}, {seen}, {counted(node.capacity, 'worker')}"


def _at_most(number: int) -> str:
    from onthedot.insight.failures import MOST_COUNTED

    return f"{number:,}" if number < MOST_COUNTED else f"{number:,} or more"
