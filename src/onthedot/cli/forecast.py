"""`onthedot forecast`: what a crontab or a jobs.toml will run, and where it crowds."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from onthedot.app.files import Entry, JobFile, read_file, read_text
from onthedot.app.files.entry import NamedTask
from onthedot.app.files.notes import notes_of
from onthedot.cli.apps import open_app
from onthedot.cli.commands import argument, command
from onthedot.cli.file_notes import exit_if_refused
from onthedot.cli.heat_map import Layout, Window, draw, hour_bounds, read_rows
from onthedot.cli.json_output import show_json
from onthedot.cli.notes import show_note
from onthedot.cli.options import as_json, store_url
from onthedot.cli.screen import Screen, plain_table
from onthedot.cli.texts import counted, local_moment, visible
from onthedot.clock import SystemClock
from onthedot.errors import MomentError
from onthedot.moments import END_MS, FIRST_MS, ceil_ms, floor_ms, iso
from onthedot.triggers.bounds import to_instant_ms
from onthedot.triggers.zones import get_zone

if TYPE_CHECKING:
    from rich.table import Table

    from onthedot.forecast import RunIndex

MOST_LISTED = 40
_BUSIEST = 10
_LONGEST_NAME = 30
_MOST_HOURS = 24 * 366


@command("forecast")
@argument(
    "file", required=False, metavar="[FILE]", help="A crontab or a jobs.toml; - reads stdin; without one, the store."
)
@click.option("--hours", type=click.IntRange(min=1, max=_MOST_HOURS), default=24, metavar="N", help="How far to look.")
@click.option("--start", metavar="MOMENT", help="From this moment on.", show_default="now")
@click.option(
    "--tz",
    metavar="ZONE",
    help="The time zone where the file names none.",
    show_default="the machine's for a crontab, UTC for a jobs.toml",
)
@click.option(
    "--system/--user",
    default=None,
    help="The crontab has a user before the command, or not.",
    show_default="by its path",
)
@store_url
@as_json
def show_forecast(
    file: str | None,
    *,
    hours: int,
    start: str | None,
    tz: str | None,
    system: bool | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Show the runs to come as a heat map, the busiest minutes first; of a file, or of the store."""
    if tz is not None:
        get_zone(tz)
    if file is not None and store is not None:
        raise click.BadParameter("give a file or a store, not both", param_hint="'FILE' / '--store'")
    job_file = _of_store(store, tz) if file is None else _read(file, system, tz)
    zone = job_file.timezone or "UTC"
    start_ms = SystemClock().now_ms() if start is None else to_instant_ms(start, zone, round_up=True)
    if not FIRST_MS <= start_ms < END_MS:
        raise MomentError(f"nothing is to come at {start}: ticks lie between 1970 and 2199")
    outlook = Outlook.of(job_file, Window.of(start_ms, hours, zone))
    if as_json:
        show_json(_document(outlook))
    else:
        show_outlook(outlook)
    exit_if_refused(job_file)


@dataclass(frozen=True, slots=True)
class Outlook:
    """The schedules of a file and their runs in a window."""

    job_file: JobFile
    window: Window
    index: RunIndex

    @classmethod
    def of(cls, job_file: JobFile, window: Window) -> Outlook:
        """Expands all enabled schedules of the file."""
        from onthedot.forecast import forecast

        triggers = {entry.name: entry.trigger for entry in job_file.entries if entry.enabled}
        return cls(job_file, window, forecast(triggers, window.start, window.end))

    def busiest(self) -> list[tuple[int, Counter[str]]]:
        """The fullest minutes, and how often each schedule runs in them."""
        minutes = ((busy.at, busy.at + timedelta(minutes=1)) for busy in self.index.busiest("1m", _BUSIEST))
        return [(floor_ms(at), Counter(run.name for run in self.index.query(at, end))) for at, end in minutes]

    def notes(self) -> list[str]:
        """What the file's reader noted, and what would crowd or never run."""
        return notes_of(self.job_file, ceil_ms(self.window.start) - 1)

    def next_ms(self, entry: Entry) -> int | None:
        """The first tick in or after the window's start."""
        return entry.trigger.next_ms(ceil_ms(self.window.start) - 1) if entry.enabled else None


def show_outlook(outlook: Outlook) -> None:
    """All of it, for people."""
    screen, entries = Screen(), outlook.job_file.entries
    for note in outlook.notes():
        show_note(f"{outlook.job_file.path}: {note}")
    screen.print(_title(outlook), soft_wrap=True)
    if not entries:
        return
    screen.print()
    show_heat_map(outlook.index, outlook.window, screen)
    screen.print()
    screen.print(_busiest_table(outlook, screen.width))
    screen.print()
    screen.print(_schedule_table(outlook, screen.width))
    if len(entries) > MOST_LISTED:
        screen.print(f"and {len(entries) - MOST_LISTED:,} more; --json lists them all", style="dim")


def show_heat_map(index: RunIndex, window: Window, screen: Screen) -> None:
    """The map alone, as wide as the terminal allows."""
    layout = Layout.fitting(screen.width, window.by_day)
    rows = read_rows(lambda bucket, start, end: index.counts(bucket, start, end).tolist(), window, layout)
    text = draw(rows, layout, window.zone, ascii_only="utf" not in screen.encoding.lower())
    screen.print(text, no_wrap=True, overflow="crop")


