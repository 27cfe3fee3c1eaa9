"""What can be run. The app's tasks are targets; commands and HTTP calls will be."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from onthedot.execution.context import Context


class Target(Protocol):
    """Something that can be called with a context and arguments."""

    @property
    def is_async(self) -> bool:
        """Whether `call` gives an awaitable, to be awaited on an event loop."""

    def call(self, context: Context, args: Mapping[str, Any]) -> Any | Awaitable[Any]:
        """Do it once."""


Lookup = Callable[[str], Target | None]
"""From a task's name, or an alias of it, to what this node can run."""
