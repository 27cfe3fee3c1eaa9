"""`onthedot migrate`: make a store's tables, or bring them up to date."""

from __future__ import annotations

from contextlib import closing

import click

from onthedot.cli.apps import open_app
from onthedot.cli.commands import command
from onthedot.cli.options import store_url
from onthedot.cli.texts import visible
from onthedot.errors import StoreError


@command("migrate")
@click.option("--sql", is_flag=True, help="Print the SQL that makes all tables, and do nothing.")
@store_url
def migrate(*, sql: bool, store: str | None) -> None:
    """Create the store's tables, or bring them up to date."""
    from onthedot.stores.open import mask_url

    with closing(open_app(store)) as app:
        if sql:
            _show_sql(app.url)
            return
        app.open_store(create=True, upgrade=True)
        click.echo(f"{visible(mask_url(app.url))} is up to date")


def _show_sql(url: str) -> None:
    from onthedot.stores.open import sql_dialect_of
    from onthedot.stores.sql.schema import show_sql

    dialect, schema = sql_dialect_of(url)
    if dialect is None:
        scheme = url.partition("://")[0].lower()
        raise StoreError(f"there is no SQL to show for {visible(scheme)}://; --sql is for SQL databases")
    show_sql(dialect, schema)
