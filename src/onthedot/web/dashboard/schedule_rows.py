"""The lines of the list of schedules: what each shows, made of a schedule and its last ticks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import TypeVar

from markupsafe import Markup

from onthedot.app.clock_notes import zone_of
from onthedot.app.json_documents import schedule_state
from onthedot.errors import TriggerError
from onthedot.model.decision import Decision
from onthedot.model.mark import Mark
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.stores.answers import Ticks
from onthedot.triggers.codec import decode
from onthedot.triggers.written import written
from onthedot.web.dashboard.charts.beads import LEFT_OUT, MOST, beads
from onthedot.web.dashboard.withheld import withheld

_P99 = 0.99
Of = TypeVar("Of", Mark, Decision)


@dataclass(frozen=True, slots=True)
class When:
    """A trigger for people: in words, as it is written, and its zone."""

    words: str
    written: str
    zone: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One line."""

    schedule: Schedule
    state: str
    when: When
    beads: Markup
    usual_ms: int | None
    late_ms: int | None


def when_of(schedule: Schedule) -> When:
    """Also of one whose trigger cannot be read."""
    try:
        trigger = decode(schedule.trigger)
        zone = zone_of(trigger).name
        words = trigger.describe().replace(f", {zone} time", "", 1)
    except TriggerError as error:
        return When("cannot be read", written(schedule.trigger), "", error.line)
    return When(words, written(schedule.trigger), zone)


def rows_of(schedules: Sequence[Schedule], ticks: Ticks, now_ms: int) -> list[Row]:
    """In the order of the schedules."""
    marks, decisions = _by_schedule(ticks.marks), _by_schedule(ticks.decisions)
    return [_row(each, marks.get(each.id, []), decisions.get(each.id, []), now_ms) for each in schedules]


def _by_schedule(items: Iterable[Of]) -> dict[str, list[Of]]:
    found: dict[str, list[Of]] = {}
    for item in items:
        found.setdefault(item.schedule_id, []).append(item)
    return found


def _row(schedule: Schedule, marks: Sequence[Mark], decisions: Sequence[Decision], now_ms: int) -> Row:
    runs = any(mark.state is State.RUNNING for mark in marks)
    state = schedule_state(schedule, now_ms)
    took = [mark.duration_ms for mark in marks if mark.state is State.SUCCEEDED and mark.duration_ms is not None]
    late = sorted(mark.lateness_ms for mark in marks if mark.lateness_ms is not None)
    return Row(
        schedule=schedule,
        state="running" if runs and state == "active" else state,
        when=when_of(schedule),
        beads=beads([*kinds_of(marks, decisions), *_withheld(schedule, now_ms)]),
        usual_ms=median_low(took) if took else None,
        late_ms=late[min(int(len(late) * _P99), len(late) - 1)] if late else None,
    )


def _withheld(schedule: Schedule, now_ms: int) -> list[str]:
    missing = withheld(schedule, now_ms)
    return [] if missing is None else [LEFT_OUT] * min(missing.count or MOST, MOST)


def kinds_of(marks: Sequence[Mark], decisions: Sequence[Decision]) -> list[str]:
    """What became of the last ticks, oldest first; each of those that one decision left out counts by itself."""
    found: list[tuple[int, str]] = [(mark.scheduled_ms, mark.state) for mark in marks]
    for decision in decisions:
        found += [(decision.last_ms, LEFT_OUT)] * min(decision.count or MOST, MOST)
    found.sort(key=lambda each: each[0])
    return [kind for _, kind in found[-MOST:]]
