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
    finished       ended runs by when, and of what        kept      how many ended runs a schedule or task has
    listed, local, tag:T  names of schedules in order     names     their ids, tombstones included
    deleted        tombstones by when                     ticks:S   the keys of ticks of schedule S
    succeeded      by name of schedule: when a run of it last ended well
    expiring       keys by when                           living, gone   nodes by start, and by last renewal

What is only appended stands in lists:

    decisions:S    the decisions about schedule S         decided   schedules by when their oldest decision was made
    revisions:S    its definitions, the last one counts   replaced  all others by when they were replaced
    changes, changes:N  ids of the audit, of all schedules and of that of name N; their lines are in `change`
    log:R          the log of run R
"""

from __future__ import annotations

from onthedot.model.key import Key
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State

IndexEntries = dict[tuple[str, str], int | None]
"""By index and member: the score, where the index is sorted; a set has none."""

_WAITING, _RUNNING = State.WAITING, State.RUNNING


def schedule_entries(row: Schedule) -> IndexEntries:
    """Where a schedule stands."""
    entries: IndexEntries = {}
    if row.plannable and row.next_run_ms is not None:
        entries["due", row.id] = row.next_run_ms
    if not row.deleted:
        entries["listed", row.name] = 0
        if row.mode == "local":
            entries["local", row.name] = 0
        for tag in row.tags:
            entries[f"tag:{tag}", row.name] = 0
    else:
        entries["deleted", f"{row.id}\n{row.name}"] = max(row.updated_ms, row.settled_ms)
    return entries


def run_entries(run: Run) -> IndexEntries:
    """Where a run stands."""
    state = run.state
    entries: IndexEntries = {("state:" + state, run.id): 0}
    if state is not _WAITING and state is not _RUNNING:
        entries[f"ended:{kept_by(run)}", run.id] = 0
        entries["finished", f"{run.id}\n{kept_by(run)}"] = run.finished_ms or 0
        return entries
    if run.schedule_id is not None:
        entries[f"live:{run.schedule_id}", run.id] = None
    if state is _RUNNING:
        if run.owner is not None:
            entries[f"owned:{run.owner}", run.id] = None
            if run.cancel_requested_ms is not None:
                entries[f"asked:{run.owner}", run.id] = None
    elif run.blocked:
        entries["blocked", run.id] = run.due_ms
        if run.schedule_id is not None:
            entries[f"behind:{run.schedule_id}", run.id] = None
    else:
        entries[f"ready:{queue(run)}", _in_turn(run)] = run.due_ms
        if run.target is not None:
            entries["routed", run.id] = run.due_ms
    return entries


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


def key_entries(key: Key) -> IndexEntries:
    """Where a key stands. Keys of ticks go only with their schedule: they keep a backfill from running twice."""
    if key.key.startswith("t:"):
        return {(f"ticks:{key.key.split(':')[1]}", key.key): None}
    if key.expires_ms is None:
        return {}
    return {("expiring", key.key): key.expires_ms}


def node_entries(node: Node) -> IndexEntries:
    """Where a node stands."""
    if node.lives:
        return {("living", node.id): node.started_ms}
    return {("gone", node.id): node.renewed_ms}
