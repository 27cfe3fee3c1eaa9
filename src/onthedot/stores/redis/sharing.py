"""What rows share: names, slots, and counts of many. Each from how rows were and shall be, into what is committed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.stores.redis.commit import Commit
from onthedot.stores.redis.indexes import kept_by, label_of, track_of
from onthedot.stores.transaction import TryAgain

_RUNNING, _SUCCEEDED = State.RUNNING, State.SUCCEEDED
Runs = Sequence[tuple[str, Run | None, Run | None]]
"""The id of each run that is written, as it was, as it shall be."""


def take_names(commit: Commit, changes: Sequence[tuple[str, Schedule | None, Schedule | None]]) -> None:
    """A new name must be nobody's. What a schedule is called stands beside its row, for who asks for many."""
    new: dict[str, str] = {}
    for schedule_id, before, row in changes:
        if row is not None and (before is None or before.name != row.name):
            new[row.name] = ""
            commit.write("HSET", "names", row.name, schedule_id)
        if row is not None and (before is None or label_of(before) != label_of(row)):
            commit.write("HSET", "labels", schedule_id, label_of(row))
    commit.expect_values("names", new)


def take_slots(commit: Commit, changes: Runs) -> None:
    """A slot must be free, or be freed by a run that is written here too."""
    freed = {run.slot: run.id for _, run, _ in changes if run is not None and run.slot is not None}
    taken: dict[str, str] = {}
    for _, _, run in changes:
        if run is None or run.slot is None:
            continue
        if run.slot in taken:
            raise TryAgain(f"two runs for the slot {run.slot}")
        taken[run.slot] = run.id
    commit.expect_values("slots", {slot: "" for slot in taken if slot not in freed})
    for slot, run_id in taken.items():
        if freed.get(slot) != run_id:
            commit.write("HSET", "slots", slot, run_id)
    for slot in freed.keys() - taken.keys():
        commit.write("HDEL", "slots", slot)


def count_ended(commit: Commit, changes: Runs) -> None:
    """How many ended runs each schedule or task has, and when one of a schedule last ended well."""
    kept: Counter[str] = Counter()
    for _, before, run in changes:
        if before is not None and before.is_final and not before.is_kept_by_flow:
            kept[kept_by(before)] -= 1
        if run is not None and run.is_final and not run.is_kept_by_flow:
            kept[kept_by(run)] += 1
            if run.state is _SUCCEEDED and run.schedule is not None:
                commit.write("ZADD", "succeeded", run.finished_ms or 0, run.schedule)
    commit.count("kept", kept)


def count_running(commit: Commit, changes: Runs) -> None:
    """How many runs each node has running; who has none is not among them."""
    load: Counter[str] = Counter()
    for _, before, run in changes:
        if before is not None and before.state is _RUNNING and before.owner is not None:
            load[before.owner] -= 1
        if run is not None and run.state is _RUNNING and run.owner is not None:
            load[run.owner] += 1
    commit.count("load", load)
    if any(change < 0 for change in load.values()):
        commit.write("ZREMRANGEBYSCORE", "load", "-inf", 0)


def note_lanes(commit: Commit, changes: Runs) -> None:
    """Which lanes and tracks hold any run. To be called last: an empty one is known by what is written before."""
    entered: dict[str, set[str]] = {}
    left: dict[str, set[str]] = {}
    for _, before, run in changes:
        was = None if before is None else track_of(before)
        now = None if run is None else track_of(run)
        if now is not None and now != was:
            entered.setdefault(now.lane, set()).add(now.name)
        if was is not None and was != now:
            left.setdefault(was.lane, set()).add(was.name)
    for lane, tracks in entered.items():
        commit.write("SADD", f"tracks:{lane}", *tracks)
        commit.write("ZADD", "lanes", 0, lane)
    for lane, tracks in left.items():
        commit.write("CLOSE", lane, *tracks)


def note_states(commit: Commit, changes: Sequence[tuple[str, Node | None, Node | None]]) -> None:
    """What each node is, apart from its row: so who relies on that alone does not clash with its renewals."""
    for node_id, before, node in changes:
        if node is None:
            commit.write("HDEL", "node_states", node_id)
        elif before is None or before.state is not node.state:
            commit.write("HSET", "node_states", node_id, node.state.value)
