"""What every part of the engine rests on: a transaction that is repeated on a clash, and writing down effects."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

from onthedot.errors import Clash, NodeDead
from onthedot.model.key import Key
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.states import FINAL, LIVE, State
from onthedot.model.values import replace
from onthedot.rules.effects import Effects
from onthedot.rules.end import after_shards
from onthedot.rules.overlap import free_slots, holds_back
from onthedot.rules.precedence import turn_of
from onthedot.stores.base import Retention, Store
from onthedot.stores.engine.limits import Limits
from onthedot.stores.transaction import Transaction, TryAgain

T = TypeVar("T")

_TRIES = 50
_KEY_MS = Retention().keys_ms


class Transactions(Store):
    """Transactions over `Transaction`, and what all parts do in them."""

    @abstractmethod
    def begin(self) -> AbstractContextManager[Transaction]:
        """A transaction: committed at the end of the block, rolled back if it is left by an exception."""

    @abstractmethod
    def notify(self) -> None:
        """Something may have become due: tell those who listen."""

    def _transact(self, work: Callable[[Transaction], T]) -> T:
        for _ in range(_TRIES):
            try:
                with self.begin() as rows:
                    return work(rows)
            except TryAgain:
                continue
        raise Clash(f"a transaction clashed with others {_TRIES} times in a row; is one of them stuck?")

    @staticmethod
    def _alive(rows: Transaction, node_id: str) -> Node:
        node = rows.node(node_id)
        if node is None or not node.lives:
            raise NodeDead(node_id)
        return node

    def _write(self, rows: Transaction, all_effects: Sequence[Effects]) -> None:
        rows.save_schedules([each.schedule for each in all_effects if each.schedule is not None])
        self._end(rows, [run for each in all_effects for run in each.ended])
        rows.save_runs([run for each in all_effects for run in each.runs])
        rows.save_keys([key for each in all_effects for key in each.keys])
        rows.add_decisions([decision for each in all_effects for decision in each.decisions])

    def _settle(self, rows: Transaction, runs: Sequence[Run]) -> list[Run]:
        """Write runs that no longer run; those that have ended, with the broadcasts that ended with them."""
        limits = Limits(rows)
        limits.release(runs)
        limits.save()
        rows.save_runs([run for run in runs if run.state in LIVE])
        return self._end(rows, [run for run in runs if run.state in FINAL])

    def _end(self, rows: Transaction, runs: Sequence[Run]) -> list[Run]:
        """Move runs to history; with the last shard ends its broadcast. All that have ended."""
        if not runs:
            return []
        rows.end_runs(runs)
        rows.save_keys(
            [Key(run.key, run.id, _expiry(run.key, rows.now_ms), run.state) for run in runs if run.key is not None]
        )
        shards = [run for run in runs if run.is_shard]
        if not shards:
            return list(runs)
        parents = rows.live_runs({run.parent_id for run in shards if run.parent_id is not None})
        after = [
            after_shards(parent, [run for run in shards if run.parent_id == parent.id], rows.now_ms)
            for parent in parents.values()
        ]
        rows.save_runs([parent for parent in after if parent.state in LIVE])
        return [*runs, *self._end(rows, [parent for parent in after if parent.state in FINAL])]

    # waking: whoever freed a slot, or left a run behind one, looks again after its own commit

    def behind(self, schedule_ids: Collection[str]) -> Collection[str]:
        """Those of the schedules behind whose slots a run may wait: all, where a store cannot tell them quickly."""
        return schedule_ids

    def _wake_blocked(self, runs: Sequence[Run]) -> int:
        return self._look_at({run.schedule_id for run in runs if run.schedule_id is not None})

    def _look_at(self, schedule_ids: Collection[str]) -> int:
        if not schedule_ids:
            return 0
        woken = self._transact(lambda rows: self._unblock(rows, schedule_ids))
        if woken:
            self.notify()
        return woken

    def _look_behind_groups(self, runs: Sequence[Run]) -> int:
        """These gave places of their groups back: whoever waits for one is judged again."""
        groups = {limit[0] for run in runs if (limit := run.policy.group_limit) is not None}
        if not groups:
            return 0

        def work(rows: Transaction) -> int:
            waiting = [run for run in rows.blocked_runs(1000) if (run.policy.group_limit or ("",))[0] in groups]
            return self._unblock_behind(rows, waiting)

        woken = self._transact(work)
        if woken:
            self.notify()
        return woken

    def _unblock_behind(self, rows: Transaction, blocked: Sequence[Run]) -> int:
        """Let these be judged again as far as there is room: of a group those that come first in turn."""
        schedule_ids = {run.schedule_id for run in blocked if run.schedule_id is not None}
        limits = Limits(rows)
        in_turn = sorted((run for run in blocked if run.schedule_id is None), key=turn_of)
        return self._unblock(rows, schedule_ids, [run.id for run in in_turn if limits.admits(run)])

    @staticmethod
    def _unblock(rows: Transaction, schedule_ids: Collection[str], one_off_ids: Collection[str] = ()) -> int:
        """Let the oldest blocked runs of each schedule with room be judged again, and these one-off runs.

        Where their group has fewer places, those that come first in turn. Schedules that have ended are removed.
        """
        live = by_schedule(rows.live_of(schedule_ids))
        behind = {each for each, runs in live.items() if any(run.blocked for run in runs)}
        without = rows.standing([each for each in schedule_ids if each not in live])
        ended = {each for each, how in without.items() if how.auto_remove and how.ended and not how.deleted}
        schedules = rows.schedules_if_free(behind | ended) if behind or ended else {}
        startable = [run for run in rows.live_runs(one_off_ids).values() if run.state is State.WAITING and run.blocked]
        for schedule in schedules.values():
            runs = live.get(schedule.id, [])
            due = [run for run in runs if run.state is State.WAITING and run.blocked and run.due_ms <= rows.now_ms]
            startable += [run for run in due if not holds_back(run, schedule)][: free_slots(schedule, runs)]
        limits = Limits(rows)
        free = [run for run in sorted(startable, key=turn_of) if limits.admits(run)]
        woken = [replace(run, blocked=False) for run in free]
        gone = [
            replace(schedules[each], deleted=True, version=schedules[each].version + 1)
            for each in ended & schedules.keys()
        ]
        rows.save_schedules(gone)
        rows.save_runs(woken)
        return len(woken)

    _swept: tuple[int, str] = (0, "")
    """How far the sweep has come: a crowd that cannot start must not hide the others behind it for ever."""

    def sweep(self, limit: int = 1000) -> int:
        def work(rows: Transaction) -> tuple[int, tuple[int, str]]:
            blocked = rows.blocked_runs(limit, self._swept)
            woken = self._unblock_behind(rows, blocked)
            return woken, (blocked[-1].due_ms, blocked[-1].id) if len(blocked) >= limit else (0, "")

        woken, self._swept = self._transact(work)
        return woken


def _expiry(key: str, now_ms: int) -> int | None:
    """Keys of ticks last as long as their schedule, all others for a while after the end of their run."""
    return None if key.startswith("t:") else now_ms + _KEY_MS


def by_schedule(runs: Sequence[Run]) -> dict[str, list[Run]]:
    grouped: dict[str, list[Run]] = {}
    for run in runs:
        if run.schedule_id is not None:
            grouped.setdefault(run.schedule_id, []).append(run)
    return grouped
