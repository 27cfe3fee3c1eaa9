"""`onthedot demo`: a living example, or a short tour of what onthedot knows about time."""

from __future__ import annotations

import sys
from datetime import date, timedelta
from importlib.util import find_spec
from zoneinfo import ZoneInfo

import click
from rich.table import Table
from rich.text import Text

from onthedot.app.files import Entry, JobFile, Shell
from onthedot.cli.commands import command
from onthedot.cli.forecast import Outlook, show_heat_map
from onthedot.cli.heat_map import Window
from onthedot.cli.sample import sample_triggers
from onthedot.cli.screen import Screen, plain_table
from onthedot.cli.texts import counted, local_moment, local_text, needs_seconds, span_text
from onthedot.clock import SystemClock
from onthedot.errors import ExtraMissing
from onthedot.triggers import Trigger, at, cron, dates, every
from onthedot.triggers.zones import FOLDS, GAPS

_ZONE = "Europe/Berlin"
_SPRING, _AUTUMN = date(2026, 3, 29), date(2026, 10, 25)
_SCHEDULES = 1000
_DAY_MS = 86_400_000


@command("demo")
@click.option("--tour", is_flag=True, help="Show what onthedot knows about time instead.")
@click.option("--terminal", is_flag=True, help="Here in the terminal, not on the dashboard.")
@click.option(
    "--port",
    type=click.IntRange(min=0, max=65535),
    metavar="PORT",
    help="Where the dashboard is.",
    show_default="8642, or a free one",
)
@click.option("--seconds", type=click.FloatRange(min=0), metavar="N", help="End by itself.", show_default="when you do")
def show_demo(*, tour: bool, terminal: bool, port: int | None, seconds: float | None) -> None:
    """A living example on the dashboard: a dozen lively schedules, and two nodes that you may kill."""
    if tour:
        _show_tour()
        return
    from onthedot.cli.living.show import show_living

    if terminal:
        show_living(seconds if seconds is not None or sys.stdout.isatty() else 8.0)
        return
    if find_spec("fastapi") is None:
        raise ExtraMissing("the dashboard", "fastapi", "web")
    show_living(seconds, on_page=True, port=port)


def _show_tour() -> None:
    """Triggers, clocks that jump, and a day of a thousand schedules."""
    screen, now_ms = Screen(), SystemClock().now_ms()
    _show_triggers(screen, now_ms)
    _show_jumps(screen)
    _show_day(screen, now_ms)
    _heading(screen, "Your turn")
    for line in (
        'onthedot next "0 9 * * mon-fri" --tz Europe/Berlin',
        'onthedot describe "0 18 L * *"',
        "crontab -l | onthedot forecast -",
    ):
        screen.print(Text(f"  {line}", "cyan"))


# triggers


def _examples(now_ms: int) -> list[tuple[str, Trigger, str]]:
    """What is written, what it makes, and the zone to show it in."""
    christmas = date(local_moment(now_ms, _ZONE).year, 12, 25)
    soon = local_moment(now_ms + 3 * _DAY_MS, _ZONE)
    return [
        (
            'cron("30 2 * * mon-fri", tz="Europe/Berlin")',
            cron("30 2 * * mon-fri", tz=_ZONE),
            _ZONE,
        ),
        (
            'cron("*/5 9-17 * * mon-fri", tz="America/New_York")',
            cron("*/5 9-17 * * mon-fri", tz="America/New_York"),
            "America/New_York",
        ),
        ('cron("0 18 LW * *")', cron("0 18 LW * *"), "UTC"),
        ('cron("H H(1-5) * * *").with_key("backup")', cron("H H(1-5) * * *").with_key("backup"), "UTC"),
        ('every("90s")', every("90s"), "UTC"),
        (
            f'at("{soon:%Y-%m-%d} 18:00", tz="Europe/Berlin")',
            at(f"{soon:%Y-%m-%d} 18:00", tz=_ZONE),
            _ZONE,
        ),
        (
            f'cron("@daily") - dates("{christmas}..{christmas + timedelta(days=1)}")',
            cron("@daily") - dates(f"{christmas}..{christmas + timedelta(days=1)}"),
            "UTC",
        ),
    ]


def _show_triggers(screen: Screen, now_ms: int) -> None:
    _heading(screen, "Triggers are values: when, in which zone, and what is left out")
    for written, trigger, zone in _examples(now_ms):
        screen.print(Text(f"  {written}", "bold cyan"))
        screen.print(Text(f"    {trigger.describe()}"))
        tick = trigger.next_ms(now_ms)
        if tick is not None:
            when = local_text(tick, zone, seconds=needs_seconds([tick]))
            screen.print(Text.assemble(f"    next {when}", (f"   in {span_text(tick - now_ms)}", "dim")))
        screen.print()


# clocks that jump


def _show_jumps(screen: Screen) -> None:
    _heading(screen, f"The clock jumps twice a year in {_ZONE}, and you choose what that means")
    side_by_side = Table.grid(padding=(0, 4))
    side_by_side.add_row(f"{_SPRING:%a %Y-%m-%d}: 02:00 becomes 03:00", f"{_AUTUMN:%a %Y-%m-%d}: 03:00 becomes 02:00")
    side_by_side.add_row(_spring_table(), _autumn_table())
    screen.print(side_by_side)
    screen.print()


def _spring_table() -> Table:
    table = plain_table()
    table.add_column("gap=", style="bold")
    table.add_column("30 2 * * *", style="cyan")
    for gap in GAPS:
        table.add_row(f'"{gap}"', _ticks_on(_SPRING, cron("30 2 * * *", tz=_ZONE, gap=gap)))
    return table


def _autumn_table() -> Table:
    table = plain_table()
    table.add_column("fold=", style="bold")
    texts = ("30 1 * * *", "30 2 * * *")
    for text in texts:
        table.add_column(text, style="cyan")
    for fold in FOLDS:
        table.add_row(f'"{fold}"', *(_ticks_on(_AUTUMN, cron(text, tz=_ZONE, fold=fold)) for text in texts))
    return table


def _ticks_on(day: date, trigger: Trigger) -> str:
    ticks = trigger.between(f"{day - timedelta(days=1)}T00:00Z", f"{day + timedelta(days=1)}T00:00Z")
    local = (tick.astimezone(ZoneInfo(_ZONE)) for tick in ticks)
    return "\n".join(f"{when:%H:%M} {when.isoformat()[-6:]}" for when in local if when.date() == day) or "no tick"


# a day of many schedules


def _show_day(screen: Screen, now_ms: int) -> None:
    start_ms = now_ms - now_ms % 3_600_000 + 3_600_000
    entries = tuple(Entry(name, trigger, Shell("true")) for name, trigger in sample_triggers(_SCHEDULES).items())
    _heading(screen, f"A forecast: the next 24 hours of {counted(len(entries), 'made-up schedule')}")
    try:
        outlook = Outlook.of(JobFile("sample", entries, timezone=_ZONE), Window.of(start_ms, 24, _ZONE))
    except ExtraMissing as missing:
        screen.print(f"  {missing}\n")
        return
    show_heat_map(outlook.index, outlook.window, screen)
    screen.print()
    at_ms, names = outlook.busiest()[0]
    busiest = f"{local_moment(at_ms, _ZONE):%a %H:%M} with {counted(names.total(), 'run')}"
    screen.print(f"{counted(len(outlook.index), 'run')} in all; the busiest minute is {busiest}.")
    screen.print("Write H for the minute, and each schedule gets one of its own.\n")


def _heading(screen: Screen, text: str) -> None:
    screen.print(Text(text, "bold"))
    screen.print()
