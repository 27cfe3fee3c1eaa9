"""`onthedot check`, `import` and `export`: files of schedules."""

from __future__ import annotations

import json
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onthedot.app.files.notes import notes_of
from onthedot.app.json_documents import finite, imported_document
from onthedot.app.remedies import did_you_mean
from onthedot.cli import moving
from onthedot.cli.apps import open_app
from onthedot.cli.commands import argument, command
from onthedot.cli.file_notes import exit_if_refused
from onthedot.cli.json_output import json_text, show_json
from onthedot.cli.notes import show_note
from onthedot.cli.options import as_json, store_url
from onthedot.cli.texts import counted, visible
from onthedot.clock import SystemClock
from onthedot.errors import ArgumentsError, FileError, SettingsError, TriggerError
from onthedot.triggers import decode
from onthedot.triggers.zones import get_zone

if TYPE_CHECKING:
    from onthedot.app.files import JobFile
    from onthedot.app.import_export import Imported

_SHOWN = 60

system_option = click.option(
    "--system/--user",
    default=None,
    help="A crontab with, or without, a user before the command.",
    show_default="by its place: /etc/crontab and /etc/cron.d have one",
)
zone = click.option("--tz", metavar="ZONE", help="The zone of a crontab that names none.", show_default="the machine's")


@command("check")
@argument("file", metavar="FILE", help="A jobs.toml or a crontab.")
@system_option
@zone
@as_json
def check_file(file: str, *, system: bool | None, tz: str | None, as_json: bool) -> None:
    """Say whether a file of schedules can be read, and all that is wrong with it. Exit code 2 if it is not well."""
    job_file = _checked(file, system, tz)
    _check_sizes(job_file)
    notes = notes_of(job_file, SystemClock().now_ms())
    if as_json:
        names = [entry.name for entry in job_file.entries]
        problems = [str(each) for each in job_file.refused]
        show_json({"file": job_file.path, "schedules": names, "notes": notes, "problems": problems})
    else:
        for note in notes:
            click.echo(f"note: {visible(f'{job_file.path}: {note}')}")
        click.echo(f"{visible(job_file.path)} {_verdict(job_file)}")
    exit_if_refused(job_file)


@command("import")
@argument(
    "what",
    metavar="WHAT",
    help="What export wrote; or crontab, apscheduler, celery, redbeat or django-celery-beat, and behind it where.",
)
@argument(
    "file",
    required=False,
    metavar="[FROM]",
    help="The file of a crontab, a scheduler or a Celery app (proj.celery:app), or the URL of the other one's store.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Where to write a jobs.toml, of Celery and APScheduler a program.",
    show_default="a crontab is printed, all others go to the store",
)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@system_option
@zone
@click.option("--dry-run", is_flag=True, help="Only show how the store would change.")
@store_url
@as_json
def import_file(
    what: str,
    file: str | None,
    *,
    output: str | None,
    force: bool,
    system: bool | None,
    tz: str | None,
    dry_run: bool,
    store: str | None,
    as_json: bool,
) -> None:
    """Convert a crontab to a jobs.toml (import crontab FILE), take in the schedules of Celery or
    APScheduler (import celery proj.celery:app), or what export wrote (import FILE)."""
    if what in moving.SOURCES:
        _refuse_what_is_not_used(what, output=output, force=force, system=system, tz=tz, as_json=as_json)
        _move(moving.read(what, file, tz), output, force=force, dry_run=dry_run, store=store, as_json=as_json)
        return
    if file is not None and what != "crontab":
        known = f"write import crontab FILE, or import FILE; {did_you_mean(what, ('crontab', *moving.SOURCES))}"
        raise SettingsError(f"import: {what!r} is not known; {known}")
    if file is not None:
        _convert(file, output, force, system, tz)
        return
    if what == "crontab":
        raise SettingsError("import crontab: a file is missing; crontab -l > mine.cron writes your own to one")
    if output is not None:
        raise SettingsError("import: -o goes with import crontab; an export is taken into the store")
    if what.endswith(".toml"):
        raise SettingsError(f"{what} is a file of schedules, not an export: onthedot sync {what} takes it")
    document = _read_json(what)
    with closing(open_app(store)) as app:
        done = app.schedules.import_document(document, dry_run=dry_run, path=what)
    if as_json:
        show_json(imported_document(done))
    else:
        _show(done)


def _refuse_what_is_not_used(
    what: str, *, output: str | None, force: bool, system: bool | None, tz: str | None, as_json: bool
) -> None:
    """What would be left aside in silence."""
    if system is not None:
        raise click.BadParameter("--system and --user go with a crontab", param_hint="'--system'")
    if tz is not None and what != "redbeat":
        raise click.BadParameter("--tz goes with a crontab and redbeat; here each has its zone", param_hint="'--tz'")
    if force and output is None:
        raise click.BadParameter("--force goes with -o", param_hint="'--force'")
    if as_json and output is not None:
        raise click.BadParameter("--json goes with what is written to a store, and not with -o", param_hint="'--json'")


