"""`onthedot run` and `onthedot sync`: the commands that load an app, or a file of schedules."""

from __future__ import annotations

from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from onthedot.cli.apps import load_app
from onthedot.cli.commands import argument, command
from onthedot.cli.dashboard import HOST, PORT
from onthedot.cli.event_lines import show_events
from onthedot.cli.json_output import show_json
from onthedot.cli.notes import show_note, warnings_as_notes
from onthedot.cli.options import as_json, store_url
from onthedot.cli.texts import visible

if TYPE_CHECKING:
    from onthedot.app.app import App

app_text = argument("text", metavar="APP", help="The app, such as myapp:app, or a file of schedules, jobs.toml.")


@command("run")
@app_text
@store_url
@click.option("--name", metavar="NAME", help="The node's label.", show_default="host:process")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="How many runs at once.", show_default="200")
@click.option("--group", metavar="GROUP", help="Of which group the node is.", show_default="none")
@click.option("--roles", metavar="ROLES", help="What it does: plan, execute, or both.", show_default="plan,execute")
@click.option("--drain", metavar="DURATION", help="How long runs may still take when it stops.", show_default="30s")
@click.option(
    "--metrics-port",
    type=click.IntRange(min=0, max=65535),
    metavar="PORT",
    help="Serve /metrics and /healthz there; 0 for nowhere.",
    show_default="0",
)
@click.option("--log-format", metavar="text|json", help="How events are told.", show_default="text")
@click.option("-v", "--verbose", is_flag=True, help="Tell also what happens all the time: each run that begins.")
@click.option("--dashboard", is_flag=True, help="Serve the HTTP API beside the node.")
@click.option("--host", metavar="ADDRESS", help="Where the HTTP API listens.", show_default=HOST)
@click.option(
    "--port",
    type=click.IntRange(min=0, max=65535),
    metavar="PORT",
    help="On which port it listens.",
    show_default=str(PORT),
)
def run_app(
    text: str,
    *,
    store: str | None,
    name: str | None,
    workers: int | None,
    metrics_port: int | None,
    log_format: str | None,
    verbose: bool,
    dashboard: bool,
    host: str | None,
    port: int | None,
    group: str | None,
    roles: str | None,
    drain: str | None,
) -> None:
    """Plan and execute until SIGTERM or Ctrl-C, then let what runs finish.

    A second Ctrl-C hands back what still runs, a third ends at once. What tasks log or print is shown, and kept with
    their runs.
    """
    from onthedot.app.telemetry.console import records_shown
    from onthedot.execution.capture import prints_kept
    from onthedot.settings import load_settings
    from onthedot.stores.open import mask_url

    if not dashboard and (host, port) != (None, None):
        raise click.BadParameter("they go with --dashboard", param_hint="'--host' / '--port'")
    with closing(load_app(text)) as app:
        app.override(url=store, name=name, workers=workers, metrics_port=metrics_port, tune_gc=True)
        app.override_node({"group": group, "roles": roles, "drain": drain})
        form = load_settings({"log_format": log_format}).log_format
        show_events(app, mask_url(app.url), form, verbose=verbose)
        with prints_kept(), records_shown(form), _web_beside(app, host, port) if dashboard else nullcontext():
            app.run(log=False)


def _web_beside(app: App, host: str | None, port: int | None) -> AbstractContextManager[object]:
    from onthedot.web.serving import Place, WebServer

    app.open_store(create=True)
    server = WebServer(app, Place(host or HOST, PORT if port is None else port))
    show_note(f"the dashboard is at {server.address}/ and the HTTP API at {server.address}/api/v1")
    return server.beside()


@command("sync")
@app_text
@store_url
@click.option("--prune", is_flag=True, help="Delete schedules that were declared there and no longer are.")
@as_json
def sync_app(text: str, *, store: str | None, prune: bool, as_json: bool) -> None:
    """Write the schedules that an app declares to its store: a step for deployments."""
    with closing(load_app(text)) as app, warnings_as_notes():
        app.override(url=store)
        done = {what: list(names) for what, names in asdict(app.sync(prune=prune)).items()}
        for note in _unresolved(app):
            show_note(note)
    if as_json:
        show_json(done)
        return
    for what, names in done.items():
        if names:
            click.echo(f"{what + ':':<10} {', '.join(visible(name) for name in names)}")
    if not any(done.values()):
        click.echo("the app declares no schedules")


def _unresolved(app: App) -> list[str]:
    """The schedules of files whose task nobody has."""
    known = {task.name for task in app.tasks.list()}
    return [f"{name}: no live node has the task {task!r} yet" for name, task in app.named_tasks() if task not in known]
