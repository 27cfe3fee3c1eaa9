"""A change that somebody made, and who: one line of the audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Author:
    """Who makes a change, and from where; kept with the change."""

    who: str
    surface: str
    what: str


@dataclass(frozen=True, slots=True)
class Change:
    """One line of the audit: who changed what, when. Written in the transaction of the change.

    Of a run, if `after` has a `run`: triggered, cancelled, retried, or given back by a node that died or stopped
    (`node`). Of a node that was asked to drain, or forgotten, if it has a `node` and no run; of a token, if it has a
    `token`. One-off work, nodes and tokens have no schedule: both are empty.
    """

    id: str
    schedule_id: str
    schedule: str
    revision: int
    at_ms: int
    by: Author
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    """Only the fields that differ."""
