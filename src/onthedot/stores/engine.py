"""The law, kept once: every store that has transactions is this engine over its own `Rows`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import Any, TypeVar

from onthedot.errors import Conflict, NodeDead, RunNotFound, StoreUnavailable
from onthedot.model.ids import new_id
from onthedot.model.node import Node, NodeState
from onthedot.model.outcome import Outcome
from onthedot.model.rules import ending, starting
from onthedot.model.rules.overlap import free_slots, holds_back
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import FINAL, LIVE, State
from onthedot.model.values import replace
from onthedot.stores.base import (
    Before,
    By,
    Change,
    Decide,
    Edit,
    Effects,
    Finished,
    Keep,
    Key,
    LogLine,
    Planned,
    Renewal,
    Situation,
    Started,
    Store,
    TaskInfo,
)
from onthedot.stores.rows import Rows, TryAgain

T = TypeVar("T")

_TRIES = 50
_KEY_MS = Keep().keys_ms


class Engine(Store):
    """Implements every writing method of `Store` with transactions over `Rows`."""

    @abstractmethod
    def begin(self) -> AbstractContextManager[Rows]:
        """A transaction: committed at the end of the block, rolled back if it is left by an exception."""

    @abstractmethod
    def notify(self) -> None:
        """Something may have become due: tell those who listen."""

    def _transact(self, work: Callable[[Rows], T]) -> T:
        for _ in range(_TRIES):
            try:
                with self.begin() as rows:
                    return work(rows)
            except TryAgain:
                continue
        raise StoreUnavailable(f"a transaction clashed with others {_TRIES} times in a row; is one of them stuck?")

    # schedules

    def change(self, names: Sequence[str], edit: Edit, by: By) -> list[Effects]:
        changed = self._transact(lambda rows: self._change(rows, names, edit, by))
        self.notify()
        return changed

    def _change(self, rows: Rows, names: Sequence[str], edit: Edit, by: By) -> list[Effects]:
        found = rows.schedules_named(names)
        live = _by_schedule(rows.live_of([schedule.id for schedule in found.values()]))
        all_effects = []
        for name in names:
            before = found.get(name)
            effects = edit(Before(name, before, tuple(live.get(before.id, ())) if before else ()), rows.now_ms)
            self._write(rows, [effects])
            self._record_change(rows, before, effects.schedule, by)
            all_effects.append(effects)
        return all_effects

    def _record_change(self, rows: Rows, before: Schedule | None, after: Schedule | None, by: By) -> None:
        if after is None or after == before:
            return
        if before is None or before.revision != after.revision:
            rows.add_revision(after)
        old, new = _as_json(before), _as_json(after)
        differ = [name for name in new if old.get(name) != new[name] and name not in _UNREMARKABLE]
        if not differ:
            return
        rows.add_changes(
            [
                Change(
                    id=new_id(rows.now_ms),
                    schedule_id=after.id,
                    schedule=after.name,
                    revision=after.revision,
                    at_ms=rows.now_ms,
                    by=by,
                    before={name: old[name] for name in differ if name in old},
                    after={name: new[name] for name in differ},
                )
            ]
        )

    # planning

    def plan_due(self, node_id: str, limit: int, free_workers: int, decide: Decide) -> Planned:
        planned = self._transact(lambda rows: self._plan_due(rows, node_id, limit, free_workers, decide))
        self._look_again([run for effects in planned.effects for run in effects.runs if run.blocked])
        return planned

    def _plan_due(self, rows: Rows, node_id: str, limit: int, free_workers: int, decide: Decide) -> Planned:
        """Where all that was found is left alone (newer than this node), it looks further, so that nothing hides."""
        while True:
            due, passed_over = rows.due_schedules(limit, rows.now_ms - _ON_TIME_MS)
            effects = self._decided(rows, node_id, due, free_workers, decide)
            full = len(due) >= limit
            if not full or any(each.schedule is not None for each in effects):
                self._write(rows, effects)
                return Planned(tuple(effects), passed_over, more=full)
            limit *= 4

    def _decided(
        self, rows: Rows, node_id: str, due: Sequence[Schedule], free_workers: int, decide: Decide
    ) -> list[Effects]:
        node = self._alive(rows, node_id)
        if not due:
            return []
        live = _by_schedule(rows.live_of([schedule.id for schedule in due]))
        befores = [Before(schedule.name, schedule, tuple(live.get(schedule.id, ()))) for schedule in due]
        return list(decide(befores, Situation(rows.now_ms, node, free_workers, tuple(rows.nodes()))))

    def plan_one(self, node_id: str, schedule_id: str, revision: int, decide: Decide) -> Effects | None:
        def work(rows: Rows) -> Effects | None:
            schedule = rows.schedules_if_free([schedule_id]).get(schedule_id)
            if schedule is None or not _may_be_planned(schedule, revision):
                self._alive(rows, node_id)
                return None
            effects = self._decided(rows, node_id, [schedule], 0, decide)
            self._write(rows, effects)
            return effects[0]

        effects = self._transact(work)
        if effects is not None:
            self._look_again([run for run in effects.runs if run.blocked])
        return effects

    # running

    def enqueue(self, runs: Sequence[Run], connection: Any = None) -> list[Run]:
        if connection is not None:
            return self.enqueue_in(connection, runs)
        stored = self._transact(lambda rows: self._enqueue(rows, runs))
        self.notify()
        return stored

    def enqueue_in(self, connection: Any, runs: Sequence[Run]) -> list[Run]:
        """Enqueue in the caller's own transaction, where the store can."""
        raise StoreUnavailable(f"{type(self).__name__} has no transactions to share; leave connection= out")

    @staticmethod
    def _enqueue(rows: Rows, runs: Sequence[Run]) -> list[Run]:
        keys = rows.keys({run.key for run in runs if run.key is not None})
        id_of = {key: known.run_id for key, known in keys.items()}
        wanted = [run.id if run.key is None else id_of.setdefault(run.key, run.id) for run in runs]
        known = {**rows.ended_runs(wanted), **rows.live_runs(wanted)}
        known |= {key.run_id: _pruned(key) for key in keys.values() if key.run_id not in known}
        fresh = {
            run.id: replace(run, created_ms=rows.now_ms, due_ms=run.due_ms or rows.now_ms)
            for run, run_id in zip(runs, wanted, strict=True)
            if run_id == run.id and run_id not in known
        }
        rows.save_runs(list(fresh.values()))
        rows.save_keys([Key(run.key, run.id) for run in fresh.values() if run.key is not None])
        return [known[run_id] if run_id in known else fresh[run_id] for run_id in wanted]

    def start_due(self, node_id: str, tasks: Sequence[str], limit: int) -> Started:
        if limit <= 0:
            return Started()
        started = self._transact(lambda rows: self._start_due(rows, node_id, tasks, limit))
        self._look_again(started.skipped)
        return started

    def _start_due(self, rows: Rows, node_id: str, tasks: Sequence[str], limit: int) -> Started:
        candidates = _candidates(rows, node_id, tasks, limit)
        ids = {run.schedule_id for run in candidates if run.schedule_id is not None}
        schedules = rows.schedules_if_free(ids)
        self._alive(rows, node_id)
        live = _by_schedule(rows.live_of(list(schedules)))
        alone = rows.live_runs([run.id for run in candidates if run.schedule_id is None])
        begun = [
            starting.started(run, node_id, rows.now_ms)
            for run in sorted(alone.values(), key=lambda run: (run.due_ms, -run.policy.priority, run.id))
            if run.state is State.WAITING
        ][:limit]
        skipped: list[Run] = []
        changed: list[Run] = []
        touched: list[Schedule] = []
        startable = frozenset(run.id for run in candidates)
        for schedule in schedules.values():
            starts = starting.judge(
                schedule,
                live.get(schedule.id, ()),
                startable,
                node_id=node_id,
                now_ms=rows.now_ms,
                free=limit - len(begun),
            )
            touched += [] if starts.schedule is None else [starts.schedule]
            changed += starts.changed
            begun += starts.started
            skipped += starts.skipped
        rows.save_schedules(touched)
        rows.save_runs([*changed, *begun])
        self._end(rows, skipped)
        return Started(tuple(begun), tuple(skipped), passed_over=len(schedules) < len(ids))

    def finish(self, node_id: str, outcomes: Sequence[Outcome]) -> Finished:
        finished = self._transact(lambda rows: self._finish(rows, node_id, outcomes))
        return Finished(finished.recorded, finished.refused, woken=self._look_again(finished.recorded))

    def _finish(self, rows: Rows, node_id: str, outcomes: Sequence[Outcome]) -> Finished:
        node = rows.node(node_id)
        if node is None or not node.lives:
            return Finished(refused=tuple(outcome.run_id for outcome in outcomes))
        live = rows.live_runs([outcome.run_id for outcome in outcomes])
        schedules = rows.standing({run.schedule_id for run in live.values() if run.schedule_id is not None})
        recorded: list[Run] = []
        refused: list[str] = []
        for outcome in outcomes:
            run = live.get(outcome.run_id)
            if run is None or not ending.may_record(run, node_id, outcome.claim_no):
                refused.append(outcome.run_id)
                continue
            recorded.append(ending.settle(run, schedules.get(run.schedule_id or ""), outcome, rows.now_ms))
            live[run.id] = recorded[-1]
        self._settle(rows, recorded)
        return Finished(tuple(recorded), tuple(refused))

    def log(self, node_id: str, lines: Sequence[LogLine]) -> int:
        def work(rows: Rows) -> int:
            live = rows.live_runs({line.run_id for line in lines})
            mine = [
                line
                for line in lines
                if line.run_id in live and ending.may_record(live[line.run_id], node_id, line.claim_no)
            ]
            rows.add_log(mine)
            return len(mine)

        return self._transact(work)

    def request_cancel(self, run_id: str, reason: str) -> Run:
        def work(rows: Rows) -> Run:
            run = rows.live_runs([run_id]).get(run_id)
            if run is None:
                return self._ended_run(rows, run_id)
            if run.state is State.WAITING:
                cancelled = replace(run, state=State.CANCELLED, reason=reason, finished_ms=rows.now_ms, blocked=False)
                self._end(rows, [cancelled])
                return cancelled
            asked = replace(run, cancel_requested_ms=run.cancel_requested_ms or rows.now_ms, reason=reason)
            rows.save_runs([asked])
            return asked

        run = self._transact(work)
        self._look_again([run] if run.state is State.CANCELLED else [])
        self.notify()
        return run

    def cancels(self, node_id: str) -> list[str]:
        return self._transact(
            lambda rows: [run.id for run in rows.owned_by(node_id) if run.cancel_requested_ms is not None]
        )

    def retry(self, run_id: str, claim_no: int) -> Run:
        def work(rows: Rows) -> Run:
            live = rows.live_runs([run_id]).get(run_id)
            run = live or self._ended_run(rows, run_id)
            if run.claim_no != claim_no or run.state not in FINAL - {State.SUCCEEDED}:
                raise Conflict(f"run {run_id} is {run.state} now; look at it again")
            waiting = replace(
                run,
                state=State.WAITING,
                claim_no=run.claim_no + 1,
                due_ms=rows.now_ms,
                exempt=True,
                owner=None,
                slot=None,
                crashes=0,
                cancel_requested_ms=None,
                finished_ms=None,
                reason=None,
            )
            rows.revive_runs([waiting])
            rows.save_keys([Key(key.key, run.id) for key in self._keys_of(rows, run)])
            return waiting

        run = self._transact(work)
        self.notify()
        return run

    @staticmethod
    def _keys_of(rows: Rows, run: Run) -> list[Key]:
        """The run's key, unless it has expired and is another's now."""
        keys = rows.keys([] if run.key is None else [run.key])
        return [key for key in keys.values() if key.run_id == run.id]

    @staticmethod
    def _ended_run(rows: Rows, run_id: str) -> Run:
        run = rows.ended_runs([run_id]).get(run_id)
        if run is None:
            raise RunNotFound(run_id)
        return run

    # nodes

    def join(self, node: Node, tasks: Sequence[TaskInfo]) -> Node:
        def work(rows: Rows) -> Node:
            known = rows.node(node.id)
            if known is not None:
                return known
            joined = replace(node, started_ms=rows.now_ms, renewed_ms=rows.now_ms)
            rows.save_node(joined)
            rows.save_tasks(node.id, tasks)
            return joined

        return self._transact(work)

    def renew(self, node: Node) -> Renewal:
        def work(rows: Rows) -> Renewal:
            known = self._alive(rows, node.id)
            renewed = replace(
                known,
                state=node.state,
                capacity=node.capacity,
                renewed_ms=rows.now_ms,
                renewals=known.renewals + 1,
            )
            rows.save_node(renewed)
            return Renewal(renewed, tuple(rows.owned_by(node.id)), tuple(rows.nodes()))

        return self._transact(work)

    def leave(self, node_id: str) -> None:
        def work(rows: Rows) -> list[Run]:
            node = rows.node(node_id)
            if node is None or not node.lives:
                return []
            rows.save_node(replace(node, state=NodeState.STOPPED))
            return self._give_back(rows, node_id)

        self._look_again(self._transact(work))
        self.notify()

    def take_over(self, node_id: str, seen_renewals: int) -> list[Run]:
        def work(rows: Rows) -> list[Run]:
            node = rows.node(node_id)
            if node is None or node.renewals != seen_renewals:
                return []
            if node.lives:
                if not node.expired(rows.now_ms):
                    return []
                rows.save_node(replace(node, state=NodeState.DEAD))
            return self._give_back(rows, node_id)

        given_back = self._transact(work)
        self._look_again(given_back)
        self.notify()
        return given_back

    def _give_back(self, rows: Rows, node_id: str) -> list[Run]:
        runs = rows.live_runs([run.id for run in rows.owned_by(node_id)])
        schedules = rows.standing({run.schedule_id for run in runs.values() if run.schedule_id is not None})
        given_back = [
            ending.take_over(run, schedules.get(run.schedule_id or ""), rows.now_ms)
            for run in runs.values()
            if run.owner == node_id and run.state is State.RUNNING
        ]
        self._settle(rows, given_back)
        return given_back

    @staticmethod
    def _alive(rows: Rows, node_id: str) -> Node:
        node = rows.node(node_id)
        if node is None or not node.lives:
            raise NodeDead(node_id)
        return node

    # writing

    def _write(self, rows: Rows, all_effects: Sequence[Effects]) -> None:
        rows.save_schedules([each.schedule for each in all_effects if each.schedule is not None])
        self._end(rows, [run for each in all_effects for run in each.ended])
        rows.save_runs([run for each in all_effects for run in each.runs])
        rows.save_keys([key for each in all_effects for key in each.keys])
        rows.add_decisions([decision for each in all_effects for decision in each.decisions])

    def _settle(self, rows: Rows, runs: Sequence[Run]) -> None:
        rows.save_runs([run for run in runs if run.state in LIVE])
        self._end(rows, [run for run in runs if run.state in FINAL])

    @staticmethod
    def _end(rows: Rows, runs: Sequence[Run]) -> None:
        if runs:
            rows.end_runs(runs)
            rows.save_keys(
                [Key(run.key, run.id, _expiry(run.key, rows.now_ms), run.state) for run in runs if run.key is not None]
            )

    # waking: whoever freed a slot, or left a run behind one, looks again after its own commit

    def _look_again(self, runs: Sequence[Run]) -> int:
        schedule_ids = {run.schedule_id for run in runs if run.schedule_id is not None}
        if not schedule_ids:
            return 0
        woken = self._transact(lambda rows: self._unblock(rows, schedule_ids))
        if woken:
            self.notify()
        return woken

    @staticmethod
    def _unblock(rows: Rows, schedule_ids: Collection[str]) -> int:
        """Let the oldest blocked runs of each schedule with room be judged again; remove schedules that have ended."""
        live = _by_schedule(rows.live_of(schedule_ids))
        behind = {each for each, runs in live.items() if any(run.blocked for run in runs)}
        without = rows.standing([each for each in schedule_ids if each not in live])
        ended = {each for each, how in without.items() if how.auto_remove and how.ended and not how.deleted}
        schedules = rows.schedules_if_free(behind | ended) if behind or ended else {}
        woken: list[Run] = []
        for schedule in schedules.values():
            runs = live.get(schedule.id, [])
            due = [run for run in runs if run.state is State.WAITING and run.blocked and run.due_ms <= rows.now_ms]
            startable = [run for run in due if not holds_back(run, schedule)]
            woken += [replace(run, blocked=False) for run in startable[: free_slots(schedule, runs)]]
        gone = [
            replace(schedules[each], deleted=True, version=schedules[each].version + 1)
            for each in ended & schedules.keys()
        ]
        rows.save_schedules(gone)
        rows.save_runs(woken)
        return len(woken)

    def sweep(self, limit: int = 1000) -> int:
        def work(rows: Rows) -> int:
            return self._unblock(rows, {run.schedule_id or "" for run in rows.blocked_runs(limit)})

        return self._transact(work)


