"""`onthedot prune`: forget what is old now, all of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

import click

from onthedot.cli.apps import open_app
from onthedot.cli.commands import command
from onthedot.cli.json_output import show_json
from onthedot.cli.options import as_json, store_url
from onthedot.cli.texts import counted, visible

if TYPE_CHECKING:
    from onthedot.stores.retention import Pruned

_SHOWN = 5
_NOUNS = {
    "runs": "run",
    "logs": "log line",
    "decisions": "decision",
    "keys": "key",
    "changes": "change",
    "revisions": "revision",
    "tombstones": "tombstone",
    "nodes": "node",
    "hours": "statistic",
    "graphs": "graph",
}


@command("prune")
@click.option("--history", metavar="DURATION", help="How long runs and decisions are kept.", show_default="30d")
@click.option(
    "--per-schedule",
    "history_per_schedule",
    type=int,
    metavar="N",
    help="How many runs of each schedule are kept.",
    show_default="1000",
)
@click.option("--changes", metavar="DURATION", help="How long the audit is kept.", show_default="90d")
@store_url
@as_json
def prune(
    *, history: str | None, history_per_schedule: int | None, changes: str | None, store: str | None, as_json: bool
) -> None:
    """Forget what is old until nothing is left of it, as nodes do bit by bit. Exit code 1 if something could not be."""
    from onthedot.node.settings import NodeSettings
    from onthedot.settings import load_settings
    from onthedot.stores.prune import prune_all

    given = {"history": history, "history_per_schedule": history_per_schedule, "changes": changes}
    keep = NodeSettings.of(load_settings(given)).retention
    with closing(open_app(store)) as app:
        done = prune_all(app.open_store(), keep)
    if as_json:
        show_json({"forgotten": done.counts(), "refused": list(done.refused)})
    else:
        click.echo(_line(done))
        for line in _shortened(done.refused):
            click.echo(f"note: not forgotten: {visible(line)}", err=True)
    if done.refused:
        raise click.exceptions.Exit(1)


def _line(done: Pruned) -> str:
    """ "forgot 1,204 runs, 3 decisions and 12 keys"."""
    parts = [counted(count, _NOUNS[name]) for name, count in done.counts().items() if count]
    if not parts:
        return "nothing is old enough to be forgotten"
    return f"forgot {' and '.join(filter(None, (', '.join(parts[:-1]), parts[-1])))}"


def _shortened(refused: Sequence[str]) -> list[str]:
    """The first few, and how many more."""
    more = len(refused) - _SHOWN
    return [*refused[:_SHOWN], *([f"{more:,} more"] if more > 0 else [])]
