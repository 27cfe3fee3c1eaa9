"""`onthedot changes`: who changed what, and when."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import click

from onthedot.app.json_documents import change_document
from onthedot.cli.apps import open_app
from onthedot.cli.commands import argument, command
from onthedot.cli.json_output import show_json
from onthedot.cli.options import as_json, store_url
from onthedot.cli.run_tables import short_id
from onthedot.cli.texts import utc_text, visible

if TYPE_CHECKING:
    from onthedot.model.change import Change


@command("changes")
@argument("name", required=False, metavar="[NAME]", help="Of this schedule only.")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=20, metavar="N", help="How many at most.")
@click.option("--cursor", metavar="ID", help="Those older than this line.")
@store_url
@as_json
def show_changes(name: str | None, *, limit: int, cursor: str | None, store: str | None, as_json: bool) -> None:
    """Show who changed what, newest first; also of a schedule that was deleted."""
    with closing(open_app(store)) as app:
        page = app.schedules.changes(name, cursor=cursor, limit=limit)
        if name is not None and not page.items and cursor is None:
            app.schedules.get(name)
        if as_json:
            show_json({"changes": [change_document(each) for each in page], "cursor": page.cursor})
            return
        if not page.items:
            click.echo("no changes")
        for each in page:
            click.echo(visible(change_text(each, of_all=name is None)))
        if page.cursor is not None:
            click.echo(f"there may be more: --cursor {page.cursor}")


def change_text(change: Change, *, of_all: bool = False) -> str:
    """One line: when, what, of what, by whom; where all are shown, with the name, and which fields changed."""
    run = f" of run {short_id(str(change.after['run']))}" if "run" in change.after else ""
    if "node" in change.after:
        run += f" from node {change.after['node']}" if run else f" of node {change.after['node']}"
    name = f" {change.schedule}" if of_all and change.schedule else ""
    for kind in ("calendar", "trigger"):
        if not change.schedule and isinstance(change.after.get(kind), str):
            name += f" {change.after[kind]}"
    by = f"by {change.by.who} ({change.by.surface})"
    return f"{utc_text(change.at_ms, seconds=True)}  {change.by.what}{name}{run} {by}"
