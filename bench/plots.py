"""Plots as SVG files of their own: lines over two axes with units, a legend, and colours for light and dark.

A page shows such a file as a picture, so nothing of the page's own style reaches it: it brings its paper and its ink,
in both themes, and follows what the reader's system prefers. Lines differ in colour and in dashes, since not everybody
tells colours apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from math import ceil, floor, log10
from typing import NamedTuple

Point = tuple[float, float]


class Spread(NamedTuple):
    """From the least to the most of what was measured at one place."""

    x: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that was measured, from left to right."""

    name: str
    points: tuple[Point, ...]
    spreads: tuple[Spread, ...] = ()
    is_limit: bool = False
    """Whether it is no measurement but a goal or a floor; such lines are thin and grey."""


class Mark(NamedTuple):
    """Something that happened at one place of the axis below."""

    x: float
    what: str


@dataclass(frozen=True, slots=True)
class Axis:
    """What is told by it, with its unit; on a logarithmic one equal ways are equal factors."""

    label: str
    is_log: bool = False


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture, and what stands under it as a table."""

    name: str
    """Of the file, behind that of its page."""
    title: str
    x: Axis
    y: Axis
    lines: tuple[Line, ...]
    rows: int = 12
    """The table has about so many; of more places, evenly chosen ones and the last."""
    marks: tuple[Mark, ...] = ()
    """Thin lines from top to bottom; who points at one is told what it was."""
    marked: str = ""
    """What they are called in the legend."""

    def file_of(self, page: str) -> str:
        """What the file beside the page of this name is called."""
        return f"{page}-{self.name}.svg"

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not any(line.points for line in self.lines)


WIDTH, HIGH = 760, 240
_LEFT, _RIGHT, _TITLE, _LEGEND_ROW, _FOOT = 76, 20, 30, 20, 46
_LETTER = 6.4
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "1 2")
_LEAST = 1e-9
"""What is nearer to nothing is drawn as nothing."""
_MARKED = 24
"""A line of at most so many points shows each of them."""
_STYLE = """\
.paper{fill:#fff}.edge{fill:none;stroke:#cdc8bb}.grid{stroke:#e5e2d9}.base{stroke:#656a76}
text{fill:#474c57;font:12px Inter,system-ui,"Segoe UI",Roboto,"Noto Sans",sans-serif}
.title{fill:#14161b;font-size:14px;font-weight:600}
.line{fill:none;stroke-width:2;stroke-linejoin:round}
.limit{fill:none;stroke:#656a76;stroke-width:1;stroke-dasharray:3 3}
.mark{fill:none;stroke:#c63408;stroke-width:1;stroke-opacity:.45}
.c0{stroke:#1d5bd8}.c1{stroke:#c63408}.c2{stroke:#0a7558}.c3{stroke:#86296f}.c4{stroke:#a06a00}.c5{stroke:#57544b}
.d0{fill:#1d5bd8}.d1{fill:#c63408}.d2{fill:#0a7558}.d3{fill:#86296f}.d4{fill:#a06a00}.d5{fill:#57544b}
@media(prefers-color-scheme:dark){
.paper{fill:#14171d}.edge{stroke:#3b4250}.grid{stroke:#252a34}.base{stroke:#8d95a4}text{fill:#b6bcc8}
.title{fill:#eceef2}.limit{stroke:#8d95a4}.mark{stroke:#ff7d50}
.c0{stroke:#79a9ff}.c1{stroke:#ff7d50}.c2{stroke:#3ccb9f}.c3{stroke:#e592cb}.c4{stroke:#efc06a}.c5{stroke:#b6b1a2}
.d0{fill:#79a9ff}.d1{fill:#ff7d50}.d2{fill:#3ccb9f}.d3{fill:#e592cb}.d4{fill:#efc06a}.d5{fill:#b6b1a2}}"""


def draw(plot: Plot) -> str:
    """The whole file."""
    legend = list(_legend(plot.lines, plot.marked if plot.marks else ""))
    top = _TITLE + _LEGEND_ROW * (max((row for row, _ in legend), default=0) + 1) + 8
    high = top + HIGH + _FOOT
    across = _scale(plot.x, [x for line in plot.lines for x, _ in line.points], _LEFT, WIDTH - _RIGHT, tight=True)
    up = _scale(plot.y, list(_heights(plot.lines)), top + HIGH, top)
    parts = [
        f'<rect class="paper" width="{WIDTH}" height="{high}" rx="8"/>',
        f'<rect class="edge" x=".5" y=".5" width="{WIDTH - 1}" height="{high - 1}" rx="8"/>',
        _text(_LEFT, 22, plot.title, kind="title"),
        *(part for _, part in legend),
        *_up_axis(up, plot.y),
        *_across_axis(across, plot.x, top),
        *(_mark(mark, across, top) for mark in plot.marks),
        *(part for number, line in enumerate(plot.lines) for part in _line(line, number, across, up)),
    ]
    said = escape(f"{plot.title}: {', '.join(line.name for line in plot.lines)}")
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {high}" role="img" aria-label="{said}">'
    return "\n".join([head, f"<style>{_STYLE}</style>", *parts, "</svg>", ""])


def _heights(lines: Sequence[Line]) -> Iterator[float]:
    for line in lines:
        yield from (y for _, y in line.points)
        for spread in line.spreads:
            yield from (spread.low, spread.high)


# scales


@dataclass(frozen=True, slots=True)
class Scale:
    """From values to places, and the values that are written beside the axis."""

    place: Callable[[float], float]
    marks: tuple[float, ...] = field(default=())


def _scale(axis: Axis, values: Sequence[float], begin: float, end: float, *, tight: bool = False) -> Scale:
    """A linear one begins at nothing, unless it is tight: then where the values do."""
    if axis.is_log:
        return _log_scale(values, begin, end, tight=tight)
    most = max(values, default=1.0)
    least = min(values, default=0.0) if tight else min(0.0, *values, 0.0)
    step = _step(most - least)
    low = least if tight else floor(least / step) * step
    top = most if tight else max(ceil(most / step), 1) * step
    marks = tuple(number * step for number in range(ceil(low / step), floor(top / step + 1e-9) + 1))
    width = (top - low) or 1.0
    return Scale(lambda value: begin + (end - begin) * (value - low) / width, marks)


def _log_scale(values: Sequence[float], begin: float, end: float, *, tight: bool) -> Scale:
    known = [value for value in values if value >= _LEAST] or [1.0]
    least, most = log10(min(known)), log10(max(known))
    low = least if tight else floor(least)
    top = max(most if tight else ceil(most), low + 0.3)
    tens = [10.0**power for power in range(floor(low), ceil(top) + 1)]
    between = [ten * part for ten in tens for part in ((1, 2, 5) if top - low < 2.5 else (1,))]
    marks = tuple(mark for mark in between if low - 1e-9 <= log10(mark) <= top + 1e-9)

    def place(value: float) -> float:
        return begin + (end - begin) * (log10(max(value, 10.0**low)) - low) / (top - low)

    return Scale(place, marks)


def _step(width: float) -> float:
    """Between marks, so that there are about five: 1, 2 or 5 times a power of ten."""
    if width < _LEAST:
        return 1.0
    power = 10.0 ** floor(log10(width / 5))
    return next(power * part for part in (1, 2, 5, 10) if width / (power * part) <= 6)


# drawing


def _up_axis(scale: Scale, axis: Axis) -> Iterator[str]:
    for mark in scale.marks:
        y = _number(scale.place(mark))
        yield f'<path class="grid" d="M{_LEFT} {y}H{WIDTH - _RIGHT}"/>'
        yield _text(_LEFT - 8, scale.place(mark) + 4, spoken(mark), "end")
    middle = scale.place(scale.marks[0]) - HIGH / 2
    turned = f' transform="rotate(-90 16 {_number(middle)})"'
    yield _text(16, middle, axis.label, "middle", more=turned)


def _across_axis(scale: Scale, axis: Axis, top: float) -> Iterator[str]:
    foot = top + HIGH
    yield f'<path class="base" d="M{_LEFT} {_number(foot)}H{WIDTH - _RIGHT}"/>'
    for mark in scale.marks:
        x = scale.place(mark)
        yield f'<path class="base" d="M{_number(x)} {_number(foot)}v4"/>'
        yield _text(x, foot + 17, spoken(mark), "middle")
    yield _text((_LEFT + WIDTH - _RIGHT) / 2, foot + 36, axis.label, "middle")


def _mark(mark: Mark, across: Scale, top: float) -> str:
    x = min(max(across.place(mark.x), _LEFT), WIDTH - _RIGHT)
    said = escape(f"{mark.what} at {spoken(mark.x)}")
    return f'<path class="mark" d="M{_number(x)} {_number(top)}v{HIGH}"><title>{said}</title></path>'


def _line(line: Line, number: int, across: Scale, up: Scale) -> Iterator[str]:
    if not line.points:
        return
    colour, dashes = number % len(_DASHES), _DASHES[number % len(_DASHES)]
    way = "L".join(f"{_number(across.place(x))} {_number(up.place(y))}" for x, y in line.points)
    if line.is_limit:
        yield f'<path class="limit" d="M{way}"/>'
        return
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    yield f'<path class="line c{colour}"{dashed} d="M{way}"/>'
    for spread in line.spreads:
        place, low, high = across.place(spread.x), up.place(spread.low), up.place(spread.high)
        yield f'<path class="c{colour}" d="M{_number(place)} {_number(low)}V{_number(high)}"/>'
    if len(line.points) <= _MARKED:
        for x, y in line.points:
            centre = f'cx="{_number(across.place(x))}" cy="{_number(up.place(y))}"'
            yield f'<circle class="d{colour}" {centre} r="3.2"><title>{escape(told(line, x, y))}</title></circle>'


def _legend(lines: Sequence[Line], marked: str) -> Iterator[tuple[int, str]]:
    """In which row, and what is drawn: a piece of each line with its name, as many in a row as there is room for."""
    x, row = float(_LEFT), 0
    for number, line in enumerate(lines):
        wide = 36 + len(line.name) * _LETTER + 14
        if x > _LEFT and x + wide > WIDTH - _RIGHT:
            x, row = float(_LEFT), row + 1
        y = _TITLE + row * _LEGEND_ROW + 12
        dashes = _DASHES[number % len(_DASHES)]
        dashed = f' stroke-dasharray="{dashes}"' if dashes and not line.is_limit else ""
        kind = "limit" if line.is_limit else f"line c{number % len(_DASHES)}"
        yield row, f'<path class="{kind}"{dashed} d="M{_number(x)} {y - 4}h28"/>' + _text(x + 34, y, line.name)
        x += wide
    if marked:
        fits = x + 20 + len(marked) * _LETTER <= WIDTH - _RIGHT
        x, row = (x, row) if fits else (float(_LEFT), row + 1)
        y = _TITLE + row * _LEGEND_ROW + 12
        yield row, f'<path class="mark" d="M{_number(x + 4)} {y - 10}v13"/>' + _text(x + 14, y, marked)


def _text(x: float, y: float, said: str, anchor: str = "start", *, kind: str = "", more: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{_number(x)}" y="{_number(y)}" text-anchor="{anchor}"{more}>{escape(said)}</text>'


def told(line: Line, x: float, y: float) -> str:
    """A point, for those who point at it."""
    return f"{line.name}: {spoken(y)} at {spoken(x)}"


def spoken(value: float) -> str:
    """A number as people say it: 10 M, 250,000, 1.5."""
    if abs(value) >= 1e9:
        return f"{value / 1e9:g} G"
    if abs(value) >= 1e6:
        return f"{value / 1e6:g} M"
    return _short(value)


def _short(value: float) -> str:
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 else f"{value:.6f}"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


# the table under it


def table(plot: Plot) -> list[tuple[str, ...]]:
    """The same in numbers, its heading first: a row for each place where something was measured, thinned if many."""
    places = sorted({x for line in plot.lines for x, _ in line.points})
    step = max(-(-len(places) // plot.rows), 1)
    chosen = places[::step] + ([places[-1]] if (len(places) - 1) % step else [])
    columns = [dict(line.points) for line in plot.lines]
    head = (plot.x.label, *(line.name for line in plot.lines))
    return [head, *((spoken(x), *(_cell(column.get(x)) for column in columns)) for x in chosen)]


def _cell(value: float | None) -> str:
    if value is None:
        return ""
    return _short(value)
