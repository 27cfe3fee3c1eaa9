"""What is known of a task without importing it: nodes publish it, and every surface reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """A task as a node publishes it: enough to check arguments without importing it."""

    name: str
    parameters: tuple[Mapping[str, Any], ...] = ()
    doc: str = ""
    policy: Mapping[str, Any] = field(default_factory=dict)
    pool: str = "fast"
    """Where its runs go on the node that published it, unless they name another."""

    @property
    def graph(self) -> str | None:
        """Of a flow its graph, by its hash; kept beside its policies."""
        return self.policy.get("graph")
