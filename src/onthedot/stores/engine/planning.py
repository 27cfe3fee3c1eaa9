"""Planning: lock what is due, ask what becomes of it, write that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from onthedot.errors import NodeDead
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.model.values import replace as replace_run
from onthedot.rules.ahead import Ahead
from onthedot.rules.effects import Before, Decide, Effects, Situation
from onthedot.rules.routing import BY_LOAD
from onthedot.stores.answers import Planned
from onthedot.stores.engine.settling import write
from onthedot.stores.known_values import learn
from onthedot.stores.transaction import AheadTransaction, LiveRuns, Transaction

_ON_TIME_MS = 10_000


def plan_due(tx: Transaction, node_id: str, limit: int, free_workers: int, decide: Decide) -> Planned:
    """Where all that was found is left alone (newer than this node), it looks further, so that nothing hides."""
    while True:
        due, passed_over = tx.due_schedules(limit, tx.now_ms - _ON_TIME_MS)
        decided = _decide(tx, node_id, due, free_workers, decide)
        full = len(due) >= limit
        if not full or any(each.schedule is not None for each in decided):
            effects = _writable(tx, decided)
            write(tx, effects)
            return Planned(tuple(effects), passed_over or len(effects) < len(decided), full, tx.now_ms)
        limit *= 4


def plan_ahead(tx: AheadTransaction, node_id: str, ahead: Sequence[Ahead], make_id: Callable[[], str]) -> Planned:
    """The version carries the proof: whoever adds, starts, revives or unblocks a run of a schedule has raised it.

    All are asked for before the time is: a store may tell it with the answer.
    """
    unchanged = tx.unchanged([each.schedule for each in ahead])
    alive(tx, node_id)
    now_ms = tx.now_ms
    due = [each for each in ahead if each.schedule.id in unchanged and each.holds_at(now_ms)]
    effects = tuple(each.at(now_ms, make_id()) for each in due)
    if effects:
        tx.save_ahead(node_id, effects)
    return Planned(effects, more=tx.is_due(), now_ms=now_ms)


def plan_one(tx: Transaction, node_id: str, schedule_id: str, revision: int, decide: Decide) -> Effects | None:
    """Whatever its mode, if it is still what the planner has read."""
    schedule = tx.schedules_if_free([schedule_id]).get(schedule_id)
    if schedule is None or not _may_be_planned(schedule, revision):
        alive(tx, node_id)
        return None
    effects = _writable(tx, _decide(tx, node_id, [schedule], 0, decide))
    write(tx, effects)
    return effects[0] if effects else None


def alive(tx: Transaction, node_id: str) -> Node:
    """The node, which stays alive until the transaction ends; `NodeDead`."""
    node = tx.node_shared(node_id)
    if node is None or not node.lives:
        raise NodeDead(node_id)
    return node


def _decide(tx: Transaction, node_id: str, due: Sequence[Schedule], free_workers: int, decide: Decide) -> list[Effects]:
    node = alive(tx, node_id)
    if not due:
        return []
    learn(tx, due)
    live = tx.live_beside(due)
    nothing = LiveRuns()
    befores = [Before(each.name, each, *live.get(each.id, nothing)) for each in due]
    load = tx.load() if any(each.policy.route in BY_LOAD for each in due) else {}
    return list(decide(befores, Situation(tx.now_ms, node, free_workers, tuple(tx.nodes()), load)))


def _writable(tx: Transaction, decided: Sequence[Effects]) -> list[Effects]:
    """Those whose runs can be changed without waiting for anybody; the others are decided again, soon.

    A run that somebody has locked is ending, so it need not be asked to stop.
    """
    ids = {run.id for each in decided for run in (*each.ended, *each.stopping)}
    if not ids:
        return list(decided)
    free = tx.live_runs_if_free(ids)

    def is_as_it_was(run: Run) -> bool:
        return run.id in free and free[run.id].claim_no == run.claim_no

    return [
        replace(each, stopping=tuple(stopping(free, each.stopping)))
        for each in decided
        if all(is_as_it_was(run) for run in each.ended)
    ]


def stopping(locked: Mapping[str, Run], asked: Iterable[Run]) -> Iterator[Run]:
    """The runs that are asked to stop, as they are under their own locks: a flow is told of its steps meanwhile."""
    for run in asked:
        now = locked.get(run.id)
        if now is not None and now.claim_no == run.claim_no and now.state is State.RUNNING:
            until_ms = run.until_ms if now.is_flow else now.until_ms
            yield replace_run(now, cancel_requested_ms=run.cancel_requested_ms, reason=run.reason, until_ms=until_ms)


def _may_be_planned(schedule: Schedule, revision: int) -> bool:
    sound = schedule.enabled and not schedule.deleted and schedule.error is None
    return sound and schedule.revision == revision
