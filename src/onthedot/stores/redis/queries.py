"""The lists that people ask for, filtered and paged: none of them is part of a transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from onthedot.model.decision import Decision
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import Mode, Schedule
from onthedot.model.states import State
from onthedot.stores.base import Change, TaskInfo
from onthedot.stores.redis import mapping
from onthedot.stores.redis.remembered import Remembered
from onthedot.stores.redis.server import Server
from onthedot.stores.redis.tables import STAMP

_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Asked:
    """Which schedules: all that is given must hold."""

    names: Sequence[str] | None
    tag: str | None
    mode: Mode | None
    after: str
    limit: int

    @property
    def index(self) -> str:
        """Where their names stand in order, perhaps with others."""
        if self.tag is not None:
            return f"tag:{self.tag}"
        return "local" if self.mode == "local" else "listed"

    def __contains__(self, row: Schedule) -> bool:
        return (
            not row.deleted
            and row.name > self.after
            and (self.tag is None or self.tag in row.tags)
            and (self.mode is None or self.mode == row.mode)
        )


def schedules(server: Server, asked: Asked) -> list[Schedule]:
    """By name, ascending, tombstones left out."""
    if asked.names is not None:
        ids = [each for each in _hash(server, "names", sorted(set(asked.names))) if each is not None]
        rows = (row for row in _schedules(ids, _hash(server, "schedules", ids)) if row in asked)
        return sorted(rows, key=lambda row: row.name)[: asked.limit]
    found: list[Schedule] = []
    last = asked.after
    while len(found) < asked.limit:
        ids, texts = server.read_script("by_name", asked.index, f"({last}" if last else "-", asked.limit)
        page = _schedules(ids, texts)
        found += [row for row in page if row in asked]
        if len(ids) < asked.limit or not page:
            break
        last = page[-1].name
    return found[: asked.limit]


def _schedules(ids: Sequence[str], texts: Sequence[str | None]) -> list[Schedule]:
    return [mapping.schedule_from(each, text[STAMP:]) for each, text in zip(ids, texts, strict=True) if text]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which runs: all that is given must hold."""

    ids: Sequence[str] | None
    schedule: str | None
    state: State | None
    before: str | None
    limit: int

    def __contains__(self, run: Run) -> bool:
        return (
            (self.schedule is None or run.schedule == self.schedule)
            and (self.state is None or run.state is self.state)
            and (self.before is None or run.id < self.before)
        )


def runs(server: Server, wanted: Wanted) -> list[Run]:
    """Live and ended ones, newest first by id."""
    if wanted.ids is None:
        below = "+" if wanted.before is None else f"({wanted.before}"
        states = [state.value for state in State] if wanted.state is None else [wanted.state.value]
        chosen = set(server.read_script("run_ids", wanted.schedule or "", below, wanted.limit, *states))
    else:
        chosen = set(wanted.ids)
    newest = sorted((each for each in chosen if wanted.before is None or each < wanted.before), reverse=True)
    found: list[Run] = []
    for start in range(0, len(newest), _PAGE):
        ids = newest[start : start + _PAGE]
        texts = zip(ids, _hash(server, "runs", ids), strict=True)
        page = (mapping.run_from(each, text[STAMP:]) for each, text in texts if text)
        found += [run for run in page if run in wanted]
        if len(found) >= wanted.limit:
            break
    return found[: wanted.limit]


def decisions(server: Server, schedule_id: str, first_ms: int, last_ms: int, limit: int) -> list[Decision]:
    """Those that touch the range, newest first."""
    name = f"decisions:{schedule_id}"
    found: dict[str, Decision] = {}
    end = server.ask("LLEN", name)
    while end > 0 and len(found) < limit:
        start = max(end - _PAGE, 0)
        texts = server.ask("LRANGE", name, start, end - 1)
        for decision in (mapping.decision_from(schedule_id, text) for text in reversed(texts)):
            if decision.first_ms <= last_ms and decision.last_ms >= first_ms:
                found.setdefault(decision.id, decision)
        end = start
    return list(found.values())[:limit]


def changes(server: Server, name: str | None, limit: int) -> list[Change]:
    """The audit, newest first."""
    if limit <= 0:
        return []
    ids = server.ask("LRANGE", "changes" if name is None else f"changes:{name}", -limit, -1)
    newest = ids[::-1]
    texts = zip(newest, _hash(server, "change", newest), strict=True)
    return [mapping.change_from(each, text) for each, text in texts if text]


def nodes(server: Server) -> list[Node]:
    """Those that are neither dead nor stopped, by start."""
    _, ids, texts = server.read_script("living")
    return [mapping.node_from(each, text[STAMP:]) for each, text in zip(ids, texts, strict=True) if text]


def gone_nodes(server: Server, limit: int) -> list[Node]:
    """Those that have stopped or died; who was heard of last comes first."""
    ids = server.ask("ZREVRANGE", "gone", 0, limit - 1) if limit > 0 else []
    texts = zip(ids, _hash(server, "nodes", ids), strict=True)
    return [mapping.node_from(each, text[STAMP:]) for each, text in texts if text]


def tasks(server: Server) -> list[TaskInfo]:
    """What live nodes have published, by name; of two the one that started last."""
    _, ids, _ = server.read_script("living")
    published = {task.name: task for text in _hash(server, "tasks", ids) if text for task in mapping.tasks_from(text)}
    return [published[name] for name in sorted(published)]


def coming(
    server: Server, remembered: Remembered[Schedule], after_ms: int, until_ms: int, known: Mapping[str, int]
) -> list[Schedule]:
    """Those that a planner looks at soon, but for those that it knows by this version: of them only stamps are read."""

    def is_known(schedule_id: str, stamp: str | None) -> bool:
        row = remembered.get(schedule_id)
        return row is not None and row[0] == stamp and row[1].version == known.get(schedule_id)

    ids, stamps = server.read_script("coming", after_ms, until_ms)
    new = [each for each, stamp in zip(ids, stamps, strict=True) if not is_known(each, stamp)]
    found: list[Schedule] = []
    for start in range(0, len(new), _PAGE):
        part = new[start : start + _PAGE]
        for each, text in zip(part, _hash(server, "schedules", part), strict=True):
            if text:
                found.append(mapping.schedule_from(each, text[STAMP:]))
                remembered.put(each, text[:STAMP], found[-1])
    remembered.trim()
    return [row for row in found if row.plannable and known.get(row.id) != row.version]


def upcoming(server: Server, after_ms: int, until_ms: int) -> list[int]:
    """Hints for the ring."""
    moments = {int(moment) for moment in server.read_script("upcoming", after_ms, until_ms)}
    overdue = {moment for moment in moments if moment <= after_ms}
    return sorted(moments - overdue | ({min(overdue)} if overdue else set()))


def _hash(server: Server, table: str, ids: Sequence[str]) -> list[str | None]:
    """What stands in the hash under these ids, in their order."""
    return list(server.ask("HMGET", table, *ids)) if ids else []
