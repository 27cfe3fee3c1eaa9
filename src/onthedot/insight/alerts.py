"""How alerts stand: who is told of what, and what has been told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from onthedot.model.alert import Alert, AlertState, Told
from onthedot.model.schedule import Schedule
from onthedot.stores.base import Store

_BATCH = 500


@dataclass(frozen=True, slots=True)
class AlertStanding:
    """One alert, of all schedules that have it."""

    alert: Alert
    schedules: tuple[str, ...]
    failing: tuple[str, ...] = ()
    """Those of which it was told that they fail, and not yet that they recovered."""
    overdue: tuple[str, ...] = ()
    sent_ms: int | None = None
    """When it was last sent."""
    held_back: int = 0

    @property
    def is_open(self) -> bool:
        """Whether something that it told is still so."""
        return bool(self.failing or self.overdue)


@dataclass(frozen=True, slots=True)
class ScheduleAlert:
    """One alert of one schedule."""

    alert: Alert
    told: Told
    bad_ends: int
    """Bad ends in a row, as things stand."""


def alerts_of(schedule: Schedule, state: AlertState) -> tuple[ScheduleAlert, ...]:
    """Those of one schedule, as they stand."""
    return tuple(ScheduleAlert(each, state.told.get(each.name, Told()), state.bad) for each in schedule.alerts)


def read_alerts(store: Store) -> list[AlertStanding]:
    """All alerts of all schedules, by name; where something that they told is still so, first."""
    found: dict[Alert, list[tuple[Schedule, Told]]] = {}
    for batch in _batches(store):
        with_alerts = [each for each in batch if each.alerts]
        states = store.alert_states([each.id for each in with_alerts]) if with_alerts else {}
        for schedule in with_alerts:
            told = states.get(schedule.id, AlertState()).told
            for alert in schedule.alerts:
                found.setdefault(alert, []).append((schedule, told.get(alert.name, Told())))
    standings = [_standing(alert, those) for alert, those in found.items()]
    return sorted(standings, key=lambda each: (not each.is_open, each.alert.name, each.alert.task))


def _batches(store: Store) -> Iterator[Sequence[Schedule]]:
    after = ""
    while batch := store.schedules(after=after, limit=_BATCH):
        yield batch
        after = batch[-1].name


def _standing(alert: Alert, those: Sequence[tuple[Schedule, Told]]) -> AlertStanding:
    return AlertStanding(
        alert,
        tuple(schedule.name for schedule, _ in those),
        tuple(schedule.name for schedule, told in those if told.open),
        tuple(schedule.name for schedule, told in those if told.late),
        max((told.sent_ms for _, told in those if told.sent_ms is not None), default=None),
        sum(told.held for _, told in those),
    )
