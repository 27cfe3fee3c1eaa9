"""Runs that people ask for, newest first, and what became of ticks: found by indexes, judged by their rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from onthedot.model.decision import Decision
from onthedot.model.mark import Mark, mark_of
from onthedot.model.run import Run
from onthedot.model.states import FINAL, LIVE, State
from onthedot.model.values import replace
from onthedot.stores.answers import Ticks
from onthedot.stores.asking import is_late
from onthedot.stores.counts import Load, RunCounts
from onthedot.stores.redis import mapping
from onthedot.stores.redis.server import AT_ONCE, Server, counted
from onthedot.stores.redis.tables import STAMP

_LIVE, _FINAL = (sorted(state.value for state in states) for states in (LIVE, FINAL))


@dataclass(frozen=True)
class Wanted:
    """Which runs: all that is given must hold."""

    ids: Sequence[str] | None = None
    schedule: str | None = None
    task: str | None = None
    node: str | None = None
    parent: str | None = None
    state: State | None = None
    late: bool = False
    first: str = ""
    """The least id."""
    below: str | None = None
    """All ids are less."""
    limit: int = 100
    step: str | None = None
    """Of this step of a flow."""
    steps: bool = True
    """Without: no step of a flow."""

    def __contains__(self, run: Run) -> bool:
        return (
            self.schedule in (None, run.schedule)
            and self.task in (None, run.task)
            and self.node in (None, run.owner)
            and self.parent in (None, run.parent_id)
            and self.step in (None, run.step)
            and (self.steps or run.step is None)
            and self.state in (None, run.state)
            and (not self.late or is_late(run))
        )

    def in_range(self, ids: Iterable[str], floor: str = "") -> list[str]:
        """Those of these ids that count, newest first."""
        first, below = max(self.first, floor), self.below
        return sorted({each for each in ids if first <= each and (below is None or each < below)}, reverse=True)

    def states(self, among: Sequence[str]) -> list[str]:
        """Those of these states that count."""
        return [each for each in among if self.state in (None, each)]

    @property
    def live_indexes(self) -> list[str]:
        """Those in which the live ones stand, beside that of their state."""
        return ["late"] if self.late else []

    @property
    def ended_indexes(self) -> list[str]:
        """Those in which the ended ones stand, beside those of their state and their schedule."""
        of_task = [] if self.task is None else [f"task_runs:{self.task}"]
        of_node = [] if self.node is None else [f"node_runs:{self.node}"]
        return [*self.live_indexes, *of_task, *of_node]


def runs(server: Server, wanted: Wanted) -> list[Run]:
    """Live and ended ones, newest first by id."""
    found: list[Run] = []
    for ids in _ids(server, wanted) if wanted.limit > 0 and wanted.below != "" else ():
        for start in range(0, len(ids), min(wanted.limit, AT_ONCE)):
            page = ids[start : start + min(wanted.limit, AT_ONCE)]
            found += [run for run in _read(server, page) if run in wanted]
            if len(found) >= wanted.limit:
                return found[: wanted.limit]
    return found


def _ids(server: Server, wanted: Wanted) -> Iterator[list[str]]:
    """Newest first, part by part: down to where every index was looked at."""
    if wanted.ids is not None:
        yield wanted.in_range(wanted.ids)
        return
    if wanted.parent is not None:  # of which there are about as many as nodes
        yield wanted.in_range(server.ask("ZRANGE", f"parent:{wanted.parent}", 0, -1))
        return
    indexes = counted(
        *(wanted.states(_LIVE), wanted.live_indexes),
        *(wanted.states(_FINAL), wanted.ended_indexes),
    )
    named = (wanted.limit, wanted.schedule or "", wanted.node or "")
    while True:
        floors, ids = server.read_script("run_ids", wanted.first, wanted.below or "", *named, *indexes)
        floor = max(floors, default="")
        yield wanted.in_range(ids, floor)
        if not floor:
            return
        wanted = replace(wanted, below=floor)


def count_runs(server: Server, most: int) -> RunCounts:
    """How many wait and run: without steps, and steps alone."""
    waiting, running, waiting_steps, running_steps = server.read_script("run_counts")
    counts = (waiting - waiting_steps, running - running_steps, waiting_steps, running_steps)
    return RunCounts(*(min(each, most) for each in counts))


def load(server: Server) -> list[Load]:
    """What nodes run, by node, task and pool."""
    found: Counter[tuple[str, str, str | None]] = Counter()
    wanted = Wanted(state=State.RUNNING, limit=AT_ONCE)
    while page := runs(server, wanted):
        found.update((run.owner, run.task, run.policy.pool) for run in page if run.owner is not None)
        wanted = replace(wanted, below=page[-1].id)
    return [Load(*of, count) for of, count in found.items()]


# ticks


@dataclass(frozen=True, slots=True)
class Span:
    """The moments that are asked about, and how much of each schedule."""

    first_ms: int
    last_ms: int
    each: int

    def __contains__(self, run: Run) -> bool:
        return self.first_ms <= run.scheduled_ms <= self.last_ms


def ticks(server: Server, schedule_ids: Sequence[str], span: Span) -> Ticks:
    """Of each schedule the newest runs and decisions."""
    if span.each <= 0:
        return Ticks()
    marks: list[Mark] = []
    found: list[Decision] = []
    of_each = list(dict.fromkeys(schedule_ids))
    at_once = max(AT_ONCE // span.each, 1)
    for start in range(0, len(of_each), at_once):
        part = of_each[start : start + at_once]
        told = server.read_script("ticks", span.first_ms, span.last_ms, span.each, *part)
        run_ids = {of: [*ended, *_all_live(server, of, live)] for of, (ended, live, _) in zip(part, told, strict=True)}
        marks += _marks(server, run_ids, span)
        for of, (_, _, texts) in zip(part, told, strict=True):
            found += _touching(server, of, texts, span)
    return Ticks(tuple(marks), tuple(found))


def _all_live(server: Server, schedule_id: str, first: list[str]) -> list[str]:
    """A crowd is not told at once."""
    found = page = first
    while len(page) == AT_ONCE:
        page = server.ask("ZRANGE", f"live:{schedule_id}", len(found), len(found) + AT_ONCE - 1)
        found = found + page
    return found


def _marks(server: Server, run_ids: dict[str, list[str]], span: Span) -> list[Mark]:
    rows = {run.id: run for run in _read(server, sorted(set(chain.from_iterable(run_ids.values()))))}
    marks: list[Mark] = []
    for ids in run_ids.values():
        within = [rows[each] for each in dict.fromkeys(ids) if each in rows and rows[each] in span]
        newest = sorted(within, key=lambda run: (run.scheduled_ms, run.id), reverse=True)
        marks += map(mark_of, newest[: span.each])
    return marks


def _touching(server: Server, schedule_id: str, texts: Sequence[str], span: Span) -> list[Decision]:
    """The newest that touch the span: among these, the newest of all, or else further back."""
    newest = _decisions(schedule_id, texts, span.first_ms, span.last_ms)
    if len(newest) >= span.each or len(texts) < span.each:
        return newest
    return decisions(server, schedule_id, span.first_ms, span.last_ms, span.each)


def decisions(server: Server, schedule_id: str, first_ms: int, last_ms: int, limit: int) -> list[Decision]:
    """Those that touch the range, newest first."""
    name = f"decisions:{schedule_id}"
    found: dict[str, Decision] = {}
    end = server.ask("LLEN", name)
    while end > 0 and len(found) < limit:
        start = max(end - AT_ONCE, 0)
        page = _decisions(schedule_id, server.ask("LRANGE", name, start, end - 1), first_ms, last_ms)
        for each in page:
            found.setdefault(each.id, each)
        end = start
    return list(found.values())[:limit]


def _decisions(schedule_id: str, texts: Sequence[str], first_ms: int, last_ms: int) -> list[Decision]:
    """Newest first; what was written last counts."""
    found: dict[str, Decision] = {}
    for decision in (mapping.decision_from(schedule_id, text) for text in reversed(texts)):
        if decision.first_ms <= last_ms and decision.last_ms >= first_ms:
            found.setdefault(decision.id, decision)
    return list(found.values())


# rows


def _read(server: Server, ids: Sequence[str]) -> list[Run]:
    texts = zip(ids, server.rows("runs", ids), strict=True)
    return [mapping.run_from(each, text[STAMP:]) for each, text in texts if text]
