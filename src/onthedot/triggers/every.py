"""The `Every` trigger: a lattice of equal intervals in real time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta, tzinfo
from typing import overload

from onthedot.durations import format_duration, to_duration_ms
from onthedot.errors import DurationError, TriggerError
from onthedot.moments import END_MS, FIRST_MS, iso
from onthedot.triggers.base import Trigger
from onthedot.triggers.bounds import describe_bounds, read_bounds, to_instant_ms
from onthedot.triggers.cron.fields import WEEKDAYS
from onthedot.triggers.every_days import EveryDays, every_days
from onthedot.triggers.stable_hash import spread_over
from onthedot.triggers.zones import Fold, Gap, Zone, get_zone, zone_name

LEAST_MS = 1000
DAY_MS, WEEK_MS = 86_400_000, 604_800_000
_FIRST_WEEKDAY = 4  # 1970 began on a Thursday
_UNITS = (("week", WEEK_MS), ("day", DAY_MS), ("hour", 3_600_000), ("minute", 60_000), ("second", 1000))


@overload
def every(
    interval: timedelta | str,
    *,
    anchor: datetime | str | None = None,
    spread: bool = False,
    tz: str | tzinfo | None = None,
    starts_at: datetime | str | None = None,
    repeat_until: datetime | str | None = None,
) -> Every: ...


@overload
def every(
    interval: timedelta | str,
    *,
    at: time | str,
    anchor: date | str | None = None,
    tz: str | tzinfo | None = None,
    gap: Gap | None = None,
    fold: Fold | None = None,
    starts_at: datetime | str | None = None,
    repeat_until: datetime | str | None = None,
) -> EveryDays: ...


def every(
    interval: timedelta | str,
    *,
    at: time | str | None = None,
    anchor: date | str | None = None,
    spread: bool = False,
    tz: str | tzinfo | None = None,
    gap: Gap | None = None,
    fold: Fold | None = None,
    starts_at: datetime | str | None = None,
    repeat_until: datetime | str | None = None,
) -> Every | EveryDays:
    """Ticks at anchor + n * interval, in real time: it never drifts, and every node agrees on it without asking.

    The anchor is 1970-01-01T00:00Z unless given, which was a Thursday: name one for days and weeks. `spread=True`
    moves the lattice by a part of the interval that depends on the key (the schedule's name), so that a thousand
    schedules of one interval do not fire at once. The zone tells which local date a tick belongs to, where dates are
    excluded.

    With `at="09:00"` it follows the wall clock instead: that time of day in the zone, every so many days or weeks from
    the date of the anchor. `gap` and `fold` say what happens to times that the clock jumps over or shows twice, as for
    `cron`.
    """
    try:
        interval_ms = to_duration_ms(interval)
    except DurationError as error:
        raise TriggerError(str(error)) from None
    if at is not None:
        if spread:
            raise TriggerError(
                "a time of day is not spread", hint='leave spread out, or give the schedule jitter="10m"'
            )
        bounds = {"starts_at": starts_at, "repeat_until": repeat_until}
        return every_days(interval_ms, at, anchor=anchor, tz=tz, gap=gap, fold=fold, **bounds)
    if gap or fold:
        raise TriggerError(
            "an interval follows real time: gap and fold have no meaning for it",
            hint='name a time of day to follow the wall clock: every("1d", at="09:00")',
        )
    if anchor is not None and not isinstance(anchor, str | datetime):
        raise TriggerError(f"{anchor} is no moment", hint="add a time, or name the time of day as at=")
    name = None if tz is None else zone_name(tz)
    anchor_ms = 0 if anchor is None else to_instant_ms(anchor, name, round_up=False)
    start, until = read_bounds(starts_at, repeat_until, name)
    return Every(interval_ms, anchor_ms, spread, name, start, until)


@dataclass(frozen=True, slots=True)
class Every(Trigger):
    """Made by `every()`. All in milliseconds; the anchor is kept modulo the interval, since that is all it means."""

    interval_ms: int
    anchor_ms: int = 0
    spread: bool = False
    tz: str | None = None
    starts_at: int | None = None
    repeat_until: int | None = None
    key: str = ""
    zone: Zone = field(init=False, repr=False, compare=False)
    phase_ms: int = field(init=False, repr=False, compare=False)
    """Where the lattice lies, with the spread: every tick is phase + n * interval."""

    def __post_init__(self) -> None:
        if self.interval_ms < LEAST_MS:
            raise TriggerError(
                f"an interval of {format_duration(self.interval_ms)} is too short", hint="the least is 1s"
            )
        object.__setattr__(self, "anchor_ms", self.anchor_ms % self.interval_ms)
        moved = spread_over(self.key, "spread", self.interval_ms) if self.spread else 0
        object.__setattr__(self, "zone", get_zone("UTC" if self.tz is None else self.tz))
        object.__setattr__(self, "phase_ms", (self.anchor_ms + moved) % self.interval_ms)
        if self.next_ms(-1) is None:
            raise TriggerError(f"{self} can never fire", hint="widen the bounds, or shorten the interval")

    def next_ms(self, after_ms: int) -> int | None:
        least = max(after_ms + 1, self.first_ms)
        tick = least + (self.phase_ms - least) % self.interval_ms
        return tick if tick <= self.last_ms else None

    def prev_ms(self, before_ms: int) -> int | None:
        most = min(before_ms - 1, self.last_ms)
        tick = most - (most - self.phase_ms) % self.interval_ms
        return tick if tick >= self.first_ms else None

    @property
    def first_ms(self) -> int:
        """No tick lies before it."""
        return FIRST_MS if self.starts_at is None else max(self.starts_at, FIRST_MS)

    @property
    def last_ms(self) -> int:
        """No tick lies after it."""
        return END_MS - 1 if self.repeat_until is None else min(self.repeat_until, END_MS - 1)

    def count_ms(self, start_ms: int, end_ms: int) -> int:
        first, last = self.next_ms(start_ms - 1), self.prev_ms(end_ms)
        if first is None or last is None or last < first:
            return 0
        return (last - first) // self.interval_ms + 1

    @property
    def end_ms(self) -> int | None:
        return self.repeat_until

    def with_key(self, key: str) -> Every:
        return replace(self, key=key) if self.spread else self

    def with_default_zone(self, tz: str) -> Every:
        return replace(self, tz=tz) if self.tz is None else self

    def describe(self) -> str:
        """ "every week, on Thursdays 00:00 UTC": where an interval of days stands is told: nobody can guess it."""
        spread = ", spread by key" if self.spread else ""
        bounds = describe_bounds(self.starts_at, self.repeat_until)
        return f"every {_words(self.interval_ms)}{self._place()}{spread}{bounds}"

    def _place(self) -> str:
        """Where the lattice lies."""
        anchored = f", anchored at {iso(self.anchor_ms)}" if self.anchor_ms else ""
        if self.spread or self.interval_ms % DAY_MS:
            return anchored
        clock = iso(self.anchor_ms)[11:-1].removesuffix(":00")
        if self.interval_ms % WEEK_MS:
            return f", at {clock} UTC" + (anchored if self.interval_ms > DAY_MS else "")
        weekday = WEEKDAYS[(self.anchor_ms // DAY_MS + _FIRST_WEEKDAY) % 7].title()
        return f", on {weekday}s {clock} UTC" + (anchored if self.interval_ms > WEEK_MS else "")

    def __str__(self) -> str:
        options = [f"anchor={iso(self.anchor_ms)!r}"] if self.anchor_ms else []
        options += ["spread=True"] if self.spread else []
        options += [f"tz={self.tz!r}"] if self.tz else []
        options += [
            f"{name}={iso(ms)!r}"
            for name, ms in (("starts_at", self.starts_at), ("repeat_until", self.repeat_until))
            if ms is not None
        ]
        return f"every({', '.join([repr(format_duration(self.interval_ms)), *options])})"


def _words(ms: int) -> str:
    """ "15 minutes", "90 seconds"; "second" for one, as in "every second"; "1.5s" where no unit counts it whole."""
    for unit, unit_ms in _UNITS:
        count, rest = divmod(ms, unit_ms)
        if not rest:
            return unit if count == 1 else f"{count} {unit}s"
    return format_duration(ms)
