"""`onthedot enqueue`: a run of a task, now or later, and maybe waiting for its end."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import click

from onthedot.cli.apps import open_app
from onthedot.cli.commands import argument, command
from onthedot.cli.log_lines import show_made
from onthedot.cli.options import as_json, policies, store_url, wait_for_end
from onthedot.cli.overrides import read_pairs
from onthedot.cli.texts import utc_text, visible
from onthedot.cli.unknown_tasks import is_unknown


@command("enqueue")
@argument("task", metavar="TASK", help="The task's name, or @NAME of a flow.")
@argument("arguments", nargs=-1, metavar="[NAME=VALUE]...", help="Its arguments; a value is JSON, or else a text.")
@wait_for_end
@click.option("--delay", metavar="DURATION", help="Begin so much later: 10m.")
@click.option("--at", metavar="MOMENT", help="Begin at this moment.")
@click.option("--key", metavar="KEY", help="A run with this key is made once; again it is only shown.")
@policies
@store_url
@as_json
def enqueue(
    task: str,
    arguments: tuple[str, ...],
    *,
    wait: bool,
    delay: str | None,
    at: str | None,
    key: str | None,
    option: tuple[str, ...],
    store: str | None,
    as_json: bool,
) -> None:
    """Make one run of a task or flow. With --wait show what it says; exit code 1 unless it succeeds."""
    if delay is not None and at is not None:
        raise click.BadParameter("give one of them", param_hint="'--delay' / '--at'")
    args: dict[str, Any] = read_pairs(arguments, "NAME=VALUE") or {}
    options = read_pairs(option, "--option") or {}
    with closing(open_app(store)) as app:
        unchecked = app.connection is None and not task.startswith("@") and is_unknown(app, task)
        run = app.enqueue(task, args=args, delay=delay, at=at, key=key, unchecked=unchecked, **options)
        later = f", due {utc_text(run.due_ms, seconds=True)}" if delay or at else ""
        line = f"run {run.id} of {visible(run.title)} is {run.state}{later}"
        show_made(app, run, line, wait=wait, as_json=as_json)
