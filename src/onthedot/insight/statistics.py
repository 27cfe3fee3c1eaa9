"""Statistics of a schedule, a task or everything: hours that were counted, added up, and period by period."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import groupby
from typing import Literal

from onthedot.model.histogram import Histogram, percentile
from onthedot.model.hour import EVERYTHING, HOUR_MS, OTHER_ERRORS, Hour
from onthedot.model.states import State
from onthedot.moments import floor_ms, from_ms
from onthedot.rules.counting import WRONG, together
from onthedot.stores.base import Store

By = Literal["hour", "day"]


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Of lateness or of duration, in milliseconds; known to a fifth of themselves, and never told too short."""

    p50_ms: int
    p95_ms: int
    p99_ms: int
    count: int
    """Of how many runs."""


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Errors whose last lines are the same but for their numbers."""

    text: str
    """With `#` for each number; empty for all that are beyond the largest groups."""
    count: int


@dataclass(frozen=True, slots=True)
class Counts:
    """What was counted in some hours."""

    ended: Mapping[str, int]
    """By how they ended."""
    lateness: Percentiles | None
    """How late runs began; None where none did. So is `duration`, of how long their latest attempts took."""
    duration: Percentiles | None

    @property
    def total(self) -> int:
        """How many runs ended."""
        return sum(self.ended.values())

    @property
    def wrong(self) -> int:
        """How many failed, timed out or were lost."""
        return sum(self.ended.get(state.value, 0) for state in WRONG)

    @property
    def success_rate(self) -> float | None:
        """The part that ended well of all that ended well or badly: what was cancelled or skipped is neither. None
        where there is neither."""
        good = self.ended.get(State.SUCCEEDED.value, 0)
        return good / (good + self.wrong) if good + self.wrong else None


@dataclass(frozen=True, slots=True)
class Period:
    """An hour or a day."""

    start_at: datetime
    """In the time zone that was asked for."""
    end_at: datetime
    counts: Counts


@dataclass(frozen=True, slots=True)
class Statistics:
    """What was counted of runs that ended."""

    schedule: str | None
    task: str | None
    """Both None: everything."""
    step: str
    since_at: datetime
    """The beginning of the first hour."""
    until_at: datetime
    """When it was asked for."""
    counted_until: datetime | None
    """What ended up to then is counted; None where nothing is. A run is counted a minute or two after its end."""
    counts: Counts
    errors: tuple[ErrorGroup, ...]
    """The largest first; at the end the others, as one."""
    by: By
    series: tuple[Period, ...]
    """Every hour or day, oldest first, also those in which nothing ended."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Of what, and of when."""

    of: str
    """See `Hour.of`."""
    step: str
    first_ms: int
    last_ms: int
    by: By = "day"
    zone: tzinfo = UTC
    """In which days begin."""

    @property
    def schedule(self) -> str | None:
        """None where it is of a task, or of everything."""
        return None if self.of.startswith("/") or self.of == EVERYTHING else self.of

    @property
    def task(self) -> str | None:
        """None where it is of a schedule, or of everything."""
        return self.of[1:] if self.of.startswith("/") else None


def read_statistics(store: Store, asked: Asked) -> Statistics:
    """By reading one row for each hour."""
    first_ms = asked.first_ms // HOUR_MS * HOUR_MS
    hours = store.hours(asked.of, asked.step, first_ms=first_ms, last_ms=asked.last_ms)
    through_ms = store.rolled_through()
    total = together(asked.of, asked.step, first_ms, hours)
    return Statistics(
        asked.schedule,
        asked.task,
        asked.step,
        from_ms(first_ms),
        from_ms(asked.last_ms),
        from_ms(through_ms) if through_ms else None,
        counts_of(total),
        errors_of(total),
        asked.by,
        series_of(hours, asked, first_ms),
    )


def counts_of(hour: Hour) -> Counts:
    """What an hour, or several as one, tells."""
    return Counts(dict(hour.ended), percentiles_of(hour.lateness), percentiles_of(hour.duration))


def percentiles_of(histogram: Histogram) -> Percentiles | None:
    """None of nothing."""
    found = [percentile(histogram, part) for part in (0.5, 0.95, 0.99)]
    p50, p95, p99 = found
    if p50 is None or p95 is None or p99 is None:
        return None
    return Percentiles(p50, p95, p99, sum(histogram.values()))


def errors_of(hour: Hour) -> tuple[ErrorGroup, ...]:
    """The groups of errors, largest first."""
    in_turn = sorted(hour.errors.items(), key=lambda group: (group[0] == OTHER_ERRORS, -group[1], group[0]))
    return tuple(ErrorGroup(text, count) for text, count in in_turn)


def series_of(hours: Sequence[Hour], asked: Asked, first_ms: int) -> tuple[Period, ...]:
    """Period by period, from the one in which the first hour lies to that of the end. A day of a zone whose midnight is
    not at a full hour has the hours that begin in it; one on which clocks change has 23 or 25 of them."""
    of_period = {
        start_ms: together(asked.of, asked.step, start_ms, [*each])
        for start_ms, each in groupby(hours, key=lambda hour: floor_ms(_start_of(hour.hour_ms, asked)))
    }
    periods = []
    start = _start_of(first_ms, asked)
    while (start_ms := floor_ms(start)) <= asked.last_ms:
        end = _after(start, asked.by)
        found = of_period.get(start_ms)
        periods.append(Period(start, end, counts_of(found) if found else Counts({}, None, None)))
        start = end
    return tuple(periods)


def _start_of(hour_ms: int, asked: Asked) -> datetime:
    local = from_ms(hour_ms).astimezone(asked.zone)
    if asked.by == "hour":
        return local
    return _midnight(local)


def _after(start: datetime, by: By) -> datetime:
    if by == "hour":
        return (start.astimezone(UTC) + timedelta(hours=1)).astimezone(start.tzinfo)
    # Noon of the day after is in it, however long the day is.
    return _midnight(start.replace(hour=12, fold=0) + timedelta(days=1))


def _midnight(local: datetime) -> datetime:
    """The first moment of the day; where clocks skip midnight, the moment after."""
    start = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    return start.astimezone(UTC).astimezone(local.tzinfo)
