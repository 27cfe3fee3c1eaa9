"""What needs somebody: a sentence each, with its evidence and the acts that help. Pure but for `read_needs`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from onthedot.insight.engines import silent_engines
from onthedot.insight.failures import MOST_COUNTED, Failures
from onthedot.insight.node_history import labels_of
from onthedot.insight.status import Deaths, Status, read_status
from onthedot.model.mark import Mark
from onthedot.model.node import NodeState
from onthedot.model.states import State
from onthedot.model.tracebacks import telling_line
from onthedot.stores.base import Store
from onthedot.texts import counted, many

Act = Literal["run", "retry", "pause", "edit", "explain", "nodes", "schedules", "runs"]
Sign = Literal["failed", "parked", "node", "late"]

IN_A_ROW = 3
"""So many failures one after the other need somebody; fewer, where the next try is far."""
LOOKED_BACK = 24
"""So many of a schedule's last runs are looked at."""
FAR_MS = 3_600_000
LATELY_MS = 3_600_000
"""So long somebody should look after a node that died."""
_EACH = 3
"""Of a kind so many are told one by one; the rest together."""
_MOST_LOOKED_AT = 50
_MINUTE_MS, _HOUR_MS, _DAY_MS = 60_000, 3_600_000, 86_400_000
_FAILED = frozenset({State.FAILED, State.TIMED_OUT, State.LOST})
_ENDED = _FAILED | {State.SUCCEEDED}


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that will not mend itself."""

    sign: Sign
    sentence: str
    evidence: str = ""
    at_ms: int | None = None
    """When it was seen last."""
    name: str | None = None
    """The schedule that it is about."""
    run_id: str | None = None
    acts: tuple[Act, ...] = ()


@dataclass(frozen=True, slots=True)
class Failing:
    """How a schedule that failed lately stands."""

    in_a_row: int
    next_ms: int | None = None


def in_a_row(marks: Sequence[Mark]) -> int:
    """How many of a schedule's last runs failed, one after the other; newest first. What was left out says nothing."""
    count = 0
    for mark in marks:
        if mark.state in _ENDED:
            if mark.state is State.SUCCEEDED:
                return count
            count += 1
    return count


def find_needs(status: Status, failing: Mapping[str, Failing]) -> list[Need]:
    """Everything, the gravest first."""
    return [
        *_nobody(status),
        *_unable(status),
        *_silent(status),
        *_parked(status),
        *_overdue(status),
        *_failing(status, failing),
        *_nodes(status),
    ]


def read_needs(store: Store) -> list[Need]:
    """As `status` sees the store, with what the schedules that failed lately did before."""
    status = read_status(store)
    names = [each.name for each in status.failed if each.last.schedule is not None][:_MOST_LOOKED_AT]
    schedules = store.schedules(names=names, limit=len(names)) if names else []
    ticks = store.ticks([each.id for each in schedules], each=LOOKED_BACK) if schedules else None
    marks: dict[str, list[Mark]] = {}
    for mark in () if ticks is None else ticks.marks:
        marks.setdefault(mark.schedule_id, []).append(mark)
    failing = {
        each.name: Failing(in_a_row(marks.get(each.id, [])), each.next_run_ms) for each in schedules if each.enabled
    }
    return find_needs(status, failing)


def _nobody(status: Status) -> Iterator[Need]:
    if status.schedules and not status.alive:
        evidence = "Start one with onthedot run."
        yield Need("node", "No node is alive: nothing will run", evidence, acts=("nodes",))
    elif status.alive and all(node.state is NodeState.DRAINING for node in status.alive):
        evidence = "They end what they have. Start another with onthedot run."
        yield Need("node", "Every node is draining and takes no more runs", evidence, acts=("nodes",))


def _unable(status: Status) -> Iterator[Need]:
    for unable in status.unable[:_EACH] if status.alive else ():
        first = unable.names[0] if unable.count == 1 and unable.names else None
        who = first or counted(unable.count, "schedule")
        others = "" if first else f"{_list(unable.names[:_EACH], unable.count)}."
        acts: tuple[Act, ...] = ("edit", "nodes") if first else ("nodes",)
        evidence = f"{others} {_sentence(unable.remedy)}".strip()
        yield Need("parked", f"{who} cannot run: {unable.reason}", evidence, name=first, acts=acts)


def _silent(status: Status) -> Iterator[Need]:
    for said in silent_engines(status.alive)[:_EACH]:
        yield Need("node", _sentence(said).rstrip("."), "Its runs wait, and go on when it answers.", acts=("nodes",))


