"""What a store must be able to do inside one transaction; everything else is written once, in `engine`.

Inside a transaction nobody else changes the rows that it has locked. A store without locks may instead let everybody
read, and raise `TryAgain` at the end of a transaction whose rows were changed by another; the engine then repeats it.

Lock order: schedules by id, then the node's row, then runs by id. A transaction that has touched a run takes schedules
only with `schedules_if_free`, which waits for nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

from onthedot.model.decision import Decision
from onthedot.model.key import Key
from onthedot.model.node import Node
from onthedot.model.run import Run, UnreadableRun
from onthedot.model.schedule import Schedule, ScheduleSummary
from onthedot.model.states import LIVE, State
from onthedot.model.values import make
from onthedot.stores.base import Change, LogLine, TaskInfo

Place = tuple[int, str]
"""The moment and id of the last run that was looked at."""


class TryAgain(Exception):
    """The transaction clashed with another and left nothing behind."""


def readable(runs: Iterable[Run]) -> list[Run]:
    """Those that may be started, woken or routed again: what cannot be read is set aside."""
    return [run for run in runs if type(run) is not UnreadableRun]


def readable_page(page: Callable[[Place], Sequence[Run]], limit: int, after: Place) -> list[Run]:
    """So many of them, page by page by moment and id: what cannot be read hides nobody behind it."""
    found: list[Run] = []
    while True:
        read = page(after)
        found += readable(read)
        last = (read[-1].due_ms, read[-1].id) if len(read) >= limit else after
        if len(found) >= limit or last <= after:
            return found[:limit]
        after = last


def still_live(runs: Iterable[Run]) -> list[Run]:
    """Those that may be ended or cancelled: not what has a state that nobody knows."""
    return [run for run in runs if run.state in LIVE]


def in_the_way(runs: Iterable[Run]) -> list[Run]:
    """The live runs of schedules, as the others must see them: what cannot be read counts only if it has a slot, which
    nobody else can take; what waits and cannot be read holds up nobody.
    """
    return [seen for run in runs if (seen := _seen(run)) is not None]


def _seen(run: Run) -> Run | None:
    if type(run) is not UnreadableRun or run.state is State.RUNNING:
        return run
    return None if run.slot is None else make(UnreadableRun, {**run.__dict__, "state": State.RUNNING})


class Transaction(Protocol):
    """One transaction. Rows come back as values; `save_…` and `end_runs` write them.

    A row that cannot be read stops nobody: of runs see `readable`, `still_live` and `in_the_way`.
    """

    @property
    def now_ms(self) -> int:
        """The store's time, read when the transaction began."""

    # schedules

    def due_schedules(self, limit: int, on_time_from_ms: int) -> tuple[list[Schedule], bool]:
        """Lock plannable schedules whose `next_run_ms` has come, those from `on_time_from_ms` on first, oldest first.

        What others have locked is left out; the second value says whether there was such.
        """

    def schedules_named(self, names: Collection[str]) -> dict[str, Schedule]:
        """Lock, waiting for others; tombstones included."""

    def schedules_if_free(self, ids: Collection[str]) -> dict[str, Schedule]:
        """Lock those that nobody else has locked."""

    def standing(self, ids: Collection[str]) -> dict[str, ScheduleSummary]:
        """How schedules stand, read without locking."""

    def save_schedules(self, schedules: Sequence[Schedule]) -> None:
        """Insert or update. Two new ones of one name, in two transactions: the second is `TryAgain`."""

    # runs

    def due_runs(self, node_id: str, tasks: Collection[str], limit: int) -> list[Run]:
        """Waiting, unblocked runs of these tasks whose moment has come, for this node or any: the foremost, in turn.

        Those of least precedence (`model.rules.precedence`), then id; what nobody else is about to start.
        """

    def live_of(self, schedule_ids: Collection[str]) -> list[Run]:
        """Lock all live runs of these schedules, oldest first (by due moment, then id)."""

    def live_runs(self, ids: Collection[str]) -> dict[str, Run]:
        """Lock live runs by id."""

    def owned_by(self, node_id: str) -> list[Run]:
        """Running runs of a node."""

    def blocked_runs(self, limit: int, after: tuple[int, str] = (0, "")) -> list[Run]:
        """Blocked waiting runs whose moment has come, by due moment and id, after the one with that moment and id."""

    def routed_runs(self, limit: int) -> list[Run]:
        """Waiting runs that were routed to a node and whose moment has come, oldest first."""

    def succeeded_since(self, schedule: str, since_ms: int) -> bool:
        """Whether a run of the schedule of this name has ended well at or after that moment."""

    def ended_runs(self, ids: Collection[str]) -> dict[str, Run]:
        """Runs in history, by id."""

    def save_runs(self, runs: Sequence[Run]) -> None:
        """Insert or update live runs. Two runs with one slot: `TryAgain`."""

    def end_runs(self, runs: Sequence[Run]) -> None:
        """Move runs from the live ones to history."""

    def revive_runs(self, runs: Sequence[Run]) -> None:
        """Move runs from history back to the live ones."""

    # keys

    def keys(self, keys: Collection[str]) -> dict[str, Key]:
        """Those that exist and have not expired, locked."""

    def save_keys(self, keys: Sequence[Key]) -> None:
        """Insert, or replace one that has expired or is of the same run. A clash with another: `TryAgain`."""

    # nodes

    def node(self, node_id: str) -> Node | None:
        """Lock one node's row."""

    def nodes(self) -> list[Node]:
        """All that are neither dead nor stopped, by start."""

    def save_node(self, node: Node) -> None:
        """Insert or update."""

    def save_tasks(self, node_id: str, tasks: Sequence[TaskInfo]) -> None:
        """Replace what the node publishes."""

    # append only

    def add_log(self, lines: Sequence[LogLine]) -> None: ...

    def add_decisions(self, decisions: Iterable[Decision]) -> None: ...

    def add_changes(self, changes: Iterable[Change]) -> None: ...

    def add_revision(self, schedule: Schedule) -> None: ...
