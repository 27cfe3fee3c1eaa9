"""Alerts in the transactions that cause them: what was told of a schedule is kept in a key of its own.

Keys come last in the order of locks, and are compared when they are changed: two ends of one schedule at the same time
are counted one after the other. What planners tell has a key of its own, so that none of them waits for an end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from onthedot.model.alert import Alert, AlertState, ends_key, held_back_text, plans_key
from onthedot.model.key import Key
from onthedot.model.log_line import LogLine
from onthedot.model.run import Run
from onthedot.model.schedule import ScheduleSummary
from onthedot.model.states import State
from onthedot.model.values import replace
from onthedot.rules import alerts as rules
from onthedot.rules.effects import Effects
from onthedot.rules.followers import BAD, Sent
from onthedot.stores.transaction import Transaction

_KEPT_MS = 400 * 86_400_000
"""What was told of a schedule that has not run for so long is forgotten."""


def after_ends(tx: Transaction, ended: Sequence[Run], summaries: Mapping[str, ScheduleSummary]) -> list[Sent]:
    """Count the ends of runs whose schedules have alerts; what is to be sent for them."""
    counted = [(run, alerts) for run in ended if (alerts := _alerts(run, summaries))]
    if not counted:
        return []
    before = states(tx, ends_key, {run.schedule_id or "" for run, _ in counted})
    after, sent, held = dict(before), list[Sent](), list[LogLine]()
    for run, alerts in counted:
        schedule_id = run.schedule_id or ""
        judged = rules.after_end(alerts, after[schedule_id], good=run.state is State.SUCCEEDED, now_ms=tx.now_ms)
        after[schedule_id] = judged.state
        sent += [Sent(each, run.schedule or "", run.scheduled_ms, run) for each in judged.notices]
        held += [_held_back(run, alert, tx.now_ms) for alert in judged.held_back]
    _save(tx, ends_key, before, after)
    if held:
        tx.add_log(held)
    return sent


def _alerts(run: Run, summaries: Mapping[str, ScheduleSummary]) -> tuple[Alert, ...]:
    summary = summaries.get(run.schedule_id or "")
    if summary is None or run.is_filled_in or not (run.state is State.SUCCEEDED or run.state in BAD):
        return ()
    return summary.followers.alerts


def _held_back(run: Run, alert: Alert, now_ms: int) -> LogLine:
    return LogLine(run.id, run.claim_no, now_ms, "INFO", held_back_text(alert))


def after_plans(tx: Transaction, planned: Iterable[Effects]) -> list[Sent]:
    """What is to be sent for ticks that were left out, as they were noticed too late. Their schedules are locked."""
    missed = {
        each.schedule.id: (each.schedule, misfires)
        for each in planned
        if each.schedule is not None and each.schedule.alerts and (misfires := _misfires(each)) is not None
    }
    if not missed:
        return []
    before = states(tx, plans_key, missed)
    after, sent = dict(before), list[Sent]()
    for schedule_id, (schedule, (count, last_ms)) in missed.items():
        judged = rules.after_misfire(schedule.alerts, before[schedule_id], tx.now_ms)
        after[schedule_id] = judged.state
        sent += [Sent(each, schedule.name, last_ms, None, count) for each in judged.notices]
    _save(tx, plans_key, before, after)
    return sent


def _misfires(effects: Effects) -> tuple[int, int] | None:
    """How many ticks gave way, and the last of them."""
    decided = [each for each in effects.decisions if each.reason == "misfire"]
    gave_way = [run for run in effects.ended if run.state is State.SKIPPED and (run.reason or "").startswith("misfire")]
    if not decided and not gave_way:
        return None
    last_ms = max([each.last_ms for each in decided] + [run.scheduled_ms for run in gave_way])
    return sum(each.count or 1 for each in decided) + len(gave_way), last_ms


def look(tx: Transaction, schedule_id: str) -> list[Sent]:
    """Whether a schedule is overdue; and when to look again. Whoever comes second finds it looked at."""
    schedule = tx.schedules_if_free([schedule_id]).get(schedule_id)
    if schedule is None or schedule.watch_ms is None or schedule.watch_ms > tx.now_ms:
        return []
    before = states(tx, ends_key, [schedule_id])
    judged = rules.when_overdue(schedule, before[schedule_id], tx.now_ms)
    next_ms = rules.next_look_ms(schedule, judged.state, tx.now_ms)
    tx.save_schedules([replace(schedule, watch_ms=next_ms, version=schedule.version + 1)])
    _save(tx, ends_key, before, {schedule_id: judged.state})
    last_ms = rules.since_ms(schedule, judged.state, tx.now_ms)
    return [Sent(each, schedule.name, last_ms, None) for each in judged.notices]


# what was told, as a key keeps it


def states(tx: Transaction, key_of: Callable[[str], str], schedule_ids: Iterable[str]) -> dict[str, AlertState]:
    """What was told of these schedules, by id."""
    keys = {each: key_of(each) for each in schedule_ids}
    found = tx.keys(keys.values())
    return {each: AlertState.from_text(found[key].state if key in found else None) for each, key in keys.items()}


def _save(
    tx: Transaction, key_of: Callable[[str], str], before: Mapping[str, AlertState], after: Mapping[str, AlertState]
) -> None:
    changed = {each: state for each, state in sorted(after.items()) if state != before[each]}
    tx.save_keys([Key(key_of(each), each, tx.now_ms + _KEPT_MS, state.to_text()) for each, state in changed.items()])
