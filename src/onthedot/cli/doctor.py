"""`onthedot doctor`: what is wrong with a store and its nodes, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

import click

from onthedot.app.json_documents import finding_document
from onthedot.cli.apps import open_app
from onthedot.cli.called import typed
from onthedot.cli.commands import command
from onthedot.cli.json_output import show_json
from onthedot.cli.options import as_json, store_url
from onthedot.cli.texts import visible

if TYPE_CHECKING:
    from onthedot.app.app import App
    from onthedot.model.finding import Finding

_STYLES = {"ok": "green", "warning": "yellow", "problem": "bold red"}


@command("doctor")
@store_url
@as_json
def show_findings(*, store: str | None, as_json: bool) -> None:
    """Look for what is wrong: clocks, nodes, tables, indexes, zones. Exit code 1 if there is a problem."""
    from onthedot.model.finding import Level
    from onthedot.stores.open import mask_url

    with closing(open_app(store)) as app:
        found = _examine(app)
        if as_json:
            show_json({"store": mask_url(app.url), "findings": [finding_document(each) for each in found]})
        else:
            _show(found)
        if any(each.level is Level.PROBLEM for each in found):
            raise click.exceptions.Exit(1)


def _examine(app: App) -> list[Finding]:
    from onthedot.clock import SystemClock
    from onthedot.errors import SchemaError
    from onthedot.insight.doctor import examine
    from onthedot.model.finding import Finding, Level

    if app.connection is not None:
        told = app.connection.get("doctor")["findings"]
        return [Finding(Level(each["level"]), each["about"], each["what"], each["remedy"] or "") for each in told]
    try:
        return examine(app.open_store(), SystemClock())
    except SchemaError as error:  # which says what to do
        return [Finding(Level.PROBLEM, "schema", str(error))]


def _show(found: Sequence[Finding]) -> None:
    from onthedot.cli.screen import Screen

    screen = Screen()
    for each in found:
        screen.print(f"{each.level:<8}", style=_STYLES[each.level], end="")
        remedy = f"; {each.remedy}" if each.remedy else ""
        screen.print(visible(typed(f"{each.about}: {each.what}{remedy}")), soft_wrap=True)
