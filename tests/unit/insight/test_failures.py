"""What failed lately, in one line for each name."""

from __future__ import annotations

from onthedot.insight.failures import group
from onthedot.model.graph import BROADCAST, SHARD
from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.values import replace


def _run(name: str, at_ms: int, parent: str | None = None, shard: int | None = None) -> Run:
    run = Run(name, "t", "tick", at_ms, at_ms, State.FAILED, schedule="all", parent_id=parent, finished_ms=at_ms)
    if shard is None:
        return run
    return replace(run, cause="shard", schedule=None, step=SHARD, item=shard, error=f"ValueError: {shard}")


def _whole(name: str, at_ms: int) -> Run:
    return replace(_run(name, at_ms), graph=BROADCAST.hash)


def test_a_broadcast_fails_once_with_however_many_of_its_shards() -> None:
    first = [_whole("a", 2), _run("a0", 1, "a", 0), _run("a1", 2, "a", 1)]
    second = [_whole("b", 4), _run("b0", 4, "b", 0)]
    found = group([*first, *second])
    assert [(each.name, each.count, each.since_ms) for each in found] == [("all", 2, 1)]
    assert found[0].last.error == "ValueError: 0", "a shard says more than its broadcast"


def test_a_shard_counts_while_its_broadcast_goes_on() -> None:
    assert [(each.name, each.count) for each in group([_run("a0", 1, "a", 0)])] == [("t", 1)]
    follower = _run("after", 2, "a")
    assert [each.count for each in group([_run("a", 1), follower])] == [2], "what follows a run is no part of it"
