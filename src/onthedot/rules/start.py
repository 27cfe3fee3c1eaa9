"""Which waiting runs of a schedule start now, judged under its lock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from onthedot.model.run import Run, for_limit, for_resume, for_slot, for_success
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.rules.expiry import is_gated, until_ms_of, why_late
from onthedot.rules.flows.broadcasting import as_flow
from onthedot.rules.overlap import asked_to_stop, holds_back, slot_for, waits


def _always(run: Run) -> bool:
    return True


FENCES = 1 << 20
"""How many fences of its schedule a flow reserves for its steps when it begins."""


@dataclass(frozen=True, slots=True)
class StartFacts:
    """What else a start rests on."""

    now_ms: int
    node_id: str
    candidates: frozenset[str]
    """The runs that may start here."""
    unmet: str | None = None
    """The first of the schedules that it depends on that has not succeeded in time."""
    admits: Callable[[Run], bool] = _always
    """Takes a place of the run's group, if one is left."""


@dataclass(frozen=True, slots=True)
class Starts:
    """What becomes of a schedule's waiting runs: each appears at most once."""

    schedule: Schedule | None
    started: tuple[Run, ...] = ()
    skipped: tuple[Run, ...] = ()
    changed: tuple[Run, ...] = ()
    """Runs that go on waiting, for another thing than before."""
    stopping: tuple[Run, ...] = ()
    """Runs that are asked to make way."""


def started(run: Run, node_id: str, now_ms: int, *, fence: int = 0, slot: str | None = None) -> Run:
    """The run as the node's own, from this moment on; a flow has no owner."""
    return replace(
        run,
        state=State.RUNNING,
        owner=None if run.is_flow else node_id,
        claim_no=run.claim_no + 1,
        attempt=run.attempt + 1,
        fence=fence,
        slot=slot,
        waits_for=None,
        until_ms=None,
        started_ms=now_ms,
    )


def behind_limit(run: Run) -> Run:
    """The run as it waits for a place of its group, out of the way of those that can start."""
    assert run.policy.group_limit is not None
    return replace(run, waits_for=for_limit(run.policy.group_limit[0]))


def _is_behind_limit(run: Run) -> bool:
    limit = run.policy.group_limit
    return limit is not None and run.waits_for == for_limit(limit[0])


def skipped(run: Run, reason: str, now_ms: int) -> Run:
    """The run, ended without having been done."""
    return replace(run, state=State.SKIPPED, reason=reason, finished_ms=now_ms, owner=None, slot=None, waits_for=None)


def judge(schedule: Schedule, live: Sequence[Run], facts: StartFacts, *, free: int) -> Starts:
    """Start the oldest due runs that there is room for, at most `free`; only candidates may start here.

    A run that is not a candidate (another node's task, or no worker left) keeps its place: what is younger waits for
    the slot behind it, out of the way of other schedules.
    """
    judging = _Judging(schedule, list(live), facts, free)
    for run in sorted((each for each in live if waits(each, facts.now_ms)), key=lambda run: (run.due_ms, run.id)):
        judging.judge(run)
    return judging.starts()


