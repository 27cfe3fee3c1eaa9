"""`app.tokens`: who may use the HTTP API. A token is shown once, when it is made; the store keeps only its digest."""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256

from onthedot.durations import to_duration_ms
from onthedot.errors import SettingsError, TokenNotFound
from onthedot.model.change import Author
from onthedot.model.token import Role, Session, Token
from onthedot.stores.base import Store

SESSION_MS = 12 * 3_600_000
"""How long a browser stays signed in; less, if its token ends before."""

_BITS = 256
_PREFIX = "otd."
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_NOBODY = "0" * 64


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token with its text, which is shown this once."""

    token: Token
    text: str


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Somebody's session, and their token."""

    token: Token
    session: Session


class Tokens:
    """May be called from any process that can reach the store."""

    def __init__(self, open_store: Callable[[], Store], by: Callable[[str], Author]) -> None:
        self._open_store = open_store
        self._by = by

    def create(self, name: str, role: str = "viewer", *, expires: timedelta | str | None = None) -> NewToken:
        """A new token that may do what its role may, for so long; `Conflict` if there is one of that name."""
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            raise SettingsError(
                f"token: {name!r} cannot be its name; write up to 100 letters, digits, dots and dashes: deploy-bot"
            )
        if role not in set(Role):
            raise SettingsError(f"token: no role {role!r}; there are {', '.join(Role)}")
        store, secret = self._open_store(), secrets.token_urlsafe(_BITS // 8)
        ends_ms = None if expires is None else store.now_ms() + to_duration_ms(expires)
        token = store.add_token(Token(name, Role(role), digest(secret), 0, ends_ms), self._by("create token"))
        return NewToken(token, f"{_PREFIX}{name}.{secret}")

    def list(self) -> Sequence[Token]:
        """All of them by name, also those that have expired."""
        return self._open_store().tokens()

    def revoke(self, name: str) -> Token:
        """When this returns the token opens nothing any more, nor does a browser that has signed in with it."""
        if _NAME.fullmatch(name) is None:
            raise TokenNotFound(name)
        return self._open_store().remove_token(name, self._by("revoke token"))

    # who is asking?

    def check(self, text: str) -> Token | None:
        """The token that has this text, if it is one and counts."""
        name, _, secret = text.removeprefix(_PREFIX).rpartition(".")
        if not text.startswith(_PREFIX) or _NAME.fullmatch(name) is None:
            return None
        return self._valid(name, digest(secret))

    def _valid(self, name: str, wanted: str) -> Token | None:
        store = self._open_store()
        found = store.tokens(name)
        matches = hmac.compare_digest(found[0].digest if found else _NOBODY, wanted)
        if not found or not matches or (found[0].expires_ms is not None and found[0].expired(store.now_ms())):
            return None
        return found[0]

    # browsers

    def sign_in(self, token: Token) -> tuple[str, Session]:
        """A session of the token, and its secret: what the browser's cookie holds."""
        store, secret = self._open_store(), secrets.token_urlsafe(_BITS // 8)
        now_ms = store.now_ms()
        ends_ms = min(now_ms + SESSION_MS, now_ms + SESSION_MS if token.expires_ms is None else token.expires_ms)
        session = Session(digest(secret), token.name, token.digest, now_ms, ends_ms)
        store.add_session(session)
        return secret, session

    def signed_in(self, secret: str) -> SignedIn | None:
        """The session of this secret, with the token that it was begun with, if both still count."""
        store = self._open_store()
        session = store.session(digest(secret))
        if session is None or session.expires_ms <= store.now_ms():
            return None
        token = self._valid(session.token, session.digest)
        return None if token is None else SignedIn(token, session)

    def sign_out(self, secret: str) -> None:
        """The session of this secret is over."""
        self._open_store().remove_session(digest(secret))


def digest(secret: str) -> str:
    """What is kept of a secret. It has 256 random bits: there is nothing to guess, so nothing needs to be slow."""
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
