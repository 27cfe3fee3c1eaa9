"""`onthedot runs`: what was done, what is being done, and asking for either again or no longer."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import closing
from typing import TYPE_CHECKING

import click

from onthedot.app.json_documents import log_document, run_document
from onthedot.cli.apps import open_app
from onthedot.cli.commands import Group
from onthedot.cli.json_output import json_text, show_json
from onthedot.cli.log_lines import kept, log_text
from onthedot.cli.options import as_json, run_id, store_url
from onthedot.cli.overrides import some_moment
from onthedot.cli.run_tables import runs_table, took_text
from onthedot.cli.texts import utc_text, visible
from onthedot.errors import Conflict, RunNotFound
from onthedot.rules import backfill

if TYPE_CHECKING:
    from onthedot.app.app import App
    from onthedot.model.run import Run
from onthedot.model.step_status import StepStatus

group = Group("runs", help="Look at runs, cancel or retry them.")

_WHOLE, _LEAST, _SEARCHED = 36, 6, 1000


@group.command("list")
@click.option("--state", metavar="STATE", help="Only those, such as failed.")
@click.option("--schedule", metavar="NAME", help="Only of this schedule.")
@click.option("--task", metavar="TASK", help="Only of this task.")
@click.option("--node", metavar="NODE", help="Only of this node, by name or id.")
@click.option("--parent", metavar="ID", help="The steps of this flow, the shards of this broadcast, or what followed.")
@click.option("--step", metavar="STEP", help="Only of this step of flows.")
@click.option("--steps", is_flag=True, help="The steps of flows too, not only the flows.")
@click.option("--late", is_flag=True, help="Only those that began more than a second late.")
@click.option("--since", metavar="MOMENT", help="Made then or later; 2h is two hours ago.")
@click.option("--until", metavar="MOMENT", help="Made before that.")
@click.option("-n", "--count", type=click.IntRange(min=1), default=20, metavar="N", help="How many at most.")
@click.option("--before", metavar="ID", help="Those older than this run.")
@store_url
@as_json
def show_list(
    *,
    state: str | None,
    schedule: str | None,
    task: str | None,
    node: str | None,
    parent: str | None,
    step: str | None,
    steps: bool,
    late: bool,
    since: str | None,
    until: str | None,
    count: int,
    before: str | None,
    store: str | None,
    as_json: bool,
) -> None:
    """List runs, newest first."""
    with closing(open_app(store)) as app:
        if schedule is not None and not app.runs.list(schedule=schedule, limit=1).items:
            app.schedules.get(schedule)
        cursor = None if before is None else find_run(app, before).id
        now_ms = app.now_ms()
        page = app.runs.list(
            schedule=schedule,
            task=task,
            node=node,
            parent=None if parent is None else find_run(app, parent).id,
            step=step,
            steps=steps or any(each is not None for each in (step, parent, schedule)),
            state=state,
            late=late,
            since=some_moment(since, now_ms),
            until=some_moment(until, now_ms),
            cursor=cursor,
            limit=count,
        )
        if as_json:
            show_json({"runs": [run_document(run) for run in page], "cursor": page.cursor})
            return
        if not page.items:
            click.echo("no runs")
            return
        from onthedot.cli.screen import Screen

        Screen().print(runs_table(page))
        if page.cursor is not None:
            click.echo(f"there may be more: --before {page.cursor}")


@group.command("show")
@run_id
@store_url
@as_json
def show_one(run_id: str, *, store: str | None, as_json: bool) -> None:
    """Show all about one run."""
    with closing(open_app(store)) as app:
        run = find_run(app, run_id)
        if as_json:
            show_json(run_document(run))
            return
        for label, text in _facts(run, app):
            click.echo(f"{label + ':':<10} {visible(text)}")
        if run.error:
            click.echo("error:")
            for line in run.error.strip().splitlines():
                click.echo(f"  {kept(line)}")


@group.command("cancel")
@run_id
@click.option("--now", is_flag=True, help="Of a flow: stop its closing steps too.")
@store_url
@as_json
def cancel(run_id: str, *, now: bool, store: str | None, as_json: bool) -> None:
    """End a waiting run, or ask a running one to stop."""
    with closing(open_app(store)) as app:
        _show_changed(app.runs.cancel(find_run(app, run_id).id, now=now), as_json)


@group.command("retry")
@run_id
@store_url
@as_json
def retry(run_id: str, *, store: str | None, as_json: bool) -> None:
    """Have a run that ended without success done again, under the same id."""
    with closing(open_app(store)) as app:
        _show_changed(app.runs.retry(find_run(app, run_id).id), as_json)


@group.command("logs")
@run_id
@click.option("-f", "--follow", is_flag=True, help="Go on until the run has ended, line by line.")
@store_url
@as_json
def show_logs(run_id: str, *, follow: bool, store: str | None, as_json: bool) -> None:
    """Show what a run said."""
    with closing(open_app(store)) as app:
        run = find_run(app, run_id)
        if as_json and not follow:
            show_json({"run": run.id, "lines": [log_document(line) for line in app.runs.logs(run.id)]})
            return
        said = False
        for line in app.runs.follow(run.id) if follow else app.runs.logs(run.id):
            said = True
            if as_json:  # one document a line: nobody can wait for the end of one that is not over
                click.echo(json_text(log_document(line)))
            else:
                click.echo(log_text(line))
            sys.stdout.flush()
        if follow:
            ended = app.runs.get(run.id)
            click.echo(f"run {ended.id} {ended.state}", err=True)
        elif not said:
            click.echo("it said nothing", err=True)


def find_run(app: App, text: str) -> Run:
    """The run of that id, or the only one of the newest thousand whose id begins or ends so."""
    if len(text) >= _WHOLE:
        return app.runs.get(text)
    if len(text) < _LEAST:
        raise click.BadParameter(f"{text!r} is too short; write at least {_LEAST} characters", param_hint="'ID'")
    wanted = text.lower()
    found = [run for run in app.runs.list(limit=_SEARCHED) if run.id.startswith(wanted) or run.id.endswith(wanted)]
    if not found:
        raise RunNotFound(text)
    if len(found) > 1:
        raise Conflict(
            f"{text!r} stands for {len(found)} runs, such as {found[0].id} and {found[1].id}; write more of it"
        )
    return app.runs.get(found[0].id) if found[0].is_flow else found[0]


def _facts(run: Run, app: App) -> Iterable[tuple[str, str]]:
    story = app.runs.story(run.id)
    yield "run", run.id
    yield "story", story.text
    yield "state", str(run.state) + (" (asked to stop)" if run.cancel_requested_ms and not run.is_final else "")
    if run.reason:
        yield "why", run.reason
    if run.step is not None:
        yield "flow", f"{run.parent_id}, step {run.step}" + ("" if run.item is None else f"[{run.item}]")
    yield "task", run.task + "".join(f" {key}={value!r}" for key, value in backfill.given(run).items())
    if run.schedule is not None:
        yield "schedule", f"{run.schedule} ({run.cause})"
    yield "scheduled", utc_text(run.scheduled_ms, seconds=True)
    if run.due_ms != run.scheduled_ms:
        yield "due", utc_text(run.due_ms, seconds=True)
    if run.started_ms is not None:
        node = "" if story.node is None else f", node {story.node}"
        yield "started", f"{utc_text(run.started_ms, seconds=True)}, attempt {run.attempt}{node}"
    if run.engine is not None:
        yield "engine", f"{run.engine}, as {run.engine_id}"
    for note in story.notes:
        yield "note", note
    if run.finished_ms is not None:
        took = took_text(run)
        yield "finished", utc_text(run.finished_ms, seconds=True) + (f", after {took}" if took else "")
    if run.result is not None:
        yield "result", f"{run.result!r}"
    for step in run.steps:
        yield "step", _step_text(step)


def _step_text(step: StepStatus) -> str:
    if step.total is None:
        return f"{step.name}: {step.state}" + (", closes the flow" if step.closing else "")
    counts = f" {step.ended} of {step.total}" if step.total != 1 and step.state == "running" else ""
    bad = f", {step.failed} of {step.total} badly" if step.failed and step.total != 1 else ""
    return f"{step.name}: {step.state}{counts}{bad}" + (f": {step.problem}" if step.problem else "")


def _show_changed(run: Run, as_json: bool) -> None:
    if as_json:
        show_json(run_document(run))
    else:
        asked = " and asked to stop" if run.cancel_requested_ms is not None and not run.is_final else ""
        click.echo(f"run {run.id} of {visible(run.title)} is {run.state}{asked}")
