"""`onthedot explain`: why a schedule did, or did not, run."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from onthedot.app.clock_notes import zone_of
from onthedot.app.json_documents import decision_document, run_document
from onthedot.cli.apps import open_app
from onthedot.cli.options import AsJson, ScheduleName, StoreUrl
from onthedot.cli.overrides import past_moment_ms
from onthedot.cli.screen import show_json
from onthedot.cli.texts import local_text, visible
from onthedot.moments import from_ms, iso
from onthedot.triggers import decode


def show_explanation(
    name: ScheduleName,
    moment: Annotated[
        str | None,
        typer.Argument(
            metavar="[MOMENT]", help='"03:00" is the latest such time in its zone.', show_default="the latest tick"
        ),
    ] = None,
    *,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Say why a schedule did, or did not, run at a moment."""
    with closing(open_app(store)) as app:
        trigger = decode(app.schedules.get(name).trigger)
        at_ms = past_moment_ms(moment, trigger, app.open_store().now_ms())
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
        typer.echo(f"{visible(name)}, {local_text(at_ms, zone_of(trigger).name, seconds=True)}:")
        typer.echo(f"  {visible(explanation.text)}")
