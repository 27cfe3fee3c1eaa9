"""Which ticks of one schedule its page shows, which of them is asked about, and the chart of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from itertools import islice

from markupsafe import Markup

from onthedot.errors import TriggerError
from onthedot.model.mark import Mark
from onthedot.model.schedule import Schedule
from onthedot.model.states import State
from onthedot.moments import iso
from onthedot.rules.freezing import Open
from onthedot.stores.answers import Ticks
from onthedot.stores.base import Store
from onthedot.triggers.base import Trigger
from onthedot.triggers.codec import decode
from onthedot.web.dashboard.addresses import Addresses
from onthedot.web.dashboard.charts.columns import Coming, LeftOut, Ran, in_columns, left_out
from onthedot.web.dashboard.charts.ticks import NARROW, WIDE, Words, tick_chart
from onthedot.web.dashboard.next_ticks import NextTick, next_ticks
from onthedot.web.dashboard.spoken import in_full, under_axis
from onthedot.web.dashboard.withheld import withheld

_SHOWN = 60
_NEXT = 10
_AFTER = 12
"""So many ticks after one of long ago are shown with it."""
_WELL = frozenset({State.SUCCEEDED, State.RUNNING, State.WAITING})


@dataclass(frozen=True, slots=True)
class TickView:
    """What the page shows of them."""

    past: Sequence[Ran | LeftOut]
    coming: Sequence[NextTick]
    chosen_ms: int
    """The tick that is asked about."""
    is_now: bool
    """Whether the newest ones are shown."""

    @property
    def counts(self) -> list[tuple[str, str, int]]:
        """Marks, words and how many of those that are drawn on a wide screen: the legend."""
        drawn = [column.tick for column in in_columns(self.past, (), WIDE.most_past)]
        ran = [tick for tick in drawn if isinstance(tick, Ran)]
        kinds = [("succeeded", "ran"), ("failed", "failed"), ("timed_out", "timed out"), ("lost", "lost"),
                 ("cancelled", "cancelled"), ("running", "running"), ("waiting", "waiting")]  # fmt: skip
        found = [(state, word, sum(tick.state == state for tick in ran)) for state, word in kinds]
        skipped = sum(tick.state == State.SKIPPED for tick in ran)
        out = skipped + sum(tick.count or 1 for tick in drawn if isinstance(tick, LeftOut))
        return [each for each in (*found, ("skipped", "left out", out)) if each[2]]


def read_ticks(store: Store, schedule: Schedule, asked_ms: int | None, now_ms: int) -> TickView:
    """The newest; if a tick of before those is asked about, those around it."""
    ticks = store.ticks([schedule.id], each=_SHOWN)
    missing = withheld(schedule, now_ms)
    past, is_now = [*_past(ticks, now_ms), *([] if missing is None else [missing])], True
    if asked_ms is not None and past and asked_ms < past[0].at_ms:
        ticks = store.ticks([schedule.id], last_ms=_some_after(schedule, asked_ms, now_ms), each=_SHOWN)
        past, is_now = _past(ticks, now_ms), False
    coming = _coming(schedule) if is_now and not schedule.is_undeclared(now_ms) else []
    chosen_ms = asked_ms if asked_ms is not None else _remarkable(past, coming, now_ms)
    return TickView(past, coming, chosen_ms, is_now)


def _past(ticks: Ticks, now_ms: int) -> list[Ran | LeftOut]:
    found: list[Ran | LeftOut] = [_ran(mark, now_ms) for mark in ticks.marks]
    found += [left_out(decision) for decision in ticks.decisions]
    return sorted(found, key=lambda tick: tick.at_ms)


def _ran(mark: Mark, now_ms: int) -> Ran:
    took = mark.duration_ms
    if mark.state is State.RUNNING and mark.started_ms is not None:
        took = max(now_ms - mark.started_ms, 0)
    return Ran(mark.scheduled_ms, mark.state, took, mark.lateness_ms, by_hand=mark.cause == "manual")


def _coming(schedule: Schedule) -> list[NextTick]:
    """As things stand; none where it is not planned, or cannot be."""
    if schedule.next_run_ms is None or schedule.error is not None or schedule.deleted or not schedule.enabled:
        return []
    try:
        trigger = decode(schedule.trigger)
    except TriggerError:
        return []
    open_trigger = Open(trigger, schedule.frozen) if schedule.frozen else trigger
    next_ms = schedule.next_run_ms
    first_ms = open_trigger.next_ms(next_ms) if schedule.frozen_at(next_ms) else next_ms
    left = _NEXT if schedule.max_runs is None else max(schedule.max_runs - schedule.planned_runs, 0)
    return next_ticks(trigger, islice(_from(open_trigger, first_ms), min(left, _NEXT)))


def _from(trigger: Trigger, tick: int | None) -> Iterator[int]:
    while tick is not None:
        yield tick
        tick = trigger.next_ms(tick)


def _some_after(schedule: Schedule, moment_ms: int, now_ms: int) -> int:
    try:
        found = [*islice(_from(decode(schedule.trigger), moment_ms), _AFTER)]
    except TriggerError:
        return now_ms
    return found[-1]


def _remarkable(past: Sequence[Ran | LeftOut], coming: Sequence[NextTick], now_ms: int) -> int:
    """What one would ask about: the newest that did not go well, else the newest, else what comes."""
    for tick in reversed(past):
        if isinstance(tick, LeftOut) or tick.state not in _WELL:
            return tick.at_ms
    if past:
        return past[-1].at_ms
    return coming[0].at_ms if coming else now_ms


def charts_of(view: TickView, url: Addresses, zone: tzinfo) -> tuple[Markup, Markup]:
    """Wide, and for phones."""
    coming = [Coming(each.at_ms, each.note if each.moved else "") for each in view.coming]
    moments = [tick.at_ms for tick in (*view.past[-41:], *coming)] or [view.chosen_ms]
    words = Words(
        moment=in_full(zone),
        label=under_axis(zone, moments[0], moments[-1]),
        href=lambda ms: f"?{url.here(tick=iso(ms)).partition('?')[2]}#why",  # without the name, which may be long
    )
    sizes = (WIDE, NARROW)
    wide, narrow = (tick_chart(view.past, coming, words, size=size, selected_ms=view.chosen_ms) for size in sizes)
    return wide, narrow
