"""Schedules that people ask for, filtered and in order: found by indexes, page by page, and judged by their rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import islice

from onthedot.model.schedule import Facet, Mode, Order, Schedule
from onthedot.stores.asking import folded, has_part, page_of, since
from onthedot.stores.counts import Demand, ScheduleCounts
from onthedot.stores.mapping import is_frozen
from onthedot.stores.paging import NEVER_MS, place_from
from onthedot.stores.redis import mapping
from onthedot.stores.redis.indexes import name_in
from onthedot.stores.redis.server import AT_ONCE, Server, counted
from onthedot.stores.redis.tables import STAMP

_FEW = 500
"""So many are read whole and put in order here, rather than found one by one in an index of all."""
BY_CLOCK: tuple[Facet, ...] = ("undeclared", "leaving_out")
"""The clock decides who has these, by an index of moments. It decides who is frozen, too, but by the windows."""
_STANDING = ("standing:paused", "standing:parked", "standing:ended")

Place = tuple[int, str, str]
"""Where a schedule stands by its next moment: this, its name, its id."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Which schedules: all that is given must hold."""

    names: Sequence[str] | None
    tag: str | None
    task: str | None
    mode: Mode | None
    state: Facet | None
    search: str
    order: Order
    after: str
    limit: int
    now_ms: int = 0
    """By which the clock decides."""

    def __contains__(self, row: Schedule) -> bool:
        return (
            not row.deleted
            and (self.tag is None or self.tag in row.tags)
            and self.task in (None, row.task)
            and self.mode in (None, row.mode)
            and (self.state is None or row.has(self.state, self.now_ms))
            and (not self.search or has_part(row, self.search))
        )

    @property
    def within(self) -> list[str]:
        """The indexes of labels in which all of them stand, and of frozen ones some that are not now."""
        found = [] if self.tag is None else [f"tag:{self.tag}"]
        if self.task is not None:
            found.append(f"task:{self.task}")
        if self.mode == "local":
            found.append("local")
        if self.state in ("paused", "parked", "ended"):
            found.append(f"standing:{self.state}")
        if self.state == "frozen":
            found.append("frozen")
        return found

    @property
    def outside(self) -> list[str]:
        """Those in which none of them stands."""
        return [*(["local"] if self.mode == "durable" else []), *(_STANDING if self.state == "active" else [])]

    @property
    def by_moment(self) -> tuple[str, ...]:
        """The indexes by moment in which any of them may stand."""
        if self.state == "ended":
            return ()
        return ("aside",) if self.state in ("paused", "parked") or self.mode == "local" else ("due", "aside")


def schedules(server: Server, asked: Asked) -> list[Schedule]:
    """In order, tombstones left out."""
    if asked.limit <= 0:
        return []
    if asked.names is not None:
        ids = [each for each in server.rows("names", sorted(set(asked.names))) if each is not None]
        return page_of((row for row in _read(server, ids) if row in asked), asked.order, asked.after, asked.limit)
    if (few := _by_clock(server, asked)) is not None:
        return page_of((row for row in _read(server, few) if row in asked), asked.order, asked.after, asked.limit)
    if asked.order == "name":
        return list(islice(_by_name(server, asked, asked.after), asked.limit))
    if _are_few(server, asked):
        return page_of(_by_name(server, asked, ""), "next", asked.after, asked.limit)
    return list(islice(_by_next(server, asked), asked.limit))


def _by_clock(server: Server, asked: Asked) -> list[str] | None:
    """The ids of all that have the facet by now; None where these are many, or another is asked for."""
    if asked.state not in BY_CLOCK:
        return None
    ids: list[str] = server.ask("ZRANGEBYSCORE", *_range(asked.state, asked.now_ms), "LIMIT", 0, _FEW + 1)
    return None if len(ids) > _FEW else ids


def _range(facet: Facet, now_ms: int) -> tuple[str, str, str]:
    """The index by moment, and from where to where in it."""
    judged = since(now_ms)
    if facet == "undeclared":
        return "declared", "-inf", f"({judged.declared_before_ms}"
    return "left_out", str(judged.left_out_from_ms), "+inf"


def _are_few(server: Server, asked: Asked) -> bool:
    return bool(asked.within) and min(server.read_script("sizes", *asked.within)) <= _FEW