@dataclass(slots=True)
class _Judging:
    """The judgement on one schedule, as it grows."""

    schedule: Schedule
    live: list[Run]
    facts: StartFacts
    free: int
    begun: list[Run] = field(default_factory=list)
    ended: list[Run] = field(default_factory=list)
    changed: dict[str, Run] = field(default_factory=dict)
    stopping: list[Run] = field(default_factory=list)
    kept: int = 0
    """Slots that are free and belong to older runs, which must start elsewhere or later."""

    def judge(self, run: Run) -> None:
        """One run, in its turn."""
        reason = self._must_skip(run)
        if reason is not None:
            self.ended.append(skipped(run, reason, self.facts.now_ms))
            return
        waits_for = self._held_by(run)
        if waits_for is not None:
            self._wait(run, waits_for)
        elif run.runs_beside:
            self._start(run, None)
        else:
            slot = slot_for(self.schedule, [*self.live, *self.begun], self.kept)
            (self._start(run, slot.name) if slot.free else self._without_slot(run))

    def starts(self) -> Starts:
        touched = self.begun or self.ended or self.changed
        schedule = replace(self._noted(), version=self.schedule.version + 1) if touched else None
        changed = tuple(self.changed.values())
        return Starts(schedule, tuple(self.begun), tuple(self.ended), changed, tuple(self.stopping))

    def _noted(self) -> Schedule:
        """The schedule; it remembers when a tick was skipped that nobody asked to skip."""
        if any(run.reason not in ("deleted", "paused", "frozen") for run in self.ended):
            return replace(self.schedule, left_out_ms=self.facts.now_ms)
        return self.schedule

    def _must_skip(self, run: Run) -> str | None:
        if self.schedule.deleted:
            return "deleted"
        late = why_late(run, self.facts.now_ms, unmet=self.facts.unmet is not None)
        if late == "expired":
            return late
        if not (run.cause == "tick" and run.never_begun and not run.exempt):
            return None
        if not self.schedule.enabled:
            return "paused"
        if self.schedule.frozen_at(self.facts.now_ms) is not None:
            return "frozen"
        if late is not None:
            return late
        if not any(_replaces(other, run) and other.due_ms <= self.facts.now_ms for other in self.live):
            return None
        if self.schedule.policy.overlap == "cover":
            return "covered"
        too_late = self.facts.now_ms - run.due_ms > run.policy.grace_ms and run.policy.misfire != "catch_up"
        return "misfire: a newer tick was due before it could start" if too_late else None

    def _held_by(self, run: Run) -> str | None:
        if holds_back(run, self.schedule, self.facts.now_ms):
            return for_resume(self.schedule.id)
        if self._waits_for_others(run):
            assert self.facts.unmet is not None
            return for_success(self.facts.unmet)
        return None

    def _waits_for_others(self, run: Run) -> bool:
        """Whether it depends on a success that has not come."""
        return self.facts.unmet is not None and is_gated(run)

    def _without_slot(self, run: Run) -> None:
        if self.schedule.policy.overlap == "discard" and run.is_waiting_tick and not self.kept:
            self.ended.append(skipped(run, "overlap", self.facts.now_ms))
            return
        if self.schedule.policy.overlap == "cover":
            asked = {each.id: each for each in asked_to_stop(self.live, self.facts.now_ms)}
            self.stopping += asked.values()
            self.live = [asked.get(each.id, each) for each in self.live]
        self._wait(run, for_slot(self.schedule.id))

    def _start(self, run: Run, slot: str | None) -> None:
        """Start the run if it may start here and now; else it keeps its place before what needs the same slot."""
        flow, is_candidate = as_flow(run), run.id in self.facts.candidates
        if not is_candidate and _is_behind_limit(run):
            self._wait(run, run.waits_for)  # who leaves a place of the group looks for it there
            return
        if not is_candidate or (not flow.is_flow and self._workers() >= self.free):
            self._wait(run, None)
            self.kept += slot is not None
            return
        if not self.facts.admits(run):
            self._wait(run, behind_limit(run).waits_for)
            return
        fence = self.schedule.fence + (FENCES if flow.is_flow else 1)
        self.schedule = replace(self.schedule, fence=fence, last_run_ms=self.facts.now_ms)
        self.begun.append(started(flow, self.facts.node_id, self.facts.now_ms, fence=fence, slot=slot))

    def _workers(self) -> int:
        """How many have been given away; a flow needs none."""
        return sum(not run.is_flow for run in self.begun)

    def _wait(self, run: Run, waits_for: str | None) -> None:
        """It goes on waiting, for this; once its dependencies are met, no longer for them."""
        until_ms = until_ms_of(run, gated=self._waits_for_others(run))
        if run.waits_for != waits_for or run.until_ms != until_ms:
            self.changed[run.id] = replace(run, waits_for=waits_for, until_ms=until_ms)


def _replaces(newer: Run, run: Run) -> bool:
    waiting = newer.state is State.WAITING and newer.cause == "tick"
    return waiting and newer.scheduled_ms > run.scheduled_ms
