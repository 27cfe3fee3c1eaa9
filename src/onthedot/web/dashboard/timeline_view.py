"""What the timeline shows: pure, from an outlook, the triggers that it is of, and what the address says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from zoneinfo import ZoneInfo

from onthedot.app.clock_notes import zone_of
from onthedot.app.outlook import Planned, StoreOutlook, needs_of
from onthedot.insight.held import Need
from onthedot.moments import ceil_ms, from_ms
from onthedot.texts import counted
from onthedot.triggers.zones import get_zone
from onthedot.web.dashboard.charts.heat import CELLS, Grid, busiest, floor_row
from onthedot.web.dashboard.charts.ring import short_zone
from onthedot.web.dashboard.charts.strip import QUARTER_MS, Day
from onthedot.web.dashboard.name_groups import OTHERS, name_groups
from onthedot.web.dashboard.overview_view import trigger_words

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
MOST_REWRITTEN = 1000
"""So many of a crowd are rewritten to see what `H` would do; the others stay as they are."""
_MOST_DESCRIBED = 200
_AROUND_MS = 2 * HOUR_MS


@dataclass(frozen=True, slots=True)
class Range:
    """How much the map shows, and how finely."""

    name: str
    label: str
    words: str
    span_ms: int
    row_ms: int

    @property
    def cell_ms(self) -> int:
        """Of one square."""
        return self.row_ms // CELLS

    @property
    def square(self) -> str:
        """What a square stands for: "a minute", "5 seconds"."""
        unit, size = (
            ("minute", self.cell_ms // MINUTE_MS) if self.cell_ms >= MINUTE_MS else ("second", self.cell_ms // 1000)
        )
        return f"a {unit}" if size == 1 else f"{size} {unit}s"

    @property
    def row(self) -> str:
        """What a row stands for: "an hour"."""
        hours, minutes = divmod(self.row_ms // MINUTE_MS, 60)
        if hours:
            return "an hour" if hours == 1 else f"{hours} hours"
        return f"{minutes} minutes"

    @property
    def marks(self) -> tuple[str, ...]:
        """What stands above the quarters of a row: minutes of the hour, or how far they are from its beginning."""
        if self.row_ms == HOUR_MS:
            return (":00", ":15", ":30", ":45")
        unit = HOUR_MS if self.row_ms > HOUR_MS else MINUTE_MS
        steps = (self.row_ms * quarter // 4 for quarter in range(4))
        return tuple(f"+{step // unit}:{step % unit * 60 // unit:02}" for step in steps)


RANGES = {
    each.name: each
    for each in (
        Range("1h", "1 h", "hour", HOUR_MS, 5 * MINUTE_MS),
        Range("6h", "6 h", "6 hours", 6 * HOUR_MS, 15 * MINUTE_MS),
        Range("24h", "24 h", "24 hours", DAY_MS, HOUR_MS),
        Range("7d", "7 d", "7 days", 7 * DAY_MS, 6 * HOUR_MS),
    )
}
USUAL = "24h"


def window_of(shown: Range, now_ms: int, at_ms: int | None, zone: tzinfo) -> tuple[int, int]:
    """From the row of now on; where the chosen moment lies outside, from its day or row on."""
    first_ms = floor_row(now_ms, shown.row_ms, zone)
    if at_ms is not None and not first_ms <= at_ms < first_ms + shown.span_ms:
        first_ms = _day_of(at_ms, zone) if shown.span_ms >= DAY_MS else floor_row(at_ms, shown.row_ms, zone)
    return first_ms, first_ms + shown.span_ms


def _day_of(at_ms: int, zone: tzinfo) -> int:
    local = from_ms(at_ms).astimezone(zone)
    return ceil_ms(datetime(local.year, local.month, local.day, tzinfo=zone))


def grid_of(shown: Range, window: tuple[int, int], outlook: StoreOutlook, now_ms: int, at_ms: int | None) -> Grid:
    """The squares; without a chosen moment the fullest one is chosen."""
    counts = counts_in(outlook, *window, shown.cell_ms)
    grid = Grid(window[0], shown.cell_ms, counts, now_ms, at_ms)
    if at_ms is not None:
        return grid
    fullest = busiest(grid, 1)
    return Grid(window[0], shown.cell_ms, counts, now_ms, fullest[0][0] if fullest else None)


def counts_in(outlook: StoreOutlook, first_ms: int, end_ms: int, step_ms: int) -> list[int]:
    """How many begin in each stretch; none where the outlook does not reach."""
    wanted = -(-(end_ms - first_ms) // step_ms)
    skipped = max(-(-(outlook.first_ms - first_ms) // step_ms), 0)
    begin_ms, last_ms = first_ms + skipped * step_ms, min(end_ms, outlook.end_ms)
    if skipped >= wanted or begin_ms >= last_ms:
        return [0] * wanted
    found = outlook.within(begin_ms, last_ms).counts(step_ms)
    return [0] * skipped + found + [0] * (wanted - skipped - len(found))


def week_counts(outlook: StoreOutlook, days: Sequence[Day]) -> list[list[int]]:
    """Of each day's quarters of an hour."""
    return [counts_in(outlook, day.first_ms, day.end_ms, QUARTER_MS) for day in days]


# the schedules as a whole


