"""Forgetting what is old: searched freely, then removed by scripts that look again at what they remove.

The scripts read no rows, so that one that cannot be read is forgotten like any other. Each of them frees before it
writes anything: a server that is full lets it do so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any

from onthedot.model.graph import Graph
from onthedot.model.ids import made_ms
from onthedot.model.states import FINAL
from onthedot.stores.prune import BATCH, Walk
from onthedot.stores.redis import mapping
from onthedot.stores.redis.indexes import name_in
from onthedot.stores.redis.server import Server
from onthedot.stores.retention import Pruned

Row = tuple[str, str]
"""A member of an index and its score: so it was found, and so it must still be."""

_PAGE = 200
_SCHEDULES_AT_ONCE = 1000
"""So many numbers of decisions are looked at in one go."""


class RedisForgetting:
    """Of one store; it remembers how far it has come round."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._decisions, self._revisions = Walk(0), Walk(0)

    # runs

    def old_runs(self, before_ms: int, most: int) -> list[Row]:
        return _pairs(self._server.read_script("old_runs", before_ms, most))

    def surplus_runs(self, keep: int, most: int, *, thorough: bool, before_ms: int) -> list[Row]:
        self._server.ask("ZREMRANGEBYSCORE", "kept", "-inf", 0)
        return _pairs(self._server.read_script("surplus_runs", keep, most, before_ms))

    def forget_runs(self, items: Sequence[Row]) -> Pruned:
        states = [state.value for state in sorted(FINAL)]
        runs, logs, flows = self._run("forget_runs", [len(states), *states, *_flat(items)])
        return Pruned(runs=runs, logs=logs, more=flows > 0)

    # flows

    def steps_left(self, most: int) -> list[Row]:
        return _pairs(self._server.read_script("steps_left", most))

    def bare_flows(self, most: int) -> list[str]:
        """Whoever looks for steps forgets them."""
        return []

    def forget_flows(self, items: Sequence[str]) -> Pruned:
        return Pruned()

    def unused_graphs(self, before_ms: int, most: int, *, thorough: bool) -> list[Row]:
        old = self._until("graphs_seen", before_ms, most)
        unused = [row for row in old if not self._server.ask("EXISTS", f"graph_runs:{row[0]}")]
        if not unused:
            return []
        texts = self._server.ask("HGETALL", "graphs")
        return [row for row in unused if row[0] in texts and not self._is_used(row[0], texts)]

    def _is_used(self, graph: str, texts: dict[str, str]) -> bool:
        if any(graph in text for other, text in texts.items() if other != graph):
            return True
        try:
            labels = self._server.ask("ZRANGE", f"task:@{Graph.from_text(texts[graph]).name}", 0, -1)
        except mapping.UNREADABLE:
            return True
        ids = [each for each in self._server.ask("HMGET", "names", *map(name_in, labels)) if each] if labels else []
        return any(graph in (text or "") for text in self._server.rows("schedules", ids)) or any(
            graph in text for each in ids for text in self._server.ask("LRANGE", f"revisions:{each}", 0, -1)
        )

    def forget_graphs(self, items: Sequence[Row]) -> Pruned:
        return Pruned(graphs=self._run("forget_graphs", _flat(items)))

    # decisions

    def old_decisions(self, before_ms: int, most: int) -> list[Row]:
        return _pairs(self._server.read_script("old_decisions", before_ms, most))

    def surplus_decisions(self, keep: int, most: int, *, thorough: bool) -> list[Row]:
        return self._decisions.find(lambda start: self._decisions_beyond(start, keep), most, thorough=thorough)

    def _decisions_beyond(self, start: int, keep: int) -> tuple[list[Row], int | None]:
        looked_at, *found = self._server.read_script("surplus_decisions", start, _SCHEDULES_AT_ONCE, keep)
        following = start + _SCHEDULES_AT_ONCE if looked_at == _SCHEDULES_AT_ONCE else None
        return _pairs(found), following

    def forget_decisions(self, items: Sequence[Row]) -> Pruned:
        return Pruned(decisions=self._run("forget_decisions", _flat(items)))

    # keys, and the audit

    def expired_keys(self, before_ms: int, most: int) -> list[Row]:
        return self._until("expiring", before_ms, most)

    def forget_keys(self, items: Sequence[Row]) -> Pruned:
        return Pruned(keys=self._run("forget_keys", _flat(items)))

    def old_changes(self, before_ms: int, most: int) -> list[str]:
        """An id begins with the moment at which it was made."""
        oldest = self._server.ask("LRANGE", "changes", 0, most - 1)
        return list(takewhile(lambda change_id: (made_ms(change_id) or 0) <= before_ms, oldest))

    def surplus_changes(self, keep: int, most: int) -> list[str]:
        surplus = self._server.ask("LLEN", "changes") - keep
        if surplus <= keep // 10:
            return []
        return list(self._server.ask("LRANGE", "changes", 0, min(surplus, most) - 1))

    def forget_changes(self, items: Sequence[str]) -> Pruned:
        texts = self._server.ask("HMGET", "change", *items)
        schedules = {name for name in map(_schedule_of, texts) if name is not None}
        return Pruned(changes=self._run("forget_changes", [len(items), *items, *schedules]))

    # schedules: what they were, and what is left of them

    def replaced_revisions(self, before_ms: int, most: int, *, thorough: bool) -> list[str]:
        return self._revisions.find(lambda start: self._replaced(start, before_ms), most, thorough=thorough)

    def _replaced(self, start: int, before_ms: int) -> tuple[list[str], int | None]:
        """A page of definitions that were replaced so long ago, without those that a run or a decision still needs."""
        page = self._server.read_script("replaced", before_ms, start, _PAGE)
        members, ends, runs, decisions = (page[part::4] for part in range(4))
        found = [
            member
            for member, end_ms, run_id, decision in zip(members, ends, runs, decisions, strict=True)
            if not (_began_by(run_id, int(end_ms)) or _is_about_before(decision, int(end_ms)))
        ]
        return found, start + _PAGE if len(members) == _PAGE else None

    def forget_revisions(self, items: Sequence[str]) -> Pruned:
        return Pruned(revisions=self._run("forget_revisions", items))

    def bare_tombstones(self, before_ms: int, most: int) -> list[Row]:
        """Whether they are bare is for the script to see."""
        return self._until("deleted", before_ms, most)

    def forget_tombstones(self, items: Sequence[Row]) -> Pruned:
        tombstones, keys, revisions, more = self._run("forget_tombstones", [BATCH, *_flat(items)])
        return Pruned(tombstones=tombstones, keys=keys, revisions=revisions, more=bool(more))

    # nodes

    def gone_nodes(self, before_ms: int, most: int) -> list[Row]:
        return self._until("gone", before_ms, most)

    def forget_nodes(self, items: Sequence[Row]) -> Pruned:
        return Pruned(nodes=self._run("forget_nodes", _flat(items)))

    # statistics

    def old_hours(self, before_ms: int, most: int) -> list[Row]:
        return self._until("hours", before_ms, most)

    def forget_hours(self, items: Sequence[Row]) -> Pruned:
        return Pruned(hours=self._run("forget_hours", [member for member, _ in items]))

    # of any index

    def _until(self, index: str, moment_ms: int, most: int) -> list[Row]:
        """The first members up to a moment."""
        return _pairs(self._server.read_script("first_until", index, moment_ms, most))

    def _run(self, script: str, values: Sequence[str | int]) -> Any:
        return self._server.write_script(script, values)


def _pairs(flat: Sequence[str]) -> list[Row]:
    return list(zip(flat[::2], flat[1::2], strict=True))


def _flat(rows: Iterable[Row]) -> list[str]:
    return [value for row in rows for value in row]


def _began_by(run_id: str, moment_ms: int) -> bool:
    """Whether there is a run that was made by then; one whose id does not tell may have been."""
    return bool(run_id) and (made_ms(run_id) or 0) <= moment_ms


def _is_about_before(decision: str, moment_ms: int) -> bool:
    """Whether there is a decision about a time before the moment."""
    try:
        return bool(decision) and mapping.decision_from("", decision).first_ms < moment_ms
    except mapping.UNREADABLE:
        return False


def _schedule_of(change: str | None) -> str | None:
    """The schedule of a line of the audit, if that can be read."""
    try:
        return None if change is None else mapping.change_from("", change).schedule
    except mapping.UNREADABLE:
        return None
