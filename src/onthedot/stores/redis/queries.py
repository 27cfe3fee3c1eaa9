"""What else is asked for outside a transaction: the audit, nodes, what comes next, what was counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onthedot.model.change import Change
from onthedot.model.minute import Minute
from onthedot.model.node import Node
from onthedot.model.schedule import Schedule
from onthedot.model.task_info import TaskInfo
from onthedot.model.value import Value, ValueState
from onthedot.stores.redis import mapping
from onthedot.stores.redis.remembered import Remembered
from onthedot.stores.redis.server import AT_ONCE, Server
from onthedot.stores.redis.tables import STAMP
from onthedot.triggers.pinned import Use

_PAGE = 1000


def changes(server: Server, name: str | None, before: str | None, limit: int) -> list[Change]:
    """The audit, newest first."""
    if limit <= 0 or before == "":  # which is no line
        return []
    of = "changes" if name is None else f"changes:{name}"
    ids, texts = server.read_script("changes", of, before or "", limit)
    newest = reversed(list(zip(ids, texts, strict=True)))
    return [mapping.change_from(each, text) for each, text in newest if text]


def nodes(server: Server) -> list[Node]:
    """Those that are neither dead nor stopped, by start."""
    _, ids, texts = server.read_script("living")
    return [mapping.node_from(each, text[STAMP:]) for each, text in zip(ids, texts, strict=True) if text]


def gone_nodes(server: Server, limit: int) -> list[Node]:
    """Those that have stopped or died; who was heard of last comes first."""
    ids = server.ask("ZREVRANGE", "gone", 0, limit - 1) if limit > 0 else []
    texts = zip(ids, server.rows("nodes", ids), strict=True)
    return [mapping.node_from(each, text[STAMP:]) for each, text in texts if text]


def tasks(server: Server) -> list[TaskInfo]:
    """What live nodes have published, by name; of two the one that started last."""
    _, ids, _ = server.read_script("living")
    published = {task.name: task for text in server.rows("tasks", ids) if text for task in mapping.tasks_from(text)}
    return [published[name] for name in sorted(published)]


def values(server: Server, use: Use | None, *, new: bool) -> list[Value]:
    """The last revision of each that is there, by kind and name."""
    if new:
        ids = server.ask("SMEMBERS", "values_new")
    elif use is not None:
        ids = [server.ask("HGET", "value_heads", str(use))]
    else:
        ids = server.ask("HVALS", "value_heads")
    found = [each for each in values_of(server, [each for each in ids if each]) if each.is_there]
    return sorted((each for each in found if use in (None, each.use)), key=lambda each: each.use)


def values_of(server: Server, ids: Sequence[str]) -> list[Value]:
    """These revisions, with how each of them stands."""
    if not ids:
        return []
    wanted = list(zip(ids, server.ask("HMGET", "values", *ids), strict=True))
    new, gone = (set(server.ask("SMEMBERS", index)) for index in ("values_new", "values_gone"))
    heads = set(server.ask("HVALS", "value_heads"))

    def state(value_id: str) -> ValueState:
        if value_id in gone:
            return ValueState.GONE
        if value_id not in heads:
            return ValueState.OLD
        return ValueState.NEW if value_id in new else ValueState.LATEST

    return [mapping.value_of(text, state(each)) for each, text in wanted if text]


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
        for each, text in zip(part, server.rows("schedules", part), strict=True):
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


def tally(server: Server, oldest_ms: int, minutes: Sequence[Minute]) -> None:
    """Keep what nodes counted; forget what is older than that, part by part."""
    values = [value for each in minutes for value in (each.minute_ms, each.node_id, mapping.minute_text(each))]
    while server.read_script("tally", oldest_ms, *values) == AT_ONCE:
        values = []


def minutes(server: Server, first_ms: int, last_ms: int) -> list[Minute]:
    """What was counted in the minutes that begin in that range, by minute and node."""
    found: list[Minute] = []
    page: list[str] = []
    looked_at = 0
    while looked_at == 0 or len(page) == AT_ONCE:
        page, texts = server.read_script("minutes", first_ms, last_ms, looked_at)
        found += [mapping.minute_from(each, text) for each, text in zip(page, texts, strict=True) if text]
        looked_at += max(len(page), 1)
    return found
