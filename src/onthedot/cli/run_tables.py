"""Runs as people read them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from onthedot.cli.texts import span_text, utc_text, visible
from onthedot.model.tracebacks import telling_line

if TYPE_CHECKING:
    from rich.table import Table

    from onthedot.model.run import Run


def short_id(run_id: str) -> str:
    """The end of it: enough to name a run, and the part that differs between runs of one second."""
    return run_id[-12:]


def runs_table(runs: Iterable[Run]) -> Table:
    """One line for each run."""
    from onthedot.cli.screen import plain_table

    table = plain_table()
    for heading in ("run", "state", "schedule or task", "scheduled (UTC)", "took", "why"):
        table.add_column(heading, no_wrap=heading in ("run", "state", "scheduled (UTC)", "took"))
    for run in runs:
        table.add_row(
            short_id(run.id),
            str(run.state),
            visible(run.title),
            utc_text(run.scheduled_ms, seconds=True),
            took_text(run),
            visible(why(run))[:200],
        )
    return table


def took_text(run: Run) -> str:
    """How long its latest attempt took; nothing while it runs."""
    if run.started_ms is None or run.finished_ms is None or run.finished_ms < run.started_ms:
        return ""
    took_ms = run.finished_ms - run.started_ms
    return f"{took_ms} ms" if took_ms < 1000 else span_text(took_ms)


def why(run: Run) -> str:
    """Its reason, or the last line of its error."""
    return run.reason or telling_line(run.error)
