"""When alerts are sent, and when they are held back: what was told before comes in, what is told now comes out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from onthedot.model.alert import Alert, AlertKind, AlertState, Told
from onthedot.model.schedule import Schedule
from onthedot.model.values import replace as replace_schedule

LOOK_AGAIN_MS = 60_000
"""How soon a schedule that is overdue is looked at again, at the latest: sooner where patience is shorter, so that one
which recovers and is overdue again is told of again."""


class Notice(NamedTuple):
    """An alert that is to be sent."""

    alert: Alert
    on: AlertKind
    in_a_row: int
    """Bad ends in a row: until now, or before the good one."""
    held_back: int
    """How often the alert was held back since it was last sent."""


class Judged(NamedTuple):
    """What becomes of a schedule's alerts."""

    state: AlertState
    notices: tuple[Notice, ...] = ()
    held_back: tuple[Alert, ...] = ()
    """Those that would have been sent, had they not been sent too lately."""


_Verdict = tuple[Told, Notice | None, bool]
"""What the alert has told from now on, what it tells now, and whether that was held back."""


def after_end(alerts: Sequence[Alert], state: AlertState, *, good: bool, now_ms: int) -> Judged:
    """A run of the schedule has ended for good, well or badly."""

    def judge(alert: Alert, told: Told) -> _Verdict:
        return _recovered(alert, told, state.bad, now_ms) if good else _failed(alert, told, state.bad + 1, now_ms)

    asked_for = any(alert.overdue_ms is not None for alert in alerts)
    after = AlertState(0, now_ms if asked_for else None) if good else replace(state, bad=state.bad + 1)
    return _each(alerts, state, after, judge)


def after_misfire(alerts: Sequence[Alert], state: AlertState, now_ms: int) -> Judged:
    """Ticks of the schedule were left out, as they were noticed too late."""

    def judge(alert: Alert, told: Told) -> _Verdict:
        if "misfire" not in alert.on:
            return told, None, False
        return _unless_too_soon(alert, told, "misfire", 0, now_ms)

    return _each(alerts, state, state, judge)


def when_overdue(schedule: Schedule, state: AlertState, now_ms: int) -> Judged:
    """Somebody looks whether the schedule is overdue. It is told once, until a run has ended well."""
    last_ms = since_ms(schedule, state, now_ms)

    def judge(alert: Alert, told: Told) -> _Verdict:
        late = alert.overdue_ms is not None and now_ms >= last_ms + alert.overdue_ms
        if not late or told.late or "overdue" not in alert.on:
            return told._replace(late=late and told.late), None, False
        return told._replace(late=True), Notice(alert, "overdue", state.bad, 0), False

    return _each(schedule.alerts, state, state, judge) if _is_watched(schedule) else Judged(state)


def _failed(alert: Alert, told: Told, in_a_row: int, now_ms: int) -> _Verdict:
    """Once for each series of bad ends, when they are enough; where that was too soon, with one of those after it."""
    if "failure" not in alert.on or in_a_row < alert.after or told.open:
        return told, None, False
    after, notice, held = _unless_too_soon(alert, told, "failure", in_a_row, now_ms)
    return after._replace(open=not held), notice, held


def _recovered(alert: Alert, told: Told, bad_before: int, now_ms: int) -> _Verdict:
    """What was told is over; an alert that tells of recoveries alone goes by how many ends were bad."""
    over = told._replace(open=False, late=False)
    if "recovery" not in alert.on:
        return over, None, False
    if told.open or told.late:
        return over, Notice(alert, "recovery", bad_before, told.held), False
    if "failure" in alert.on or bad_before < alert.after:
        return over, None, False
    return _unless_too_soon(alert, over, "recovery", bad_before, now_ms)


def _unless_too_soon(alert: Alert, told: Told, on: AlertKind, in_a_row: int, now_ms: int) -> _Verdict:
    if told.sent_ms is not None and now_ms - told.sent_ms < alert.every_ms:
        return told._replace(held=told.held + 1), None, True
    return told._replace(sent_ms=now_ms, held=0), Notice(alert, on, in_a_row, told.held), False


def _each(
    alerts: Sequence[Alert], before: AlertState, after: AlertState, judge: Callable[[Alert, Told], _Verdict]
) -> Judged:
    verdicts = [(alert, judge(alert, before.told.get(alert.name, Told()))) for alert in alerts]
    told = {alert.name: verdict[0] for alert, verdict in verdicts if verdict[0] != Told()}
    notices = tuple(verdict[1] for _, verdict in verdicts if verdict[1] is not None)
    return Judged(replace(after, told=told), notices, tuple(alert for alert, verdict in verdicts if verdict[2]))


# the watch


def watched(old: Schedule | None, new: Schedule, now_ms: int) -> Schedule:
    """The schedule after somebody has changed it: watched from now on, as it was before, or not at all."""
    if not _is_watched(new):
        return replace_schedule(new, watch_ms=None, watched_ms=None)
    if old is not None and _is_watched(old) and old.alerts == new.alerts:
        return replace_schedule(new, watch_ms=old.watch_ms, watched_ms=old.watched_ms)
    began_ms = now_ms if old is None or old.watched_ms is None else old.watched_ms
    return replace_schedule(new, watch_ms=max(now_ms, began_ms + _shortest(new)), watched_ms=began_ms)


def since_ms(schedule: Schedule, state: AlertState, now_ms: int) -> int:
    """From when on patience counts: its latest success, the end of its latest freeze (which may lie ahead), or the
    moment from which it is watched."""
    thaws = [each.end_ms for each in schedule.frozen if each.start_ms <= now_ms]
    return max(schedule.watched_ms or 0, state.good_ms or 0, *thaws)


def next_look_ms(schedule: Schedule, state: AlertState, now_ms: int) -> int | None:
    """When to look again whether it is overdue; None where it need not be watched."""
    if not _is_watched(schedule):
        return None
    last_ms = since_ms(schedule, state, now_ms)
    patience = [alert.overdue_ms for alert in schedule.alerts if alert.overdue_ms is not None]
    looks = ((last_ms + each, now_ms + min(each, LOOK_AGAIN_MS)) for each in patience)
    return min((first_ms if first_ms > now_ms else again_ms for first_ms, again_ms in looks), default=None)


def _is_watched(schedule: Schedule) -> bool:
    """Paused, ended or deleted, it is not meant to run."""
    runs = schedule.enabled and not schedule.deleted and schedule.next_run_ms is not None
    return runs and any(alert.overdue_ms is not None for alert in schedule.alerts)


def _shortest(schedule: Schedule) -> int:
    return min(alert.overdue_ms for alert in schedule.alerts if alert.overdue_ms is not None)
