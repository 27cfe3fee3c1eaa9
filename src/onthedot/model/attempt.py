"""An attempt: what one node did with a run, from its claim to its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onthedot.model.tracebacks import telling_line

MOST_KEPT = 20
"""So many of a run's earlier attempts are kept: the last ones."""
_LONGEST_ERROR = 300
_BEGUN = (int, int, str, int)
"""What every attempt has: its number, its claim, its node, when it began."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One claim of a run that was begun."""

    number: int
    claim_no: int
    node: str
    """The incarnation."""
    started_ms: int
    ended_ms: int | None = None
    outcome: str | None = None
    """How it ended: failed, timed_out, node_died, handed_back, or as the run did; None while it runs."""
    error: str | None = None
    """The line that says what went wrong."""

    def as_json(self) -> list[Any]:
        """Its values in order; the last ones are left out where they are empty."""
        return [self.number, self.claim_no, self.node, self.started_ms, self.ended_ms, self.outcome, self.error]


def short_error(error: str | None) -> str | None:
    """What is kept of an error beside an attempt."""
    return None if not error else telling_line(error)[:_LONGEST_ERROR]


def attempts_from(values: object) -> tuple[Attempt, ...]:
    """What `as_json` gave of each, of this version or an earlier one. They only tell a story: what is no attempt is
    left out."""
    return tuple(Attempt(*each[:7]) for each in values if _is_attempt(each)) if isinstance(values, list) else ()


def _is_attempt(values: object) -> bool:
    if not isinstance(values, list) or len(values) < len(_BEGUN):
        return False
    begun = all(isinstance(each, kind) for each, kind in zip(values, _BEGUN, strict=False))
    return begun and all(isinstance(each, int | str | None) for each in values[:7])
