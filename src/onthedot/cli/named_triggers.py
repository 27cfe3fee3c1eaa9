"""`onthedot triggers`: triggers that schedules use by name."""

from __future__ import annotations

from contextlib import closing

import click

from onthedot.app.json_documents import named_trigger_document
from onthedot.app.trigger_text import read_whole_trigger
from onthedot.cli.apps import open_app
from onthedot.cli.calendars import revision
from onthedot.cli.called import typed
from onthedot.cli.commands import Group, argument
from onthedot.cli.json_output import show_json
from onthedot.cli.options import as_json, fold_rule, gap_rule, store_url, zone
from onthedot.cli.texts import visible
from onthedot.errors import ValueNotFound

group = Group("triggers", help="Named triggers, which schedules share.")

trigger_name = argument("name", metavar="NAME", help="The trigger's name.")


@group.command("list")
@store_url
@as_json
def list_triggers(*, store: str | None, as_json: bool) -> None:
    """List all named triggers."""
    with closing(open_app(store)) as app:
        found = app.triggers.list()
    if as_json:
        show_json({"triggers": [named_trigger_document(each) for each in found]})
        return
    if not found:
        click.echo(typed("no named triggers: onthedot triggers put NAME TEXT makes one"))
        return
    from onthedot.cli.screen import Screen, plain_table

    table = plain_table()
    for heading in ("trigger", "revision", "says"):
        table.add_column(heading)
    for each in found:
        table.add_row(visible(each.name), str(each.rev), visible(each.trigger.describe()))
    Screen().print(table)


@group.command("show")
@trigger_name
@revision
@store_url
@as_json
def show(name: str, *, rev: int | None, store: str | None, as_json: bool) -> None:
    """Show what a named trigger says, and who uses it."""
    with closing(open_app(store)) as app:
        kept, users = app.triggers.get(name, rev), app.triggers.users(name)
    if as_json:
        show_json(named_trigger_document(kept, users))
        return
    click.echo(f"{visible(kept.name)}, revision {kept.rev}: {visible(kept.trigger.describe())}")
    click.echo(f"used by {', '.join(map(visible, users))}" if users else "nobody uses it")


@group.command("put")
@trigger_name
@argument("text", metavar="TEXT", help='A cron text or "every 15m"; behind it maybe "except calendar de".')
@zone
@gap_rule
@fold_rule
@store_url
@as_json
def put(
    name: str, text: str, *, tz: str | None, gap: str | None, fold: str | None, store: str | None, as_json: bool
) -> None:
    """Create a named trigger, or write its next revision; the schedules that use it follow."""
    trigger = read_whole_trigger(text, tz=tz, gap=gap, fold=fold)
    with closing(open_app(store)) as app:
        kept = app.triggers.put(name, trigger)
        users = app.triggers.users(name)
    if as_json:
        show_json(named_trigger_document(kept, users))
    else:
        used = f"used by {len(users)}" if users else "nobody uses it"
        click.echo(f"{visible(kept.name)} is at revision {kept.rev}: {visible(kept.trigger.describe())}, {used}")


@group.command("delete")
@trigger_name
@store_url
@as_json
def delete(name: str, *, store: str | None, as_json: bool) -> None:
    """Delete a named trigger that nobody uses."""
    with closing(open_app(store)) as app:
        app.triggers.get(name)
        if not app.triggers.delete(name):
            raise ValueNotFound("trigger", name)
    if as_json:
        show_json({"name": name, "deleted": True})
    else:
        click.echo(f"{visible(name)} is deleted")
