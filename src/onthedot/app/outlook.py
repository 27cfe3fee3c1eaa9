"""What the schedules of a store will run in a window. Needs the extra `forecast`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from onthedot.errors import ForecastTooLarge, TriggerError
from onthedot.insight.held import Need, unable_of
from onthedot.model.node import Node
from onthedot.model.schedule import Schedule
from onthedot.moments import END_MS, FIRST_MS, ceil_ms, from_ms
from onthedot.rules.freezing import Open
from onthedot.texts import counted
from onthedot.triggers.base import Trigger
from onthedot.triggers.codec import decode

if TYPE_CHECKING:
    from onthedot.forecast import RunIndex
    from onthedot.stores.base import Store

_PAGE = 1000
_DAY_MS = 86_400_000
_HOUR_MS = 3_600_000
MOST_DAYS = 8
ENOUGH_RUNS = 3_000_000
"""An index that is kept holds fewer days, one at least, where these would be more runs: 20 MB, and a second's work."""


@dataclass(frozen=True, slots=True)
class StoreOutlook:
    """Runs to come in [first, end)."""

    index: RunIndex
    first_ms: int
    end_ms: int

    def within(self, first_ms: int, end_ms: int) -> StoreOutlook:
        """The same, of a part of its window."""
        return replace(self, first_ms=max(first_ms, self.first_ms), end_ms=min(end_ms, self.end_ms))

    def covers(self, first_ms: int, end_ms: int) -> bool:
        """Whether all that is to come in there is in here."""
        return self.first_ms <= first_ms and end_ms <= self.end_ms

    def __len__(self) -> int:
        return len(self.index.query(from_ms(self.first_ms), from_ms(self.end_ms)))

    def counts(self, step_ms: int) -> list[int]:
        """How many begin in each stretch of this length."""
        return self._counts(self.first_ms, step_ms)

    def busiest(self, step_ms: int, count: int) -> list[tuple[int, int]]:
        """The fullest stretches (counted from 1970) by their beginning, and how many begin in them."""
        first_ms = self.first_ms // step_ms * step_ms
        before = len(self.index.query(from_ms(max(first_ms, FIRST_MS)), from_ms(self.first_ms)))
        counts = self._counts(max(first_ms, FIRST_MS), step_ms)
        if counts:
            counts[0] -= before
        found = ((first_ms + number * step_ms, runs) for number, runs in enumerate(counts) if runs)
        return sorted(found, key=lambda each: (-each[1], each[0]))[:count]

    def _counts(self, first_ms: int, step_ms: int) -> list[int]:
        step = from_ms(step_ms) - from_ms(0)
        found: list[int] = self.index.counts(step, from_ms(first_ms), from_ms(self.end_ms)).tolist()
        return found

    def runs_in(self, first_ms: int, end_ms: int, most: int) -> list[tuple[int, str]]:
        """Those that begin there, by their moment."""
        found = self.index.query(from_ms(first_ms), from_ms(end_ms))
        return [(ceil_ms(run.at), run.name) for run in islice(found, most)]


@dataclass(frozen=True, slots=True)
class Planned:
    """What is to come of one schedule rests on this."""

    task: str
    trigger: Trigger
    tags: tuple[str, ...]
    group: str | None = None


def planned_of(schedules: Iterable[Schedule], now_ms: int) -> dict[str, Planned | None]:
    """By name; None for those that do not run: paused, parked, at their end, or no longer declared by any live node."""
    return {each.name: _planned(each, now_ms) for each in schedules}


def read_planned(store: Store, *, tag: str | None = None) -> dict[str, Planned]:
    """Of all schedules that run, or of those with a tag. Reads every one of them, in pages."""
    found: dict[str, Planned] = {}
    now_ms = store.now_ms()
    after: str | None = ""
    while after is not None:
        page = store.schedules(tag=tag, after=after, limit=_PAGE)
        found.update((name, each) for name, each in planned_of(page, now_ms).items() if each is not None)
        after = page[-1].name if len(page) == _PAGE else None
    return found


def outlook_of(planned: Mapping[str, Planned], first_ms: int, end_ms: int, *, tag: str | None = None) -> StoreOutlook:
    """Of all of these, or of those with a tag; `ForecastTooLarge` if they are too many runs to hold."""
    from onthedot.forecast import forecast

    first_ms, end_ms = max(first_ms, FIRST_MS), min(end_ms, END_MS)
    triggers = {name: each.trigger for name, each in planned.items() if tag is None or tag in each.tags}
    return StoreOutlook(forecast(triggers, from_ms(first_ms), from_ms(end_ms)), first_ms, end_ms)


def coming_days(planned: Mapping[str, Planned], first_ms: int, most_days: int = MOST_DAYS) -> StoreOutlook:
    """From that moment on, for as many days as are not too many runs: a day at least, or an hour of very busy ones."""
    try:
        day = outlook_of(planned, first_ms, first_ms + _DAY_MS)
    except ForecastTooLarge:
        return outlook_of(planned, first_ms, first_ms + _HOUR_MS)
    days = min(most_days, ENOUGH_RUNS // max(len(day), 1))
    try:
        return day if days <= 1 else outlook_of(planned, first_ms, first_ms + days * _DAY_MS)
    except ForecastTooLarge:  # the next days are far busier than the first
        return day


def outlook(open_store: Callable[[], Store], first_ms: int, end_ms: int, *, tag: str | None = None) -> StoreOutlook:
    """Of all schedules that run, or of those with a tag, as they stand now."""
    return outlook_of(read_planned(open_store(), tag=tag), first_ms, end_ms)


def notes_on(needs: Mapping[Need, Sequence[str]], nodes: Sequence[Node], undeclared: int, now_ms: int) -> list[str]:
    """What is to be known beside the runs to come: how many schedules are not among them, as they would not run; and
    whose runs would wait for a node."""
    who = f"{counted(undeclared, 'schedule')} {'is' if undeclared == 1 else 'are'}"
    told = [f"{who} not counted: no live node declares {'it' if undeclared == 1 else 'them'} any more"]
    return [*(told if undeclared else []), *map(str, unable_of(needs, nodes, now_ms))]


def needs_of(planned: Mapping[str, Planned]) -> dict[Need, list[str]]:
    """What these need of nodes, and who needs it."""
    found: dict[Need, list[str]] = {}
    for name, each in planned.items():
        found.setdefault((each.task, each.group), []).append(name)
    return found


def _planned(schedule: Schedule, now_ms: int) -> Planned | None:
    if not schedule.enabled or schedule.error is not None or schedule.next_run_ms is None:
        return None
    if schedule.is_undeclared(now_ms):
        return None
    try:
        trigger: Trigger = decode(schedule.trigger).plain()
        trigger = Open(trigger, schedule.frozen) if schedule.frozen else trigger
        return Planned(schedule.task, trigger, schedule.tags, schedule.policy.group)
    except TriggerError:
        return None
