"""`onthedot freezes`: windows in which no tick of certain schedules becomes a run."""

from __future__ import annotations

from contextlib import closing

import click

from onthedot.app.json_documents import freeze_document
from onthedot.cli.apps import open_app
from onthedot.cli.called import typed
from onthedot.cli.commands import Group, argument
from onthedot.cli.json_output import show_json
from onthedot.cli.options import as_json, store_url
from onthedot.cli.texts import visible
from onthedot.model.freeze import Freeze
from onthedot.moments import iso

group = Group("freezes", help="Windows in which schedules are frozen.")

freeze_name = argument("name", metavar="NAME", help="Its name.")


@group.command("put")
@freeze_name
@argument("start", metavar="START", help="Its first moment: 2026-12-24T12:00Z")
@argument("end", metavar="END", help="The first moment after it.")
@click.option("--tag", metavar="TAG", help="Only schedules with it.", show_default="all")
@click.option("--name", "names", metavar="PATTERN", help="Only schedules of such a name: 'etl-*'", show_default="all")
@store_url
@as_json
def put(
    name: str, start: str, end: str, *, tag: str | None, names: str | None, store: str | None, as_json: bool
) -> None:
    """Freeze schedules: from START to END no tick of theirs becomes a run. The same NAME again is another window."""
    where = {key: value for key, value in (("tag", tag), ("name", names)) if value is not None}
    with closing(open_app(store)) as app:
        kept = app.freezes.put(name, start, end, where=where or None)
        now_ms = app.now_ms()
    if as_json:
        show_json(freeze_document(kept, now_ms))
    else:
        click.echo(f"{visible(kept.name)} freezes {whom(kept)} from {iso(kept.start_ms)} to {iso(kept.end_ms)}")


@group.command("list")
@store_url
@as_json
def list_freezes(*, store: str | None, as_json: bool) -> None:
    """List them: those to come, those that last, and for a month those that are over."""
    with closing(open_app(store)) as app:
        found, now_ms = app.freezes.list(), app.now_ms()
    if as_json:
        show_json({"freezes": [freeze_document(each, now_ms) for each in found]})
        return
    if not found:
        click.echo(typed("no freezes: onthedot freezes put NAME START END makes one"))
        return
    from onthedot.cli.screen import Screen, plain_table

    table = plain_table()
    for heading in ("freeze", "state", "from", "to", "of", "by"):
        table.add_column(heading)
    for each in found:
        window = (iso(each.start_ms), iso(each.end_ms))
        table.add_row(visible(each.name), each.state(now_ms), *window, whom(each), visible(each.by))
    Screen().print(table)


@group.command("thaw")
@freeze_name
@store_url
@as_json
def thaw(name: str, *, store: str | None, as_json: bool) -> None:
    """End a freeze now, or take it back before it begins. What it left out is not caught up."""
    with closing(open_app(store)) as app:
        gone = app.freezes.thaw(name)
    if as_json:
        show_json({"name": gone.name, "thawed": True})
    else:
        click.echo(f"{visible(gone.name)} is thawed")


def whom(freeze: Freeze) -> str:
    """Whom it concerns, in words."""
    parts = [f"those with tag {visible(freeze.tag)}"] if freeze.tag is not None else []
    parts += [f"those named {visible(freeze.pattern)}"] if freeze.pattern is not None else []
    return " and ".join(parts) or "all schedules"
