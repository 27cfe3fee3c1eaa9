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
    max_streams: int = 200
    """How many may follow what happens at the same time; the others are told to ask again."""
    patience_s: float = 30
    """How long a client may take to send the next part of a body, or to read the next part of an answer."""


LOOPBACK = ("localhost", "127.0.0.1", "::1")
