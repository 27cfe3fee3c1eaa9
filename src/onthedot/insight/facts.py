"""What an explanation rests on, read from the store when it is asked for, and once."""

from __future__ import annotations

from functools import cached_property

from onthedot.insight.node_history import NodeHistory, read_nodes
from onthedot.insight.schedule_history import ScheduleHistory, read_history
from onthedot.model.ids import least_id
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.stores.base import Store

MOST_RUNS = 10_000
_NEIGHBOURS = 2000


class Facts:
    """Around the runs of one schedule, or around one-off work where there is none."""

    def __init__(self, store: Store, schedule: str | None, most: int = MOST_RUNS) -> None:
        """`most` is how far they reach back: so many runs of the schedule, and lines of its audit."""
        self._store = store
        self._schedule = schedule
        self._most = most
        self._neighbours: dict[int, list[Run]] = {}

    @cached_property
    def now_ms(self) -> int:
        """The store's time."""
        return self._store.now_ms()

    @cached_property
    def runs(self) -> list[Run]:
        """Of the schedule, newest first."""
        return [] if self._schedule is None else self._store.runs(schedule=self._schedule, limit=self._most)

    @cached_property
    def nodes(self) -> NodeHistory:
        """Who was there, and when."""
        return read_nodes(self._store, self.now_ms, self.runs)

    @cached_property
    def history(self) -> ScheduleHistory:
        """What people did to the schedule."""
        return read_history(self._store, self._schedule or "", self._most)

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