@dataclass(frozen=True, slots=True)
class Kinds:
    """What the schedules have in common."""

    tags: tuple[tuple[str, int], ...]
    """With how many have them, the most common first."""
    zones: tuple[str, ...]
    needs: Mapping[Need, Sequence[str]]
    """What they need of nodes, and who needs it."""


def kinds_of(planned: Mapping[str, Planned]) -> Kinds:
    """Looks at each of them."""
    tags = Counter(tag for each in planned.values() for tag in each.tags)
    zones = Counter(zone_of(each.trigger).name for each in planned.values())
    return Kinds(tuple(sorted(tags.items(), key=lambda each: (-each[1], each[0]))), tuple(zones), needs_of(planned))


def jumps_in(zones: Iterable[str], first_ms: int, end_ms: int) -> list[tuple[int, int]]:
    """When clocks of these zones jump in there, and by how many milliseconds."""
    found: set[tuple[int, int]] = set()
    for name in zones:
        zone = get_zone(name)
        for segment in range(zone.segment(first_ms // 1000) + 1, zone.segment((end_ms - 1) // 1000) + 1):
            by = zone.offsets[segment] - zone.offsets[segment - 1]
            if by:
                found.add((zone.bounds(segment)[0] * 1000, by * 1000))
    return sorted(found)


# the chosen square


@dataclass(frozen=True, slots=True)
class GroupLine:
    """Schedules that are named alike, in the chosen square."""

    label: str
    count: int
    part: float
    """Of the largest."""
    words: str
    search: str | None
    """What to look for to see them; None for those that have nothing in common."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The runs of one square."""

    at_ms: int
    end_ms: int
    runs: int
    groups: tuple[GroupLine, ...]
    names: tuple[str, ...]
    """Each once."""
    elsewhere: str
    """The same moment on the clock that most of them go by: "03:00 in Berlin"."""


def chosen_of(
    at_ms: int, cell_ms: int, outlook: StoreOutlook, planned: Mapping[str, Planned], zone_name: str
) -> Chosen:
    """What begins in the square of that moment, by name group."""
    end_ms = at_ms + cell_ms
    runs = outlook.index.query(from_ms(at_ms), from_ms(end_ms))
    counts = runs.per_name()
    groups = name_groups(counts)
    most = max((each.count for each in groups), default=1)
    lines = tuple(
        GroupLine(each.label, each.count, each.count / most, words_of(each.names, planned), _search(each.label))
        for each in groups
    )
    names = tuple(counts)
    return Chosen(at_ms, end_ms, len(runs), lines, names, _elsewhere(at_ms, names, planned, zone_name))


def words_of(names: Sequence[str], planned: Mapping[str, Planned]) -> str:
    """What most of them have for a trigger, and by which clocks they go: "every hour · 36 Berlin, 17 UTC"."""
    triggers = [planned[name].trigger for name in names[:_MOST_DESCRIBED] if name in planned]
    if not triggers:
        return ""
    zones = Counter(zone_of(each).name for each in triggers)
    only = next(iter(zones)) if len(zones) == 1 else ""
    described = Counter(trigger_words(each.describe(), only).split(", ")[0] for each in triggers)
    first, others = described.most_common(1)[0][0], len(described) - 1
    told = f"{first} and {counted(others, 'other')}" if others else first
    if only:
        return told if only == "UTC" else f"{told} · {short_zone(only)}"
    listed = ", ".join(f"{number} {short_zone(name)}" for name, number in zones.most_common(3))
    return f"{told} · {listed}"


def _search(label: str) -> str | None:
    return None if label == OTHERS else label.removesuffix("*")


def _elsewhere(at_ms: int, names: Sequence[str], planned: Mapping[str, Planned], zone_name: str) -> str:
    zones = Counter(zone_of(planned[name].trigger).name for name in names[:_MOST_DESCRIBED] if name in planned)
    others = [name for name, _ in zones.most_common() if name != zone_name]
    if not others:
        return ""
    return f"{from_ms(at_ms).astimezone(ZoneInfo(others[0])):%H:%M} in {short_zone(others[0])}"


def around(at_ms: int, outlook: StoreOutlook) -> tuple[int, int]:
    """The window in which one sees what spreading a square does: four hours, as far as they are known."""
    first_ms = (at_ms - _AROUND_MS // 2) // HOUR_MS * HOUR_MS
    known_ms = -(-outlook.first_ms // MINUTE_MS) * MINUTE_MS, outlook.end_ms // MINUTE_MS * MINUTE_MS
    return max(first_ms, known_ms[0]), max(min(first_ms + 2 * _AROUND_MS, known_ms[1]), first_ms)


def tell_busiest(found: Sequence[tuple[int, int]], zone: tzinfo) -> str:
    """ "The five busiest are all full hours."; empty where nothing comes."""
    if not found:
        return ""
    words = (
        "",
        "busiest is a full hour",
        "two busiest are",
        "three busiest are",
        "four busiest are",
        "five busiest are",
    )
    locals_ = [from_ms(at_ms).astimezone(zone) for at_ms, _ in found]
    if all(each.minute == 0 and each.second == 0 for each in locals_):
        return f"The {words[1]}." if len(found) == 1 else f"The {words[len(found)]} all full hours."
    return f"The busiest begins at {locals_[0]:%a %H:%M}."
