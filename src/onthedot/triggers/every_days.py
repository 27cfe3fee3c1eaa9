"""The `EveryDays` trigger: a time of day on the wall clock, every so many days. `every("2w", at="09:00")` makes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, tzinfo

from onthedot.durations import MS, format_duration
from onthedot.errors import TriggerError
from onthedot.moments import END_MS, FIRST_MS, iso
from onthedot.triggers.base import Trigger
from onthedot.triggers.bounds import describe_bounds, read_bounds
from onthedot.triggers.cron.fields import WEEKDAYS
from onthedot.triggers.zones import Fold, Gap, Zone, get_zone, refuse_unknown_rules, zone_name

DAY, DAY_MS = 86_400, MS["d"]
_FIRST_WEEKDAY = 4  # 1970 began on a Thursday
_EPOCH = date(1970, 1, 1)
_LABELS_END = END_MS // 1000
_JUMP_DAYS = 2
"""A tick never lies further than so many days from the date that it belongs to: no clock was ever set further."""
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?")


def every_days(
    interval_ms: int,
    at: time | str,
    *,
    anchor: date | str | None,
    tz: str | tzinfo | None,
    gap: Gap | None,
    fold: Fold | None,
    starts_at: datetime | str | None,
    repeat_until: datetime | str | None,
) -> EveryDays:
    """What `every(…, at=…)` gives."""
    days, rest = divmod(interval_ms, DAY_MS)
    if rest or not days:
        raise TriggerError(
            f"an interval of {format_duration(interval_ms)} has no time of day",
            hint='with at= it is of whole days or weeks, such as "1d" or "2w"; leave at= out to follow real time',
        )
    refuse_unknown_rules(gap, fold)
    zone = None if tz is None else zone_name(tz)
    start, until = read_bounds(starts_at, repeat_until, zone)
    return EveryDays(days, read_time(at), read_day(anchor), zone, gap, fold, start, until)


@dataclass(frozen=True, slots=True)
class EveryDays(Trigger):
    """Ticks when the wall clock shows `second` on the anchor's date and on every so many days from it, either way.

    The dates are a lattice like that of `every`; the time on them follows the rule for fixed times: it fires once at
    the end of a gap that swallows it, and the first time where it comes twice, unless told otherwise.
    """

    days: int
    second: int
    """The time of day, in seconds since midnight as the wall clock shows it."""
    anchor_day: int = 0
    """Days since 1970-01-01."""
    tz: str | None = None
    gap: Gap | None = None
    fold: Fold | None = None
    starts_at: int | None = None
    repeat_until: int | None = None
    zone: Zone = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "zone", get_zone("UTC" if self.tz is None else self.tz))
        if self.next_ms(-1) is None:
            raise TriggerError(f"{self} can never fire", hint="widen the bounds")

    def next_ms(self, after_ms: int) -> int | None:
        least = -(-max(after_ms + 1, self.starts_at or FIRST_MS, FIRST_MS) // 1000)
        first = max(self.zone.label(least) // DAY - _JUMP_DAYS, 0)
        day = first + (self.anchor_day - first) % self.days
        while day * DAY < _LABELS_END:
            for tick in self._ticks_of(day):
                if tick >= least:
                    return tick * 1000 if tick * 1000 <= self._last_ms else None
            day += self.days
        return None

    def prev_ms(self, before_ms: int) -> int | None:
        most = min(before_ms - 1, self._last_ms) // 1000
        last = min(self.zone.label(most) // DAY + _JUMP_DAYS, _LABELS_END // DAY - 1)
        day = last - (last - self.anchor_day) % self.days
        while day >= 0:
            for tick in reversed(self._ticks_of(day)):
                if tick <= most:
                    return tick * 1000 if tick * 1000 >= max(self.starts_at or FIRST_MS, FIRST_MS) else None
            day -= self.days
        return None

    def _ticks_of(self, day: int) -> tuple[int, ...]:
        """The instants that belong to a date of the lattice, in seconds: none, one or two."""
        return self.zone.resolve(day * DAY + self.second, self.effective_gap, self.effective_fold)

    @property
    def _last_ms(self) -> int:
        return END_MS - 1 if self.repeat_until is None else min(self.repeat_until, END_MS - 1)

    @property
    def effective_gap(self) -> Gap:
        """What happens where the wall clock jumps over its time."""
        return self.gap or "shift"

    @property
    def effective_fold(self) -> Fold:
        """What happens where the wall clock shows its time twice."""
        return self.fold or "first"

    @property
    def end_ms(self) -> int | None:
        return self.repeat_until

    def with_key(self, key: str) -> EveryDays:
        return self

    def with_default_zone(self, tz: str) -> EveryDays:
        return replace(self, tz=tz) if self.tz is None else self

    def describe(self) -> str:
        """ "every 2 weeks, on Mondays at 09:00, Europe/Berlin time, counted from 2026-01-05"."""
        counted = f", counted from {day_text(self.anchor_day)}" if self.days not in (1, 7) else ""
        bounds = describe_bounds(self.starts_at, self.repeat_until)
        return f"every {self._span()} at {time_text(self.second)}, {self.zone.name} time{counted}{bounds}"

    def _span(self) -> str:
        weeks, rest = divmod(self.days, 7)
        if rest:
            return "day" if self.days == 1 else f"{self.days} days"
        weekday = WEEKDAYS[(self.anchor_day + _FIRST_WEEKDAY) % 7].title()
        return f"{'week' if weeks == 1 else f'{weeks} weeks'}, on {weekday}s"

    def __str__(self) -> str:
        options = [f"at={time_text(self.second)!r}"]
        options += [f"anchor={day_text(self.anchor_day)!r}"] if self.anchor_day else []
        options += [f"{name}={value!r}" for name, value in _said(self)]
        return f"every({', '.join([repr(format_duration(self.days * DAY_MS)), *options])})"


def _said(trigger: EveryDays) -> Iterator[tuple[str, str]]:
    yield from (
        (name, value)
        for name, value in (("tz", trigger.tz), ("gap", trigger.gap), ("fold", trigger.fold))
        if value is not None
    )
    yield from (
        (name, iso(ms))
        for name, ms in (("starts_at", trigger.starts_at), ("repeat_until", trigger.repeat_until))
        if ms is not None
    )


def read_time(given: object) -> int:
    """Seconds since midnight of a time of day: "09:00", "09:00:30" or a naive `datetime.time`."""
    if isinstance(given, time) and given.tzinfo is None and not given.microsecond:
        return given.hour * 3600 + given.minute * 60 + given.second
    found = _TIME.fullmatch(given.strip()) if isinstance(given, str) else None
    if found is None:
        raise TriggerError(
            f"{given!r} is no time of day", hint='write at="09:00" or at="09:00:30", and the zone as tz='
        )
    hour, minute, second = (int(part or 0) for part in found.groups())
    return hour * 3600 + minute * 60 + second


def read_day(given: date | str | None) -> int:
    """Days since 1970-01-01 of a date; that one where none is given."""
    day = given
    if isinstance(given, str):
        try:
            day = date.fromisoformat(given.strip())
        except ValueError:
            day = None
    if given is None:
        return 0
    if not isinstance(day, date) or isinstance(day, datetime):
        raise TriggerError(f"{given!r} is no date", hint='beside at= the anchor is a date: anchor="2026-01-05"')
    return (day - _EPOCH).days


def time_text(second: int) -> str:
    """ "09:00", or "09:00:30" where there are seconds."""
    text = datetime.fromtimestamp(second, UTC).strftime("%H:%M:%S")
    return text.removesuffix(":00") if not second % 60 else text


def day_text(day: int) -> str:
    """ "2026-01-05"."""
    return date.fromordinal(_EPOCH.toordinal() + day).isoformat()
