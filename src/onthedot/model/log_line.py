"""A line of a run's log."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of a run's log."""

    run_id: str
    claim_no: int
    at_ms: int
    level: str
    text: str


PROGRESS = "PROGRESS"
"""The level of the line by which a run says how far it is."""
