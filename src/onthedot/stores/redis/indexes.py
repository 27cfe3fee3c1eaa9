"""In which indexes a row stands: pure functions of the row, so that a change is the difference of two of them.

All keys have one hash tag in front, so that they lie in one slot of a cluster. Rows are hashes by id; beside them:

    due            sorted by moment: schedules that a planner looks at
    aside          those that it does not look at and that have a next moment, likewise: for the order by next moments
    track:L T      sorted by moment: the waiting runs of track T in lane L (a line break, not a space, between the two)
    tracks:L       the tracks of a lane that hold any run
    lanes          in order: the lanes that have any track
    routed         sorted by moment: unblocked waiting runs that are for one node
    live:S         the live runs of schedule S: first those that run, then those that wait, by moment
    owned:N        the running runs of node N             load      how many these are, of every node that has any
    asked:N        those that were asked to stop          slots     which run holds a slot
    state:X        runs by id                             ended:G   ended runs by id, of a schedule or a task
    task_runs:T    ended runs of task T by id             node_runs:N  those that node N had last, by id
    parent:R       the parts of run R, and what followed it, by id
    steps:F        the steps of flow F that are not in history   untold    those of them that have ended, by flow
    items:F S      runs of step S of flow F by item       bounded   runs that wait, or stand for steps, by how long
    live_steps     the waiting (0) and the running (1) steps of all flows
    graph_runs:G   runs, live or ended, of graph G        forgotten  flows whose steps are to follow them
    graphs         graphs of flows by hash                graphs_seen  when somebody last asked to keep each
    late           runs that began late, by id            marks:S   the ended ticks of schedule S by scheduled moment
    finished       ended runs by when, and of what        kept      how many ended runs a schedule or task has
    names          ids of schedules, tombstones included  labels    name and task of each, by id
    deleted        tombstones by when                     ticks:S   the keys of ticks of schedule S
    needs          what active schedules need of nodes and of each other, with their names
    succeeded      by name of schedule: when a run of it last ended well
    living, gone   nodes by start, or by last renewal     node_states  what each of them is
    expiring       keys by when
    minutes        by when: what nodes counted, each minute of each of them; in `minute` what that is
    hours          by when: what was counted of ended runs, each hour of each place (whose, and which step)
    hours:P        by hour: what that is, of place P      rolled    up to which moment ends are counted

The labels of schedules, in order of their names: so a page may begin anywhere, and a search reads no rows.

    listed         all of them
    local, tag:T   those of that mode or tag              task:T    those of task T
    uses:U         those that name calendar or trigger U
    standing:X     those that are paused, parked or ended never     those that have no next moment
    frozen         those in which a freeze has a window   windows  what windows these are, with their names

And by when that was:

    declared       those that code or a file declares     left_out  those that have left out a tick
    watched        when to see whether they are overdue

What is asked about runs by task and node rests on the indexes of ended ones alone: live ones are few, and are judged by
their rows. A member of `ended:G` says of which node, task, parent, step and graph the run is, so that it is forgotten
unread.

Who may use the HTTP API:

    tokens         by name                                sessions  by id
    sessions:T     the sessions of token T

Windows in which schedules are frozen:

    freezes        by name; at its empty field how often they were changed
What triggers name:

    values         each revision, by its id               value_heads   by kind and name: the id of the last revision
    values_new     those that schedules may not go by yet values_gone   those that were deleted
    value_touched  changed by whoever puts a schedule that rests on it, so that a deletion notices

What is only appended stands in lists:

    decisions:S    the decisions about schedule S         decided   schedules by when their oldest decision was made
    revisions:S    its definitions, the last one counts   replaced  all others by when they were replaced
    changes, changes:N  ids of the audit, of all schedules and of that of name N; their lines are in `change`
    log:R          the log of run R

A waiting run stands in a lane: who may take it, or what it waits for. In a lane, those of one priority, pool and task
are a track, and in a track the oldest is the foremost; so of any tracks that somebody asks for, the next in turn is the
head of one of them (`lua/lib.lua` merges them).
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import NamedTuple

from onthedot.model.key import Key
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.stores.counts import LATE_MS
from onthedot.stores.mapping import windows_text
from onthedot.stores.transaction import Claim

IndexEntries = dict[tuple[str, str], int | None]
"""By index and member: the score, where the index is sorted; a set has none."""

AWAITED = "a"
"""The lanes of what runs wait for (`slot:…`, `limit:…`) begin here."""
RUNS_FIRST = -(1 << 53)
"""The score of running runs among a schedule's live ones: before every moment."""

_WAITING, _RUNNING = State.WAITING, State.RUNNING


def schedule_entries(row: Schedule) -> IndexEntries:
    """Where a schedule stands."""
    if row.deleted:
        return {("deleted", f"{row.id}\n{row.name}"): max(row.updated_ms, row.settled_ms)}
    label = label_of(row)
    entries: IndexEntries = {("listed", label): 0, (f"task:{row.task}", label): 0}
    if row.next_run_ms is None:
        entries["never", label] = 0
    else:
        entries["due" if row.plannable else "aside", row.id] = row.next_run_ms
    if row.mode == "local":
        entries["local", label] = 0
    if row.declared_seen_ms is not None:
        entries["declared", row.id] = row.declared_seen_ms
    if row.left_out_ms is not None:
        entries["left_out", row.id] = row.left_out_ms
    if row.frozen:
        entries["frozen", label] = 0
        entries["windows", f"{windows_text(row.frozen)}\n{row.name}"] = 0
    if row.watch_ms is not None:
        entries["watched", row.id] = row.watch_ms
    for use in row.uses:
        entries[f"uses:{use}", label] = 0
    for tag in row.tags:
        entries[f"tag:{tag}", label] = 0
    state = row.state
    if state == "active":
        policy = row.policy
        entries["needs", f"{_need(row.task, policy.group, policy.depends_on)}\n{row.name}"] = 0
    else:
        entries[f"standing:{state}", label] = 0
    return entries


