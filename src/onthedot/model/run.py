"""A run: the record of doing one tick of a schedule, or of a manual or one-off act."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from onthedot.model.attempt import MOST_KEPT, Attempt, short_error
from onthedot.model.graph import BROADCAST
from onthedot.model.policy import Policy
from onthedot.model.remote import engine_of, is_taken
from onthedot.model.states import FINAL, State
from onthedot.model.step_status import StepStatus
from onthedot.model.values import make
from onthedot.moments import from_ms

Cause = Literal["tick", "manual", "enqueue", "backfill", "chain", "step", "shard", "alert", "ping"]


@dataclass(frozen=True)  # no slots: see values.replace
class Run:
    """One row. Its id is made before the first try to write it, and never changes."""

    id: str
    task: str
    cause: Cause
    scheduled_ms: int
    """The nominal moment; not when to fire."""
    due_ms: int
    """When to fire: with jitter, back-off and delay."""
    state: State = State.WAITING
    args: Mapping[str, Any] = field(default_factory=dict)
    policy: Policy = field(default_factory=Policy)
    """The values that it was planned with."""
    schedule_id: str | None = None
    schedule: str | None = None
    """The schedule's name."""
    revision: int | None = None
    key: str | None = None

    target: str | None = None
    """The node that it was routed to; None for whoever is free."""
    parent_id: str | None = None
    """The run that it came from: the flow or broadcast that it is a part of, or the run that it follows in a chain."""

    owner: str | None = None
    """The incarnation that runs it."""
    claim_no: int = 0
    """+1 at every start, retry, hand-back and takeover: who holds the latest one holds the run."""
    attempt: int = 0
    crashes: int = 0
    fence: int = 0
    slot: str | None = None
    """Held while it runs; no two live runs have the same."""
    waits_for: str | None = None
    """What it waits behind (`for_slot` and its neighbours name it): not among the due runs until somebody wakes it."""
    exempt: bool = False
    """An operator asked for it (a manual run, a retry): a pause does not hold it."""
    cancel_requested_ms: int | None = None

    created_ms: int = 0
    started_ms: int | None = None
    finished_ms: int | None = None
    result: Any = None
    error: str | None = None
    reason: str | None = None
    """Why it was skipped, cancelled or lost."""
    trace: str | None = None
    """Where it was asked for, as the `traceparent` of W3C Trace Context; None where nobody traces."""
    progress: str | None = None
    """How far its latest attempt said that it was: "62% ledger 11 of 14"."""
    earlier: tuple[Attempt, ...] = ()
    """Its attempts before the latest one, as far as they are kept."""

    until_ms: int | None = None
    """Where it waits: past it, it is skipped. Where it stands for steps: past it, they are stopped."""
    graph: str | None = None
    """The graph whose steps it stands for, by its hash: it runs without an owner, and ends with the last of them."""
    ledger: Mapping[str, Any] | None = None
    """What is known of its steps, once it has begun: see `model.ledger`."""
    step: str | None = None
    """Of which step of its parent's graph it is."""
    item: int | None = None
    """Which of that step's runs, from 0; a step that is not mapped has one, and this is None."""
    size: int | None = None
    """How long the list is that it returned; None where it returned something else, or nobody maps over it. Of a shard:
    how many there are."""
    remote: str | None = None
    """Of an attempt that is executed elsewhere: at which engine, and whether that has taken it. See `model.remote`."""

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """All that were begun, as far as they are kept; the latest is the last."""
        latest = self._latest_attempt()
        return self.earlier if latest is None else (*self.earlier, latest)

    def _latest_attempt(self) -> Attempt | None:
        if self.owner is None or self.started_ms is None:
            return None
        return Attempt(
            self.attempt,
            self.claim_no,
            self.owner,
            self.started_ms,
            self.finished_ms,
            self.outcome,
            short_error(self.error) if self.is_final else None,
        )

    def earlier_with(self, ended_ms: int, outcome: str, error: str | None = None) -> tuple[Attempt, ...]:
        """`earlier` after its latest attempt, which ends like this and is not its last."""
        latest = self._latest_attempt()
        if latest is None:
            return self.earlier
        ended = replace(latest, ended_ms=ended_ms, outcome=outcome, error=short_error(error))
        return (*self.earlier, ended)[-MOST_KEPT:]

    @property
    def progress_part(self) -> float | None:
        """How far it is, from 0 to 1; None where it did not say."""
        percent = (self.progress or "").partition("%")[0]
        return min(int(percent[:9]), 100) / 100 if percent.isdecimal() else None

    @property
    def progress_note(self) -> str:
        """What it said to that."""
        return (self.progress or "").partition("%")[2].strip()

    @property
    def scheduled_at(self) -> datetime:
        """The nominal moment."""
        return from_ms(self.scheduled_ms)

    @property
    def due_at(self) -> datetime:
        """When it fires."""
        return from_ms(self.due_ms)

    @property
    def started_at(self) -> datetime | None:
        """When its latest attempt began."""
        return None if self.started_ms is None else from_ms(self.started_ms)

    @property
    def finished_at(self) -> datetime | None:
        """When it ended."""
        return None if self.finished_ms is None else from_ms(self.finished_ms)

    @property
    def outcome(self) -> str | None:
        """How it ended, which is its state then; None before."""
        return self.state.value if self.is_final else None

    @property
    def lateness_ms(self) -> int | None:
        """From when its latest attempt was due to when it began; None before it has."""
        return None if self.started_ms is None else max(self.started_ms - self.due_ms, 0)

    @property
    def duration_ms(self) -> int | None:
        """How long its latest attempt took; None before it has ended, or where none was made."""
        if self.started_ms is None or self.finished_ms is None:
            return None
        return max(self.finished_ms - self.started_ms, 0)

    @property
    def is_final(self) -> bool:
        """Whether it has ended (an operator may still have it done again)."""
        return self.state in FINAL

    @property
    def is_shard(self) -> bool:
        """Whether it is one node's part of a broadcast: a step of a flow over nodes."""
        return self.cause == "shard"

    @property
    def is_broadcast(self) -> bool:
        """Whether it is a flow over nodes, which it is once it has begun."""
        return self.graph == BROADCAST.hash

    @property
    def shard(self) -> int | None:
        """Which shard of a broadcast it is, from 0."""
        return self.item if self.is_shard else None

    @property
    def shards(self) -> int | None:
        """How many shards there are of the broadcast that this is, or is a part of."""
        if self.is_broadcast and self.ledger is not None:
            return len(self.ledger.get("members", ()))
        return self.size if self.is_shard or self.is_broadcast else None

    @property
    def is_flow(self) -> bool:
        """Whether it stands for steps: it holds their place, has no owner, and ends with the last of them."""
        return self.graph is not None

    @property
    def title(self) -> str:
        """What people call it: the schedule, else the step (of a broadcast the task), with the number of its item, else
        the task or the flow."""
        if self.schedule is not None or self.step is None:
            return self.schedule or self.task.removeprefix("@")
        if self.is_shard:
            return f"{self.task}[{self.item}]"
        return self.step if self.item is None else f"{self.step}[{self.item}]"

    @property
    def steps(self) -> tuple[StepStatus, ...]:
        """How far each step of a flow is; only of a run that `app.runs.get` gave."""
        found: tuple[StepStatus, ...] = self.__dict__.get("_steps", ())
        return found

    def with_steps(self, steps: tuple[StepStatus, ...]) -> Run:
        """The same run, told with its steps."""
        return make(type(self), {**self.__dict__, "_steps": steps})

    @property
    def engine(self) -> str | None:
        """The engine that its latest attempt was given to; None where a node executes it itself."""
        return None if self.remote is None else engine_of(self.remote)

    @property
    def engine_id(self) -> str | None:
        """Under which id the engine knows that attempt, however often it is sent; the next has another."""
        return None if self.remote is None else f"{self.id}.{self.attempt}"

    @property
    def is_taken(self) -> bool:
        """Whether the engine has said that it took that attempt; else nobody knows."""
        return self.remote is not None and is_taken(self.remote)

    @property
    def is_step(self) -> bool:
        """Whether it is a part of a flow, which holds the slot for it."""
        return self.step is not None

    @property
    def is_filled_in(self) -> bool:
        """Whether it is a tick of a backfill: a step, and a run of its schedule."""
        return self.step is not None and self.schedule_id is not None

    @property
    def is_kept_by_flow(self) -> bool:
        """Whether it is forgotten with its flow, and counted nowhere; what was filled in is the schedule's history."""
        return self.step is not None and self.schedule_id is None

    @property
    def runs_beside(self) -> bool:
        """Whether it takes no slot of its schedule: filled in beside its other runs."""
        return self.is_filled_in and self.policy.slots is None

    @property
    def blocked(self) -> bool:
        """Whether it waits behind something other than its own moment."""
        return self.waits_for is not None

    @property
    def counts_for_slots(self) -> bool:
        """Whether it is one of those that a schedule runs at once."""
        return self.state is State.RUNNING and not self.runs_beside

    @property
    def is_waiting_tick(self) -> bool:
        """Whether it is a tick that nobody has begun or asked for by hand: the rules may still leave it out."""
        return self.state is State.WAITING and self.cause == "tick" and self.never_begun and not self.exempt

    @property
    def never_begun(self) -> bool:
        """Whether no attempt was ever made."""
        return self.attempt == 0 and self.crashes == 0


class UnreadableRun(Run):
    """A run whose row cannot be read, or not whole: shown with the reason in `error`, and never started.

    A state that nobody knows is shown as failed. The row stays as it is until somebody mends it, cancels the run, or
    its owner ends it.
    """


def for_slot(schedule_id: str) -> str:
    """Waits for a slot of its schedule."""
    return f"slot:{schedule_id}"


def for_limit(group: str) -> str:
    """Waits for a place of a group that shares a limit."""
    return f"limit:{group}"


def for_resume(schedule_id: str) -> str:
    """Waits for its schedule to be resumed."""
    return f"resume:{schedule_id}"


def for_success(schedule: str) -> str:
    """Waits for a run of another schedule, by its name, to succeed."""
    return f"success:{schedule}"


def slot_name(schedule_id: str, number: int) -> str:
    """The name of one of a schedule's slots."""
    return f"{schedule_id}/{number}"


def slot_number(slot: str) -> int:
    """Which of its schedule's slots it is."""
    return int(slot.rpartition("/")[2])