def _of_store(store: str | None, tz: str | None) -> JobFile:
    """The schedules of a store that run, as if they stood in a file."""
    from onthedot.app.outlook import needs_of, notes_on, read_planned
    from onthedot.stores.open import mask_url

    with closing(open_app(store)) as app:
        held = app.open_store()
        planned, undeclared = read_planned(held), held.count_schedules().undeclared
        notes = notes_on(needs_of(planned), held.nodes(), undeclared, held.now_ms())
        entries = [Entry(name, each.trigger, NamedTask(each.task)) for name, each in planned.items()]
        return JobFile(mask_url(app.url), tuple(entries), timezone=tz, notes=tuple(notes))


def _read(file: str, system: bool | None, tz: str | None) -> JobFile:
    if file == "-":
        return read_text(sys.stdin.read(), "stdin", system=system, timezone=tz)
    return read_file(file, system=system, timezone=tz)


def _title(outlook: Outlook) -> str:
    window = outlook.window
    start, end = (local_moment(floor_ms(moment), window.zone) for moment in (window.start, window.end))
    counts = f"{counted(len(outlook.job_file.entries), 'schedule')}, {counted(len(outlook.index), 'run')}"
    span = f"{start:%a %Y-%m-%d %H:%M} to {end:%a %Y-%m-%d %H:%M}, {window.zone} time"
    return f"{visible(outlook.job_file.path)}: {counts}\n{span}"


def _busiest_table(outlook: Outlook, width: int) -> Table | str:
    crowded = [(at_ms, names) for at_ms, names in outlook.busiest() if names.total() > 1]
    if not crowded:
        return "No two runs begin in the same minute."
    table = plain_table()
    table.add_column("busiest minutes", style="cyan", no_wrap=True)
    table.add_column("runs", justify="right", style="bold", no_wrap=True)
    table.add_column("schedules", no_wrap=True, overflow="ellipsis")
    room = width - 20 - 3 - 6 - 3
    for at_ms, names in crowded:
        when = local_moment(at_ms, outlook.window.zone)
        table.add_row(f"{when:%a %Y-%m-%d %H:%M}", f"{names.total():,}", _few(names, room))
    return table


def _few(names: Counter[str], room: int) -> str:
    """As many names as fit, and how many more there are."""
    texts = [visible(name) if times == 1 else f"{visible(name)} x{times}" for name, times in names.most_common()]
    shown: list[str] = []
    while texts and len(", ".join([*shown, texts[0]])) <= room - len(f" and {len(texts):,} more"):
        shown.append(texts.pop(0))
    more = f"{len(texts):,} more" if shown else f"{len(texts):,} schedules"
    return " and ".join(part for part in (", ".join(shown), more if texts else "") if part)


def _schedule_table(outlook: Outlook, width: int) -> Table:
    table = plain_table()
    table.add_column("schedule", style="bold", overflow="fold", max_width=_LONGEST_NAME)
    table.add_column("next", style="cyan", no_wrap=True)
    table.add_column("runs", justify="right", no_wrap=True)
    table.add_column("when", style="dim", no_wrap=True)
    runs = outlook.index.per_name()
    entries = sorted(outlook.job_file.entries, key=lambda entry: -runs.get(entry.name, 0))[:MOST_LISTED]
    room = width - min(max(len(entry.name) for entry in entries), _LONGEST_NAME) - 20 - 6 - 9
    for entry in entries:
        said = visible(entry.trigger.describe()).removesuffix(f", {outlook.window.zone} time")  # the title names it
        when = _shortened(said, max(room, 10))
        table.add_row(visible(entry.name), _next_text(outlook, entry), f"{runs.get(entry.name, 0):,}", when)
    return table


def _next_text(outlook: Outlook, entry: Entry) -> str:
    if not entry.enabled:
        return "not enabled"
    tick = outlook.next_ms(entry)
    return "never" if tick is None else f"{local_moment(tick, outlook.window.zone):%a %Y-%m-%d %H:%M}"


def _shortened(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 3]}..."


def _document(outlook: Outlook) -> dict[str, Any]:
    window, index = outlook.window, outlook.index
    runs = index.per_name()
    return {
        "file": outlook.job_file.path,
        "timezone": window.zone,
        "start": iso(ceil_ms(window.start)),
        "end": iso(ceil_ms(window.end)),
        "runs": len(index),
        "hours": [
            {"at": iso(ceil_ms(start)), "runs": int(index.counts("1h", start, end).sum())}
            for start, end in hour_bounds(window)
        ],
        "busiest": [
            {"at": iso(at), "runs": names.total(), "schedules": sorted(names)} for at, names in outlook.busiest()
        ],
        "schedules": [_schedule_document(outlook, entry, runs) for entry in outlook.job_file.entries],
        "notes": outlook.notes(),
        "problems": [str(each) for each in outlook.job_file.refused],
    }


def _schedule_document(outlook: Outlook, entry: Entry, runs: dict[str, int]) -> dict[str, Any]:
    tick = outlook.next_ms(entry)
    return {
        "name": entry.name,
        "line": entry.line,
        "description": entry.trigger.describe(),
        "enabled": entry.enabled,
        "next": None if tick is None else iso(tick),
        "runs": runs.get(entry.name, 0),
    }
