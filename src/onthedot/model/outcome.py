"""An outcome: how a run ended, as its owner reports it."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

Ending = Literal["succeeded", "failed", "timed_out", "cancelled", "skipped", "handed_back"]


class Outcome(NamedTuple):
    """Counts only under the claim number that the owner was given.

    Whether a failed or timed-out run is tried again is not said here: it follows from the run's policy, unless the task
    asked for it (`retry_after_ms`) or against it (`final`).
    """

    run_id: str
    claim_no: int
    ending: Ending
    result: Any = None
    error: str | None = None
    reason: str | None = None
    retry_after_ms: int | None = None
    size: int | None = None
    """How long the list is that it returned, where a step of its flow is mapped over it."""
    final: bool = False
    flow: str | None = None
    """The flow that the run is a step of, where its owner says so: then it is told in the same step, if it is free."""
    entered: bool = False
    """Only for what is handed back: the task had been entered, so this was an attempt."""
    contested: bool = False
    """Its task has ended the run itself, in a transaction that may still be open: who records this waits for that."""