def label_of(row: Schedule) -> str:
    """Sorts by name, and tells the task too. No text of ours has a zero."""
    return f"{row.name}\0{row.task}"


def name_in(label: str) -> str:
    """The name that a label tells."""
    return label.partition("\0")[0]


@lru_cache(maxsize=4096)
def _need(task: str, group: str | None, depends_on: tuple[str, ...]) -> str:
    return json.dumps([task, group, depends_on])


def run_entries(run: Run) -> IndexEntries:
    """Where a run stands."""
    state = run.state
    entries: IndexEntries = {("state:" + state, run.id): 0}
    if run.parent_id is not None:
        entries["parent:" + run.parent_id, run.id] = 0
    if run.started_ms is not None and run.started_ms - run.due_ms > LATE_MS:  # `is_late`, at half the time
        entries["late", run.id] = 0
    if run.graph is not None:
        entries[f"graph_runs:{run.graph}", run.id] = 0
    if run.step is not None:
        entries.update(_step_entries(run, run.step))
    if state is not _WAITING and state is not _RUNNING:
        entries.update(_ended_entries(run))
        return entries
    if run.until_ms is not None and (state is _WAITING or run.is_flow):
        entries["bounded", run.id] = run.until_ms
    if run.schedule_id is not None:
        entries[f"live:{run.schedule_id}", run.id] = RUNS_FIRST if state is _RUNNING else run.due_ms
    track = track_of(run)
    if track is not None:
        entries[track.key, _in_turn(run)] = run.due_ms
        if run.target is not None and not run.blocked:
            entries["routed", run.id] = run.due_ms
    elif run.owner is not None:
        entries[f"owned:{run.owner}", run.id] = None
        if run.cancel_requested_ms is not None:
            entries[f"asked:{run.owner}", run.id] = None
    return entries


def _step_entries(run: Run, step: str) -> IndexEntries:
    entries: IndexEntries = {(items_of(run.parent_id or "", step), run.id): run.item or 0}
    if run.state is _WAITING or run.state is _RUNNING:
        entries["live_steps", run.id] = int(run.state is _RUNNING)
    return entries


def _ended_entries(run: Run) -> IndexEntries:
    group = kept_by(run)
    of = f"{run.id}\0{run.owner or ''}\0{run.task}{_behind(run.parent_id, run.step, run.graph)}"
    entries: IndexEntries = {
        (f"ended:{group}", of): 0,
        ("finished", f"{run.id}\n{group}"): run.finished_ms or 0,
        (f"task_runs:{run.task}", run.id): 0,
    }
    if run.owner is not None:
        entries[f"node_runs:{run.owner}", run.id] = 0
    if run.schedule_id is not None:
        entries[f"marks:{run.schedule_id}", run.id] = run.scheduled_ms
    return entries


def _behind(*names: str | None) -> str:
    """As many of them as there are."""
    return "".join(f"\0{name or ''}" for name in names).rstrip("\0")


def items_of(flow_id: str, step: str) -> str:
    """The index of a step's runs."""
    return f"items:{flow_id}\n{step}"


class Track(NamedTuple):
    """Where a run waits."""

    lane: str
    name: str

    @property
    def key(self) -> str:
        """Its sorted set."""
        return f"track:{self.lane}\n{self.name}"


def track_of(run: Run) -> Track | None:
    """None where it does not wait."""
    if run.state is not _WAITING:
        return None
    if run.waits_for is not None:
        return Track(run.waits_for, str(run.policy.priority))
    policy = run.policy
    return _track(run.target, policy.group, policy.priority, policy.pool, run.task)


@lru_cache(maxsize=4096)
def _track(target: str | None, group: str | None, priority: int, pool: str | None, task: str) -> Track:
    return Track(_lane(target, group), f"{priority}\n{word(pool)}\n{task}")


def lanes_of(claim: Claim) -> list[str]:
    """Those whose runs the claim's node may take."""
    groups = dict.fromkeys((None, claim.group))
    return [_lane(target, group) for target in (None, claim.node_id) for group in groups]


def _lane(target: str | None, group: str | None) -> str:
    """In capitals, so that it comes before all that runs wait for. No node's id has a colon."""
    return f"ANY:{word(group)}" if target is None else f"NODE:{target}:{word(group)}"


def word(name: str | None) -> str:
    """As it stands in a lane or track: in one line, and none is another than an empty one."""
    return "null" if name is None else json.dumps(name)


def _in_turn(run: Run) -> str:
    """Sorts, at one moment, by id; says whose turn it is without the row."""
    return f"{run.id}\n{run.schedule_id or ''}"


def kept_by(run: Run) -> str:
    """Under what a run's history stands, and is counted where it is no step. No name has a slash, so a task, a schedule
    and a flow never share it.
    """
    if run.is_kept_by_flow:
        return f"//{run.parent_id}"
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
