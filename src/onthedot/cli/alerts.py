"""`onthedot alerts`: who is told when schedules go wrong, what has been told, and trying it out."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from typing import TYPE_CHECKING

import click

from onthedot.app.json_documents import alert_document, run_document, schedule_alert_document
from onthedot.cli.apps import open_app
from onthedot.cli.commands import Group, argument
from onthedot.cli.json_output import show_json
from onthedot.cli.options import as_json, store_url
from onthedot.cli.texts import span_text, utc_text, visible
from onthedot.cli.unknown_tasks import note_if_nobody_has
from onthedot.texts import counted

if TYPE_CHECKING:
    from onthedot.insight.alerts import AlertStanding, ScheduleAlert
    from onthedot.model.alert import Alert

group = Group("alerts", help="Alerts: who is told when schedules go wrong.")

_NONE = "no schedule has an alert: @app.schedule(…, alerts=[alert('ops', task='hook')]), or [alerts.ops] in a file"
_NAMED = 3


@group.command("list")
@store_url
@as_json
def list_alerts(*, store: str | None, as_json: bool) -> None:
    """List all alerts, of whom they tell, and what they have told."""
    with closing(open_app(store)) as app:
        found = app.alerts.list()
    if as_json:
        show_json({"alerts": [alert_document(each) for each in found]})
        return
    if not found:
        click.echo(_NONE)
        return
    from onthedot.cli.screen import Screen, plain_table

    table = plain_table()
    for heading in ("alert", "task", "tells of", "schedules", "now", "sent", "held back"):
        table.add_column(heading)
    for each in found:
        table.add_row(
            visible(each.alert.name),
            visible(each.alert.task),
            rule_text(each.alert),
            _names(each.schedules),
            _now(each),
            "never" if each.sent_ms is None else utc_text(each.sent_ms),
            f"{each.held_back:,}",
        )
    Screen().print(table)


@group.command("show")
@argument("schedule", metavar="SCHEDULE", help="Its name.")
@store_url
@as_json
def show_alerts(schedule: str, *, store: str | None, as_json: bool) -> None:
    """Show the alerts of one schedule, and what each has told of it."""
    with closing(open_app(store)) as app:
        found = app.alerts.of(schedule)
    if as_json:
        show_json({"name": schedule, "alerts": [schedule_alert_document(each) for each in found]})
        return
    if not found:
        click.echo(f"{visible(schedule)} has no alerts")
    for each in found:
        click.echo(f"{visible(each.alert.name)}: {visible(each.alert.task)} is told of {rule_text(each.alert)}")
        click.echo(f"  {standing_text(each)}")


@group.command("test")
@argument("name", metavar="ALERT", help="Its name.")
@click.option("--wait", is_flag=True, help="Wait until it was sent; exit code 1 if it was not.")
@store_url
@as_json
def try_alert(name: str, *, wait: bool, store: str | None, as_json: bool) -> None:
    """Send an alert now, to see that it arrives; it says that it is only a test."""
    with closing(open_app(store)) as app:
        run = app.alerts.test(name)
        note_if_nobody_has(app, run.task)
        if wait:
            run = app.runs.wait(run.id)
    if as_json:
        show_json(run_document(run))
    else:
        error = f": {visible(run.error)}" if run.error else ""
        click.echo(f"run {run.id} of {visible(run.task)} is {run.state}{error}")
    if wait and run.state != "succeeded":
        raise click.exceptions.Exit(1)


def rule_text(alert: Alert) -> str:
    """ "failure after 3, recovery, overdue after 26 h; at most each 1 h"."""
    words = [_word(alert, kind) for kind in alert.on]
    return f"{', '.join(words)}; at most each {span_text(alert.every_ms)}" if alert.every_ms else ", ".join(words)


def _word(alert: Alert, kind: str) -> str:
    if kind == "overdue" and alert.overdue_ms is not None:
        return f"overdue after {span_text(alert.overdue_ms)}"
    return f"failure after {alert.after}" if kind == "failure" and alert.after > 1 else kind


def standing_text(each: ScheduleAlert) -> str:
    """What was told, as things stand."""
    told = [
        "it told that it fails" if each.told.open else "",
        "it told that it is overdue" if each.told.late else "",
        f"{counted(each.bad_ends, 'bad end')} in a row" if each.bad_ends else "the last end was not bad",
        "never sent" if each.told.sent_ms is None else f"last sent {utc_text(each.told.sent_ms)}",
        f"{each.told.held:,} held back since" if each.told.held else "",
    ]
    return "; ".join(part for part in told if part)


def _now(each: AlertStanding) -> str:
    parts = [("failing", each.failing), ("overdue", each.overdue)]
    return "; ".join(f"{word}: {_names(names)}" for word, names in parts if names) or "quiet"


def _names(names: Iterable[str]) -> str:
    every = [visible(name) for name in names]
    more = len(every) - _NAMED
    return ", ".join(every[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")
