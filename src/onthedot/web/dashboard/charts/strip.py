"""The week strip: seven days by quarters of an hour, and where the window below it lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from itertools import groupby, pairwise

from markupsafe import Markup

from onthedot.moments import ceil_ms, from_ms

DAYS = 7
QUARTER_MS = 900_000
_DAY_WIDE, _GAP, _HIGH, _BASE = 100, 3, 52, 46


@dataclass(frozen=True, slots=True)
class Day:
    """One day on the wall clock of a zone; it may have 23 or 25 hours."""

    first_ms: int
    end_ms: int
    label: str
    note: str = ""
    """ "clocks +1 h" where the clock jumps."""

    @property
    def quarters(self) -> int:
        """How many quarters of an hour it has."""
        return (self.end_ms - self.first_ms) // QUARTER_MS


def days_from(now_ms: int, zone: tzinfo, jumps: Sequence[tuple[int, int]] = ()) -> list[Day]:
    """The day of now and the six after it. `jumps`: moments at which clocks that schedules go by jump, and by how many
    milliseconds; the zone's own are seen by themselves."""
    today = from_ms(now_ms).astimezone(zone).date()
    edges = [
        ceil_ms(datetime(day.year, day.month, day.day, tzinfo=zone))
        for day in (today + timedelta(days=number) for number in range(DAYS + 1))
    ]
    return [_day(first, end, zone, jumps) for first, end in pairwise(edges)]


def _day(first_ms: int, end_ms: int, zone: tzinfo, jumps: Sequence[tuple[int, int]]) -> Day:
    local = from_ms(first_ms).astimezone(zone)
    inside = [by for at, by in jumps if first_ms <= at < end_ms]
    own = 86_400_000 - (end_ms - first_ms)
    by = own or next(iter(inside), 0)
    hours = f"{by / 3_600_000:+g}".replace("-", "\N{MINUS SIGN}")
    return Day(first_ms, end_ms, f"{local:%a} {local.day} {local:%b}", f"clocks {hours} h" if by else "")


def draw(days: Sequence[Day], counts: Sequence[Sequence[int]], window_ms: tuple[int, int]) -> Markup:
    """The SVG; `counts` are those of each day's quarters. Labels stand below it as text."""
    most = max((max(each, default=0) for each in counts), default=0) or 1
    parts = Markup("").join(
        _area(number, each, most, shown=day.first_ms < window_ms[1] and window_ms[0] < day.end_ms)
        for number, (day, each) in enumerate(zip(days, counts, strict=True))
    )
    width = DAYS * _DAY_WIDE
    return Markup(
        '<svg class="strip" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" '
        'aria-label="Seven days by quarters of an hour; what the map shows is marked">{}{}</svg>'
    ).format(width, _HIGH, parts, _window(days, window_ms))


def _area(number: int, counts: Sequence[int], most: int, *, shown: bool) -> Markup:
    """One day as an area; the root of the count, so that a quiet hour is still seen beside a herd."""
    left, wide = number * _DAY_WIDE, (_DAY_WIDE - _GAP) / max(len(counts), 1)
    heights = [round((count / most) ** 0.5 * (_BASE - 8)) for count in counts]
    path, place = f"M{left} {_BASE}", 0
    for height, group in groupby(heights):
        place += len(list(group))
        path += f"V{_BASE - height}H{left + place * wide:.5g}"
    return Markup('<path class="{}" d="{}V{}Z"/>').format("day shown" if shown else "day", path, _BASE)


def _window(days: Sequence[Day], window_ms: tuple[int, int]) -> Markup:
    first, end = (_x(days, moment) for moment in window_ms)
    return Markup('<rect class="window" x="{}" y="2" width="{}" height="{}" rx="4"/>').format(
        f"{first:.1f}", f"{max(end - first, 2):.1f}", _HIGH - 4
    )


def _x(days: Sequence[Day], moment_ms: int) -> float:
    for number, day in enumerate(days):
        if moment_ms < day.end_ms:
            part = max(moment_ms - day.first_ms, 0) / (day.end_ms - day.first_ms)
            return number * _DAY_WIDE + part * (_DAY_WIDE - _GAP)
    return float(len(days) * _DAY_WIDE - _GAP)
