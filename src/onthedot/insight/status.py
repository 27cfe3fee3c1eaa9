"""Is it healthy? What is late, what failed lately, who is alive; answered from the store alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from onthedot.model.node import Node, NodeState
from onthedot.model.run import Run, UnreadableRun
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.stores.base import Store

OVERDUE_MS = 60_000
"""What is later than this makes a store unhealthy: a node that lives looks once a second."""
LATE_MS = 1000
"""What is less late than this is not worth a word."""
LATELY_MS = 86_400_000
MOST_COUNTED = 10_000

_PAGE = 1000
_FAILED = (State.FAILED, State.TIMED_OUT, State.LOST)


@dataclass(frozen=True, slots=True)
class Late:
    """Something that was due: a schedule that was not planned, or a run that was not started."""

    name: str
    """The schedule's, or the task's where there is none."""
    due_ms: int
    late_ms: int
    run_id: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """What there is to know at one moment of the store's time."""

    now_ms: int
    nodes: tuple[Node, ...]
    schedules: int
    paused: int
    undeclared: tuple[str, ...]
    """The schedules that nobody declares any more: they do not run."""
    parked: tuple[Schedule, ...]
    late: tuple[Late, ...]
    """The latest first."""
    failed: tuple[Run, ...]
    """Of the last day, newest first."""
    waiting: int
    running: int
    """Both counted up to MOST_COUNTED."""

    @property
    def alive(self) -> tuple[Node, ...]:
        """The nodes whose lease is not over."""
        return tuple(node for node in self.nodes if node.lives and not node.expired(self.now_ms))

    @property
    def problems(self) -> tuple[str, ...]:
        """What makes it unhealthy, one sentence each."""
        found: list[str] = []
        if self.schedules and not self.alive:
            found.append("no node is alive: start one with onthedot run")
        if self.alive and all(node.state is NodeState.DRAINING for node in self.alive):
            found.append("every node is draining and takes no more runs: start another with onthedot run")
        overdue = sum(each.late_ms > OVERDUE_MS for each in self.late)
        if overdue:
            found.append(f"{overdue:,} overdue by more than a minute")
        return tuple(found)

    @property
    def healthy(self) -> bool:
        """Whether nobody needs to look."""
        return not self.problems


def read_status(store: Store) -> Status:
    """Costs a pass over the schedules, and the live runs up to MOST_COUNTED."""
    now_ms = store.now_ms()
    schedules = list(_schedules(store))
    nodes = tuple(store.nodes())
    waiting = store.runs(state=State.WAITING, limit=MOST_COUNTED)
    known = frozenset(task for node in nodes if not node.expired(now_ms) for task in node.tasks)
    late = [*_late_schedules(schedules, now_ms), *_late_runs(waiting, known, now_ms)]
    return Status(
        now_ms=now_ms,
        nodes=nodes,
        schedules=len(schedules),
        paused=sum(not each.enabled for each in schedules),
        undeclared=tuple(each.name for each in schedules if each.is_undeclared(now_ms)),
        parked=tuple(each for each in schedules if each.error is not None),
        late=tuple(sorted(late, key=lambda each: each.due_ms)),
        failed=_failed(store, now_ms),
        waiting=len(waiting),
        running=len(store.runs(state=State.RUNNING, limit=MOST_COUNTED)),
    )


def _schedules(store: Store) -> Iterator[Schedule]:
    page = store.schedules(limit=_PAGE)
    while page:
        yield from page
        page = store.schedules(after=page[-1].name, limit=_PAGE) if len(page) == _PAGE else []


def _late_schedules(schedules: list[Schedule], now_ms: int) -> Iterator[Late]:
    for each in schedules:
        if each.plannable and each.next_run_ms is not None and now_ms - each.next_run_ms > LATE_MS:
            yield Late(each.name, each.next_run_ms, now_ms - each.next_run_ms, reason="not planned yet")


def _late_runs(waiting: list[Run], known: frozenset[str], now_ms: int) -> Iterator[Late]:
    for run in waiting:
        if not run.blocked and now_ms - run.due_ms > LATE_MS:
            reason = "not started yet" if run.task in known else f"no live node has the task {run.task}"
            if isinstance(run, UnreadableRun):
                reason = "its row cannot be read"
            yield Late(run.schedule or run.task, run.due_ms, now_ms - run.due_ms, run.id, reason)


def _failed(store: Store, now_ms: int) -> tuple[Run, ...]:
    found = [run for state in _FAILED for run in store.runs(state=state, limit=100)]
    recent = [run for run in found if (run.finished_ms or 0) > now_ms - LATELY_MS]
    return tuple(sorted(recent, key=lambda run: run.finished_ms or 0, reverse=True))
