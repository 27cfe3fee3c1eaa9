"""`onthedot tokens`: who may use the HTTP API."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import click

from onthedot.app.json_documents import moment
from onthedot.cli.apps import open_app
from onthedot.cli.called import typed
from onthedot.cli.commands import Group, argument
from onthedot.cli.json_output import show_json
from onthedot.cli.options import as_json, store_url
from onthedot.cli.texts import span_text, utc_text, visible
from onthedot.model.token import Token

group = Group("tokens", help="Tokens of the HTTP API.")

token_name = argument("name", metavar="NAME", help="Its name; changes are kept under it.")


@group.command("create")
@token_name
@click.option("--role", default="viewer", metavar="ROLE", help="viewer looks, operator steers, admin defines.")
@click.option("--expires", metavar="DURATION", help="How long it counts.", show_default="for ever")
@store_url
@as_json
def create(name: str, *, role: str, expires: str | None, store: str | None, as_json: bool) -> None:
    """Make a token, and print it: this once, since only its digest is kept."""
    with closing(open_app(store)) as app:
        if app.connection is None:
            app.open_store(create=True)
        made = app.tokens.create(name, role, expires=expires)
    if as_json:
        show_json({**_document(made.token, made.token.created_ms), "text": made.text})
    else:
        click.echo(made.text)


@group.command("list")
@store_url
@as_json
def list_tokens(*, store: str | None, as_json: bool) -> None:
    """List all tokens."""
    with closing(open_app(store)) as app:
        tokens, now_ms = app.tokens.list(), app.now_ms()
    if as_json:
        show_json({"tokens": [_document(each, now_ms) for each in tokens]})
        return
    if not tokens:
        click.echo(typed("no tokens: onthedot tokens create NAME makes one"))
        return
    from onthedot.cli.screen import Screen, plain_table

    table = plain_table()
    for heading in ("token", "role", "made", "expires"):
        table.add_column(heading)
    for each in tokens:
        table.add_row(visible(each.name), str(each.role), utc_text(each.created_ms), _ends(each, now_ms))
    Screen().print(table)


@group.command("revoke")
@token_name
@store_url
@as_json
def revoke(name: str, *, store: str | None, as_json: bool) -> None:
    """Let a token open nothing any more, at once; browsers that have signed in with it are signed out."""
    with closing(open_app(store)) as app:
        gone = app.tokens.revoke(name)
        was_last = not app.tokens.list()
    if as_json:
        show_json({"name": gone.name, "revoked": True})
    else:
        last = "; it was the last: on its own machine `onthedot dashboard` asks for none any more" if was_last else ""
        click.echo(typed(f"{visible(gone.name)} is revoked{last}"))


def _ends(token: Token, now_ms: int) -> str:
    if token.expires_ms is None:
        return "never"
    return "expired" if token.expired(now_ms) else f"in {span_text(token.expires_ms - now_ms)}"


def _document(token: Token, now_ms: int) -> dict[str, Any]:
    return {
        "name": token.name,
        "role": str(token.role),
        "created_at": moment(token.created_ms),
        "expires_at": moment(token.expires_ms),
        "expired": token.expired(now_ms),
    }
