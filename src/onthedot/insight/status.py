"""Is it healthy? What is late, what failed lately, who is alive; answered from the store alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from onthedot.insight.engines import silent_engines
from onthedot.insight.failures import LATELY_MS, MOST_COUNTED, Failures, read_failures
from onthedot.insight.lateness import LATE_MS, why_not_taken
from onthedot.insight.node_history import at, labels_of
from onthedot.insight.schedule_history import Pause, read_history
from onthedot.model.freeze import Freeze
from onthedot.model.node import Node, NodeState
from onthedot.model.run import Run, UnreadableRun
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.rules import routing
from onthedot.stores.base import Store
from onthedot.stores.counts import Demand
from onthedot.texts import many

OVERDUE_MS = 60_000
"""What is later than this makes a store unhealthy: a node that lives looks once a second."""

_START_ONE = "start a node that can: `onthedot run` with the app that has the task, in the group if it has one"
_PUT_IT = "put that schedule, or change depends_on"
MOST_LISTED = 100
"""Of a kind so many are listed; of all of them it is said how many they are."""
_MOST_WAITING = 1000
_MOST_UNDECLARED = 1000
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
    """The schedules that nobody declares any more, by name: they do not run. As all lists of what needs somebody it
    names `MOST_LISTED` at most."""
    undeclared_count: int
    parked: tuple[Schedule, ...]
    parked_count: int
    late: tuple[Late, ...]
    """What has been due for longest comes first."""
    late_count: int
    overdue_count: int
    """How many of them are so late that somebody should look. These three are counted up to MOST_COUNTED."""
    unable: tuple[Unable, ...]
    """The schedules that no node could run, while one is alive, or that wait for others which there are not."""
    failed: tuple[Failures, ...]
    """Of the last day, one for each schedule or task; who failed last comes first."""
    failed_count: int
    """How many schedules and tasks failed."""
    waiting: int
    running: int
    """Without the steps of flows, which are counted below; each up to MOST_COUNTED."""
    freezes: tuple[Freeze, ...] = ()
    """Those that last."""
    waiting_steps: int = 0
    running_steps: int = 0
    frozen: int = 0
    """So many schedules are frozen now, counted as those that are paused."""

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
        found += silent_engines(self.alive)
        if self.parked:
            who = "1 schedule" if self.parked_count == 1 else f"{many(self.parked_count)} schedules"
            found.append(f"{who} parked: what cannot be planned does not run")
        if self.overdue_count:
            found.append(f"{many(self.overdue_count)} overdue by more than a minute")
        return tuple(found)

    @property
    def overdue(self) -> tuple[Late, ...]:
        """What of the listed is so late that somebody should look."""
        return tuple(each for each in self.late if each.late_ms > OVERDUE_MS)

    @property
    def healthy(self) -> bool:
        """Whether nobody needs to look."""
        return not self.problems


def read_status(store: Store) -> Status:
    """Costs nearly the same however many schedules there are: they are counted, and of those that need somebody only
    some are read. What they need of nodes is asked of all."""
    now_ms = store.now_ms()
    nodes = tuple(store.nodes())
    alive = alive_of(nodes, now_ms)
    counts, live = store.count_schedules(MOST_COUNTED), store.count_runs(MOST_COUNTED)
    undeclared = store.schedules(state="undeclared", limit=_MOST_UNDECLARED) if counts.undeclared else []
    late, failed = _read_late(store, alive, now_ms), read_failures(store, now_ms)
    return Status(
        now_ms=now_ms,
        nodes=nodes,
        schedules=counts.total,
        paused=counts.paused,
        pauses=tuple(_paused(store, now_ms)),
        died=tuple(_deaths(store, now_ms)),
        undeclared=tuple(each.name for each in undeclared[:MOST_LISTED]),
        undeclared_count=counts.undeclared,
        parked=tuple(store.schedules(state="parked", limit=MOST_LISTED)) if counts.parked else (),
        parked_count=counts.parked,
        late=late.listed,
        late_count=late.count,
        overdue_count=late.overdue,
        unable=_read_unable(store, alive, undeclared),
        failed=failed[:MOST_LISTED],
        failed_count=len(failed),
        waiting=live.waiting,
        running=live.running,
        freezes=tuple(each for each in store.freezes() if each.state(now_ms) == "active"),
        waiting_steps=live.waiting_steps,
        running_steps=live.running_steps,
        frozen=counts.frozen,
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


@dataclass(frozen=True, slots=True)
class _Lateness:
    listed: tuple[Late, ...]
    count: int
    overdue: int


def _read_late(store: Store, alive: Sequence[Node], now_ms: int) -> _Lateness:
    waiting = store.runs(state=State.WAITING, limit=_MOST_WAITING)
    running = store.runs(state=State.RUNNING, limit=_MOST_WAITING) if waiting else []
    runs = [*_late_runs(waiting, running, alive, now_ms)]
    found = store.overdue(now_ms - LATE_MS, MOST_LISTED)
    held = [each for each in found if _is_frozen(each, now_ms)]  # nobody waits for their ticks
    schedules = [*_late_schedules([each for each in found if each not in held], alive, now_ms)]

    def count(late_ms: int) -> int:
        frozen = sum(now_ms - (each.next_run_ms or now_ms) > late_ms for each in held)
        planned = store.count_overdue(now_ms - late_ms, MOST_COUNTED) - frozen if schedules else 0
        return min(planned + sum(each.late_ms > late_ms for each in runs), MOST_COUNTED)

    listed = sorted((*schedules, *runs), key=lambda each: each.due_ms)[:MOST_LISTED]
    return _Lateness(tuple(listed), count(LATE_MS), count(OVERDUE_MS))


def _is_frozen(schedule: Schedule, now_ms: int) -> bool:
    next_ms = schedule.next_run_ms
    return any(each.covers(now_ms) or (next_ms is not None and each.covers(next_ms)) for each in schedule.frozen)


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


def _read_unable(store: Store, alive: Sequence[Node], undeclared: Sequence[Schedule]) -> tuple[Unable, ...]:
    """There are few different needs: these are judged, and only who has one that is not met is counted and named."""
    needed = store.needed()
    named = {other for need in needed for other in need.depends_on}
    known = {each.name for each in store.schedules(names=sorted(named), limit=len(named))} if named else set()
    tasks = {need.task for need in needed if not known.issuperset(need.depends_on)}
    if alive:  # else that is what is wrong, and of all of them
        tasks |= {need.task for need in needed if routing.why_nobody(alive, need.task, need.group) is not None}
    counted_ones = store.demands(sorted(tasks)) if tasks else []
    needs = [each for each in map(_less(undeclared), counted_ones) if each.count > 0]
    return (*(_unable(needs, alive) if alive else ()), *_dependent(needs, known))


def _unable(needs: Sequence[Demand], alive: Sequence[Node]) -> Iterator[Unable]:
    """Those that will fire and that no live node could run, together where the reason is the same."""
    found: dict[str, list[Demand]] = {}
    for need in needs:
        reason = routing.why_nobody(alive, need.task, need.group)
        if reason is not None:
            found.setdefault(reason, []).append(need)
    for reason, those in found.items():
        yield _together(those, reason, _START_ONE)


def _dependent(needs: Sequence[Demand], known: Collection[str]) -> Iterator[Unable]:
    """Those that will fire and wait for the success of a schedule which there is not."""
    for other in sorted({other for need in needs for other in need.depends_on if other not in known}):
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
