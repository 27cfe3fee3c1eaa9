"""`onthedot top`: the living view of any store."""

from __future__ import annotations

import sys

import click

from onthedot.cli.apps import open_app
from onthedot.cli.commands import command
from onthedot.cli.options import store_url
from onthedot.errors import SettingsError


@command("top")
@click.option("--seconds", type=click.FloatRange(min=0), metavar="N", help="End by itself.", show_default="when you do")
@store_url
def show_top(*, seconds: float | None, store: str | None) -> None:
    """Watch a store: what comes, what runs, how it ended. e explains the chosen schedule, p pauses, t triggers it."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise SettingsError("top fills a terminal, and this is none; onthedot status says the same in lines")
    from contextlib import closing

    from onthedot.cli.living.watching import watch_store

    with closing(open_app(store)) as app:
        watch_store(app, seconds)
