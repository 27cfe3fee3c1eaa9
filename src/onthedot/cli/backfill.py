"""`onthedot backfill`: ticks of the past that did not run, or went wrong, are done now."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Annotated, Any

import typer

from onthedot.app.backfill import Backfill, FilledTick
from onthedot.app.json_documents import backfill_document
from onthedot.cli.apps import open_app
from onthedot.cli.options import AsJson, ScheduleName, StoreUrl
from onthedot.cli.screen import show_json
from onthedot.cli.texts import counted, visible
from onthedot.moments import ceil_ms, iso

_SHOWN = 40


def fill_in(
    name: ScheduleName,
    start: Annotated[str, typer.Option("--from", metavar="MOMENT", help="The first moment: 2026-10-01T00:00Z")],
    end: Annotated[str, typer.Option("--to", metavar="MOMENT", help="The first moment after the range.")],
    *,
    which: Annotated[
        str, typer.Option("--which", metavar="missing|failed|all", help="What did not run, went wrong, or all ticks.")
    ] = "missing",
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="How many run at once, 1 to 16.")] = 1,
    order: Annotated[str, typer.Option("--order", metavar="oldest|newest", help="Which of them go first.")] = "oldest",
    beside: Annotated[
        bool, typer.Option("--beside", help="Beside the schedule's other runs instead of in its slots.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say which ticks, and why.")] = False,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Do the ticks of a range that did not run, or went wrong, with their own moments."""
    options: dict[str, Any] = {"which": which, "limit": limit, "order": order, "beside": beside, "dry_run": dry_run}
    with closing(open_app(store)) as app:
        done = app.schedules.backfill(name, start, end, **options)
    if as_json:
        show_json(backfill_document(done))
        return
    for line in _told(done, dry_run=dry_run):
        typer.echo(line)


def _told(done: Backfill, *, dry_run: bool) -> list[str]:
    name, ticks = visible(done.schedule), counted(len(done.ticks), "tick")
    if not done.ticks:
        return [f"nothing to fill in of {name}"]
    if dry_run or done.run is None:
        return [f"would fill in {ticks} of {name}:", *_listed(done.ticks)]
    return [f"run {done.run.id} fills in {ticks} of {name}; watch it: onthedot runs show {done.run.id}"]


def _listed(ticks: Sequence[FilledTick]) -> list[str]:
    lines = [f"  {iso(ceil_ms(each.at))}  {visible(each.why)}" for each in ticks[:_SHOWN]]
    return lines if len(ticks) <= _SHOWN else [*lines, f"  and {len(ticks) - _SHOWN:,} more (--json lists all)"]
