"""`onthedot import celery`, `redbeat`, `django-celery-beat` and `apscheduler`: schedules of other schedulers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from onthedot.cli.apps import open_app
from onthedot.cli.failures import show_error
from onthedot.cli.json_output import show_json
from onthedot.cli.notes import show_note
from onthedot.cli.texts import visible
from onthedot.clock import SystemClock
from onthedot.errors import SettingsError, StoreError

if TYPE_CHECKING:
    from onthedot.app.moving.report import Move, Report
    from onthedot.app.moving.taking import Taken

_CELERY = "celery"
"""The task of all schedules that are sent to Celery: what they send is among their arguments."""
SOURCES = ("apscheduler", "celery", "redbeat", "django-celery-beat")


class Found(NamedTuple):
    """What was read, and where it belongs if nobody says otherwise."""

    report: Report
    program: Callable[[str | None], str]
    """The program that says the same, for a store."""
    store: str | None = None


def read(source: str, place: str | None, tz: str | None) -> Found:
    """All schedules that are there."""
    readers: dict[str, Callable[[str | None, str | None], Found]] = {
        "apscheduler": _read_apscheduler,
        "celery": _read_celery,
        "redbeat": _read_redbeat,
        "django-celery-beat": _read_django,
    }
    return readers[source](place, tz)


def write_program(found: Found, store: str | None) -> str:
    """A program of what was found, to be run by `onthedot run`."""
    return found.program(store or found.store)


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
    what = move.args["task"] if move.task == _CELERY else move.task
    return f"{what}, {move.trigger}{paused}"


def _celery_program(report: Report, celery_app: str = "proj.celery:app") -> Callable[[str | None], str]:
    """It sends through the Celery app that stands there."""
    from onthedot.app.moving.program import literal, program_of

    def program(store: str | None) -> str:
        module, _, attribute = celery_app.partition(":")
        place = "" if store is None else literal(store)
        preamble = [
            "from onthedot.celery import sender",
            f"from {module} import {attribute or 'app'} as celery_app",
            "",
            f"app = App({place})",
            "send = sender(app, celery_app)",
        ]
        return program_of(report, f"Schedules that were in {report.source}.", preamble, lambda _: "send")

    return program


def _read_apscheduler(place: str | None, tz: str | None) -> Found:
    if place is None:
        raise SettingsError(
            "import apscheduler: name a scheduler (shop.main:scheduler) or the URL of its store (sqlite:///jobs.sqlite)"
        )
    from onthedot.apscheduler import from_scheduler, read_store
    from onthedot.apscheduler.finding import find_scheduler

    sys.path.insert(0, str(Path.cwd()))
    report = read_store(place) if "://" in place else from_scheduler(find_scheduler(place))
    return Found(report, report.as_code)


def _read_celery(place: str | None, tz: str | None) -> Found:
    if place is None:
        raise SettingsError("import celery: name the app as celery -A does: onthedot import celery proj.celery:app")
    from onthedot.app.moving.nights import night_notes
    from onthedot.celery.entries import moves_of
    from onthedot.celery.imports.apps import find_celery_app
    from onthedot.celery.settings import settings_of

    sys.path.insert(0, str(Path.cwd()))
    celery_app, where = find_celery_app(place)
    settings = settings_of(celery_app)
    report = moves_of(celery_app, settings)
    notes = night_notes(report.moves, SystemClock().now_ms(), "first")
    report = replace(report, notes=(*report.notes, *notes))
    return Found(report, _celery_program(report, where), celery_app.conf.get("onthedot_store"))


def _read_redbeat(place: str | None, tz: str | None) -> Found:
    if place is None:
        raise SettingsError("import redbeat: name its Redis: onthedot import redbeat redis://host:6379/0")
    from onthedot.celery.imports.redbeat import PREFIX, read_redis

    url, prefix = _without_prefix(place)
    report = read_redis(url, prefix=PREFIX if prefix is None else prefix, zone=tz or "UTC")
    return Found(report, _celery_program(report))


def _without_prefix(place: str) -> tuple[str, str | None]:
    """The URL as Redis takes it, and what stands in it for us."""
    url, _, query = place.partition("?")
    options = query.split("&") if query else []
    others = [each for each in options if not each.startswith("prefix=")]
    prefix = next((each.removeprefix("prefix=") for each in options if each not in others), None)
    if prefix == "":
        raise SettingsError("import redbeat: prefix= is empty; write that of redbeat_key_prefix")
    return "?".join(part for part in (url, "&".join(others)) if part), prefix


def _read_django(place: str | None, tz: str | None) -> Found:
    from onthedot.celery.imports.django_celery_beat import read_database, read_django

    report = read_django() if place is None else read_database(place)
    return Found(report, _celery_program(report))
