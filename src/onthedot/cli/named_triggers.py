"""`onthedot triggers`: triggers that schedules use by name."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from onthedot.app.json_documents import named_trigger_document
from onthedot.app.trigger_text import read_whole_trigger
from onthedot.cli.apps import open_app
from onthedot.cli.calendars import Revision
from onthedot.cli.options import AsJson, FoldRule, GapRule, StoreUrl, Zone
from onthedot.cli.screen import Screen, plain_table, show_json
from onthedot.cli.texts import visible
from onthedot.errors import ValueNotFound

group = typer.Typer(help="Named triggers, which schedules share.", no_args_is_help=True)

NameOfTrigger = Annotated[str, typer.Argument(metavar="NAME", help="The trigger's name.", show_default=False)]


@group.command("list")
def list_triggers(*, store: StoreUrl = None, as_json: AsJson = False) -> None:
    """List all named triggers."""
    with closing(open_app(store)) as app:
        found = app.triggers.list()
    if as_json:
        show_json({"triggers": [named_trigger_document(each) for each in found]})
        return
    if not found:
        typer.echo("no named triggers: onthedot triggers put NAME TEXT makes one")
        return
    table = plain_table()
    for heading in ("trigger", "revision", "says"):
        table.add_column(heading)
    for each in found:
        table.add_row(visible(each.name), str(each.rev), visible(each.trigger.describe()))
    Screen().print(table)


@group.command("show")
def show(name: NameOfTrigger, *, rev: Revision = None, store: StoreUrl = None, as_json: AsJson = False) -> None:
    """Show what a named trigger says, and who uses it."""
    with closing(open_app(store)) as app:
        kept, users = app.triggers.get(name, rev), app.triggers.users(name)
    if as_json:
        show_json(named_trigger_document(kept, users))
        return
    typer.echo(f"{visible(kept.name)}, revision {kept.rev}: {visible(kept.trigger.describe())}")
    typer.echo(f"used by {', '.join(map(visible, users))}" if users else "nobody uses it")


@group.command("put")
def put(
    name: NameOfTrigger,
    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT", help='A cron text or "every 15m"; behind it maybe "except calendar de".', show_default=False
        ),
    ],
    *,
    tz: Zone = None,
    gap: GapRule = None,
    fold: FoldRule = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
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
        typer.echo(f"{visible(kept.name)} is at revision {kept.rev}: {visible(kept.trigger.describe())}, {used}")


@group.command("delete")
def delete(name: NameOfTrigger, *, store: StoreUrl = None, as_json: AsJson = False) -> None:
    """Delete a named trigger that nobody uses."""
    with closing(open_app(store)) as app:
        app.triggers.get(name)
        if not app.triggers.delete(name):
            raise ValueNotFound("trigger", name)
    if as_json:
        show_json({"name": name, "deleted": True})
    else:
        typer.echo(f"{visible(name)} is deleted")