def _move(
    found: moving.Found, output: str | None, *, force: bool, dry_run: bool, store: str | None, as_json: bool
) -> None:
    if output is None or dry_run:
        moving.take(found, store, dry_run=dry_run, as_json=as_json)
        return
    program = moving.write_program(found, store)
    for note in found.report.notes:
        show_note(note)
    _write(program, output, force, counted(len(found.report.moves), "schedule"))
    moving.exit_if_refused(found.report)


@command("export")
@click.option("-o", "--output", metavar="FILE", help="Where to write it.", show_default="printed")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@store_url
def export_file(*, output: str | None, force: bool, store: str | None) -> None:
    """Write all schedules of a store as one JSON document, for import into this or another one."""
    with closing(open_app(store)) as app:
        document = app.schedules.export()
    for schedule in document["schedules"]:
        if finite(schedule) != schedule:
            show_note(f"{schedule['name']}: a number that JSON does not have is exported as null")
    text = json_text(document, indent=2) + "\n"
    _write(text, output, force, counted(len(document["schedules"]), "schedule"))


def _checked(file: str, system: bool | None, tz: str | None) -> JobFile:
    """Read as `run` or an import would, but without an app: what the file alone can tell."""
    from onthedot.app.files import read_file
    from onthedot.app.files.from_crontab import from_crontab

    if tz is not None:
        get_zone(tz)
    job_file = read_file(file, system=system, timezone=tz)
    return from_crontab(job_file) if job_file.is_crontab else job_file


def _verdict(job_file: JobFile) -> str:
    count = counted(len(job_file.entries), "schedule")
    if not job_file.refused:
        return f"is well: {count}"
    without = "it, it" if len(job_file.refused) == 1 else "them, it"
    return f"has {counted(len(job_file.refused), 'line')} that cannot be read; without {without} is well: {count}"


def _check_sizes(job_file: JobFile) -> None:
    from onthedot.app.arguments import check_size
    from onthedot.app.files.entry import NamedTask, Steps
    from onthedot.settings import load_settings

    most_bytes, problems = load_settings().max_args_bytes, list[str]()
    for entry in job_file.entries:
        if isinstance(entry.work, NamedTask | Steps):
            args = entry.work.args if isinstance(entry.work, NamedTask) else entry.work.own_args
            try:
                check_size(entry.work.name, args, most_bytes)
            except ArgumentsError as error:
                problems.append(f"[schedules.{entry.name}] {error}")
    if problems:
        raise FileError(job_file.path, problems)


def _convert(file: str, output: str | None, force: bool, system: bool | None, tz: str | None) -> None:
    from onthedot.app.files.writing import write_jobs

    _check_output(output, force)
    converted = _checked(file, system, tz)
    if not converted.is_crontab:
        raise FileError(file, ["this is TOML, not a crontab; onthedot run takes it as it is"])
    for note in converted.notes:
        show_note(f"{file}: {note}")
    _write(write_jobs(converted), output, force, counted(len(converted.entries), "schedule"))
    exit_if_refused(converted)


def _write(text: str, output: str | None, force: bool, what: str) -> None:
    if output is None:
        sys.stdout.write(text)
        return
    _check_output(output, force)
    try:
        Path(output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise FileError(output, [(error.strerror or str(error)).lower()]) from None
    click.echo(f"{what} in {visible(output)}")


def _check_output(output: str | None, force: bool) -> None:
    if output is not None and Path(output).exists() and not force:
        raise SettingsError(f"{output} is there already; name another file, or add --force")


def _read_json(path: str) -> Any:
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise FileError(path, [f"{place}: {error.msg}; import takes what onthedot export wrote"]) from None
    except UnicodeDecodeError:
        raise FileError(path, ["this is not UTF-8 text"]) from None
    except OSError as error:
        raise FileError(path, [(error.strerror or str(error)).lower()]) from None


def _show(done: Imported) -> None:
    for name in done.created:
        click.echo(click.style(f"+ {visible(name)}", fg="green"))
    for each in done.changed:
        fields = "; ".join(f"{key}: {_short(key, old)} → {_short(key, new)}" for key, (old, new) in each.fields.items())
        click.echo(f"{click.style(f'~ {visible(each.name)}', fg='yellow')}  {visible(fields)}")
    for name in done.values:
        click.echo(f"{visible(name)}: {'is' if done.written else 'would be'} put")
    for name in done.freezes:
        click.echo(click.style(f"+ freeze {visible(name)}", fg="green"))
    counts = f"{len(done.created):,} new, {len(done.changed):,} changed, {len(done.unchanged):,} as they were"
    others = f", {len(done.only_here):,} only in the store" if done.only_here else ""
    click.echo(f"{counts}{others}" + ("" if done.written else "; nothing was written"))


def _short(key: str, value: Any) -> str:
    if key == "trigger":
        with suppress(TriggerError):  # one that cannot be read is shown as it is
            return str(decode(value))
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