_ON_TIME_MS = 10_000
_UNREMARKABLE = frozenset({"version", "updated_ms", "revision", "declared_seen_ms"})


def _expiry(key: str, now_ms: int) -> int | None:
    """Keys of ticks last as long as their schedule, all others for a while after the end of their run."""
    return None if key.startswith("t:") else now_ms + _KEY_MS


def _by_schedule(runs: Sequence[Run]) -> dict[str, list[Run]]:
    grouped: dict[str, list[Run]] = {}
    for run in runs:
        if run.schedule_id is not None:
            grouped.setdefault(run.schedule_id, []).append(run)
    return grouped


def _pruned(key: Key) -> Run:
    """What is left of a run whose history is gone while its key still stands."""
    state = State.SUCCEEDED if key.state is None else State(key.state)
    return Run(key.run_id, "", "enqueue", 0, 0, state=state, key=key.key, reason="its history has been pruned")


def _may_be_planned(schedule: Schedule, revision: int) -> bool:
    """Whatever its mode, if it is still what the planner has read."""
    sound = schedule.enabled and not schedule.deleted and schedule.error is None
    return sound and schedule.revision == revision


def _candidates(rows: Rows, node_id: str, tasks: Sequence[str], limit: int) -> list[Run]:
    """Up to so many due runs that may begin here; those that must not yet, do not hide the others."""
    own = rows.owned_by(node_id)
    asked = limit
    while True:
        due = rows.due_runs(node_id, tasks, asked)
        chosen = _one_crashed_at_most(due, own)
        if len(chosen) >= limit or len(due) < asked:
            return chosen[:limit]
        asked *= 4


def _one_crashed_at_most(candidates: Sequence[Run], own: Sequence[Run]) -> list[Run]:
    """A run that has crashed a node begins only while no other such run is here, so that the culprit stands out."""
    crashed_here = any(run.crashes for run in own)
    chosen: list[Run] = []
    for run in candidates:
        if run.crashes and crashed_here:
            continue
        crashed_here = crashed_here or run.crashes > 0
        chosen.append(run)
    return chosen


def _as_json(schedule: Schedule | None) -> dict[str, Any]:
    if schedule is None:
        return {}
    return {**asdict(schedule), "policy": schedule.policy.as_json()}
