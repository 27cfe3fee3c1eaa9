"""`onthedot backfill`: ticks of the past that did not run, or went wrong, are done now."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import click

from onthedot.app.backfill import Backfill, FilledTick
from onthedot.app.json_documents import backfill_document
from onthedot.cli.apps import open_app
from onthedot.cli.called import typed
from onthedot.cli.commands import command
from onthedot.cli.json_output import show_json
from onthedot.cli.options import as_json, schedule_name, store_url
from onthedot.cli.texts import counted, visible
from onthedot.moments import ceil_ms, iso

_SHOWN = 40


@command("backfill")
@schedule_name
@click.option("--from", "start", required=True, metavar="MOMENT", help="The first moment: 2026-10-01T00:00Z")
@click.option("--to", "end", required=True, metavar="MOMENT", help="The first moment after the range.")
@click.option(
    "--which", default="missing", metavar="missing|failed|all", help="What did not run, went wrong, or all ticks."
)
@click.option("--limit", type=int, default=1, metavar="N", help="How many run at once, 1 to 16.")
@click.option("--order", default="oldest", metavar="oldest|newest", help="Which of them go first.")
@click.option("--beside", is_flag=True, help="Beside the schedule's other runs instead of in its slots.")
@click.option("--dry-run", is_flag=True, help="Only say which ticks, and why.")
@store_url
@as_json
def fill_in(
    name: str,
    start: str,
    end: str,
    *,
    which: str,
    limit: int,
    order: str,
    beside: bool,
    dry_run: bool,
    store: str | None,
    as_json: bool,
) -> None:
    """Do the ticks of a range that did not run, or went wrong, with their own moments."""
    options: dict[str, Any] = {"which": which, "limit": limit, "order": order, "beside": beside, "dry_run": dry_run}
    with closing(open_app(store)) as app:
        done = app.schedules.backfill(name, start, end, **options)
        slots = None if beside else app.schedules.get(name).policy.slots
    if as_json:
        show_json(backfill_document(done))
        return
    for line in _told(done, dry_run=dry_run):
        click.echo(line)
    if done.ticks and slots is not None and slots < limit:
        click.echo(
            f"{counted(slots, 'run')} of {visible(name)} at once, whatever the limit: its slots; --beside needs none"
        )


def _told(done: Backfill, *, dry_run: bool) -> list[str]:
    name, ticks = visible(done.schedule), counted(len(done.ticks), "tick")
    if not done.ticks:
        return [f"nothing to fill in of {name}"]
    if dry_run or done.run is None:
        return [f"would fill in {ticks} of {name}:", *_listed(done.ticks)]
    return [typed(f"run {done.run.id} fills in {ticks} of {name}; watch it: onthedot runs show {done.run.id}")]


def _listed(ticks: Sequence[FilledTick]) -> list[str]:
    lines = [f"  {iso(ceil_ms(each.at))}  {visible(each.why)}" for each in ticks[:_SHOWN]]
    return lines if len(ticks) <= _SHOWN else [*lines, f"  and {len(ticks) - _SHOWN:,} more (--json lists all)"]
