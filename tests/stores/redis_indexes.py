"""Whether every index of a store on Redis is what its rows say, no more and no less."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import redis

from onthedot.model.run import Run
from onthedot.model.states import FINAL, State
from onthedot.stores.redis.indexes import IndexEntries, kept_by, label_of, track_of
from onthedot.stores.redis.tables import KEYS, NODES, RUNS, SCHEDULES, STAMP, Kind

_SETS = ("owned:", "asked:", "ticks:")
_SORTED = (
    "due",
    "track:",
    "live:",
    "state:",
    "ended:",
    "finished",
    "listed",
    "local",
    "routed",
    "tag:",
    "uses:",
    "task:",
    "standing:",
    "never",
    "aside",
    "needs",
    "late",
    "declared",
    "left_out",
    "frozen",
    "windows",
    "live_steps",
    "watched",
    "parent:",
    "items:",
    "graph_runs:",
    "bounded",
    "task_runs:",
    "node_runs:",
    "marks:",
    "expiring",
    "living",
    "gone",
    "deleted",
)


def check_indexes(url: str) -> None:
    """An assertion fails where they differ."""
    bare, _, namespace = url.partition("?namespace=")
    client: Any = redis.Redis.from_url(bare, decode_responses=True)
    prefix = f"{{{namespace}}}:"
    try:
        rows = {kind.name: _rows(client, prefix, kind) for kind in (SCHEDULES, RUNS, KEYS, NODES)}
        wanted: IndexEntries = {}
        for kind in (SCHEDULES, RUNS, KEYS, NODES):
            for row in rows[kind.name].values():
                wanted.update(kind.entries(row))
        assert _indexes(client, prefix) == wanted
        runs = rows["runs"].values()
        assert client.hgetall(prefix + "slots") == {run.slot: run.id for run in runs if run.slot is not None}
        assert client.hgetall(prefix + "names") == {row.name: row.id for row in rows["schedules"].values()}
        assert client.hgetall(prefix + "labels") == {row.id: label_of(row) for row in rows["schedules"].values()}
        assert sorted(client.hkeys(prefix + "minute")) == sorted(client.zrange(prefix + "minutes", 0, -1))
        kept = {name: int(count) for name, count in client.zrange(prefix + "kept", 0, -1, withscores=True) if count}
        assert kept == Counter(kept_by(run) for run in runs if run.state in FINAL and not run.is_kept_by_flow)
        _check_steps(client, prefix, runs)
        load = Counter(run.owner for run in runs if run.state is State.RUNNING and run.owner is not None)
        assert dict(client.zrange(prefix + "load", 0, -1, withscores=True)) == load
        nodes = rows["nodes"].values()
        assert client.hgetall(prefix + "node_states") == {node.id: node.state.value for node in nodes}
        _check_lanes(client, prefix, runs)
        _check_lists(client, prefix)
        assert client.zcard(prefix + "busy") == 0, "something was left held"
    finally:
        client.close()


def _check_lanes(client: Any, prefix: str, runs: Iterable[Run]) -> None:
    """Every lane has the tracks in which runs wait, and no others."""
    tracks: dict[str, set[str]] = {}
    for run in runs:
        track = track_of(run)
        if track is not None:
            tracks.setdefault(track.lane, set()).add(track.name)
    assert client.zrange(prefix + "lanes", 0, -1) == sorted(tracks)
    kept = {key.removeprefix(f"{prefix}tracks:"): client.smembers(key) for key in _keys(client, f"{prefix}tracks:")}
    assert kept == tracks


def _check_steps(client: Any, prefix: str, runs: Iterable[Run]) -> None:
    """Every step that lives is one of its flow, and so is every one that has ended and was not told."""
    names = {key.removeprefix(f"{prefix}steps:"): client.smembers(key) for key in _keys(client, f"{prefix}steps:")}
    kept = {(flow, step) for flow, steps in names.items() for step in steps}
    untold = {tuple(member.split("\n")) for member in client.zrange(prefix + "untold", 0, -1)}
    steps = {(run.parent_id, run.id): run.is_final for run in runs if run.is_step}
    assert kept - untold == {step for step, has_ended in steps.items() if not has_ended}
    assert untold <= kept
    assert all(steps[step] for step in untold)


def _check_lists(client: Any, prefix: str) -> None:
    """Every list that is not empty stands where it is looked for when it is old."""
    lists = {key.removeprefix(prefix): key for key in client.scan_iter(match=_escaped(prefix) + "*", _type="list")}
    decided = {name.removeprefix("decisions:") for name in lists if name.startswith("decisions:")}
    assert set(client.zrange(prefix + "decided", 0, -1)) == decided
    for schedule_id, oldest_ms in client.zrange(prefix + "decided", 0, -1, withscores=True):
        assert int(client.lindex(lists[f"decisions:{schedule_id}"], 0).partition(" ")[0]) >= oldest_ms
    replaced = Counter(member.partition("\n")[0] for member in client.zrange(prefix + "replaced", 0, -1))
    assert replaced == {
        name.removeprefix("revisions:"): client.llen(key) - 1
        for name, key in lists.items()
        if name.startswith("revisions:") and client.llen(key) > 1
    }
    lines = client.hkeys(prefix + "change")
    assert sorted(client.lrange(prefix + "changes", 0, -1)) == sorted(lines)
    by_name = [each for name, key in lists.items() if name.startswith("changes:") for each in client.lrange(key, 0, -1)]
    assert sorted(by_name) == sorted(lines)


def _rows(client: Any, prefix: str, kind: Kind[Any]) -> dict[str, Any]:
    return {each: kind.from_text(each, text[STAMP:]) for each, text in client.hgetall(prefix + kind.name).items()}


def _indexes(client: Any, prefix: str) -> IndexEntries:
    found: IndexEntries = {}
    for key in _keys(client, prefix):
        name = key.removeprefix(prefix)
        if name.startswith(_SETS):
            found.update({(name, member): None for member in client.smembers(key)})
        elif name.startswith(_SORTED):
            scores = client.zrange(key, 0, -1, withscores=True)
            found.update({(name, member): int(score) for member, score in scores})
    return found


def _keys(client: Any, prefix: str) -> Iterable[str]:
    return client.scan_iter(match=_escaped(prefix) + "*", count=1000)  # type: ignore[no-any-return]


def _escaped(text: str) -> str:
    return "".join(f"\\{each}" if each in "*?[]\\" else each for each in text)
