"""What executes runs elsewhere, as a node sees it: four small questions, and what may be answered."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from onthedot.errors import OnthedotError


@dataclass(frozen=True, slots=True)
class Call:
    """What is to be done elsewhere: a function with its arguments, and of which run."""

    task: str
    function: Callable[..., Any] | None
    """None: the engine knows it by the name of the task."""
    arguments: Mapping[str, Any]
    """Objects, by the names of the parameters."""
    run_id: str
    attempt: int
    schedule: str | None
    scheduled_at: datetime
    sending: str = ""
    """Differs each time that it is given to the engine, where the id is the same."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """It is there, and has not begun."""


@dataclass(frozen=True, slots=True)
class Running:
    """It has begun."""


@dataclass(frozen=True, slots=True)
class Done:
    """It ended well."""

    result: Any = None


@dataclass(frozen=True, slots=True)
class Failed:
    """It ended, and not well."""

    error: str
    cancelled: bool = False
    """It was stopped, or taken away before it began."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The engine says nothing of it: it never came, was lost, or is forgotten."""


Status = Waiting | Running | Done | Failed | Unknown


class EngineAway(OnthedotError):
    """The engine cannot be reached, and has certainly not taken what was to be given to it: it is tried again."""


class CannotSend(OnthedotError):
    """What was to be given to the engine cannot be sent as it is; no repeat would mend that."""


class Engine(Protocol):
    """Called by one thread of a node; other nodes call theirs at the same time. An id is "<run>.<attempt>"."""

    @property
    def dedupes(self) -> bool:
        """Whether a second `submit` of an id that the engine has starts nothing."""

    def submit(self, engine_id: str, call: Call) -> Done | None:
        """Give it to the engine. `Done` where that is all that will ever be heard of it.

        `EngineAway` if it has certainly not arrived, `CannotSend` if it never can; after any other error nobody knows.
        """

    def poll(self, ids: Collection[str]) -> Mapping[str, Status]:
        """How each of these stands; what is left out is `Unknown`. Any error: the engine does not answer."""

    def cancel(self, engine_id: str) -> None:
        """Ask that it be stopped, as well as that goes; `poll` tells what came of it."""

    def forget(self, engine_id: str) -> None:
        """How it ended is recorded: nobody will ask for it again."""

    def close(self) -> None:
        """Let go of connections; the next call opens them anew."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """In the place of a function: the engine knows the task by its name, and this process does not."""

    name: str

    def __str__(self) -> str:
        return f"{self.name}, which its engine knows"

    def __call__(self, **arguments: Any) -> Any:
        raise OnthedotError(f"{self.name} is executed by its engine, and cannot be called here")
