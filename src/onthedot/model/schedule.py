"""A schedule: a durable, named record of task, trigger, arguments and policies; and how it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from onthedot.model.alert import Alert, Followers
from onthedot.model.freeze import Window
from onthedot.model.policy import Policy
from onthedot.moments import from_ms

UNDECLARED_AFTER_MS = 3_600_000
LEFT_OUT_LATELY_MS = 86_400_000

Json = Mapping[str, Any]
Kind = Literal["task", "flow"]
Mode = Literal["durable", "local"]
ScheduleState = Literal["active", "paused", "parked", "ended"]
"""Parked: it cannot be planned, and says why. Ended: it has no moment left."""
Facet = Literal["active", "paused", "parked", "ended", "undeclared", "leaving_out", "frozen"]
"""What schedules may be asked for by: a state, or what may be true in any of them and is judged by the clock.

Undeclared: code or a file declared it, and no live node has for an hour. Leaving out: within the last day it did not
run a tick, as that was noticed too late or an earlier run was in the way.
"""
Order = Literal["name", "next"]
"""By name; or by the next moment, then by name, those without one last."""
Origin = Literal["code", "file", "api"]
TriggerT_co = TypeVar("TriggerT_co", covariant=True)


@dataclass(frozen=True)  # no slots: see values.replace
class Definition(Generic[TriggerT_co]):
    """What is said about a schedule, and only a put changes: one value in every store.

    A new field stands here, and what users may say of it in `app.policies`; all else is derived.
    """

    task: str
    trigger: TriggerT_co
    """A `Trigger`; in a schedule its JSON."""
    args: Json = field(default_factory=dict)
    policy: Policy = field(default_factory=Policy)
    given: tuple[str, ...] = ()
    """The policies that were named for this schedule itself; the others follow its task and the app."""
    kind: Kind = "task"
    graph: str | None = None
    """Of a flow its graph, by its hash: runs carry the one that their schedule had when they were planned."""
    tags: tuple[str, ...] = ()
    mode: Mode = "durable"
    origin: Origin = "api"
    max_runs: int | None = None
    """How many tick runs are planned in all."""
    auto_remove: bool = False
    then: tuple[str, ...] = ()
    on_failure: tuple[str, ...] = ()
    alerts: tuple[Alert, ...] = ()
    ping: tuple[str, ...] = ()
    """Which pings are sent: start, success, fail. Where to is said in code or a file, and never kept in a store."""
    declared_hash: str | None = None
    uses: tuple[str, ...] = ()
    """The calendars and triggers that its trigger names, as "calendar/de"; for queries, and derived from it."""
    template: str | None = None
    """The template that it is one of: see docs/decisions/0054-templates.md."""


DEFINITION = tuple(each.name for each in fields(Definition))
"""Its fields; see `definition_json` for how they are written down."""


class ScheduleSummary(NamedTuple):
    """How a schedule stands: all that the end of a run must know of it."""

    enabled: bool
    deleted: bool
    auto_remove: bool
    """It is to be removed after its last run."""
    ended: bool
    """It has no further tick."""
    followers: Followers = Followers()


@dataclass(frozen=True)
class _Named:
    """What a schedule begins with."""

    id: str
    name: str


@dataclass(frozen=True)  # no slots: see values.replace
class Schedule(Definition[Json], _Named):
    """One row: its definition, and what moves.

    Its trigger is as `triggers.encode` wrote it: kept as it is, so that a row which cannot be read is never lost.
    Moments are milliseconds; the properties of the same name without `_ms` are aware datetimes.
    """

    enabled: bool = True
    paused_note: str | None = None
    error: str | None = None
    """Why it cannot be planned: the schedule is parked, visible, and never deleted for it."""
    deleted: bool = False
    """A tombstone: its identity, watermark, revision and fence outlive it, and a later put of the name revives them."""
    declared_seen_ms: int | None = None
    """When a live node last declared it; None where no code and no file did."""

    next_run_ms: int | None = None
    """The first undecided tick; always later than the watermark."""
    rescheduled: bool = False
    """`next_run_ms` was set by an operator and need not be a tick of the trigger."""
    skips: int = 0
    """`next_run_ms` was set by jumping over so many ticks."""
    frozen: tuple[Window, ...] = ()
    """When no tick becomes a run: what freezes say of it, as far as it is not decided yet. In order, and together."""
    settled_ms: int = 0
    """The watermark: every tick at or before it is a run or in a decision. It only moves forward."""
    last_run_ms: int | None = None
    last_enqueued_ms: int | None = None

    revision: int = 1
    """+1 with every change of the definition."""
    version: int = 1
    """+1 with every write under the schedule's lock: what was read before is still true if this is the same."""
    fence: int = 0
    """+1 with every start of one of its runs."""
    planned_runs: int = 0
    routed: Mapping[str, int] = field(default_factory=dict)
    """For routes that go by use: by the name of each node how often, or as which of its runs, it was chosen last."""
    plan_attempts: int = 0
    """How many tries to plan it have not come back, while they are counted: after a process died."""
    created_ms: int = 0
    updated_ms: int = 0
    left_out_ms: int | None = None
    """When it last left out a tick that nobody asked it to leave out: too late, or an earlier run was in the way."""
    watch_ms: int | None = None
    """When somebody looks whether it is overdue; None where no alert asks for it, or it does not run."""
    watched_ms: int | None = None
    """Since when it is watched: it cannot be overdue of what it missed before."""

    @property
    def summary(self) -> ScheduleSummary:
        """How it stands."""
        followers = Followers(self.then, self.on_failure, self.alerts, self.ping)
        return ScheduleSummary(self.enabled, self.deleted, self.auto_remove, self.next_run_ms is None, followers)

    @property
    def next_run_at(self) -> datetime | None:
        """When it runs next; None if never."""
        return None if self.next_run_ms is None else from_ms(self.next_run_ms)

    @property
    def settled_through(self) -> datetime:
        """Every tick at or before it is a run or in a decision."""
        return from_ms(self.settled_ms)

    @property
    def last_run_at(self) -> datetime | None:
        """When one of its runs last began."""
        return None if self.last_run_ms is None else from_ms(self.last_run_ms)

    def is_undeclared(self, now_ms: int) -> bool:
        """Whether it was declared in code or a file, and no live node has declared it for an hour: it does not run."""
        seen_ms = self.declared_seen_ms
        return seen_ms is not None and now_ms - seen_ms > UNDECLARED_AFTER_MS

    def is_leaving_out(self, now_ms: int) -> bool:
        """Whether it left out a tick within the last day that nobody asked it to leave out."""
        return self.left_out_ms is not None and now_ms - self.left_out_ms <= LEFT_OUT_LATELY_MS

    def has(self, facet: Facet, now_ms: int) -> bool:
        """Whether it is found by this."""
        match facet:
            case "undeclared":
                return self.is_undeclared(now_ms)
            case "leaving_out":
                return self.is_leaving_out(now_ms)
            case "frozen":
                return self.frozen_at(now_ms) is not None
            case _:
                return self.state == facet

    @property
    def state(self) -> ScheduleState:
        """How it stands: parked before paused, paused before ended."""
        if self.error is not None:
            return "parked"
        if not self.enabled:
            return "paused"
        return "ended" if self.next_run_ms is None else "active"

    def frozen_at(self, ms: int) -> Window | None:
        """The window that the moment lies in; None where nothing freezes it."""
        return next((each for each in self.frozen if each.covers(ms)), None) if self.frozen else None

    @property
    def plannable(self) -> bool:
        """Whether a planner looks at it at all."""
        return self.enabled and not self.deleted and self.error is None and self.mode == "durable"

    def is_due_at(self, now_ms: int) -> bool:
        """Whether a planner would decide a tick of it then."""
        return self.plannable and self.next_run_ms is not None and self.next_run_ms <= now_ms
