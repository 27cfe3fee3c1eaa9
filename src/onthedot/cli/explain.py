"""`onthedot explain`: why a schedule did, or did not, run."""

from __future__ import annotations

from contextlib import closing

import click

from onthedot.app.clock_notes import zone_of
from onthedot.app.json_documents import decision_document, run_document
from onthedot.cli.apps import open_app
from onthedot.cli.called import typed
from onthedot.cli.commands import argument, command
from onthedot.cli.json_output import show_json
from onthedot.cli.options import as_json, schedule_name, store_url
from onthedot.cli.overrides import past_moment_ms
from onthedot.cli.texts import local_text, visible
from onthedot.errors import TriggerError
from onthedot.model.schedule import Schedule
from onthedot.moments import from_ms, iso
from onthedot.triggers import Trigger, decode


@command("explain")
@schedule_name
@argument(
    "moment",
    required=False,
    metavar="[MOMENT]",
    help='"03:00" is the latest such time in its zone; "now" is now; without one, the latest tick.',
)
@store_url
@as_json
def show_explanation(name: str, moment: str | None, *, store: str | None, as_json: bool) -> None:
    """Say why a schedule did, or did not, run at a moment."""
    with closing(open_app(store)) as app:
        schedule = app.schedules.remembered(name)
        trigger = _trigger_of(schedule)
        now_ms = app.now_ms()
        if moment is None and trigger is None and schedule.next_run_ms is not None:
            now_ms = schedule.next_run_ms  # at which it has stood since its trigger could not be read
        at_ms = past_moment_ms(moment, trigger, now_ms)
        explanation = app.schedules.explain(name, from_ms(at_ms))
        if as_json:
            show_json(
                {
                    "name": name,
                    "moment": iso(at_ms),
                    "text": explanation.text,
                    "runs": [run_document(run) for run in explanation.runs],
                    "decisions": [decision_document(decision) for decision in explanation.decisions],
                }
            )
            return
        click.echo(f"{visible(name)}, {local_text(at_ms, zone_of(trigger).name, seconds=True)}:")
        click.echo(f"  {visible(typed(explanation.text))}")


def _trigger_of(schedule: Schedule) -> Trigger | None:
    """None where it cannot be read: what became of its ticks can be told all the same."""
    try:
        return decode(schedule.trigger)
    except TriggerError:
        return None
