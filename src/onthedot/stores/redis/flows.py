"""The steps of flows, and the graphs of flows.

Live and ended runs share one hash, so an index says which steps are not in history yet: `steps:F` has those of flow F
that wait, run, or have ended without F knowing, and `untold` the last of them. Moving one to history is leaving both.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from onthedot.model.graph import Graph
from onthedot.model.run import Run, UnreadableRun
from onthedot.model.states import State
from onthedot.stores.asking import results_of
from onthedot.stores.kept_graphs import Graphs, is_long_ago
from onthedot.stores.redis import mapping
from onthedot.stores.redis.commit import Commit
from onthedot.stores.redis.indexes import items_of
from onthedot.stores.redis.server import Server
from onthedot.stores.redis.tables import STAMP
from onthedot.stores.transaction import StepRow, step_row

_PAGE = 1000


def note_saved(commit: Commit, before: Run | None, run: Run) -> None:
    """A step is written that is not in history, or no more."""
    if before is None or before.is_final:
        commit.write("SADD", f"steps:{run.parent_id}", run.id)
    if run.is_final:
        commit.write("ZADD", "untold", 0, _untold(run))
    elif before is not None and before.is_final:
        commit.write("ZREM", "untold", _untold(run))


def note_told(commit: Commit, run: Run) -> None:
    """A step goes to history."""
    commit.write("SREM", f"steps:{run.parent_id}", run.id)
    commit.write("ZREM", "untold", _untold(run))


def _untold(run: Run) -> str:
    return f"{run.parent_id}\n{run.id}"


def step_rows(runs: Sequence[Run]) -> list[StepRow]:
    """By id; without those of which nobody knows what they are."""
    return [step_row(run.__dict__) for run in sorted(runs, key=lambda run: run.id) if _is_known(run)]


def _is_known(run: Run) -> bool:
    return type(run) is not UnreadableRun or not run.is_final


def graphs_of(server: Server, known: Graphs, hashes: Collection[str]) -> dict[str, Graph]:
    """Each is read once by a process."""
    unknown = sorted(each for each in hashes if each not in known)
    if unknown:
        for each, text in zip(unknown, server.ask("HMGET", "graphs", *unknown), strict=True):
            if text:
                known.add(each, Graph.from_text(text))
    return known.among(hashes)


def save_graphs(server: Server, commit: Commit, graphs: Sequence[Graph], now_ms: int) -> None:
    """Those that are kept are written only to be kept for longer."""
    for graph in graphs:
        seen_ms = server.ask("ZSCORE", "graphs_seen", graph.hash)
        if seen_ms is None or is_long_ago(int(float(seen_ms)), now_ms):
            commit.write("HSET", "graphs", graph.hash, graph.text)
            commit.write("ZADD", "graphs_seen", now_ms, graph.hash)


def results(server: Server, flow_id: str, step: str, first: int, limit: int) -> list[tuple[int, State, Any]]:
    """What runs of a step returned, by item."""
    found: list[Run] = []
    offset = 0
    while limit > 0 and len({run.item for run in found}) <= limit:
        page = server.ask(
            "ZRANGEBYSCORE", items_of(flow_id, step), first, "+inf", "LIMIT", offset, min(limit + 1, _PAGE)
        )
        texts = zip(page, server.rows("runs", page), strict=True)
        runs = (mapping.run_from(each, text[STAMP:]) for each, text in texts if text)
        found += [run for run in runs if run.is_final]
        offset += len(page)
        if not page:
            break
    return results_of(found, first, limit)
