"""What may be chosen about the HTTP API."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WebSettings:
    """Of one ASGI app."""

    hosts: tuple[str, ...] | None = None
    """The names and addresses by which it may be called; None for any: then whoever serves it must mind them."""
    open_on_loopback: bool = False
    """While the store has no token, whoever asks from this machine, for this machine, may do everything."""
    max_body_bytes: int = 4_000_000
    sign_in_attempts: int = 10
    """How often somebody may try a wrong token within a minute, by address."""


LOOPBACK = ("localhost", "127.0.0.1", "::1")
