"""Is it healthy? What is late, what failed lately, who is alive; answered from the store alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from onthedot.insight.failures import LATELY_MS, MOST_COUNTED, Failures, read_failures
from onthedot.insight.lateness import LATE_MS, why_not_taken
from onthedot.insight.node_history import at, labels_of
from onthedot.insight.schedule_history import Pause, read_history
from onthedot.model.node import Node, NodeState
from onthedot.model.run import Run, UnreadableRun
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.rules import routing
from onthedot.stores.base import Demand, Store
from onthedot.texts import counted

OVERDUE_MS = 60_000
"""What is later than this makes a store unhealthy: a node that lives looks once a second."""

_START_ONE = "start a node that can: `onthedot run` with the app that has the task, in the group if it has one"
_PUT_IT = "put that schedule, or change depends_on"
MOST_UNDECLARED = 1000
MOST_LATE = 1000
_MOST_NAMES = 3
_MOST_PAUSES = 10


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
class Unable:
    """Schedules that cannot run as things stand, for one reason."""

    names: tuple[str, ...]
    """Some of them."""
    count: int
    reason: str
    remedy: str = ""

    def __str__(self) -> str:
        more = self.count - len(self.names[:_MOST_NAMES])
        listed = ", ".join(self.names[:_MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")
        return f"{listed} cannot run: {self.reason}"


@dataclass(frozen=True, slots=True)
class Paused:
    """A schedule that somebody paused."""

    name: str
    pause: Pause | None
    """None where the audit of it is forgotten."""

    def __str__(self) -> str:
        return f"{self.name} is {self.pause or 'paused'}"


@dataclass(frozen=True, slots=True)
class Deaths:
    """How often nodes of one name died within the last day."""

    name: str
    count: int
    last_ms: int
    """When the last of them was last heard of."""

    def __str__(self) -> str:
        often = "" if self.count == 1 else f" {self.count:,} times in the last day"
        return f"{self.name} died{often}, last heard of at {at(self.last_ms)}"


@dataclass(frozen=True, slots=True)
class Status:
    """What there is to know at one moment of the store's time."""

    now_ms: int
    nodes: tuple[Node, ...]
    schedules: int
    paused: int
    """Both counted up to MOST_COUNTED of each state."""
    pauses: tuple[Paused, ...]
    """The first few of them, with who paused them."""
    died: tuple[Deaths, ...]
    """Nodes that died within the last day and were noticed; who was heard of last comes first."""
    undeclared: tuple[str, ...]
    """The schedules that nobody declares any more, so many at most: they do not run."""
    parked: tuple[Schedule, ...]
    late: tuple[Late, ...]
    """The latest first; of both kinds so many at most."""
    unable: tuple[Unable, ...]
    """The schedules that no live node could run, or that wait for others which there are not."""
    failed: tuple[Failures, ...]
    """Of the last day, one for each schedule or task; who failed last comes first."""
    waiting: int
    running: int
    """Both counted up to MOST_COUNTED."""

    @property
    def alive(self) -> tuple[Node, ...]:
        """The nodes whose lease is not over."""
        return alive_of(self.nodes, self.now_ms)

    @property
    def problems(self) -> tuple[str, ...]:
        """What makes it unhealthy, one sentence each."""
        found: list[str] = []
        if self.schedules and not self.alive:
            found.append("no node is alive: start one with onthedot run")
        if self.alive and all(node.state is NodeState.DRAINING for node in self.alive):
            found.append("every node is draining and takes no more runs: start another with onthedot run")
        else:
            found += [str(each) for each in self.unable if self.alive]
        if self.parked:
            found.append(f"{counted(len(self.parked), 'schedule')} parked: what cannot be planned does not run")
        if self.overdue:
            found.append(f"{len(self.overdue):,} overdue by more than a minute")
        return tuple(found)

    @property
    def overdue(self) -> tuple[Late, ...]:
        """What is so late that somebody should look."""
        return tuple(each for each in self.late if each.late_ms > OVERDUE_MS)

    @property
    def healthy(self) -> bool:
        """Whether nobody needs to look."""
        return not self.problems


def read_status(store: Store) -> Status:
    """Costs the same however many schedules there are: they are counted, and only those that need somebody are read."""
    now_ms = store.now_ms()
    nodes = tuple(store.nodes())
    alive = alive_of(nodes, now_ms)
    counts, live = store.count_schedules(MOST_COUNTED), store.count_runs(MOST_COUNTED)
    undeclared = store.schedules(state="undeclared", limit=MOST_UNDECLARED) if counts.undeclared else []
    needs = [each for each in map(_less(undeclared), store.demands()) if each.count > 0]
    return Status(
        now_ms=now_ms,
        nodes=nodes,
        schedules=counts.total,
        paused=counts.paused,
        pauses=tuple(_paused(store, now_ms)),
        died=tuple(_deaths(store, now_ms)),
        undeclared=tuple(each.name for each in undeclared),
        parked=tuple(store.schedules(state="parked", limit=MOST_LATE)),
        late=tuple(sorted(_late(store, alive, now_ms), key=lambda each: each.due_ms)),
        unable=(*_unable(needs, alive), *_dependent(store, needs)),
        failed=read_failures(store, now_ms),
        waiting=live.waiting,
        running=live.running,
    )