def _parked(status: Status) -> Iterator[Need]:
    for schedule in status.parked[:_EACH]:
        sentence = f"{schedule.name} is parked: it cannot be planned"
        evidence = _sentence(schedule.error or "", "put it anew when that is mended")
        yield Need("parked", sentence, evidence, name=schedule.name, acts=("edit",))
    more = status.parked_count - _EACH
    if more > 0:
        names = [each.name for each in status.parked[_EACH : 2 * _EACH]]
        yield Need(
            "parked", f"{counted(more, 'more schedule')} cannot be planned", _list(names, more), acts=("schedules",)
        )


def _overdue(status: Status) -> Iterator[Need]:
    for late in status.overdue[:_EACH] if status.alive else ():
        sentence = f"{late.name} was due {_about(late.late_ms)} ago and has not begun"
        acts: tuple[Act, ...] = ("explain",) if late.run_id is None else ("run",)
        evidence = _sentence(late.reason)
        yield Need("late", sentence, evidence, at_ms=late.due_ms, name=late.name, run_id=late.run_id, acts=acts)
    more = status.overdue_count - _EACH
    if more > 0 and status.alive:
        names = [each.name for each in status.overdue[_EACH : 2 * _EACH]]
        told = many(more, MOST_COUNTED - _EACH)
        sentence = f"{told} more {'is' if more == 1 else 'are'} overdue by more than a minute"
        yield Need("late", sentence, _list(names, more), acts=("runs",))


def _failing(status: Status, failing: Mapping[str, Failing]) -> Iterator[Need]:
    found = [each for each in status.failed if each.name in failing and _is_grave(failing[each.name], status.now_ms)]
    for each in found[:_EACH]:
        yield _failure(each, failing[each.name])
    more = len(found) - _EACH
    if more > 0:
        names = [each.name for each in found[_EACH : 2 * _EACH]]
        yield Need("failed", f"{counted(more, 'more schedule')} failed last", _list(names, more), acts=("runs",))


def _is_grave(failing: Failing, now_ms: int) -> bool:
    """It failed again and again; or once, and tries again only much later, or never."""
    far = failing.next_ms is None or failing.next_ms - now_ms > FAR_MS
    return failing.in_a_row >= (1 if far else IN_A_ROW)


def _failure(failures: Failures, failing: Failing) -> Need:
    last, times = failures.last, failing.in_a_row
    how = {State.TIMED_OUT: "timed out", State.LOST: "was lost"}.get(last.state, "failed")
    sentence = f"{failures.name} {how}, and tries again much later" if failing.next_ms else f"{failures.name} {how}"
    if times > 1:
        least = "at least " if times >= LOOKED_BACK else ""
        sentence = f"{failures.name} has failed {least}{times:,} times in a row"
    why = last.reason or telling_line(last.error) or str(last.state)
    acts: tuple[Act, ...] = ("run", "retry", "pause") if times == 1 else ("run", "pause")
    return Need("failed", sentence, why, last.finished_ms, failures.name, last.id, acts)


def _nodes(status: Status) -> Iterator[Need]:
    """Those that are silent, and those whose death was noticed lately and that did not come back."""
    if not status.alive:
        return
    silent = [node for node in status.nodes if node.lives and node.expired(status.now_ms)]
    names = labels_of(status.nodes)
    for node in silent[:_EACH]:
        sentence = f"{names[node.id]} has not renewed its lease for {_about(status.now_ms - node.renewed_ms)}"
        evidence = "The others take its runs over. See why it stopped or froze."
        yield Need("node", sentence, evidence, node.renewed_ms, acts=("nodes",))
    back = {node.name for node in status.alive}
    for deaths in [each for each in status.died if each.name not in back and _is_recent(each, status)][:_EACH]:
        sentence = f"{deaths.name} has not been heard of for {_about(status.now_ms - deaths.last_ms)}"
        evidence = "Its lease ran out; what it ran is taken over by the others. See why it stopped or froze."
        yield Need("node", sentence, evidence, deaths.last_ms, acts=("nodes",))


def _is_recent(deaths: Deaths, status: Status) -> bool:
    return status.now_ms - deaths.last_ms < LATELY_MS


def _list(names: Sequence[str], count: int) -> str:
    more = count - len(names)
    return ", ".join(names) + (f" and {counted(more, 'other')}" if more > 0 else "")


def _sentence(*parts: str) -> str:
    """The parts as sentences."""
    return " ".join(f"{part[:1].upper()}{part[1:].rstrip('.')}." for part in parts if part)


def _about(ms: int) -> str:
    """In one unit: "40 s", "31 min", "5 h", "3 d"."""
    for unit_ms, unit, least in ((_DAY_MS, "d", 2), (_HOUR_MS, "h", 2), (_MINUTE_MS, "min", 2)):
        if ms >= least * unit_ms:
            return f"{ms // unit_ms} {unit}"
    return f"{max(ms // 1000, 1)} s"
