"""What can be moved from another scheduler, and what cannot, each by its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from onthedot.app.schedules import Put
from onthedot.triggers.base import Trigger


@dataclass(frozen=True, slots=True)
class Move:
    """One schedule as it will be here."""

    name: str
    task: str
    trigger: Trigger
    args: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    paused: str | None = None
    """The note of the pause, where it was switched off there."""
    last_ms: int | None = None
    """When it was last due there: what came after that is not decided."""

    def put(self, policies: Mapping[str, Any]) -> Put:
        """As it is put, with the policies of its task where nothing else is said."""
        return Put(self.name, self.task, self.trigger, self.args, {**policies, **self.options})


@dataclass(frozen=True, slots=True)
class Refused:
    """One that stays there, and why."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: {self.reason.removeprefix(': ')}"


@dataclass(frozen=True, slots=True)
class Report:
    """All that was found."""

    source: str
    moves: tuple[Move, ...]
    refused: tuple[Refused, ...] = ()
    notes: tuple[str, ...] = ()
    """What somebody should know before."""
    policies: Mapping[str, Any] = field(default_factory=dict)
    """Of the task that they are of, which no process that writes them to a store need have."""
