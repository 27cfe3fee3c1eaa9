"""Who may use the HTTP API: tokens, and the sessions that browsers get for one. The secrets themselves are nowhere."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What a token may do; each includes the former."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    def includes(self, needed: Role) -> bool:
        """Whether what `needed` may do, this one may too."""
        ranks = list(Role)
        return ranks.index(self) >= ranks.index(needed)


@dataclass(frozen=True)  # no slots: see values.replace
class Token:
    """One row, by name: whoever has the secret behind the digest may act under that name."""

    name: str
    role: Role
    digest: str
    """SHA-256 of the secret, in hex."""
    created_ms: int = 0
    expires_ms: int | None = None

    def expired(self, now_ms: int) -> bool:
        """Whether it counts no more."""
        return self.expires_ms is not None and self.expires_ms <= now_ms


@dataclass(frozen=True)  # no slots: see values.replace
class Session:
    """A browser that has signed in with a token. It counts only while the token of that name has that digest."""

    id: str
    """SHA-256 of the cookie's secret, in hex."""
    token: str
    digest: str
    created_ms: int
    expires_ms: int
