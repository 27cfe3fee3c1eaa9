"""Runs that people ask for, newest first, and what became of ticks: found by indexes, judged by their rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from onthedot.model.decision import Decision
from onthedot.model.mark import Mark, mark_of
from onthedot.model.run import Run
from onthedot.model.states import FINAL, LIVE, State
from onthedot.stores.answers import Ticks
from onthedot.stores.counts import Load, RunCounts
from onthedot.stores.redis import mapping
from onthedot.stores.redis.server import AT_ONCE, Server, counted
from onthedot.stores.redis.tables import STAMP
from onthedot.stores.run_filter import RunFilter

_LIVE, _FINAL = (sorted(state.value for state in states) for states in (LIVE, FINAL))


def _in_range(wanted: RunFilter, ids: Iterable[str], floor: str = "") -> list[str]:
    """Those of these ids that count, newest first."""
    first, end = max(wanted.first, floor), wanted.end
    return sorted({each for each in ids if first <= each and (end is None or each < end)}, reverse=True)


def _states(wanted: RunFilter, among: Sequence[str]) -> list[str]:
    """Those of these states that count."""
    return [each for each in among if wanted.state in (None, each)]


def _live_indexes(wanted: RunFilter) -> list[str]:
    """Those in which the live ones stand, beside that of their state."""
    return ["late"] if wanted.late else []


def _ended_indexes(wanted: RunFilter) -> list[str]:
    """Those in which the ended ones stand, beside those of their state and their schedule."""
    of_task = [] if wanted.task is None else [f"task_runs:{wanted.task}"]
    of_node = [] if wanted.node is None else [f"node_runs:{wanted.node}"]
    return [*_live_indexes(wanted), *of_task, *of_node]


def runs(server: Server, wanted: RunFilter) -> list[Run]:
    """Live and ended ones, newest first by id."""
    found: list[Run] = []
    for ids in _ids(server, wanted) if wanted.limit > 0 and wanted.end != "" else ():
        for start in range(0, len(ids), min(wanted.limit, AT_ONCE)):
            page = ids[start : start + min(wanted.limit, AT_ONCE)]
            found += [run for run in _read(server, page) if run in wanted]
            if len(found) >= wanted.limit:
                return found[: wanted.limit]
    return found


def _ids(server: Server, wanted: RunFilter) -> Iterator[list[str]]:
    """Newest first, part by part: down to where every index was looked at."""
    if wanted.ids is not None:
        yield _in_range(wanted, wanted.ids)
        return
    if wanted.parent is not None:  # of which there are about as many as nodes
        yield _in_range(wanted, server.ask("ZRANGE", f"parent:{wanted.parent}", 0, -1))
        return
    indexes = counted(
        *(_states(wanted, _LIVE), _live_indexes(wanted)),
        *(_states(wanted, _FINAL), _ended_indexes(wanted)),
    )
    named = (wanted.limit, wanted.schedule or "", wanted.node or "")
    while True:
        floors, ids = server.read_script("run_ids", wanted.first, wanted.end or "", *named, *indexes)
        floor = max(floors, default="")
        yield _in_range(wanted, ids, floor)
        if not floor:
            return
        wanted = replace(wanted, before=floor)


def count_runs(server: Server, most: int) -> RunCounts:
    """How many wait and run: without steps, and steps alone."""
    waiting, running, waiting_steps, running_steps = server.read_script("run_counts")
    counts = (waiting - waiting_steps, running - running_steps, waiting_steps, running_steps)
    return RunCounts(*(min(each, most) for each in counts))


def load(server: Server) -> list[Load]:
    """What nodes run, by node, task and pool."""
    found: Counter[tuple[str, str, str | None]] = Counter()
    wanted = RunFilter(state=State.RUNNING, limit=AT_ONCE)
    while page := runs(server, wanted):
        found.update((run.owner, run.task, run.policy.pool) for run in page if run.owner is not None)
        wanted = replace(wanted, before=page[-1].id)
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
