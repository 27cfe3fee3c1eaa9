"""The lists that people ask for, filtered and paged: none of them is part of a transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from onthedot.model.decision import Decision
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.stores.base import Change, TaskInfo
from onthedot.stores.redis import mapping
from onthedot.stores.redis.places import run_hint, schedule_hint
from onthedot.stores.redis.server import Server
from onthedot.stores.redis.tables import STAMP

_PAGE = 1000


def schedules(server: Server, names: Sequence[str] | None, tag: str | None, after: str, limit: int) -> list[Schedule]:
    """By name, ascending, tombstones left out."""
    if names is None:
        index = "listed" if tag is None else f"tag:{tag}"
        found = server.read_script("by_name", index, f"({after}" if after else "-", limit)
        return [mapping.schedule_from(each, text[STAMP:]) for each, text in zip(*found, strict=True) if text]
    ids = [each for each in _hash(server, "names", sorted(set(names))) if each is not None]
    texts = _hash(server, "schedules", ids)
    rows = [mapping.schedule_from(each, text[STAMP:]) for each, text in zip(ids, texts, strict=True) if text]
    wanted = (row for row in rows if not row.deleted and row.name > after and (tag is None or tag in row.tags))
    return sorted(wanted, key=lambda row: row.name)[:limit]


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
        ids = set(server.read_script("run_ids", wanted.schedule or "", below, wanted.limit, *states))
    else:
        ids = set(wanted.ids)
    if wanted.before is not None:
        ids = {each for each in ids if each < wanted.before}
    newest = sorted(ids, reverse=True)
    found: list[Run] = []
    for start in range(0, len(newest), _PAGE):
        page = (mapping.run_from(text[STAMP:]) for text in _hash(server, "runs", newest[start : start + _PAGE]) if text)
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
        for decision in map(mapping.decision_from, reversed(texts)):
            if decision.first_ms <= last_ms and decision.last_ms >= first_ms:
                found.setdefault(decision.id, decision)
        end = start
    return list(found.values())[:limit]


def changes(server: Server, name: str | None, limit: int) -> list[Change]:
    """The audit, newest first."""
    if limit <= 0:
        return []
    ids = server.ask("LRANGE", "changes" if name is None else f"changes:{name}", -limit, -1)
    return [mapping.change_from(text) for text in _hash(server, "change", ids[::-1]) if text]


def nodes(server: Server) -> list[Node]:
    """Those that are neither dead nor stopped, by start."""
    _, texts = server.read_script("members", "nodes", "living", "+inf", -1)
    return [mapping.node_from(text[STAMP:]) for text in texts if text]


def tasks(server: Server) -> list[TaskInfo]:
    """What live nodes have published, by name; of two the one that started last."""
    ids, _ = server.read_script("members", "nodes", "living", "+inf", -1)
    published = {task.name: task for text in _hash(server, "tasks", ids) if text for task in mapping.tasks_from(text)}
    return [published[name] for name in sorted(published)]


def upcoming(server: Server, until_ms: int, limit: int) -> list[tuple[str, int, int]]:
    """Hints for the ring."""
    schedules, runs = server.read_script("upcoming", until_ms, limit)
    hints = [(*schedule_hint(member), int(moment)) for member, moment in _pairs(schedules)]
    hints += [(*run_hint(member), int(moment)) for member, moment in _pairs(runs)]
    in_turn = sorted(hints, key=lambda hint: (hint[2], hint[0]))[:limit]
    return [(each, moment, priority) for each, priority, moment in in_turn]


def _pairs(values: Sequence[str]) -> Iterable[tuple[str, str]]:
    return zip(values[::2], values[1::2], strict=True)


def _hash(server: Server, table: str, ids: Sequence[str]) -> list[str | None]:
    """What stands in the hash under these ids, in their order."""
    return list(server.ask("HMGET", table, *ids)) if ids else []
