"""Enqueuing: one run per key, however often it is asked for; routed by what the store knows of the nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from onthedot.model.change import Author
from onthedot.model.key import Key
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.rules import routing
from onthedot.rules.expiry import bounded
from onthedot.stores.engine.audit import run_changed
from onthedot.stores.engine.settling import raise_versions
from onthedot.stores.transaction import Transaction
from onthedot.triggers.stable_hash import spread_over


def enqueue(tx: Transaction, runs: Sequence[Run], by: Author | None = None) -> list[Run]:
    """Insert what is new; a known key or id is answered with the run that has it."""
    schedules = tx.lock_schedules({run.schedule_id for run in runs if run.schedule_id is not None})
    keys = tx.keys({run.key for run in runs if run.key is not None})
    id_of = {key: known.run_id for key, known in keys.items()}
    wanted = [run.id if run.key is None else id_of.setdefault(run.key, run.id) for run in runs]
    known = _known(tx, wanted, list(keys.values()))
    asked = {run.id: run for run, run_id in zip(runs, wanted, strict=True) if run_id == run.id}
    fresh = [bounded(replace(run, created_ms=tx.now_ms, due_ms=run.due_ms or tx.now_ms)) for run in asked.values()]
    added = _add(tx, [run for run in fresh if run.id not in known], schedules, by)
    return [known[run_id] if run_id in known else added[run_id] for run_id in wanted]


def _add(tx: Transaction, runs: Sequence[Run], schedules: Mapping[str, Schedule], by: Author | None) -> dict[str, Run]:
    """Write runs that are new, routed by what is known of the nodes now."""
    added = routed(tx, runs, schedules)
    joined = {run.schedule_id for run in added}
    raise_versions(tx, [each for each in schedules.values() if each.id in joined])
    tx.save_runs(added)
    tx.save_keys([Key(run.key, run.id) for run in added if run.key is not None])
    if by is not None:
        tx.add_changes([line for run in added for line in run_changed(None, run, by, tx.now_ms)])
    return {run.id: run for run in added}


def _known(tx: Transaction, ids: Sequence[str], keys: Sequence[Key]) -> dict[str, Run]:
    live = tx.live_runs(ids)  # before history: a run that ends between the two reads is then found in it
    known = {**tx.ended_runs(ids), **live}
    return known | {key.run_id: _pruned(key) for key in keys if key.run_id not in known}


def routed(tx: Transaction, runs: Sequence[Run], schedules: Mapping[str, Schedule] = MappingProxyType({})) -> list[Run]:
    """There is no count of runs without a tick: `round` is a draw here, and `lfu` and `lru` go by the load."""
    if not any(routing.is_routed(run) for run in runs):
        return list(runs)
    load = tx.load() if any(run.policy.route in routing.BY_LOAD for run in runs) else {}
    router = routing.Router(tx.nodes(), load, tx.now_ms)
    chosen: list[Run] = []
    for run in runs:
        schedule = schedules.get(run.schedule_id or "")
        used = None if schedule is None else schedule.routed
        node = router.choose(run, spread_over(run.id, "turn", 1 << 20), used)
        chosen.append(run if node is None else replace(run, target=node.id))
    return chosen


def _pruned(key: Key) -> Run:
    """What is left of a run whose history is gone while its key still stands."""
    state = State.SUCCEEDED if key.state is None else State(key.state)
    return Run(key.run_id, "", "enqueue", 0, 0, state=state, key=key.key, reason="its history has been pruned")
