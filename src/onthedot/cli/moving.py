"""`onthedot import celery`, `redbeat` and `django-celery-beat`: schedules of other schedulers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from onthedot.cli.apps import open_app
from onthedot.cli.failures import show_error
from onthedot.cli.json_output import show_json
from onthedot.cli.notes import show_note
from onthedot.cli.texts import visible
from onthedot.errors import SettingsError, StoreError

if TYPE_CHECKING:
    from onthedot.app.moving.report import Move, Report
    from onthedot.app.moving.taking import Taken

SOURCES = ("celery", "redbeat", "django-celery-beat")


class Found(NamedTuple):
    """What was read, and where it belongs if nobody says otherwise."""

    report: Report
    store: str | None = None
    celery_app: str = "proj.celery:app"
    """Where a program finds the Celery app."""


def read(source: str, place: str | None, tz: str | None) -> Found:
    """All schedules that are there."""
    readers: dict[str, Callable[[str | None, str | None], Found]] = {
        "celery": _read_celery,
        "redbeat": _read_redbeat,
        "django-celery-beat": _read_django,
    }
    return readers[source](place, tz)


def write_program(found: Found) -> str:
    """A program that sends what was found, to be run by `onthedot run`."""
    from onthedot.app.moving.program import program_of

    module, _, attribute = found.celery_app.partition(":")
    store = "" if found.store is None else repr(found.store).replace("'", '"')
    preamble = [
        "from onthedot.celery import sender",
        f"from {module} import {attribute or 'app'} as celery_app",
        "",
        f"app = App({store})",
        "send = sender(app, celery_app)",
    ]
    return program_of(found.report, f"Schedules that were in {found.report.source}.", preamble, "send")


def take(found: Found, store: str | None, *, dry_run: bool, as_json: bool) -> None:
    """Write them to the store, or only say what would be written; exit code 1 if some stay where they were."""
    with closing(open_app(store or found.store)) as app:
        if dry_run:
            taken = _tried(app.schedules.take, found.report)
        else:
            app.open_store(create=True)
            taken = app.schedules.take(found.report)
    _show(found.report, taken, as_json=as_json)


def exit_if_refused(report: Report) -> None:
    """Tell each that stays where it was, and let the exit code say that there were some."""
    if report.refused:
        show_error(*(visible(str(each)) for each in report.refused))
        raise click.exceptions.Exit(1)


def _tried(take: Callable[..., Taken], report: Report) -> Taken:
    from onthedot.app.moving.taking import Taken

    try:
        return take(report, dry_run=True)
    except StoreError as error:
        show_note(f"{error}; shown as if it were empty")
        return Taken(tuple(move.name for move in report.moves), (), (), (), written=False)


def _show(report: Report, taken: Taken, *, as_json: bool) -> None:
    refused = (*report.refused, *taken.refused)
    if as_json:
        told = {"created": taken.created, "changed": taken.changed, "unchanged": taken.unchanged}
        why = [{"name": each.name, "reason": each.reason} for each in refused]
        show_json({**told, "refused": why, "notes": report.notes, "written": taken.written})
    else:
        _show_lines(report, taken)
    if refused:
        show_error(*(visible(str(each)) for each in refused))
        raise click.exceptions.Exit(1)


def _show_lines(report: Report, taken: Taken) -> None:
    for note in report.notes:
        show_note(note)
    signs = {**dict.fromkeys(taken.created, "+"), **dict.fromkeys(taken.changed, "~")}
    for move in report.moves:
        if move.name in signs:
            color = "green" if signs[move.name] == "+" else "yellow"
            click.echo(f"{click.style(f'{signs[move.name]} {visible(move.name)}', fg=color)}  {visible(_line(move))}")
    counts = f"{len(taken.created):,} new, {len(taken.changed):,} changed, {len(taken.unchanged):,} as they were"
    click.echo(counts + ("" if taken.written else "; nothing was written"))


def _line(move: Move) -> str:
    paused = "" if move.paused is None else f", paused: {move.paused}"
    return f"{move.args['task']}, {move.trigger}{paused}"


def _read_celery(place: str | None, tz: str | None) -> Found:
    if place is None:
        raise SettingsError("import celery: name the app as celery -A does: onthedot import celery proj.celery:app")
    from onthedot.celery.entries import moves_of
    from onthedot.celery.imports.apps import find_celery_app
    from onthedot.celery.settings import settings_of

    sys.path.insert(0, str(Path.cwd()))
    celery_app, where = find_celery_app(place)
    settings = settings_of(celery_app)
    return Found(moves_of(celery_app, settings), celery_app.conf.get("onthedot_store"), where)


def _read_redbeat(place: str | None, tz: str | None) -> Found:
    if place is None:
        raise SettingsError("import redbeat: name its Redis: onthedot import redbeat redis://host:6379/0")
    from onthedot.celery.imports.redbeat import PREFIX, read_redis

    url, _, prefix = place.partition("?prefix=")
    return Found(read_redis(url, prefix=prefix or PREFIX, zone=tz or "UTC"))


def _read_django(place: str | None, tz: str | None) -> Found:
    from onthedot.celery.imports.django_celery_beat import read_database, read_django

    return Found(read_django() if place is None else read_database(place))
