"""Which times of the day match, ready for binary search."""

from __future__ import annotations

from functools import lru_cache

from onthedot.triggers.cron.fields import bits

NONE = 255
"""In a table of seconds: there is none."""

_MINUTES = tuple(range(1440))  # one object for each number, so that a table costs 8 bytes an entry


@lru_cache(maxsize=16_384)
def minutes_of_day(hours: int, minutes: int) -> tuple[int, ...]:
    """The matching minutes of the day, ascending, from the masks of hours and minutes."""
    in_hour = bits(minutes)
    return tuple(_MINUTES[hour * 60 + minute] for hour in bits(hours) for minute in in_hour)


@lru_cache(maxsize=4096)
def ceil_table(seconds: int) -> bytes:
    """At index i the smallest matching second at or after i, or NONE."""
    table, found = bytearray(60), NONE
    for second in range(59, -1, -1):
        found = second if seconds >> second & 1 else found
        table[second] = found
    return bytes(table)


@lru_cache(maxsize=4096)
def floor_table(seconds: int) -> bytes:
    """At index i the largest matching second at or before i, or NONE."""
    table, found = bytearray(60), NONE
    for second in range(60):
        found = second if seconds >> second & 1 else found
        table[second] = found
    return bytes(table)


@lru_cache(maxsize=1024)
def seconds_of_day(hours: int, minutes: int, seconds: int) -> int:
    """The matching seconds of the day as one integer of 86,400 bits."""
    hour = sum(seconds << 60 * minute for minute in bits(minutes))
    return sum(hour << 3600 * each for each in bits(hours))
