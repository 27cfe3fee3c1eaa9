"""All ticks of one trigger in a window, as an array of milliseconds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from onthedot.errors import ForecastTooLarge
from onthedot.triggers.at import At
from onthedot.triggers.base import Trigger
from onthedot.triggers.combine import Exclusion, Union
from onthedot.triggers.cron.fields import bits
from onthedot.triggers.cron.times import minutes_of_day
from onthedot.triggers.cron.trigger import Cron
from onthedot.triggers.dates import Excluded
from onthedot.triggers.every import Every
from onthedot.triggers.zones import WallClock, Zone

Array = npt.NDArray[np.int64]


def ticks_of(trigger: Trigger, start_ms: int, end_ms: int, most: int) -> Array:
    """The ticks in [start, end), ascending; `ForecastTooLarge` before more than `most` of them are made."""
    match trigger.plain():
        case Cron() as cron:
            return _cron(cron, start_ms, end_ms, most)
        case Every() as every:
            return _every(every, start_ms, end_ms, most)
        case Union(parts=parts):
            return np.unique(np.concatenate([ticks_of(part, start_ms, end_ms, most) for part in parts]))
        case Exclusion() as exclusion:
            return _exclusion(exclusion, start_ms, end_ms, most)
        case At(at_ms=at_ms):
            return np.array([at_ms][: start_ms <= at_ms < end_ms], np.int64)
        case other:
            return np.fromiter(other.between_ms(start_ms, end_ms), np.int64)


def _every(trigger: Every, start_ms: int, end_ms: int, most: int) -> Array:
    first = trigger.next_ms(start_ms - 1)
    last = trigger.prev_ms(end_ms)
    if first is None or last is None or last < first:
        return np.empty(0, np.int64)
    if (last - first) // trigger.interval_ms >= most:
        raise ForecastTooLarge(most)
    return np.arange(first, last + 1, trigger.interval_ms, dtype=np.int64)


def _cron(trigger: Cron, start_ms: int, end_ms: int, most: int) -> Array:
    """Days by times of day, segment by segment of the zone, plus the ticks that gaps have shifted."""
    search = trigger.search
    zone, gap, _ = search.wall_clock
    start, end = max(-(-start_ms // 1000), search.first), min(-(-end_ms // 1000), search.end)
    if start >= end:
        return np.empty(0, np.int64)
    minutes = np.array(minutes_of_day(trigger.fields.hours, trigger.fields.minutes), np.int64)
    times = (minutes[:, None] * 60 + np.array(bits(trigger.fields.seconds), np.int64)).ravel()
    parts: list[Array] = []
    for segment in range(zone.segment(start), zone.segment(end - 1) + 1):
        first, last = label_window(search.wall_clock, segment, start, end)
        days = np.fromiter(_days(trigger, first, last), np.int64)
        if len(days) * len(times) > most + 2 * len(times):  # the first and last day may be cut
            raise ForecastTooLarge(most)
        labels = (days[:, None] * 86_400 + times).ravel()
        parts.append(labels[np.searchsorted(labels, first) : np.searchsorted(labels, last)] - zone.offsets[segment])
        instant = zone.bounds(segment)[0]
        if gap == "shift" and start <= instant < end and search.ceil(instant) == instant:
            parts.append(np.array([instant], np.int64))
    return np.unique(np.concatenate(parts)) * 1000


def label_window(wall_clock: WallClock, segment: int, start: int, end: int) -> tuple[int, int]:
    """The labels [first, last) that count in a segment, as far as it lies in the window; all in seconds."""
    starts, ends = wall_clock.zone.windows(wall_clock.fold)
    offset = wall_clock.zone.offsets[segment]
    return max(starts[segment], start + offset), min(ends[segment], end + offset)


def _days(trigger: Cron, first: int, last: int) -> Iterator[int]:
    day = trigger.search.days.ceil(first // 86_400)
    while day is not None and day * 86_400 < last:
        yield day
        day = trigger.search.days.ceil(day + 1)


def _exclusion(trigger: Exclusion, start_ms: int, end_ms: int, most: int) -> Array:
    ticks = ticks_of(trigger.base, start_ms, end_ms, most)
    for item in trigger.without:
        if not len(ticks):
            break
        if isinstance(item, Trigger):
            ticks = ticks[~_among(item, ticks)]
        else:
            ticks = ticks[~_on_dates(item, trigger.base.zone, ticks)]
    return ticks


def _among(item: Trigger, ticks: Array) -> npt.NDArray[np.bool_]:
    """Which of the ticks are ticks of the other trigger too; asked one by one where that has far more of them."""
    try:
        others = ticks_of(item, int(ticks[0]), int(ticks[-1]) + 1, 20 * len(ticks) + 10_000)
    except ForecastTooLarge:
        return np.array([item.ticks_at(tick) for tick in ticks.tolist()], np.bool_)
    if not len(others):
        return np.zeros(len(ticks), np.bool_)
    place = np.minimum(np.searchsorted(others, ticks), len(others) - 1)
    return np.asarray(others[place] == ticks, np.bool_)


def _on_dates(item: Excluded, zone: Zone, ticks: Array) -> npt.NDArray[np.bool_]:
    seconds = ticks // 1000
    offsets = np.array(zone.offsets)[np.searchsorted(np.array(zone.instants), seconds, side="right")]
    days, place = np.unique((seconds + offsets) // 86_400, return_inverse=True)
    excluded = np.array([item.span_of(int(day)) is not None for day in days], np.bool_)
    return np.asarray(excluded[place], np.bool_)
