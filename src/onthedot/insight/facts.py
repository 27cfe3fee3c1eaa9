"""What an explanation rests on, read from the store when it is asked for, and once."""

from __future__ import annotations

from functools import cached_property

from onthedot.insight.node_history import NodeHistory, read_nodes
from onthedot.insight.schedule_history import MOST_CHANGES, ScheduleHistory, read_history
from onthedot.model.alert import is_held_back
from onthedot.model.ids import least_id
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.stores.base import Store

_NEAR = 500
_WITNESSES = 50
_MOST_STEPS = 6
"""Runs by which it is told who was there: the latest of each node counts."""
_SHARDS = 2000
"""Shards are made with their broadcast."""
_NEIGHBOURS = 2000
_LINES = 1000
LOOK_PAST_MS = 60_000


class Facts:
    """Around a moment of one schedule, or of one-off work where there is none; around now, if no moment is given.

    Each reads a bounded number of rows by an index, however much history there is.
    """

    def __init__(
        self, store: Store, schedule: str | None, *, around_ms: int | None = None, most_changes: int = MOST_CHANGES
    ) -> None:
        """`most_changes` is how far the audit is read back."""
        self._store = store
        self._most_changes = most_changes
        self._schedule = schedule
        self._around_ms = around_ms
        self._near: dict[tuple[int, int], list[Run]] = {}
        self._neighbours: dict[int, list[Run]] = {}

    @cached_property
    def now_ms(self) -> int:
        """The store's time."""
        return self._store.now_ms()

    def near(self, until_ms: int) -> list[Run]:
        """The newest runs of the schedule that were made up to that moment, newest first."""
        return self._near_by(until_ms, _NEAR)

    def _near_by(self, until_ms: int, most: int) -> list[Run]:
        if self._schedule is None:
            return []
        if (until_ms, most) not in self._near:
            found = self._store.runs(schedule=self._schedule, until_ms=until_ms + 1, limit=most)
            self._near[until_ms, most] = found
        return self._near[until_ms, most]

    def of_tick(self, schedule_id: str, moment_ms: int) -> list[Run]:
        """The runs of that tick, with its shards."""
        marks = self._store.ticks([schedule_id], first_ms=moment_ms, last_ms=moment_ms, each=_NEAR).marks
        runs = self._store.runs(ids=[mark.id for mark in marks], limit=_NEAR) if marks else []
        return runs + [shard for run in runs if run.is_broadcast for shard in self._shards(run)]

    def waiting_steps(self, flow: Run) -> list[tuple[Run, Facts]]:
        """Some of the runs of its steps that were made and have not begun, with what is known around each."""
        waiting = self._store.runs(parent=flow.id, state=State.WAITING, limit=_MOST_STEPS)
        return [(step, Facts(self._store, None, around_ms=step.due_ms)) for step in waiting]

    def _shards(self, run: Run) -> list[Run]:
        return [each for each in self._store.runs(parent=run.id, limit=_SHARDS) if each.is_shard]

    def alerts_of(self, run: Run) -> list[str]:
        """What alerts its end sent, and which were held back: "alert ops was sent"."""
        if run.schedule_id is None or not run.is_final:
            return []
        sent = [each for each in self._store.runs(parent=run.id, limit=_NEAR) if each.cause == "alert"]
        told = [f"alert {each.args.get('alert')} was sent: run {each.id} {each.state}" for each in reversed(sent)]
        return told + [line.text for line in self._store.logs(run.id, limit=_LINES) if is_held_back(line.text)]

    @cached_property
    def nodes(self) -> NodeHistory:
        """Who was there, and when; runs are witnesses of it."""
        moments = [] if self._around_ms is None else [min(self._around_ms + LOOK_PAST_MS, self.now_ms)]
        witnesses = [run for moment in (*moments, self.now_ms) for run in self._near_by(moment, _WITNESSES)]
        return read_nodes(self._store, self.now_ms, witnesses)

    @cached_property
    def history(self) -> ScheduleHistory:
        """What people did to the schedule."""
        return read_history(self._store, self._schedule or "", self._most_changes)

    def neighbours(self, until_ms: int) -> list[Run]:
        """The newest runs of all schedules that were made up to that moment, and all that run now."""
        if until_ms not in self._neighbours:
            made = self._store.runs(before=least_id(until_ms + 1), limit=_NEIGHBOURS)
            self._neighbours[until_ms] = list({run.id: run for run in (*made, *self.running)}.values())
        return self._neighbours[until_ms]

    @cached_property
    def running(self) -> list[Run]:
        """All that run now."""
        return self._store.runs(state=State.RUNNING, limit=_NEIGHBOURS)

    def missing(self, schedule: str) -> bool:
        """Whether there is no such schedule."""
        return not self._store.schedules(names=[schedule])

    def runs_of(self, schedule: str, until_ms: int) -> list[Run]:
        """The newest runs of another schedule that were made up to that moment."""
        return self._store.runs(schedule=schedule, before=least_id(until_ms + 1), limit=_NEIGHBOURS)
