"""The heat map: a square for each minute, a row for each hour, eight shades of ink.

One path for each shade: a map of a day has 1,440 squares, and a browser should not have to hold as many elements.
The picture is stretched to the width that there is; names of rows and sums stand beside it as text.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from markupsafe import Markup

from onthedot.moments import from_ms

TOPS = (0, 2, 6, 12, 24, 48, 90)
"""The most that each shade stands for; the eighth is for all above. See `tops_for`."""
_STEPS = (1, 2, 5)
CELLS = 60
"""In a row."""
_PITCH, _WIDE = 10, 9
_ROW = 20


@dataclass(frozen=True, slots=True)
class Grid:
    """Squares from the beginning of a row on, all of one length."""

    first_ms: int
    """The beginning of the first row: now, rounded down to a row."""
    cell_ms: int
    counts: Sequence[int]
    """For each square; a whole number of rows."""
    now_ms: int
    chosen_ms: int | None = None
    """A moment in the square that is chosen."""

    @property
    def row_ms(self) -> int:
        """How long a row is."""
        return self.cell_ms * CELLS

    @property
    def rows(self) -> int:
        """How many there are."""
        return -(-len(self.counts) // CELLS)

    @property
    def chosen(self) -> int | None:
        """The place of the square that is chosen, if it is in the map."""
        if self.chosen_ms is None:
            return None
        place = (self.chosen_ms - self.first_ms) // self.cell_ms
        return place if 0 <= place < len(self.counts) else None

    @property
    def now(self) -> float | None:
        """The place of now, and how far it is into its square; None if the map begins later."""
        place = (self.now_ms - self.first_ms) / self.cell_ms
        return place if 0 <= place < len(self.counts) else None

    def at(self, place: int) -> int:
        """When a square begins."""
        return self.first_ms + place * self.cell_ms


@dataclass(frozen=True, slots=True)
class Row:
    """What stands beside a row of squares."""

    at_ms: int
    label: str
    total: int
    part: float
    """Of the fullest row."""
    fullest_ms: int
    """When its fullest square begins."""
    fullest: int
    new_day: bool


def tops_for(counts: Sequence[int]) -> tuple[int, ...]:
    """The steps as they are; or all of them 2, 5, 10, 20… times as high, where half of the squares would be dark."""
    usual = sorted(counts)[len(counts) // 2] if counts else 0
    factor = next(step * 10**power for power in range(9) for step in _STEPS if usual <= TOPS[4] * step * 10**power)
    return tuple(top * factor for top in TOPS)


def shade(count: int, tops: Sequence[int] = TOPS) -> int:
    """0 to 7."""
    return bisect_left(tops, count)


def floor_row(now_ms: int, row_ms: int, zone: tzinfo) -> int:
    """The beginning of the row in which now lies, on the wall clock of the zone."""
    offset = from_ms(now_ms).astimezone(zone).utcoffset()
    shift_ms = 0 if offset is None else int(offset.total_seconds() * 1000)
    return (now_ms + shift_ms) // row_ms * row_ms - shift_ms


def rows_of(grid: Grid, zone: tzinfo) -> list[Row]:
    """The names and sums of all rows."""
    parts = [grid.counts[place * CELLS : (place + 1) * CELLS] for place in range(grid.rows)]
    most = max((sum(part) for part in parts), default=0) or 1
    return [_row(grid, number, part, sum(part) / most, zone) for number, part in enumerate(parts)]


def _row(grid: Grid, number: int, counts: Sequence[int], part: float, zone: tzinfo) -> Row:
    at_ms = grid.at(number * CELLS)
    local = from_ms(at_ms).astimezone(zone)
    before = from_ms(at_ms - grid.row_ms).astimezone(zone)
    new_day = number > 0 and local.date() != before.date()
    fullest = max(range(len(counts)), key=counts.__getitem__)
    return Row(
        at_ms,
        _label(local, new_day=new_day),
        sum(counts),
        part,
        grid.at(number * CELLS + fullest),
        counts[fullest],
        new_day,
    )


def _label(local: datetime, *, new_day: bool) -> str:
    """The day, where a row begins with it; where clocks have jumped since the first row, with the hour at which it
    begins. What the clock shows for the second time is marked."""
    if new_day and local.minute == 0:
        return f"{local:%a} {local.hour}h" if local.hour else f"{local:%a} {local.day}"
    return f"{local:%H:%M} ²" if local.fold else f"{local:%H:%M}"


def busiest(grid: Grid, count: int = 5) -> list[tuple[int, int]]:
    """The fullest squares that are not over, by their beginning, and how many runs begin in them; the fullest first."""
    first = 0 if grid.now is None else int(grid.now)
    places = sorted(range(first, len(grid.counts)), key=lambda place: (-grid.counts[place], place))
    return [(grid.at(place), grid.counts[place]) for place in places[:count] if grid.counts[place]]


def draw(grid: Grid, label: str) -> Markup:
    """The SVG: eight paths of squares, what is over already under a veil, the marker of now and the chosen square."""
    width, height = CELLS * _PITCH, grid.rows * _ROW
    squares = _squares(grid)
    paths = "".join(f'<path class="h{step}" d="{path}"/>' for step, path in enumerate(squares))
    return Markup(
        '<svg class="heat-map" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">{}{}{}{}</svg>'
    ).format(width, height, label, Markup(paths), _veil(grid), _chosen(grid), _now(grid))


def draw_sums(rows: Sequence[Row]) -> Markup:
    """The SVG of the bars beside the rows."""
    bars = "".join(
        f"M0 {number * _ROW + _ROW // 2}h{row.part * 36:.0f}" for number, row in enumerate(rows) if row.total
    )
    return Markup('<svg class="heat-sums" viewBox="0 0 36 {}" preserveAspectRatio="none"><path d="{}"/></svg>').format(
        len(rows) * _ROW, bars
    )


def _squares(grid: Grid) -> list[str]:
    """For each shade its squares: short thick lines, written as moves from one to the next."""
    tops = tops_for(grid.counts)
    paths = [""] * (len(tops) + 1)
    ends = [(0, 0)] * (len(tops) + 1)
    for place, count in enumerate(grid.counts):
        row, column = divmod(place, CELLS)
        x, y, step = column * _PITCH, row * _ROW + _ROW // 2, shade(count, tops)
        paths[step] += f"m{x - ends[step][0]} {y - ends[step][1]}h{_WIDE}"
        ends[step] = x + _WIDE, y
    return paths


def _veil(grid: Grid) -> Markup:
    """Over the squares that are behind."""
    if grid.now is None or grid.now < 1:
        return Markup("")
    row, column = divmod(int(grid.now), CELLS)
    full = f"M0 0H{CELLS * _PITCH}V{row * _ROW}H0Z" if row else ""
    return Markup('<path class="veil" d="{}M0 {}h{}v{}h-{}Z"/>').format(
        full, row * _ROW, column * _PITCH, _ROW, column * _PITCH
    )


def _chosen(grid: Grid) -> Markup:
    if grid.chosen is None:
        return Markup("")
    row, column = divmod(grid.chosen, CELLS)
    return Markup('<rect class="chosen" x="{}" y="{}" width="{}" height="{}"/>').format(
        column * _PITCH - 0.5, row * _ROW, _PITCH, _ROW
    )


def _now(grid: Grid) -> Markup:
    """A line and a dot that keep their shape however the picture is stretched."""
    if grid.now is None:
        return Markup("")
    row, column = divmod(grid.now, CELLS)
    x, y = f"{column * _PITCH:.1f}", int(row) * _ROW
    return Markup('<path class="now-line" d="M{} {}v{}"/><path class="now-dot" d="M{} {}h0"/>').format(x, y, _ROW, x, y)
