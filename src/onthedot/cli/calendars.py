"""`onthedot calendars`: days that triggers leave out."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from onthedot.app.json_documents import calendar_document
from onthedot.cli.apps import open_app
from onthedot.cli.called import typed
from onthedot.cli.commands import Group, argument
from onthedot.cli.json_output import show_json
from onthedot.cli.options import as_json, store_url
from onthedot.cli.texts import counted, visible
from onthedot.errors import ValueNotFound
from onthedot.triggers.dates import iso_day

if TYPE_CHECKING:
    from onthedot.app.values import KeptCalendar

group = Group("calendars", help="Calendars: days that triggers leave out.")

calendar_name = argument("name", metavar="NAME", help="The calendar's name.")
revision = click.option(
    "--rev", type=click.IntRange(min=1), metavar="N", help="An earlier revision.", show_default="the latest"
)


@group.command("list")
@store_url
@as_json
def list_calendars(*, store: str | None, as_json: bool) -> None:
    """List all calendars."""
    with closing(open_app(store)) as app:
        found = app.calendars.list()
    if as_json:
        show_json({"calendars": [calendar_document(each) for each in found]})
        return
    if not found:
        click.echo(typed("no calendars: onthedot calendars put NAME makes one"))
        return
    from onthedot.cli.screen import Screen, plain_table

    table = plain_table()
    for heading in ("calendar", "revision", "days", "source", "first", "last"):
        table.add_column(heading)
    for each in found:
        first, last = each.days.ranges[0][0], each.days.ranges[-1][1]
        count = str(each.days.count)
        table.add_row(visible(each.name), str(each.rev), count, each.days.source, iso_day(first), iso_day(last))
    Screen().print(table)


@group.command("show")
@calendar_name
@click.option("--year", type=int, metavar="YEAR", help="Only days of it.", show_default="all")
@revision
@store_url
@as_json
def show(name: str, *, year: int | None, rev: int | None, store: str | None, as_json: bool) -> None:
    """Show the days of a calendar, and who uses it."""
    with closing(open_app(store)) as app:
        kept = app.calendars.get(name, rev)
        users = app.calendars.users(name)
    days = [each for each in kept.days.entries() if year is None or _touches(each[0], year)]
    if as_json:
        told = calendar_document(kept, users)
        show_json({**told, "days": [{"date": text, "name": named or None} for text, named in days]})
        return
    click.echo(f"{visible(kept.name)}, revision {kept.rev}{_until(kept)}")
    for text, named in days:
        click.echo(f"  {text}  {visible(named)}".rstrip())
    if not days:
        click.echo(f"  no day in {year}")
    click.echo(f"used by {', '.join(map(visible, users))}" if users else "nobody uses it")


@group.command("put")
@calendar_name
@argument("days", nargs=-1, metavar="[DAY]...", help="2026-12-25, 2026-12-25=Christmas, 2026-12-24..2027-01-01")
@click.option("--ics", metavar="FILE", help="The days of its events.")
@click.option("--tz", metavar="ZONE", help="By whose clock timed events count.", show_default="the event's")
@click.option("--holidays", metavar="COUNTRY", help="DE, or DE-BY for a part.")
@click.option("--year", multiple=True, type=int, metavar="YEAR", help="Of the holidays; may be repeated.")
@store_url
@as_json
def put(
    name: str,
    days: tuple[str, ...],
    *,
    ics: str | None,
    tz: str | None,
    holidays: str | None,
    year: tuple[int, ...],
    store: str | None,
    as_json: bool,
) -> None:
    """Create a calendar, or write its next revision; the schedules that use it follow."""
    content = _content(days, ics=ics, tz=tz, holidays=holidays, years=year)
    with closing(open_app(store)) as app:
        kept = app.calendars.put(name, content)
        users = app.calendars.users(name)
    if as_json:
        show_json(calendar_document(kept, users))
    else:
        days_of = counted(kept.days.count, "day")
        click.echo(f"{visible(kept.name)} is at revision {kept.rev}: {days_of}{_until(kept)}, {_used(len(users))}")


@group.command("delete")
@calendar_name
@store_url
@as_json
def delete(name: str, *, store: str | None, as_json: bool) -> None:
    """Delete a calendar that nobody uses."""
    with closing(open_app(store)) as app:
        app.calendars.get(name)
        if not app.calendars.delete(name):
            raise ValueNotFound("calendar", name)
    if as_json:
        show_json({"name": name, "deleted": True})
    else:
        click.echo(f"{visible(name)} is deleted")


def _content(
    days: Sequence[str], *, ics: str | None, tz: str | None, holidays: str | None, years: Sequence[int]
) -> Any:
    given = [word for word, value in (("DAY", days), ("--ics", ics), ("--holidays", holidays)) if value]
    if len(given) != 1:
        raise click.BadParameter("give days, --ics or --holidays, and one of them", param_hint="'DAY'")
    if tz is not None and ics is None:
        raise click.BadParameter("it belongs to --ics", param_hint="'--tz'")
    if years and holidays is None:
        raise click.BadParameter("it belongs to --holidays", param_hint="'--year'")
    if ics is not None:
        from onthedot.app.calendar_sources import ics as read_ics

        return read_ics(ics, tz=tz)
    if holidays is not None:
        from onthedot.app.calendar_sources import holidays_of

        country, _, subdiv = holidays.partition("-")
        return holidays_of(country, years, subdiv=subdiv or None)
    return {day: name for day, _, name in (text.partition("=") for text in days)}


def _touches(text: str, year: int) -> bool:
    first, _, last = text.partition("..")
    return int(first[:4]) <= year <= int((last or first)[:4])


def _until(kept: KeptCalendar) -> str:
    return "" if kept.days.until is None else f", worked out to {iso_day(kept.days.until)}"


def _used(users: int) -> str:
    return "nobody uses it" if not users else f"used by {users}"
