"""What rows share: names, slots, and counts of many. Each from how rows were and shall be, into what is committed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.stores.redis.commit import Commit
from onthedot.stores.redis.indexes import kept_by, queue
from onthedot.stores.transaction import TryAgain

_WAITING, _SUCCEEDED = State.WAITING, State.SUCCEEDED
Runs = Sequence[tuple[str, Run | None, Run | None]]
"""The id of each run that is written, as it was, as it shall be."""


def take_names(commit: Commit, changes: Sequence[tuple[str, Schedule | None, Schedule | None]]) -> None:
    """A new name must be nobody's."""
    new: dict[str, str] = {}
    for schedule_id, before, row in changes:
        if row is not None and (before is None or before.name != row.name):
            new[row.name] = ""
            commit.write("HSET", "names", row.name, schedule_id)
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
        if before is not None and before.is_final:
            kept[kept_by(before)] -= 1
        if run is not None and run.is_final:
            kept[kept_by(run)] += 1
            if run.state is _SUCCEEDED and run.schedule is not None:
                commit.write("ZADD", "succeeded", run.finished_ms or 0, run.schedule)
    commit.count("kept", kept)


def note_queues(commit: Commit, changes: Runs) -> None:
    """Which queues there are, and which of them are of a priority; who finds one empty removes it."""
    ready = [run for _, _, run in changes if run is not None and run.state is _WAITING and not run.blocked]
    queues = {queue(run): run.policy.priority for run in ready}
    levels = [name for name, priority in queues.items() if priority]
    if queues:
        commit.write("SADD", "queues", *queues)
    if levels:
        commit.write("SADD", "levels", *levels)
