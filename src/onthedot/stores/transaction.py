"""What a store must be able to do inside one transaction; everything else is written once, in `engine`.

Inside a transaction nobody else changes the rows that it has locked. A store without locks may instead let everybody
read, and raise `TryAgain` at the end of a transaction whose rows were changed by another; the engine then repeats it.

Lock order: schedules by id, then the node's row, then flows (ancestors first), then other runs by id, then keys. A
transaction that has touched a run takes schedules only with `schedules_if_free`, which waits for nobody.

What is decided rests on rows that are locked. Live runs of a schedule are the exception: they are read under the
schedule's lock, without their own, so that planning never waits for a run; whoever adds, starts, revives or unblocks a
run of a schedule holds the schedule's lock and raises its `version`. The rest (an end, a cancellation) only frees.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from onthedot.model.change import Change
from onthedot.model.decision import Decision
from onthedot.model.freeze import Freeze
from onthedot.model.graph import Graph
from onthedot.model.key import Key
from onthedot.model.log_line import LogLine
from onthedot.model.node import Node
from onthedot.model.policy import Policy
from onthedot.model.run import Run, UnreadableRun
from onthedot.model.schedule import Schedule, ScheduleSummary
from onthedot.model.states import LIVE, State
from onthedot.model.task_info import TaskInfo
from onthedot.model.token import Session, Token
from onthedot.model.value import Value
from onthedot.model.values import make
from onthedot.rules.effects import Effects
from onthedot.triggers.pinned import Use

T = TypeVar("T")


class TryAgain(Exception):
    """The transaction clashed with another and left nothing behind."""


class CutOff(TryAgain):
    """Its connection was ended before the commit: it may be made again, once."""

    def __init__(self, problem: Exception) -> None:
        super().__init__(str(problem))
        self.problem = problem


def once_more_if_cut_off(act: Callable[[], T]) -> T:
    """A process that did something else for too long in the midst of it finds its connection ended."""
    try:
        return act()
    except CutOff:
        pass
    try:
        return act()
    except CutOff as error:
        raise error.problem from error


def readable(runs: Iterable[Run]) -> list[Run]:
    """Those that may be started, woken or routed again: what cannot be read is set aside."""
    return [run for run in runs if type(run) is not UnreadableRun]


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


class StepRow(Run):
    """A step as `steps_of` gives it: without what is for its worker alone (`LEFT_OUT`). Never to be saved; `end_runs`
    moves its row as it is.
    """


LEFT_OUT = ("args", "policy", "key", "result", "trace", "progress", "earlier", "ledger")
"""What a `StepRow` has not, but the defaults of a run in their place."""
_BLANK = Run("", "", "enqueue", 0, 0)
_NOTHING = {name: getattr(_BLANK, name) for name in LEFT_OUT}


def step_row(fields: dict[str, Any]) -> StepRow:
    """Of the fields of a run, or of all but those that it has not."""
    return make(StepRow, {**fields, **_NOTHING})


class LiveRuns(NamedTuple):
    """What is live of one schedule, as far as a decision may rest on it."""

    runs: tuple[Run, ...] = ()
    """All that run where its slots are counted, and the oldest that wait (by due moment, then id)."""
    more: bool = False
    """More wait than these."""


SOME_WAITING = 16


def most_waiting(policy: Policy) -> int:
    """How many waiting runs of a schedule a decision may rest on: all ticks that may wait, and some others."""
    return policy.most_waiting + SOME_WAITING


@dataclass(frozen=True, slots=True)
class Claim:
    """Which due runs a node asks for."""

    node_id: str
    group: str | None
    """The node's own; runs of other groups are not for it."""
    tasks: tuple[str, ...]
    """Of these tasks, where a run does not say which pool it goes to."""
    pools: tuple[str, ...] | None = None
    """Runs that name one of these pools, whatever their task in `known`; None: whatever pool they name."""
    known: tuple[str, ...] = ()
    """All tasks that the node has."""

    def takes(self, run: Run) -> bool:
        """Whether the run is for this node, and for the pools that have room."""
        if run.target not in (None, self.node_id) or run.policy.group not in (None, self.group):
            return False
        if self.pools is None or run.policy.pool is None:
            return run.task in self.tasks
        return run.policy.pool in self.pools and run.task in self.known


