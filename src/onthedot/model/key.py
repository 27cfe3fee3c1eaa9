"""A key: a name that stands for one run, however often it is asked for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Key:
    """A name that stands for one run, and outlives it: whoever brings it again gets that run.

    One that was claimed stands for a value instead, and has no run."""

    key: str
    run_id: str
    expires_ms: int | None = None
    """None: at least as long as the run lives."""
    state: str | None = None
    """How the run ended; or the value that the key was claimed with."""
