"""What a file of schedules says, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from onthedot.triggers import Trigger
from onthedot.triggers.pinned import Use, ValueKind


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Command:
    """A program and its arguments, started without a shell."""

    words: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=_nothing)
    options: Mapping[str, Any] = field(default_factory=_nothing)
    """What stands beside it: `cwd` and `kill_after`."""


@dataclass(frozen=True, slots=True)
class Shell:
    """A line for the shell. A crontab adds the environment set above it and, in the system format, the user."""

    text: str
    environment: Mapping[str, str] = field(default_factory=_nothing)
    user: str | None = None
    options: Mapping[str, Any] = field(default_factory=_nothing)
    """What stands beside it: `cwd` and `kill_after`."""


@dataclass(frozen=True, slots=True)
class Http:
    """One HTTP call; `options` are those beside method and url, as written."""

    method: str
    url: str
    options: Mapping[str, object] = field(default_factory=_nothing)


@dataclass(frozen=True, slots=True)
class Mail:
    """One mail; `options` are all that is said of it, as written."""

    options: Mapping[str, Any] = field(default_factory=_nothing)


@dataclass(frozen=True, slots=True)
class NamedTask:
    """A task by its name, which this process need not know, and its arguments."""

    name: str
    args: Mapping[str, object] = field(default_factory=_nothing)


Work = Command | Shell | Http | Mail | NamedTask


@dataclass(frozen=True, slots=True)
class Steps:
    """A flow: its steps as they are written, and its arguments with what they are unless said."""

    name: str
    tables: tuple[Mapping[str, Any], ...]
    args: Mapping[str, Any] = field(default_factory=_nothing)
    required: tuple[str, ...] = ()
    """The arguments that each schedule of a template says for itself."""
    own_args: Mapping[str, Any] = field(default_factory=_nothing)
    """Those of this schedule."""


@dataclass(frozen=True, slots=True)
class AlertEntry:
    """An alert of a file: who tells of it, and when; `options` are as written."""

    name: str
    work: Work
    options: Mapping[str, Any] = field(default_factory=_nothing)

    @property
    def task(self) -> str:
        """The task that tells of it."""
        return self.work.name if isinstance(self.work, NamedTask) else f"alert-{self.name}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One schedule of a file. `options` are the policies as written there; `line` is where it begins, from 1."""

    name: str
    trigger: Trigger
    work: Work | Steps
    options: Mapping[str, object] = field(default_factory=_nothing)
    line: int | None = None
    template: str | None = None
    """The table that has `each`, and stands for several of them."""

    @property
    def enabled(self) -> bool:
        """Whether the file lets it run."""
        return self.options.get("enabled") is not False


@dataclass(frozen=True, slots=True)
class EngineEntry:
    """An engine of a file: of which kind, where it is, and the tasks that it knows by their names."""

    name: str
    kind: str
    place: str
    tasks: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=_nothing)


@dataclass(frozen=True, slots=True)
class SharedValue:
    """A calendar or a named trigger of a file."""

    kind: ValueKind
    name: str
    content: Any
    """`CalendarDays`, or a `Trigger`."""
    said: Any
    """The same as JSON."""

    @property
    def use(self) -> Use:
        """What it declares."""
        return Use(self.kind, self.name)


@dataclass(frozen=True, slots=True)
class Refused:
    """A line of a crontab that cannot be honoured: it alone is left out."""

    line: int
    reason: str
    name: str | None = None
    """The name that its schedule would have, where its command could be read."""

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


@dataclass(frozen=True, slots=True)
class JobFile:
    """A whole file. `notes` tell what was read but cannot be honoured, each with its place; they are no errors."""

    path: str
    entries: tuple[Entry, ...] = ()
    store: str | None = None
    app: str | None = None
    """The app whose tasks its schedules may name, as module:attribute."""
    timezone: str | None = None
    """The zone of entries that name none; a crontab always has one."""
    notes: tuple[str, ...] = ()
    refused: tuple[Refused, ...] = ()
    is_crontab: bool = False
    alerts: tuple[AlertEntry, ...] = ()
    shared: tuple[SharedValue, ...] = ()
    """Its calendars, then its named triggers."""
    files: tuple[Path, ...] = ()
    """Others that it is made of: the .ics of its calendars."""
    engines: tuple[EngineEntry, ...] = ()

    @property
    def problems(self) -> tuple[str, ...]:
        """What was refused, with the file's name before each line."""
        return tuple(f"{self.path}: {each}" for each in self.refused)
