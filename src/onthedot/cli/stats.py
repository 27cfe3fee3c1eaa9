"""`onthedot stats`: how runs ended, how late they began and how long they took."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

import click

from onthedot.app.json_documents import statistics_document
from onthedot.cli.apps import open_app
from onthedot.cli.commands import argument, command
from onthedot.cli.json_output import show_json
from onthedot.cli.options import as_json, store_url, zone
from onthedot.cli.texts import counted, visible
from onthedot.durations import spoken_duration

if TYPE_CHECKING:
    from onthedot.insight.statistics import Counts, Percentiles, Statistics

_SHOWN = 10
_COLUMNS = ("ended", "well", "late p50", "p95", "p99", "took p50", "p95", "p99")


@command("stats")
@argument("name", required=False, metavar="[NAME]", help="Of this schedule only.")
@click.option("--task", metavar="NAME", help="Of the runs that this task has without a schedule.")
@click.option("--step", default="", metavar="NAME", help="Of this step of the schedule's flow.", show_default=False)
@click.option("--since", default="30d", metavar="DURATION", help="So long ago, or a moment; 31d at most.")
@click.option("--by", metavar="hour|day", help="What a line stands for.")
@zone
@store_url
@as_json
def show_statistics(
    name: str | None,
    *,
    task: str | None,
    step: str,
    since: str,
    by: str | None,
    tz: str | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Show how runs ended, how late they began and how long they took, by the day or hour, and what went wrong."""
    with closing(open_app(store)) as app:
        found = app.statistics(schedule=name, task=task, step=step, since=since, by=by, timezone=tz)  # type: ignore[arg-type]
        if as_json:
            show_json(statistics_document(found))
        else:
            _show(found)


def _show(found: Statistics) -> None:
    from onthedot.cli.screen import Screen, plain_table

    click.echo(visible(_headline(found)))
    if not found.counts.total:
        return
    table = plain_table()
    table.add_column("day" if found.by == "day" else "hour")
    for heading in _COLUMNS:
        table.add_column(heading, justify="right")
    form = "%a %Y-%m-%d" if found.by == "day" else "%a %Y-%m-%d %H:%M %z"
    shown = [each for each in found.series if each.counts.total]
    for each in shown:
        table.add_row(f"{each.start_at:{form}}", *_cells(each.counts))
    if len(shown) > 1:
        table.add_row("all", *_cells(found.counts))
    Screen().print(table)
    _show_errors(found)


def _headline(found: Statistics) -> str:
    of = f" of {found.schedule or found.task}" if found.schedule or found.task else ""
    step = f", step {found.step}" if found.step else ""
    since = f"since {found.since_at:%Y-%m-%d %H:%M}Z"
    if not found.counts.total:
        return f"no run{of}{step} has been counted {since}; a run is counted a minute or two after its end"
    how = ", ".join(f"{count:,} {state.replace('_', ' ')}" for state, count in sorted(found.counts.ended.items()))
    return f"{counted(found.counts.total, 'run')}{of}{step} ended {since}: {how}"


def _cells(counts: Counts) -> Sequence[str]:
    rate = counts.success_rate
    return (f"{counts.total:,}", "" if rate is None else rate_text(rate), *_of(counts.lateness), *_of(counts.duration))


def rate_text(rate: float) -> str:
    """ "99.9 %": never 100 where one was bad."""
    return "100 %" if rate == 1 else f"{min(int(rate * 1000) / 10, 99.9):.1f} %"


def _of(percentiles: Percentiles | None) -> tuple[str, str, str]:
    if percentiles is None:
        return "", "", ""
    p50, p95, p99 = (percentiles.p50_ms, percentiles.p95_ms, percentiles.p99_ms)
    return spoken_duration(p50), spoken_duration(p95), spoken_duration(p99)


def _show_errors(found: Statistics) -> None:
    if not found.errors:
        return
    click.echo("what went wrong, with # for each number:")
    for group in found.errors[:_SHOWN]:
        click.echo(f"  {group.count:>7,}  {visible(group.text) or 'other errors'}")
    more = sum(group.count for group in found.errors[_SHOWN:])
    if more:
        click.echo(f"  {more:>7,}  in {counted(len(found.errors) - _SHOWN, 'more group')}: --json shows them")
