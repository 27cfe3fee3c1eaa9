"""A heat map of coming runs for the terminal: a row for each hour (or day), a cell for each minute or a few of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from rich.style import Style
from rich.text import Text

from onthedot.moments import from_ms

Counts = Callable[[str, datetime, datetime], Sequence[int]]
"""How many runs begin in each stretch of a length, between two moments."""

_HOURS_BY_ROW = 72  # above that a row is a day
_COLOURS = ("#5b8def", "#2bb3a3", "#dcb62e", "#f08a3c", "#e5484d")
_BARS, _NOTHING = "▁▂▄▆█", "·"
_ASCII_BARS, _ASCII_NOTHING = ".:+*#", " "


@dataclass(frozen=True, slots=True)
class Window:
    """[start, end) in UTC, and the zone on whose wall clock it is shown."""

    start: datetime
    end: datetime
    zone: str

    @classmethod
    def of(cls, start_ms: int, hours: int, zone: str) -> Window:
        """That many hours of real time from a moment on."""
        return cls(from_ms(start_ms), from_ms(start_ms) + timedelta(hours=hours), zone)

    @property
    def by_day(self) -> bool:
        """Whether it is too long for a row an hour."""
        return self.end - self.start > timedelta(hours=_HOURS_BY_ROW)


@dataclass(frozen=True, slots=True)
class Layout:
    """What fits into the terminal: minutes in a cell, characters for it, minutes in a row, characters for its label."""

    cell: int
    width: int
    row: int
    label: int

    @classmethod
    def fitting(cls, columns: int, by_day: bool) -> Layout:
        """The finest that fits beside label and total."""
        row, label = (1440, 11) if by_day else (60, 10)
        room = columns - label - 8
        choices = ((15, 2), (15, 1), (30, 1), (60, 1)) if by_day else ((1, 2), (1, 1), (2, 1), (5, 1))
        cell, width = next((choice for choice in choices if row // choice[0] * choice[1] <= room), choices[-1])
        return cls(cell, width, row, label)

    @property
    def heading(self) -> str:
        """The scale above the cells: minutes of the hour, or hours of the day."""
        steps = (60, 120, 180, 360) if self.row == 1440 else (5, 10, 15, 30)
        step = next((step for step in steps if step // self.cell * self.width >= 5), steps[-1])
        marks = range(0, self.row, step)
        texts = (f"{mark // 60:02}" if self.row == 1440 else f":{mark:02}" for mark in marks)
        return "".join(text.ljust(step * self.width // self.cell) for text in texts)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the map; a cell outside the window is None."""

    start: datetime
    cells: tuple[int | None, ...]

    @property
    def total(self) -> int:
        """All runs of the row."""
        return sum(cell or 0 for cell in self.cells)

    def padded(self, count: int) -> tuple[int | None, ...]:
        """That many cells."""
        return self.cells + (None,) * (count - len(self.cells))


def read_rows(counts: Counts, window: Window, layout: Layout) -> list[Row]:
    """The rows of a window, filled."""
    bounds = _day_bounds(window) if window.by_day else hour_bounds(window)
    return [_row(counts, start, end, window, layout.cell) for start, end in bounds]


def draw(rows: Sequence[Row], layout: Layout, zone: str, *, ascii_only: bool = False) -> Text:
    """The map with its scale above and its legend below."""
    most = max((cell or 0 for row in rows for cell in row.cells), default=0)
    widest = max((len(row.cells) for row in rows), default=0)  # a day may have 23 or 25 hours
    levels = Levels.up_to(most, ascii_only)
    lines = [Text(" " * layout.label + layout.heading, style="dim")]
    lines += [
        Text.assemble(
            (label.ljust(layout.label), "bold" if label[:1].strip() else ""),
            *(levels.mark(cell, layout.width) for cell in row.padded(widest)),
            (f"{row.total:>8,}" if row.total else "", "dim"),
        )
        for label, row in zip(_labels(rows, layout, zone), rows, strict=True)
    ]
    lines += [Text(), Text(" " * layout.label).append_text(levels.legend(layout.cell))]
    return Text("\n").join(lines)


@dataclass(frozen=True, slots=True)
class Levels:
    """The highest count of each level, ascending: equal steps of the logarithm, since one busy minute may dwarf all."""

    tops: tuple[int, ...]
    bars: str
    nothing: str

    @classmethod
    def up_to(cls, most: int, ascii_only: bool = False) -> Levels:
        """At most five levels; each count its own where they are few."""
        number = len(_COLOURS)
        tops = range(1, most + 1) if most <= number else {round(most ** ((i + 1) / number)) for i in range(number)}
        return cls(
            tuple(sorted(tops)), _ASCII_BARS if ascii_only else _BARS, _ASCII_NOTHING if ascii_only else _NOTHING
        )

    def mark(self, count: int | None, width: int) -> tuple[str, Style]:
        """A cell as it is drawn."""
        if not count:
            return (self.nothing.ljust(width) if count == 0 else " " * width), Style(dim=True)
        level = next(i for i, top in enumerate(self.tops) if count <= top)
        return self._glyph(level) * width, self._style(level)

    def legend(self, minutes: int) -> Text:
        """What the marks mean."""
        legend = Text()
        for level, top in enumerate(self.tops):
            low = self.tops[level - 1] + 1 if level else 1
            legend.append(self._glyph(level) * 2, self._style(level))
            legend.append(f" {low:,}" if low == top else f" {low:,}-{top:,}").append("   ")
        unit = "a minute" if minutes == 1 else f"in {minutes} minutes"
        return legend.append(f"runs {unit}" if self.tops else "no runs", "dim")

    def _glyph(self, level: int) -> str:
        return self.bars[self._place(level)]

    def _style(self, level: int) -> Style:
        return Style(color=_COLOURS[self._place(level)])

    def _place(self, level: int) -> int:
        """Few levels still reach from the lowest to the highest mark."""
        return len(_COLOURS) - 1 if len(self.tops) == 1 else level * (len(_COLOURS) - 1) // (len(self.tops) - 1)


def _row(counts: Counts, start: datetime, end: datetime, window: Window, minutes: int) -> Row:
    step = timedelta(minutes=minutes)
    cells = (
        count if window.start < start + (i + 1) * step and start + i * step < window.end else None
        for i, count in enumerate(counts(f"{minutes}m", start, end))
    )
    return Row(start, tuple(cells))


def hour_bounds(window: Window) -> Iterator[tuple[datetime, datetime]]:
    """The hours of a window, as the wall clock divides them."""
    local = window.start.astimezone(ZoneInfo(window.zone))
    start = window.start - timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)
    while start < window.end:
        yield start, start + timedelta(hours=1)
        start += timedelta(hours=1)


def _day_bounds(window: Window) -> Iterator[tuple[datetime, datetime]]:
    """The days of a window, on the wall clock; they have 23 or 25 hours when it jumps."""
    day = window.start.astimezone(ZoneInfo(window.zone)).replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    while day < window.end:
        following = day + timedelta(days=1)
        yield day.astimezone(UTC), following.astimezone(UTC)
        day = following


def _labels(rows: Sequence[Row], layout: Layout, zone: str) -> Iterator[str]:
    """The day where it begins, the hour on every row."""
    shown = None
    for row in rows:
        local = row.start.astimezone(ZoneInfo(zone))
        if layout.row == 1440:
            yield f"{local:%a %d %b}"
        else:
            yield f"{local:%a %H:%M}" if local.date() != shown else f"    {local:%H:%M}"
        shown = local.date()
