"""`onthedot next` and `onthedot describe`: what a trigger does, without a store."""

from __future__ import annotations

from itertools import islice
from typing import Any

import click

from onthedot.app.clock_notes import clock_note
from onthedot.app.trigger_text import read_trigger
from onthedot.cli.commands import command
from onthedot.cli.json_output import show_json
from onthedot.cli.options import as_json, fold_rule, gap_rule, key_option, trigger_text, zone
from onthedot.cli.texts import local_moment, local_text, needs_seconds, span_text, utc_text, visible
from onthedot.clock import SystemClock
from onthedot.moments import END_MS, FIRST_MS, iso
from onthedot.triggers import encode
from onthedot.triggers.bounds import to_instant_ms
from onthedot.triggers.cron.trigger import Cron
from onthedot.triggers.every import Every
from onthedot.triggers.every_days import EveryDays

_GAPS = {"shift": "fires at the moment of the jump", "skip": "does not fire"}
_FOLDS = {"first": "fires the first time", "last": "fires the second time", "both": "fires both times"}


@command("next")
@trigger_text
@zone
@click.option("-n", "--count", type=click.IntRange(min=1, max=10000), default=5, metavar="N", help="How many ticks.")
@click.option("--after", metavar="MOMENT", help="Ticks after this moment.", show_default="now")
@gap_rule
@fold_rule
@key_option
@as_json
def show_next(
    text: str,
    *,
    tz: str | None,
    count: int,
    after: str | None,
    gap: str | None,
    fold: str | None,
    key: str | None,
    as_json: bool,
) -> None:
    """Show when a trigger ticks next."""
    trigger = read_trigger(text, tz=tz, gap=gap, fold=fold, key=key)
    after_ms = SystemClock().now_ms() if after is None else to_instant_ms(after, trigger.tz, round_up=False)
    after_ms = min(max(after_ms, FIRST_MS - 1), END_MS)
    ticks = list(islice(trigger.between_ms(after_ms + 1, END_MS), count))
    if as_json:
        show_json(_next_document(text, trigger, after_ms, ticks))
        return
    click.echo(f"{visible(trigger.describe())}\n")
    if ticks:
        _show_ticks(trigger, ticks, after_ms, from_now=after is None)
    if len(ticks) < count:
        click.echo(f"{'no tick' if not ticks else 'no further tick'} up to the end of 2199")


@command("describe")
@trigger_text
@zone
@gap_rule
@fold_rule
@key_option
@as_json
def show_description(
    text: str, *, tz: str | None, gap: str | None, fold: str | None, key: str | None, as_json: bool
) -> None:
    """Say in English what a trigger does."""
    trigger = read_trigger(text, tz=tz, gap=gap, fold=fold, key=key)
    if as_json:
        show_json(_description(text, trigger))
        return
    click.echo(visible(trigger.describe()))
    if not isinstance(trigger, Every) and trigger.zone.instants:
        click.echo(f"  where the clock jumps over its time: {_GAPS[trigger.effective_gap]}")
        click.echo(f"  where the clock shows its time twice: {_FOLDS[trigger.effective_fold]}")


def _show_ticks(trigger: Cron | Every | EveryDays, ticks: list[int], after_ms: int, *, from_now: bool) -> None:
    from onthedot.cli.screen import Screen, plain_table

    zone, seconds = trigger.zone.name, needs_seconds(ticks)
    notes = [clock_note(trigger, tick) for tick in ticks]
    table = plain_table()
    if zone != "UTC":
        table.add_column(zone, no_wrap=True, style="bold cyan")
    table.add_column("UTC", no_wrap=True, style="cyan" if zone == "UTC" else "dim")
    table.add_column("", no_wrap=True)
    if any(notes):
        table.add_column("", style="yellow")
    for tick, note in zip(ticks, notes, strict=True):
        local = [local_text(tick, zone, seconds=seconds)] if zone != "UTC" else []
        span = span_text(tick - after_ms)
        utc = utc_text(tick, weekday=zone == "UTC", seconds=seconds)
        table.add_row(*local, utc, f"in {span}" if from_now else f"{span} later", *([note] if any(notes) else []))
    Screen().print(table)


def _next_document(text: str, trigger: Cron | Every | EveryDays, after_ms: int, ticks: list[int]) -> dict[str, Any]:
    zone = trigger.zone.name
    listed = [
        {"at": iso(tick), "local": local_moment(tick, zone).isoformat(), "in_seconds": (tick - after_ms) / 1000}
        for tick in ticks
    ]
    return {**_description(text, trigger), "after": iso(after_ms), "ticks": listed}


def _description(text: str, trigger: Cron | Every | EveryDays) -> dict[str, Any]:
    rules = {} if isinstance(trigger, Every) else {"gap": trigger.effective_gap, "fold": trigger.effective_fold}
    return {
        "text": text,
        "description": trigger.describe(),
        "timezone": trigger.zone.name,
        **rules,
        "trigger": encode(trigger),
    }
