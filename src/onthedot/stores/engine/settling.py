"""Writing what was decided; and the one place where runs end or stop running, whoever says so.

With a run go its slot, the place of its group, and its key.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from onthedot.model.decision import Decision, joined
from onthedot.model.key import Key
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import FINAL, LIVE, State
from onthedot.model.values import replace
from onthedot.rules.effects import Effects
from onthedot.stores.engine.limits import Limits
from onthedot.stores.retention import KEYS_KEPT_MS
from onthedot.stores.transaction import Transaction

_LONG_AGO = 1
"""Clocks may be set back."""


def write(tx: Transaction, all_effects: Sequence[Effects]) -> None:
    """Everything that was decided, in the order of the locks."""
    tx.save_schedules([each.schedule for each in all_effects if each.schedule is not None])
    tx.save_runs([run for each in all_effects for run in each.stopping])
    put_down(tx, [run for each in all_effects for run in each.ended])
    tx.save_runs([run for each in all_effects for run in each.runs])
    tx.save_keys([key for each in all_effects for key in each.keys])
    record_decisions(tx, [decision for each in all_effects for decision in each.decisions])


def put_down(tx: Transaction, runs: Sequence[Run], told: Collection[str] = ()) -> list[Run]:
    """Write runs that no longer run, or never will: they end, or wait again. Those that ended.

    A step stays among the live rows until its flow is told, unless that is one of those that are `told` of it now.
    """
    if not runs:
        return []
    limits = Limits(tx)
    limits.release(runs)
    limits.save()
    ended = [run for run in runs if run.state in FINAL]
    stays = {run.id for run in ended if run.is_step and run.parent_id not in told}
    tx.save_runs([run for run in runs if run.state in LIVE or run.id in stays])
    tx.end_runs([run for run in ended if run.id not in stays])
    tx.save_keys([_key_of(run, run.key, tx.now_ms) for run in ended if run.key is not None])
    return ended


def record_decisions(tx: Transaction, decisions: Sequence[Decision]) -> None:
    """Consecutive decisions of one schedule for one reason are one growing range."""
    if not decisions:
        return
    last = tx.last_decisions({each.schedule_id for each in decisions if each.after_ms is not None})
    changed: dict[str, Decision] = {}
    for new in decisions:
        before = last.get(new.schedule_id)
        decision = (joined(before, new) if before is not None else None) or new
        last[new.schedule_id] = changed[decision.id] = decision
    tx.save_decisions(list(changed.values()))


def raise_versions(tx: Transaction, schedules: Iterable[Schedule]) -> None:
    """A run of these was added, revived or unblocked: what was decided on what they were before is decided anew."""
    tx.save_schedules([replace(each, version=each.version + 1) for each in schedules])


def cancelled(run: Run, reason: str | None, now_ms: int) -> Run:
    """The run, ended because somebody wished it before it began."""
    return replace(run, state=State.CANCELLED, reason=reason, finished_ms=now_ms, waits_for=None)


def _key_of(run: Run, key: str, now_ms: int) -> Key:
    """Keys of ticks last as long as their schedule, all others for a while after the end of their run. A tick that was
    left out when it was to be filled in is as missing as before: its key is free."""
    if not key.startswith("t:"):
        return Key(key, run.id, now_ms + KEYS_KEPT_MS, run.state)
    left_out = run.state is State.SKIPPED and run.attempt == 0
    return Key(key, run.id, _LONG_AGO if left_out else None, run.state)
