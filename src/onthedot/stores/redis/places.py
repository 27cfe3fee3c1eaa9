"""In which indexes a row stands: pure functions of the row, so that a change is the difference of two of them.

All keys have one hash tag in front, so that they lie in one slot of a cluster. Rows are hashes by id; beside them:

    due            sorted by moment: schedules that a planner looks at
    ready:N/T      sorted by moment: unblocked waiting runs of task T for node N, or for any node where N is empty
    ready:P N/T    those of them with the priority P, where that is not 0 (a line break, not a space, follows it)
    levels         these queues by name
    routed         sorted by moment: those of them that are for one node
    blocked        sorted by moment: waiting runs behind a slot or a pause
    behind:S       those of them of schedule S
    live:S         the live runs of schedule S            owned:N   the running runs of node N
    asked:N        those of them that were asked to stop  slots     which run holds a slot
    state:X        runs by id                             ended:G   ended runs by id, of a schedule or a task
    finished       ended runs by when                     kept      how many ended runs a schedule or task has
    listed, local, tag:T  names of schedules in order     names     their ids, tombstones included
    succeeded      by name of schedule: when a run of it last ended well
"""

from __future__ import annotations

from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.stores.base import Key

Places = dict[tuple[str, str], int | None]
"""By index and member: the score, where the index is sorted; a set has none."""

_WAITING, _RUNNING = State.WAITING, State.RUNNING


def schedule_places(row: Schedule) -> Places:
    """Where a schedule stands."""
    places: Places = {}
    if row.plannable and row.next_run_ms is not None:
        places["due", row.id] = row.next_run_ms
    if not row.deleted:
        places["listed", row.name] = 0
        if row.mode == "local":
            places["local", row.name] = 0
        for tag in row.tags:
            places[f"tag:{tag}", row.name] = 0
    return places


def run_places(run: Run) -> Places:
    """Where a run stands."""
    state = run.state
    places: Places = {("state:" + state, run.id): 0}
    if state is not _WAITING and state is not _RUNNING:
        places[f"ended:{kept_by(run)}", run.id] = 0
        places["finished", run.id] = run.finished_ms or 0
        return places
    if run.schedule_id is not None:
        places[f"live:{run.schedule_id}", run.id] = None
    if state is _RUNNING:
        if run.owner is not None:
            places[f"owned:{run.owner}", run.id] = None
            if run.cancel_requested_ms is not None:
                places[f"asked:{run.owner}", run.id] = None
    elif run.blocked:
        places["blocked", run.id] = run.due_ms
        if run.schedule_id is not None:
            places[f"behind:{run.schedule_id}", run.id] = None
    else:
        places[f"ready:{queue(run)}", _in_turn(run)] = run.due_ms
        if run.target is not None:
            places["routed", run.id] = run.due_ms
    return places


def queue(run: Run) -> str:
    """Whom the run waits for, its task, and its priority if it has one. No node's id has a slash."""
    name = f"{run.target or ''}/{run.task}"
    return f"{run.policy.priority}\n{name}" if run.policy.priority else name


def _in_turn(run: Run) -> str:
    """Sorts, at one moment, by id; says whose turn it is without the row."""
    return f"{run.id}\n{run.schedule_id or ''}"


def kept_by(run: Run) -> str:
    """Under what a run's history is counted. No name has a slash, so a task and a schedule never share it."""
    return f"/{run.task}" if run.schedule is None else run.schedule


def key_places(key: Key) -> Places:
    """Where a key stands. Keys of ticks go only with their schedule: they keep a backfill from running twice."""
    if key.expires_ms is None or key.key.startswith("t:"):
        return {}
    return {("expiring", key.key): key.expires_ms}


def node_places(node: Node) -> Places:
    """Where a node stands."""
    if node.lives:
        return {("living", node.id): node.started_ms}
    return {("gone", node.id): node.renewed_ms}
