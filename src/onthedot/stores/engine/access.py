"""Who may use the HTTP API: tokens come and go, each with a line in the audit; sessions go with their token."""

from __future__ import annotations

from onthedot.errors import Conflict, TokenNotFound
from onthedot.model.change import Author
from onthedot.model.token import Session, Token
from onthedot.model.values import replace
from onthedot.stores.engine.audit import token_changed
from onthedot.stores.transaction import Transaction


def add_token(tx: Transaction, token: Token, by: Author) -> Token:
    """A new one, made now."""
    if tx.token(token.name) is not None:
        raise Conflict(f"there is a token named {token.name!r} already; revoke it first, or choose another name")
    made = replace(token, created_ms=tx.now_ms)
    tx.save_token(made)
    tx.add_changes([token_changed(None, made, by, tx.now_ms)])
    return made


def remove_token(tx: Transaction, name: str, by: Author) -> Token:
    """It, and the sessions that were begun with it."""
    token = tx.token(name)
    if token is None:
        raise TokenNotFound(name)
    tx.forget_token(name)
    tx.add_changes([token_changed(token, None, by, tx.now_ms)])
    return token


def add_session(tx: Transaction, session: Session) -> None:
    """Nothing, if its token is no longer there."""
    token = tx.token(session.token)
    if token is not None and token.digest == session.digest:
        tx.save_session(session)
