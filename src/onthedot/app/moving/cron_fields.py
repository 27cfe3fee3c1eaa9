"""Fields of cron from sets of numbers; and days that others want on certain weekdays only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from onthedot.triggers.base import Trigger

_WEEK = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


def on_days(made: Callable[[str, str], Trigger], days: str, weekdays: Collection[int]) -> Trigger:
    """Ticks whose day *and* weekday fit (0 is Sunday). `made` gives a trigger for these two fields.

    Cron itself means either of them where both are restricted: there the other weekdays are taken away again.
    """
    wanted = weekday_field(weekdays)
    if days.startswith("*") or wanted.startswith("*"):
        return made(days, wanted)
    return made(days, "*") - made("*", weekday_field({*range(7)} - {*weekdays}))


def weekday_field(weekdays: Collection[int]) -> str:
    """By their names, since schedulers number them differently."""
    plain = field(weekdays, range(7))
    if plain.startswith("*"):
        return plain
    return ",".join("-".join(_WEEK[int(number)] for number in part.split("-")) for part in plain.split(","))


def field(values: Collection[int], everything: range) -> str:
    """As short as people write it."""
    wanted = sorted(values)
    if wanted == [*everything]:
        return "*"
    for step in range(2, len(everything) // 2 + 1):
        if len(wanted) > 2 and wanted == [*everything[::step]]:
            return f"*/{step}"
    return ",".join(_span(part) for part in _consecutive(wanted))


def _consecutive(numbers: Sequence[int]) -> list[list[int]]:
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return parts


def _span(part: Sequence[int]) -> str:
    return ",".join(map(str, part)) if len(part) < 3 else f"{part[0]}-{part[-1]}"
