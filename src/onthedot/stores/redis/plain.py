"""The short way of plain runs (`rules.plain`): one script adds to each row what happened to its run, and moves the run
between indexes.

Of each run it is told the stamp under which this process knows the row. So the row is neither sent nor made anew, and
what others have changed meanwhile is left alone. How to move is said once for all runs that are alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.rules import end, start
from onthedot.rules.plain import begins_plainly
from onthedot.stores.asking import is_late
from onthedot.stores.plain import PlainDone, PlainStep
from onthedot.stores.redis import mapping
from onthedot.stores.redis.commit import Commit, Value
from onthedot.stores.redis.indexes import run_entries, track_of
from onthedot.stores.redis.remembered import Memory
from onthedot.stores.redis.server import Server
from onthedot.stores.redis.sharing import count_ended, count_running, note_lanes
from onthedot.stores.redis.transaction import RedisTransaction

_NOW = -1
"""In the place of a moment that only the script knows."""
_PART = 2000
"""So many runs at once: a script can hand some 8,000 values to a command."""

Told: TypeAlias = tuple[str, str, str]
"""The id of a run, the stamp of its row, and what is told of it."""


class Alike(NamedTuple):
    """Runs that move alike."""

    before: Run
    after: Run
    """One of them."""
    told: list[Told]


def held(memory: Memory, run_id: str) -> Run | None:
    """The run, if this process remembers it and it may end the short way.

    Not those of schedules: what follows their ends only the rows of the schedules know.
    """
    known = memory.runs.get(run_id)
    if known is None:
        return None
    run = known[1]
    if run.schedule_id is not None or run.schedule is not None:
        return None
    return run if run.cancel_requested_ms is None and run.remote is None else None


def step(server: Server, memory: Memory, tx: RedisTransaction, asked: PlainStep) -> PlainDone:
    """What is due is read first, with the time and the node; then all is written at once."""
    due = _due(tx, asked)
    begun = [start.started(run, asked.node_id, tx.now_ms) for run in due or ()]
    alike = [*_ending(asked, memory), *_beginning(due or (), begun, tx)]
    if not alike:
        return _with_nothing_to_write(tx, asked, due)
    told_ms, lives, left = server.write_script("plain", _arguments(tx, asked.node_id, alike))
    now_ms = int(told_ms)
    told = {run_id for each in alike for run_id, _, _ in each.told}.difference(left)
    if not lives or not tx.holds_at_most(told):
        tx.let_go()
    if not lives:
        return PlainDone(now_ms)
    ended = tuple(end.settle(run, None, outcome, now_ms) for run, outcome in asked.ends if run.id in told)
    stood = tuple(run for run in begun if run.id in told)
    memory.note_runs(tx.stamp, ((run.id, run) for run in (*ended, *stood)))
    return PlainDone(now_ms, ended, None if due is None else stood, passed_over=len(stood) < len(begun))


def _due(tx: RedisTransaction, asked: PlainStep) -> list[Run] | None:
    """None where they are not all plain, or none is asked for."""
    if asked.claim is None:
        return None
    due = tx.due_runs(asked.claim, asked.most)
    if all(run.state is State.WAITING and begins_plainly(run) for run in due):
        return due
    tx.let_go()
    return None


def _with_nothing_to_write(tx: RedisTransaction, asked: PlainStep, due: list[Run] | None) -> PlainDone:
    """Where nothing is due, a node that is dead must be told so, the general way. What cannot be read may be held."""
    tx.let_go()
    node = None if due is None else tx.node_shared(asked.node_id)
    return PlainDone(0) if node is None or not node.lives else PlainDone(tx.now_ms, (), ())


def _ending(asked: PlainStep, memory: Memory) -> Iterator[Alike]:
    """Those whose rows this process knows as it knows the runs."""
    found: dict[object, Alike] = {}
    for run, outcome in asked.ends:
        known = memory.runs.get(run.id)
        if known is None or known[1] is not run or run.owner != asked.node_id:
            continue
        shape = outcome.ending, run.task, run.parent_id
        alike = found.get(shape)
        if alike is None:
            alike = found[shape] = Alike(run, end.settle(run, None, outcome, _NOW), [])
        alike.told.append((run.id, known[0], mapping.ended_text(outcome)))
    yield from found.values()


def _beginning(due: Sequence[Run], begun: Sequence[Run], tx: RedisTransaction) -> Iterator[Alike]:
    """What was handed back may have begun late before, and stands among the late ones already."""
    found: dict[object, Alike] = {}
    stamps = tx.stamps_of([run.id for run in due])
    for before, after, stamp in zip(due, begun, stamps, strict=True):
        shape = track_of(before), before.target, is_late(before), is_late(after)
        alike = found.get(shape)
        if alike is None:
            alike = found[shape] = Alike(before, after, [])
        alike.told.append((before.id, stamp, mapping.begun_text(after.owner or "")))
    yield from found.values()


def _arguments(tx: RedisTransaction, node_id: str, all_alike: Sequence[Alike]) -> list[Value]:
    """For plain.lua."""
    values: list[Value] = [tx.own_time(), node_id, tx.stamp]
    for before, after, told in all_alike:
        moves = [value for move in _moves(before, after, is_held=tx.holds(before.id)) for value in move]
        for first in range(0, len(told), _PART):
            ids, stamps, texts = zip(*told[first : first + _PART], strict=True)
            if len(set(texts)) == 1:
                texts = texts[:1]
            values += (len(moves) // 4, len(ids), len(texts), *moves, *ids, *stamps, *texts)
    return values


def _moves(before: Run, after: Run, *, is_held: bool) -> Iterator[tuple[str, str, Value, Value]]:
    """Command, key, member and score of each; of members that begin with the run's id, what stands behind it."""
    moved, counted, change = Commit(), Commit(), [(before.id, before, after)]
    moved.move(run_entries(before), run_entries(after))
    if is_held:
        moved.write("ZREM", "busy", before.id)
    for command, key, values in moved.in_order():
        scores = values[::2] if command == "ZADD" else [""] * len(values)
        members = values[1::2] if command == "ZADD" else values
        for member, score in zip(members, scores, strict=True):
            yield command, key, str(member).removeprefix(before.id), score
    count_ended(counted, change)
    count_running(counted, change)
    note_lanes(counted, change)
    for command, key, values in counted.in_order():
        first, second = (*values, "")[:2]
        yield (command, key, second, first) if command == "ZINCRBY" else (command, key, first, second)
