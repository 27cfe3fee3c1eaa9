"""Waking: whoever freed something, or left a run behind it, looks again after its own commit.

Runs that wait name what they wait for, so that waking costs what is woken, however many wait for other things.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cache

from onthedot.model.run import Run, for_limit, for_slot, for_success
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.rules.expiry import waits_at_most_ms
from onthedot.rules.flows.broadcasting import is_whole
from onthedot.rules.overlap import free_slots, waits
from onthedot.rules.precedence import foremost, turn_of
from onthedot.rules.routing import Router
from onthedot.stores.engine.limits import Limits
from onthedot.stores.engine.settling import raise_versions
from onthedot.stores.transaction import Claim, LiveRuns, Transaction

AT_ONCE = 100
"""How many waiters for one thing are looked at in one transaction."""
MANY = 1000
"""The same where nothing but the one thing holds them: all go on together."""
CROWD = 20_000
"""How far it looks where nobody can take those that stand in front."""


def freed_by(runs: Iterable[Run]) -> set[str]:
    """What may have come free when these stopped running."""
    freed: set[str] = set()
    for run in runs:
        if run.schedule_id is not None:  # also where it held no slot: the schedule may count them since
            freed.add(for_slot(run.schedule_id))
        if run.policy.group_limit is not None:
            freed.add(for_limit(run.policy.group_limit[0]))
        if run.state is State.SUCCEEDED and run.schedule is not None:
            freed.add(for_success(run.schedule))
    return freed


def left_behind(runs: Iterable[Run]) -> set[str]:
    """What these were left behind: it may have come free while they were judged."""
    return {run.waits_for for run in runs if run.waits_for is not None}


def next_behind_limits(tx: Transaction, ended: Iterable[Run], claim: Claim) -> list[Run]:
    """As many as these have left places of their groups, in turn, of those that the claim takes.

    What has crashed a node, and what goes to all of them, is judged with more care: it is woken later.
    """
    left = Counter(run.policy.group_limit[0] for run in ended if run.policy.group_limit is not None)
    waiting = (run for group, places in sorted(left.items()) for run in tx.waiting_for(for_limit(group), places))
    found = [run for run in waiting if claim.takes(run) and not run.crashes and not is_whole(run)]
    free = tx.live_runs_if_free({run.id for run in found}) if found else {}
    return [free[run.id] for run in found if run.id in free]


def still_free(ended: Collection[Run], started: Iterable[Run]) -> set[str]:
    """What came free when these stopped running; less the places that were taken by those that began in that step."""
    taken = Counter(run.policy.group_limit for run in started if run.policy.group_limit is not None)
    left = Counter(run.policy.group_limit for run in ended if run.policy.group_limit is not None)
    refilled = {for_limit(limit[0]) for limit, count in left.items() if limit is not None and taken[limit] >= count}
    return freed_by(ended) - refilled


def wake(tx: Transaction, whats: Collection[str]) -> int:
    """Let those who wait for these be judged again, as many as there is room for; says how many."""
    by_kind: dict[str, list[str]] = {}
    for what in sorted(whats):
        kind, _, name = what.partition(":")
        by_kind.setdefault(kind, []).append(name)
    waiting = [
        *_behind_limits(tx, by_kind.get("limit", [])),
        *(run for name in by_kind.get("success", []) for run in _behind_success(tx, name)),
    ]
    owners = {run.schedule_id for run in waiting if run.schedule_id is not None}
    schedules = tx.lock_schedules({*by_kind.get("slot", []), *by_kind.get("resume", []), *owners})
    waiting += _behind_slots(tx, [schedules[each] for each in by_kind.get("slot", []) if each in schedules])
    resumed = [what for what in whats if what.startswith("resume:") and _goes_on(schedules.get(what[7:]), tx.now_ms)]
    waiting += [run for what in resumed for run in tx.waiting_for(what, AT_ONCE)]
    return _unblock(tx, waiting, schedules)


def _goes_on(schedule: Schedule | None, now_ms: int) -> bool:
    if schedule is None or schedule.deleted:
        return True
    return schedule.enabled and schedule.frozen_at(now_ms) is None


def _behind_limits(tx: Transaction, groups: Sequence[str]) -> list[Run]:
    """As many of each group as have a place, of those that some live node can take: the others would only hold it."""
    if not groups:
        return []
    limits, router = Limits(tx), Router(tx.nodes(), {}, tx.now_ms)
    return [run for group in groups for run in _admitted(tx, group, limits, router)]


def _admitted(tx: Transaction, group: str, limits: Limits, router: Router) -> list[Run]:
    found: list[Run] = []
    for most in (AT_ONCE, MANY, CROWD):
        waiting = tx.waiting_for(for_limit(group), most)
        able = [run for run in waiting if run not in found and router.able(run)]
        found += [run for run in able if limits.admits(run)]
        if found or len(waiting) < most:
            break
    return found


def _behind_success(tx: Transaction, name: str) -> list[Run]:
    """Those for whom it has come. Who has waited for it too long is found by that (`Transaction.past_until`)."""
    waiting = tx.waiting_for(for_success(name), CROWD)
    succeeded = cache(lambda patience_ms: tx.succeeded_since(name, tx.now_ms - patience_ms))
    return [run for run in waiting if succeeded(waits_at_most_ms(run.policy))]


def _behind_slots(tx: Transaction, schedules: Sequence[Schedule]) -> list[Run]:
    """As many of each as have room; asked for only where more wait than were read with its live runs."""
    live = tx.live_beside(schedules)
    found: list[Run] = []
    for schedule in schedules:
        runs, more = live.get(schedule.id, LiveRuns())
        free = free_slots(schedule, runs)
        ready = sum(waits(run, tx.now_ms) and not run.blocked for run in runs)
        most = AT_ONCE if free is None else min(max(free - ready, 0), AT_ONCE)  # who is ready comes before who waits
        what = for_slot(schedule.id)
        if most and more:
            found += tx.waiting_for(what, most)
        else:
            due = (run for run in runs if run.waits_for == what and waits(run, tx.now_ms))
            found += foremost(due, turn_of, most)
    return found


def _unblock(tx: Transaction, waiting: Sequence[Run], schedules: dict[str, Schedule]) -> int:
    """They were read without a lock: who has begun, ended or been judged otherwise since is left alone."""
    now = tx.live_runs({run.id for run in waiting})
    free = [now[run.id] for run in waiting if run.id in now and now[run.id].waits_for == run.waits_for]
    raise_versions(tx, [schedules[each] for each in {run.schedule_id for run in free} if each in schedules])
    tx.save_runs([replace(run, waits_for=None) for run in free])
    return len(free)


def remove_ended(tx: Transaction, schedule_ids: Collection[str]) -> None:
    """Self-removing schedules go after their last run: judged under the lock, where a put may have come between."""
    maybe = [each for each, how in tx.summaries(schedule_ids).items() if how.auto_remove and how.ended]
    schedules = tx.lock_schedules(maybe) if maybe else {}
    ended = [each for each in schedules.values() if each.auto_remove and each.next_run_ms is None and not each.deleted]
    live = tx.live_beside(ended)
    gone = [each for each in ended if each.id not in live or not live[each.id].runs]
    tx.save_schedules([replace(each, deleted=True, version=each.version + 1) for each in gone])
