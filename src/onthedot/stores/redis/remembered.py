"""Rows that this process has read or written, by their stamps: one that still has its stamp need not be sent again.

Nothing rests on them: a transaction asks the server for the stamp, or has it compared by the commit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State

T = TypeVar("T")
_MOST = 20_000


class Remembered(Generic[T]):
    """The latest rows, up to a bound. Any number of threads: each step is one operation of a dict."""

    def __init__(self) -> None:
        self._rows: dict[str, tuple[str, T]] = {}

    def get(self, row_id: str) -> tuple[str, T] | None:
        """The row and, before it, its stamp."""
        return self._rows.get(row_id)

    def among(self, ids: Iterable[str]) -> dict[str, tuple[str, T]]:
        """The same of all of these that are known."""
        rows = self._rows
        return {each: known for each in ids if (known := rows.get(each)) is not None}

    def put(self, row_id: str, stamp: str, value: T) -> None:
        """In place of what was known of it. The value must not be anybody else's to change."""
        self._rows[row_id] = stamp, value

    def forget(self, row_id: str) -> None:
        """It has gone, or will not be asked for again."""
        self._rows.pop(row_id, None)

    def trim(self) -> None:
        """Forget those that were put first, where they are too many."""
        if len(self._rows) > _MOST:
            for row_id in list(self._rows)[: len(self._rows) - _MOST]:
                self.forget(row_id)


class Memory(NamedTuple):
    """What one store remembers: schedules, and the runs that were started here."""

    schedules: Remembered[Schedule]
    runs: Remembered[Run]

    def note(
        self,
        stamp: str,
        schedules: Iterable[tuple[str, Schedule | None]],
        runs: Iterable[tuple[str, Run | None]],
    ) -> None:
        """What was committed."""
        for schedule_id, schedule in schedules:
            if schedule is None:
                self.schedules.forget(schedule_id)
            else:
                self.schedules.put(schedule_id, stamp, schedule)
        self.schedules.trim()
        self.note_runs(stamp, runs)

    def note_runs(self, stamp: str, runs: Iterable[tuple[str, Run | None]]) -> None:
        """The same of runs alone."""
        for run_id, run in runs:
            if run is None or run.state is not State.RUNNING:
                self.runs.forget(run_id)
            else:
                self.runs.put(run_id, stamp, run)
        self.runs.trim()


def nothing() -> Memory:
    """Of a store that has just been opened."""
    return Memory(Remembered(), Remembered())
