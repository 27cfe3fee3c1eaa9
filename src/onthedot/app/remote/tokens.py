"""`app.tokens` over HTTP, for admins."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from onthedot.app.remote.connection import Connection
from onthedot.app.remote.values import plain, token_of
from onthedot.app.tokens import NewToken, Tokens
from onthedot.model.token import Token


class RemoteTokens(Tokens):
    """Each call is one request."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._open_store = connection.no_store

    def create(self, name: str, role: str = "viewer", *, expires: timedelta | str | None = None) -> NewToken:
        body = {"name": name, "role": str(role), "expires": plain(expires)}
        made = self._connection.post("tokens", body=body)
        return NewToken(token_of(made), made["text"])

    def list(self) -> Sequence[Token]:
        return [token_of(each) for each in self._connection.get("tokens").all("tokens")]

    def revoke(self, name: str) -> Token:
        known = next((each for each in self.list() if each.name == name), None)
        self._connection.delete("tokens", name)
        assert known is not None
        return known