class Transaction(Protocol):
    """One transaction. Rows come back as values; `save_…` and `end_runs` write them.

    A row that cannot be read stops nobody: of runs see `readable`, `still_live` and `in_the_way`.
    """

    @property
    def now_ms(self) -> int:
        """The store's time, read when the transaction began."""

    def prefetch(self, node_id: str, run_ids: Collection[str]) -> None:
        """Only a hint: how these runs of the node have ended is asked next. One round trip instead of several, where a
        store can; it locks nothing."""

    # schedules

    def due_schedules(self, limit: int, on_time_from_ms: int) -> tuple[list[Schedule], bool]:
        """Lock plannable schedules whose `next_run_ms` has come, those from `on_time_from_ms` on first, oldest first.

        What others have locked is left out; the second value says whether there was such.
        """

    def schedules_named(self, names: Collection[str]) -> dict[str, Schedule]:
        """Lock, waiting for others; tombstones included."""

    def lock_schedules(self, ids: Collection[str]) -> dict[str, Schedule]:
        """Lock, waiting for others. Only before the transaction has touched a node or a run."""

    def schedules_if_free(self, ids: Collection[str]) -> dict[str, Schedule]:
        """Lock those that nobody else has locked."""

    def summaries(self, ids: Collection[str]) -> dict[str, ScheduleSummary]:
        """How schedules stand, read without locking."""

    def watched(self, limit: int) -> list[str]:
        """The ids of schedules whose `watch_ms` has come, the oldest first; read without locking."""

    def save_schedules(self, schedules: Sequence[Schedule]) -> None:
        """Insert or update. Two new ones of one name, in two transactions: the second is `TryAgain`."""

    # runs

    def due_runs(self, claim: Claim, limit: int) -> list[Run]:
        """Waiting, unblocked runs whose moment has come and that the claim takes: the foremost, in turn.

        Those of least precedence (`rules.precedence`), then id; what nobody else is about to start. Costs what it
        gives, however many runs of other nodes, groups or tasks are due before them.
        """

    def live_beside(self, schedules: Sequence[Schedule]) -> dict[str, LiveRuns]:
        """What is live of these schedules, which are locked; read without waiting for anybody's lock on a run.

        Of each as many waiting runs as `most_waiting` says; and all that run where its policy has slots, else at least
        one of them. A schedule of which nothing is live may be left out.
        """

    def live_of(self, schedule_ids: Collection[str]) -> list[Run]:
        """All live runs of these schedules, which are locked, oldest first (by due moment, then id).

        Read without waiting for anybody's lock on a run: a task may hold one for as long as it likes.
        """

    def live_runs(self, ids: Collection[str]) -> dict[str, Run]:
        """Lock live runs by id: those that wait or run."""

    def live_runs_if_free(self, ids: Collection[str]) -> dict[str, Run]:
        """Lock those of these live runs that nobody else has locked."""

    def schedules_of(self, run_ids: Collection[str]) -> set[str]:
        """The ids of the schedules that these live runs belong to, read without locking."""

    def owned_by(self, node_id: str) -> list[Run]:
        """Running runs of a node, read without locking."""

    def load(self) -> dict[str, int]:
        """How many runs each node has running, by its id; nodes without any may be left out."""

    def waiting_for(self, what: str, limit: int) -> list[Run]:
        """Waiting runs with this `waits_for` whose moment has come, the foremost in turn; read without locking."""

    def are_awaited(self, whats: Collection[str]) -> set[str]:
        """Those of these that a waiting run has as its `waits_for`."""

    def awaited(self, limit: int, after: str = "") -> list[str]:
        """What runs wait for whose moment has come: each different `waits_for` once, ascending, later than `after`."""

    def routed_runs(self, limit: int) -> list[Run]:
        """Waiting runs that were routed to a node and whose moment has come, oldest first."""

    def succeeded_since(self, schedule: str, since_ms: int) -> bool:
        """Whether a run of the schedule of this name has ended well at or after that moment."""

    def ended_runs(self, ids: Collection[str]) -> dict[str, Run]:
        """Runs in history, by id."""

    def save_runs(self, runs: Sequence[Run]) -> None:
        """Insert or update live runs. Two runs with one slot: `TryAgain`.

        A step that has ended is written here, too, and stays among the live rows until its flow is told.
        """

    def end_runs(self, runs: Sequence[Run]) -> None:
        """Move runs from the live ones to history; of a `StepRow` the row as it is."""

    def revive_runs(self, runs: Sequence[Run]) -> None:
        """Move runs from history back to the live ones."""

    # flows

    def graphs(self, hashes: Collection[str]) -> dict[str, Graph]:
        """Those of these that are kept, by hash. They never change, so a process reads each once."""

    def save_graphs(self, graphs: Sequence[Graph]) -> None:
        """Keep them; what is kept already stays for at least another day, whoever needs it."""

    def steps_of(self, flow_ids: Collection[str]) -> list[StepRow]:
        """The steps of these flows, whose rows are locked, as far as they are not in history, by id.

        Those that wait, run, or have ended and were not told. Read without waiting for anybody's lock: whoever changes
        one that waits or runs locks it first (`live_runs`). One that has ended only who has locked its flow moves.
        """

    def untold(self, limit: int, after: str = "") -> list[str]:
        """The ids of flows that have ended steps among the live rows, ascending, later than `after`."""

    def past_until(self, limit: int) -> list[Run]:
        """Runs whose `until_ms` has come and that wait, or stand for steps; oldest first, read without locking."""

    # keys

    def keys(self, keys: Collection[str]) -> dict[str, Key]:
        """Those that exist and have not expired, locked."""

    def save_keys(self, keys: Sequence[Key]) -> None:
        """Insert, or replace one that has expired or is of the same run. A clash with another: `TryAgain`."""

    # nodes

    def node(self, node_id: str) -> Node | None:
        """Lock one node's row, against all others."""

    def node_shared(self, node_id: str) -> Node | None:
        """Lock one node's row against changes of it; any number of transactions may at once."""

    def nodes(self) -> list[Node]:
        """All that are neither dead nor stopped, by start."""

    def owners(self) -> set[str]:
        """The ids of all nodes, living or not, that the store holds runs of."""

    def save_node(self, node: Node) -> None:
        """Insert or update."""

    def save_tasks(self, node_id: str, tasks: Sequence[TaskInfo]) -> None:
        """Replace what the node publishes."""

    def forget_node(self, node_id: str) -> None:
        """Delete the row of a node, which is locked, and what it published."""

    # who may use the HTTP API

    def token(self, name: str) -> Token | None:
        """One token; what is written because of it clashes with whoever changes it."""

    def save_token(self, token: Token) -> None:
        """Insert. One of that name that somebody else has inserted meanwhile: `TryAgain`."""

    def forget_token(self, name: str) -> None:
        """Delete the token and all of its sessions."""

    def save_session(self, session: Session) -> None:
        """Insert, and delete those of the same token that have expired."""

    def forget_session(self, session_id: str) -> None:
        """Delete, if it is there."""

    # freezes

    def freezes(self) -> list[Freeze]:
        """All, by name, as they are now: read after the locks of the schedules that they are for, without their own."""

    def freeze(self, name: str) -> Freeze | None:
        """Lock one. Only where no schedule is locked before."""

    def save_freeze(self, freeze: Freeze) -> None:
        """Insert or update."""

    def forget_freeze(self, name: str) -> None:
        """Delete, if it is there."""

    # what triggers name

    def value(self, use: Use) -> Value | None:
        """Lock the last revision, also where it says that it is gone: nobody else puts or deletes it, nor puts a
        schedule that rests on it."""

    def value_shared(self, use: Use) -> Value | None:
        """The same; any number of transactions may that put schedules."""

    def values_at(self, ids: Collection[str]) -> list[Value]:
        """Those of these revisions that are there; they never change."""

    def add_value(self, value: Value) -> None:
        """Insert, as the last of its name. The same one in two transactions: the second is `TryAgain`."""

    def change_value(self, value: Value) -> None:
        """Write how a revision stands, which is there."""

    def forget_values(self, ids: Collection[str]) -> None:
        """Delete revisions, if they are there."""

    # what happened

    def last_decisions(self, schedule_ids: Collection[str]) -> dict[str, Decision]:
        """The newest decision of each of these schedules."""

    def save_decisions(self, decisions: Sequence[Decision]) -> None:
        """Insert, or replace the one with the same id, which `last_decisions` gave."""

    def add_log(self, lines: Sequence[LogLine]) -> None: ...

    def add_changes(self, changes: Sequence[Change]) -> None: ...

    def add_revision(self, schedule: Schedule) -> None: ...


class AheadTransaction(Transaction, Protocol):
    """What a database must do besides, where what was decided ahead is to cost less than deciding it again."""

    def unchanged(self, schedules: Sequence[Schedule]) -> set[str]:
        """The ids of those that are as they are given, of which nothing is live, and that nobody else has locked; now
        they are."""

    def save_ahead(self, owner: str, all_effects: Sequence[Effects]) -> None:
        """Write what was decided of each: one plain tick of a schedule, and its run, which this node runs."""

    def is_due(self) -> bool:
        """Whether any schedule is, locked or not, after what was written here."""
