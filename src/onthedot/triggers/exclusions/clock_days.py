"""Sets of UTC days as bit masks, and which days a wall clock goes through alike."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import compress, pairwise

from onthedot.moments import END_MS
from onthedot.triggers.zones import Zone

DAY = 86_400
END = END_MS // 1000
DAYS = END // DAY
"""Days are counted from 1970-01-01 (0) to 2199-12-31; bit n of a set of days stands for day n."""
ALL_DAYS = (1 << DAYS) - 1


def lowest(bits: int) -> int:
    """The lowest bit that is set."""
    return (bits & -bits).bit_length() - 1


def run(first: int, end: int) -> int:
    """The bits in [first, end)."""
    return (1 << end) - (1 << first) if first < end else 0


def bits_of(mask: int) -> list[int]:
    """The bits that are set, ascending."""
    if mask.bit_count() < 32:
        found = []
        while mask:
            found.append(lowest(mask))
            mask &= mask - 1
        return found
    text = f"{mask:b}"[::-1].encode().translate(_SELECTORS)
    return list(compress(range(len(text)), text))


_SELECTORS = bytes(int(code == ord("1")) for code in range(256))


def part_of_day(first: int, end: int, day: int) -> int:
    """The seconds of a day that lie in the seconds [first, end) of the time line."""
    return run(min(max(first - day * DAY, 0), DAY), min(max(end - day * DAY, 0), DAY))


@lru_cache(maxsize=1024)
def comb(step: int, length: int) -> int:
    """Each step-th bit from bit 0 on, up to the length."""
    bits, reach = 1, step
    while reach < length:
        bits |= bits << reach
        reach *= 2
    return bits & (1 << length) - 1


@cache
def kinds_of_days(zone: Zone) -> tuple[int, ...]:
    """All days, parted into sets: through the days of one set the wall clock goes alike, jumps and all.

    So a cron text ticks at the same seconds of two such days, if it takes the same of the dates around them.
    """
    kinds: dict[object, int] = {}
    for before, day in pairwise((-1, *_days_of_jumps(zone), DAYS)):
        if before + 1 < day:
            offset = zone.offsets[zone.segment((before + 1) * DAY)]
            kinds[offset] = kinds.get(offset, 0) | run(before + 1, day)
        if day < DAYS:
            jumps = _jumps_around(zone, day * DAY)
            kinds[jumps] = kinds.get(jumps, 0) | 1 << day
    return tuple(kinds.values())


def _days_of_jumps(zone: Zone) -> list[int]:
    """The days that a jump touches: those of the labels too that it repeats."""
    return sorted({day for number in range(len(zone.instants)) for day in _touched(zone, number) if 0 <= day < DAYS})


def _touched(zone: Zone, number: int) -> Iterator[int]:
    instant = zone.instants[number]
    reach = abs(zone.offsets[number + 1] - zone.offsets[number])
    yield from range((instant - reach) // DAY, (instant + reach) // DAY + 1)


def _jumps_around(zone: Zone, start: int) -> tuple[tuple[int, int, int], ...]:
    """The jumps of the days before and after, counted from the start of a day."""
    near = range(bisect_left(zone.instants, start - 2 * DAY), bisect_right(zone.instants, start + 3 * DAY))
    return tuple((zone.instants[k] - start, zone.offsets[k], zone.offsets[k + 1]) for k in near)