def _by_name(server: Server, asked: Asked, after: str, also: Sequence[str] = ()) -> Iterator[Schedule]:
    """From the smallest index of labels, judged by the others."""
    indexes = counted([*asked.within, *also] or ["listed"], asked.outside)
    last: str | None = after
    while last is not None:
        last, ids, texts = server.read_script("by_name", last, asked.limit, folded(asked.search), *indexes)
        yield from (row for row in _schedules(ids, texts) if row in asked)


def users(server: Server, use: str, after: str, limit: int) -> list[Schedule]:
    """Those that name this calendar or trigger, a page of them by name."""
    asked = Asked(None, None, None, None, None, "", "name", after, limit)
    found = _by_name(server, asked, after, [f"uses:{use}"])
    return list(islice((row for row in found if use in row.uses), limit)) if limit > 0 else []


# by next moment


def _by_next(server: Server, asked: Asked) -> Iterator[Schedule]:
    """Those that have a moment, then the others by name. One that moves on meanwhile stands further behind."""
    moment_ms, name = place_from(asked.after) if asked.after else (-1, "")
    if moment_ms < NEVER_MS:
        places = merge(*[_places(server, asked, index, (moment_ms, name)) for index in asked.by_moment])
        while part := list(islice(places, asked.limit)):
            rows = {row.id: row for row in _read(server, [place[2] for place in part])}
            for at_ms, _, schedule_id in part:
                row = rows.get(schedule_id)
                if row is not None and row in asked and _moment(row) <= at_ms:
                    yield row
        name = ""
    if asked.state != "active":
        yield from _by_name(server, asked, name, ["never"])


def _moment(row: Schedule) -> int:
    return NEVER_MS if row.next_run_ms is None else row.next_run_ms


def _places(server: Server, asked: Asked, index: str, after: tuple[int, str]) -> Iterator[Place]:
    """Those of one index, in order. It has those of one moment by id: they are put in order when all are here."""
    judged = (folded(asked.search), *counted(asked.within, asked.outside))
    from_ms, passed, page = after[0], 0, min(asked.limit, AT_ONCE)
    tied: list[Place] = []
    is_last = False
    while not is_last:
        looked_at, last, same, *found = server.read_script("by_moment", index, from_ms, passed, page, *judged)
        is_last = looked_at < page
        last_ms = NEVER_MS if is_last else int(last)
        passed = same + (passed if last_ms == from_ms else 0)
        tied += [(int(at_ms), name_in(label), each) for at_ms, label, each in zip(*found, strict=True)]
        yield from sorted(place for place in tied if place[0] < last_ms and place[:2] > after)
        tied = [place for place in tied if place[0] >= last_ms]
        from_ms, page = last_ms, AT_ONCE


# all of them


def count_schedules(server: Server, most: int, now_ms: int) -> ScheduleCounts:
    """How many there are of each state."""
    listed, paused, parked, ended = server.read_script("sizes", "listed", *_STANDING)
    active = max(listed - paused - parked - ended, 0)
    by_clock = (server.ask("ZCOUNT", *_range(facet, now_ms)) for facet in BY_CLOCK)
    frozen = sum(count for text, count in server.read_script("windows") if is_frozen(text, now_ms))
    return ScheduleCounts(*(min(count, most) for count in (active, paused, parked, ended, *by_clock, frozen)))


def demands(server: Server) -> list[Demand]:
    """What active schedules need, each need once; as many steps as there are needs."""
    found: list[Demand] = []
    last = ""
    while page := server.read_script("needs", last):
        for need, count, names in page:
            task, group, depends_on = json.loads(need)
            found.append(Demand(task, group, tuple(depends_on), count, tuple(names)))
        last = page[-1][0]
    return found


def overdue(server: Server, before_ms: int, limit: int) -> list[Schedule]:
    """Those that a planner should have looked at before that moment, oldest first."""
    if limit <= 0:
        return []
    ids, texts = server.read_script("members", "schedules", "due", f"({before_ms}", limit)
    return [row for row in _schedules(ids, texts) if row.plannable]


def count_overdue(server: Server, before_ms: int, most: int) -> int:
    """How many of them there are."""
    found: int = server.ask("ZCOUNT", "due", "-inf", f"({before_ms}")
    return min(found, most)


# rows


def _read(server: Server, ids: Sequence[str]) -> list[Schedule]:
    return _schedules(ids, server.rows("schedules", ids))


def _schedules(ids: Sequence[str], texts: Sequence[str | None]) -> list[Schedule]:
    return [mapping.schedule_from(each, text[STAMP:]) for each, text in zip(ids, texts, strict=True) if text]
