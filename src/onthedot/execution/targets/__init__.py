"""What can be run: Python functions (here or in a process that can be killed), commands and HTTP calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from onthedot.execution.context import Context
from onthedot.execution.engines.engine import Call


class Target(Protocol):
    """Something that can be called with a context and arguments."""

    @property
    def is_async(self) -> bool:
        """Whether `call` gives an awaitable, to be awaited on an event loop."""

    @property
    def stops_itself(self) -> bool:
        """Whether `call` ends by itself, soon after its context was asked to stop: nothing need be raised in it."""

    @property
    def pool(self) -> str | None:
        """The pool that was chosen for it; None: by rule."""

    @property
    def engine(self) -> str | None:
        """The engine that executes it; None: this node."""

    def elsewhere(self, context: Context) -> Call:
        """What to give to its engine."""

    def call(self, context: Context, args: Mapping[str, Any]) -> Any | Awaitable[Any]:
        """Do it once."""


Lookup = Callable[[str], Target | None]
"""From a task's name, or an alias of it, to what this node can run."""
