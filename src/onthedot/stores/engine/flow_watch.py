"""Which flows are looked at, and when: after a commit that ended steps, and by the poll for what was left behind.

A flow whose look fails is left alone for a while that grows, and holds up no other; it is never given up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Protocol

from onthedot.model.run import Run
from onthedot.model.states import State
from onthedot.model.task_info import TaskInfo
from onthedot.model.values import replace
from onthedot.rules.expiry import is_gated, until_ms_of, waits_at_most_ms, why_late
from onthedot.rules.start import skipped
from onthedot.stores.engine.apart import in_parts
from onthedot.stores.engine.finishing import end_waiting
from onthedot.stores.engine.lookout import AT_ONCE, LookPass, look
from onthedot.stores.engine.step_facts import StepFacts
from onthedot.stores.transaction import Transaction

_FIRST_MS, _LONGEST_MS = 1000, 300_000
_DEEPEST = 12
"""How often one look leads to the next: down to the deepest sub-flow, and up again."""


class Around(Protocol):
    """What the watch needs of the store."""

    def transact(self, work: Callable[[Transaction], Any]) -> Any:
        """Do it in a transaction, once more where that clashes."""

    def tasks(self) -> Sequence[TaskInfo]:
        """What live nodes have published."""

    def now_ms(self) -> int:
        """The store's time."""

    def after_flows(self, ended: Sequence[Run], *, made: bool) -> None:
        """Flows have ended, or steps were made."""


class FlowWatch:
    """One for each store; any thread may use it."""

    def __init__(self, around: Around) -> None:
        self._around = around
        self.facts = StepFacts(around.tasks)
        self._troubled: dict[str, tuple[int, int]] = {}
        """By the id of a flow whose look failed: how often, and until when it is left alone."""
        self._polled: str = ""

    def look(self, flow_ids: Iterable[str]) -> int:
        """At these flows, and at those that a look leads to. How many moved."""
        moved, now = 0, set(flow_ids)
        for _ in range(_DEEPEST):
            if not now:
                break
            passes = self._look_once(sorted(now))
            moved += sum(each.moved for each in passes)
            now = {flow_id for each in passes for flow_id in each.next}
        return moved

    def _look_once(self, ids: Sequence[str]) -> list[LookPass]:
        parts = [ids[first : first + AT_ONCE] for first in range(0, len(ids), AT_ONCE)]
        passes = [each for part in parts for each in in_parts(part, self._look_at, self._note_trouble)]
        ended = [run for each in passes for run in each.ended]
        if ended or any(each.made or each.next for each in passes):
            self._around.after_flows(ended, made=any(each.made or each.next for each in passes))
        return passes

    def _look_at(self, ids: Sequence[str]) -> LookPass:
        done: LookPass = self._around.transact(lambda tx: look(tx, ids, self.facts, self._around.tasks))
        for flow_id in ids:
            if flow_id not in done.failed:
                self._troubled.pop(flow_id, None)
        for flow_id, error in done.failed.items():
            self._note_trouble(flow_id, error)
        return done

    def _note_trouble(self, flow_id: str, error: Exception) -> None:
        tries = self._troubled.get(flow_id, (0, 0))[0] + 1
        wait_ms = min(_FIRST_MS << min(tries, 20), _LONGEST_MS)
        self._troubled[flow_id] = tries, self._around.now_ms() + wait_ms

    def poll(self, limit: int = 1000) -> int:
        """What died before its look, what was asked to stop, what has waited or run too long. How many moved."""
        ids, late = self._around.transact(lambda tx: (tx.untold(limit, self._polled), tx.past_until(limit)))
        self._polled = ids[-1] if len(ids) >= limit else ""
        found = {*ids, *(run.id for run in late if run.state is State.RUNNING)}
        moved = self.look(self._untroubled(found)) if found else 0
        return moved + self._expire([run.id for run in late if run.state is State.WAITING])

    def _untroubled(self, ids: Collection[str]) -> list[str]:
        if not self._troubled:
            return list(ids)
        now_ms = self._around.now_ms()
        return [each for each in ids if self._troubled.get(each, (0, 0))[1] <= now_ms]

    def _expire(self, ids: Sequence[str]) -> int:
        """Runs that were only worth doing until a moment that is past."""
        parts = [ids[first : first + AT_ONCE] for first in range(0, len(ids), AT_ONCE)]
        return sum(len(self._expire_some(part)) for part in parts)

    def _expire_some(self, ids: Sequence[str]) -> list[Run]:
        def work(tx: Transaction) -> list[Run]:
            waiting = [run for run in tx.live_runs(ids).values() if run.state is State.WAITING]
            late = [run for run in waiting if run.until_ms is not None and run.until_ms <= tx.now_ms]
            reasons = {run.id: why_late(run, tx.now_ms, unmet=is_gated(run) and _is_unmet(tx, run)) for run in late}
            tx.save_runs([replace(run, until_ms=until_ms_of(run, gated=False)) for run in late if not reasons[run.id]])
            ended = [skipped(run, why, tx.now_ms) for run in late if (why := reasons[run.id])]
            for run in ended:
                end_waiting(tx, run, self._around.tasks)
            return ended

        ended: list[Run] = self._around.transact(work)
        if ended:
            self._around.after_flows(ended, made=False)
            self.look({run.parent_id for run in ended if run.is_step and run.parent_id is not None})
        return ended


def _is_unmet(tx: Transaction, run: Run) -> bool:
    """Whether a schedule that it depends on has not succeeded in time."""
    since_ms = tx.now_ms - waits_at_most_ms(run.policy)
    return any(not tx.succeeded_since(name, since_ms) for name in run.policy.depends_on)


def flows_of(runs: Iterable[Run]) -> set[str]:
    """The flows of those of these that are steps and have ended."""
    return {run.parent_id for run in runs if run.is_step and run.is_final and run.parent_id is not None}
