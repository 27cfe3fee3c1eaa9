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
from onthedot.stores.counts import LATE_MS
from onthedot.stores.plain import End, PlainDone, PlainStep
from onthedot.stores.redis import mapping
from onthedot.stores.redis.commit import Commit, Value
from onthedot.stores.redis.indexes import run_entries, track_of
from onthedot.stores.redis.remembered import Memory
from onthedot.stores.redis.server import Server
from onthedot.stores.redis.sharing import count_ended, count_running, note_lanes
from onthedot.stores.redis.transaction import RedisTransaction

NOW = -1
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
    return run if run.schedule_id is None and run.cancel_requested_ms is None and run.remote is None else None


def step(server: Server, memory: Memory, tx: RedisTransaction, asked: PlainStep) -> PlainDone:
    """What is due is read first, with the time and the node; then all is written at once."""
    due = _due(tx, asked)
    begun = [start.started(run, asked.node_id, tx.now_ms) for run in due or ()]
    alike = [*_ending(asked, memory), *_beginning(due or (), begun, tx)]
    if not alike:
        return _nothing_to_do(tx, asked, begins=due is not None)
    now_ms, lives, left = server.write_script("plain", _arguments(tx, asked.node_id, alike))
    if left or not lives:
        tx.let_go()
    if not lives:
        return PlainDone(int(now_ms))
    told = {run_id for each in alike for run_id, _, _ in each.told}.difference(left)
    ended = tuple(end.settle(run, None, outcome, int(now_ms)) for run, outcome in asked.ends if run.id in told)
    stood = None if due is None else tuple(run for run in begun if run.id in told)
    memory.note_runs(tx.stamp, ((run.id, run) for run in (*ended, *(stood or ()))))
    return PlainDone(int(now_ms), ended, stood, passed_over=len(stood or ()) < len(begun))


def _due(tx: RedisTransaction, asked: PlainStep) -> list[Run] | None:
    """None where they are not all plain, or none is asked for."""
    if asked.claim is None:
        return None
    due = tx.due_runs(asked.claim, asked.most)
    if all(run.state is State.WAITING and begins_plainly(run) for run in due):
        return due
    tx.let_go()
    return None


def _nothing_to_do(tx: RedisTransaction, asked: PlainStep, *, begins: bool) -> PlainDone:
    if not begins:
        return PlainDone(NOW)
    node = tx.node_shared(asked.node_id)
    return PlainDone(tx.now_ms, (), () if node is not None and node.lives else None)


def _ending(asked: PlainStep, memory: Memory) -> Iterator[Alike]:
    """Those whose rows this process knows as it knows the runs."""
    found: dict[object, Alike] = {}
    for run, outcome in asked.ends:
        known = memory.runs.get(run.id)
        if known is None or known[1] is not run or run.owner != asked.node_id:
            continue
        shape = outcome.ending, run.task, run.schedule, run.parent_id, run.graph
        alike = found.get(shape)
        if alike is None:
            alike = found[shape] = Alike(run, end.settle(run, None, outcome, NOW), [])
        alike.told.append((run.id, known[0], mapping.ended_text(outcome)))
    yield from found.values()


def _beginning(due: Sequence[Run], begun: Sequence[Run], tx: RedisTransaction) -> Iterator[Alike]:
    found: dict[object, Alike] = {}
    stamps = tx.stamps_of([run.id for run in due])
    for before, after, stamp in zip(due, begun, stamps, strict=True):
        shape = track_of(before), before.target, tx.now_ms - before.due_ms > LATE_MS
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
    """Command, key, member and score of each. What indexes have of a run begins with its id, which is left out."""
    commit, change, prefix = Commit(), [(before.id, before, after)], len(before.id)
    commit.move(run_entries(before), run_entries(after))
    if is_held:
        commit.write("ZREM", "busy", before.id)
    for command, key, values in commit.in_order():
        scores = values[::2] if command == "ZADD" else [""] * len(values)
        members = values[1::2] if command == "ZADD" else values
        for member, score in zip(members, scores, strict=True):
            yield command, key, str(member)[prefix:], score
    counted = Commit()
    count_ended(counted, change)
    count_running(counted, change)
    note_lanes(counted, change)
    for command, key, values in counted.in_order():
        if command == "ZINCRBY":
            yield command, key, values[1], values[0]
        else:
            yield command, key, values[0], values[1] if len(values) > 1 else ""