def _less(undeclared: Sequence[Schedule]) -> Callable[[Demand], Demand]:
    """What is needed without those that do not run."""
    active = [each for each in undeclared if each.state == "active"]
    left_out = Counter((each.task, each.policy.group, each.policy.depends_on) for each in active)
    names = {each.name for each in active}

    def less(need: Demand) -> Demand:
        count = need.count - left_out[need.task, need.group, need.depends_on]
        return replace(need, count=count, names=tuple(name for name in need.names if name not in names))

    return less


def _late(store: Store, alive: Sequence[Node], now_ms: int) -> Iterator[Late]:
    waiting = store.runs(state=State.WAITING, limit=MOST_LATE)
    running = store.runs(state=State.RUNNING, limit=MOST_LATE) if waiting else []
    yield from _late_schedules(store.overdue(now_ms - LATE_MS, MOST_LATE), alive, now_ms)
    yield from _late_runs(waiting, running, alive, now_ms)


def alive_of(nodes: Sequence[Node], now_ms: int) -> tuple[Node, ...]:
    """Those whose lease is not over."""
    return tuple(node for node in nodes if node.lives and not node.expired(now_ms))


def _paused(store: Store, now_ms: int) -> Iterator[Paused]:
    for each in store.schedules(state="paused", limit=_MOST_PAUSES):
        yield Paused(each.name, read_history(store, each.name).pause_at(now_ms, now_ms))


def _deaths(store: Store, now_ms: int) -> Iterator[Deaths]:
    heard: dict[str, list[int]] = {}
    for node in store.gone_nodes():
        if node.state is NodeState.DEAD and node.renewed_ms > now_ms - LATELY_MS:
            heard.setdefault(node.name, []).append(node.renewed_ms)
    for name, moments in heard.items():
        yield Deaths(name, len(moments), max(moments))


def _unable(needs: Sequence[Demand], alive: Sequence[Node]) -> Iterator[Unable]:
    """Those that will fire and that no live node could run, together where the reason is the same."""
    found: dict[str, list[Demand]] = {}
    for need in needs:
        reason = routing.why_nobody(alive, need.task, need.group)
        if reason is not None:
            found.setdefault(reason, []).append(need)
    for reason, those in found.items():
        yield _together(those, reason, _START_ONE)


def _dependent(store: Store, needs: Sequence[Demand]) -> Iterator[Unable]:
    """Those that will fire and wait for the success of a schedule which there is not."""
    named = {other for need in needs for other in need.depends_on}
    known = {each.name for each in store.schedules(names=sorted(named), limit=len(named))} if named else set()
    for other in sorted(named - known):
        those = [need for need in needs if other in need.depends_on]
        yield _together(those, f"there is no schedule {other}, whose success is waited for", _PUT_IT)


def _together(needs: Sequence[Demand], reason: str, remedy: str) -> Unable:
    names = sorted(name for need in needs for name in need.names)
    return Unable(tuple(names), sum(need.count for need in needs), reason, remedy)


def _late_schedules(overdue: Sequence[Schedule], alive: Sequence[Node], now_ms: int) -> Iterator[Late]:
    planned = any("plan" in node.roles for node in alive)
    reason = "not planned yet" if planned else f"no node {'that plans ' if alive else ''}is alive"
    for each in overdue:
        if each.next_run_ms is not None:
            yield Late(each.name, each.next_run_ms, now_ms - each.next_run_ms, reason=reason)


def _late_runs(waiting: Sequence[Run], running: Sequence[Run], alive: Sequence[Node], now_ms: int) -> Iterator[Late]:
    names, reasons = labels_of(alive), dict[tuple[str, str | None, str | None, bool], str]()
    for run in waiting:
        if run.blocked or now_ms - run.due_ms <= LATE_MS:
            continue
        kind = run.task, run.policy.group, run.policy.pool, run.crashes > 0
        if kind not in reasons:  # the same for all of a kind, of which there may be thousands
            reasons[kind] = _why_waiting(run, running, alive, names)
        reason = "its row cannot be read" if isinstance(run, UnreadableRun) else reasons[kind]
        yield Late(run.schedule or run.task, run.due_ms, now_ms - run.due_ms, run.id, reason)


def _why_waiting(run: Run, running: Sequence[Run], alive: Sequence[Node], names: Mapping[str, str]) -> str:
    nobody = routing.why_nobody(alive, run.task, run.policy.group)
    if nobody is not None:
        return nobody
    able = routing.eligible(alive, run.task, run.policy.group)
    return why_not_taken(run, able, running, names.__getitem__) or "not started yet"
