"""What triggers name: calendars and named triggers. Each change is a new revision, and no revision ever changes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from onthedot.triggers.pinned import Content, Pin, Pinned, Use, ValueKind

REVISIONS_KEPT = 100
"""So many revisions of each are kept: schedules go by the latest, and `explain` asks for what was before."""


def value_id(use: Use, rev: int) -> str:
    """One key in every store: names have no slash."""
    return f"{use}/{rev}"


class ValueState(StrEnum):
    """How a revision stands. Of each name the last one is new, latest or gone."""

    NEW = "new"
    """The latest; there may be schedules that go by an earlier one."""
    LATEST = "latest"
    OLD = "old"
    GONE = "gone"
    """It was deleted: a later put of the name goes on with the next number."""


@dataclass(frozen=True)  # no slots: see values.replace
class Value:
    """One revision of a calendar or of a named trigger."""

    kind: ValueKind
    name: str
    rev: int
    content: Content
    digest: str
    created_ms: int
    state: ValueState = ValueState.NEW

    @property
    def id(self) -> str:
        """ "calendar/de/7"."""
        return value_id(self.use, self.rev)

    @property
    def use(self) -> Use:
        """What it is a revision of."""
        return Use(self.kind, self.name)

    @property
    def pin(self) -> Pin:
        """How a trigger pins it."""
        return Pin(self.rev, self.digest)

    @property
    def pinned(self) -> Pinned:
        """Both."""
        return Pinned(self.use, self.pin)

    @property
    def is_there(self) -> bool:
        """Whether it is the one that counts."""
        return self.state in (ValueState.NEW, ValueState.LATEST)
