"""What may be chosen about the HTTP API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class Stage(Protocol):
    """The nodes of an example, as processes that people may kill and start from its page."""

    def lives(self) -> Mapping[str, bool]:
        """Whether each process is there, by the name of its node."""

    def kill(self, name: str) -> None:
        """End the process as a power cut would."""

    def start(self, name: str) -> None:
        """Start it again."""


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
    stage: Stage | None = None
    """Only of an example: nobody kills nodes of their own from a page."""
    auth: Callable[[Any], Any] | None = None
    """Says who asks, before any token is looked at: it gets the request, and gives a name and a role, `("ann",
    "operator")`, or None for whom it does not know. What it raises is the answer."""
    patience_s: float = 30
    """How long a client may take to send the next part of a body, or to read the next part of an answer."""


LOOPBACK = ("localhost", "127.0.0.1", "::1")
