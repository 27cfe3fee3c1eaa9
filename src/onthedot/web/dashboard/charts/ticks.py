"""The tick chart: up how long each tick took, down how late it began; hatched what was left out, dashed what comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import assert_never

from markupsafe import Markup

from onthedot.model.states import State
from onthedot.web.dashboard.charts.columns import Column, Coming, LeftOut, Ran, Tick, in_columns, is_meant
from onthedot.web.dashboard.charts.log_scale import NICE, LogScale, scale_of
from onthedot.web.dashboard.charts.shapes import (
    FILLED,
    arc,
    broken_ring,
    cross,
    hollow,
    hourglass,
    number,
    path,
    rect,
    ring,
    struck_ring,
    text,
)
from onthedot.web.dashboard.moments import duration

LATE_MS = 1000
"""What is less late than this is a dot."""
_GUTTER, _TOP, _BASE, _LATE_FROM, _FOOT, _HEIGHT = 46.0, 22.0, 138.0, 145.0, 208.0, 214.0
_UP, _DOWN = _BASE - _TOP, 36.0
_HATCHED = _UP * 0.27
"""How high what was left out is drawn."""
_LETTER = 6.0
_LINE = 11.0
"""How high a line of text is."""
_LABEL_APART = 58.0
CURRENT = ' aria-current="true"'
TONES = {
    State.SUCCEEDED: "ok",
    State.FAILED: "bad",
    State.TIMED_OUT: "slow",
    State.LOST: "lost",
    State.RUNNING: "now",
    State.CANCELLED: "hold",
    State.SKIPPED: "hold",
    State.WAITING: "dim",
}
REASONS = {
    "misfire": "too late",
    "overlap": "overlap",
    "rescheduled": "moved",
    "skipped": "skipped",
    "frozen": "frozen",
    "replaced": "changed",
    "max_runs": "had all its runs",
}
"""Where the word for people is another than the decision's."""


@dataclass(frozen=True, slots=True)
class Words:
    """How the chart speaks of moments, and where a tick leads to."""

    moment: Callable[[int], str]
    """In full: "Fri 13 Mar 02:30"."""
    label: Callable[[int], str]
    """Under the axis: "13 Mar" or "02:30"."""
    href: Callable[[int], str]


@dataclass(frozen=True, slots=True)
class Size:
    """How wide it is drawn, and for how many ticks before now; the id is that of its hatching."""

    width: float
    most_past: int
    most_coming: int
    id: str


WIDE = Size(900, 41, 10, "hatch-wide")
NARROW = Size(340, 20, 5, "hatch-narrow")


def tick_chart(
    past: Sequence[Ran | LeftOut],
    coming: Sequence[Coming],
    words: Words,
    *,
    size: Size = WIDE,
    selected_ms: int | None = None,
) -> Markup:
    """SVG without a style: classes and attributes only. Each tick is a link."""
    columns = in_columns(past, coming[: size.most_coming], size.most_past)
    return Markup(_Drawing(columns, words, size, selected_ms).svg())  # all texts in it are escaped


class _Drawing:
    def __init__(self, columns: Sequence[Column], words: Words, size: Size, selected_ms: int | None) -> None:
        self._columns = columns
        self._words = words
        self._size = size
        self._selected_ms = selected_ms
        self._step = (size.width - _GUTTER - 4) / (size.most_past + size.most_coming)
        ran = [each.tick for each in columns if isinstance(each.tick, Ran)]
        self._up = scale_of([tick.took_ms for tick in ran if tick.took_ms is not None], _UP)
        late = [tick.late_ms for tick in ran if (tick.late_ms or 0) >= LATE_MS]
        self._latest_ms = max(late, default=None, key=lambda ms: ms or 0)
        self._late = LogScale(LATE_MS // 2, max(self._latest_ms or 0, 60_000), _DOWN)
        self._usual = sorted(self._up(tick.took_ms) for tick in ran if tick.took_ms is not None) or [_UP * 0.4]

    def svg(self) -> str:
        head = (
            f'<svg class="ticks" viewBox="0 0 {number(self._size.width)} {number(_HEIGHT)}" role="group" '
            'aria-label="Ticks: up how long each took, down how late it began">'
            f'<defs><pattern id="{self._size.id}" width="5" height="5" patternUnits="userSpaceOnUse" '
            'patternTransform="rotate(45)"><path class="hold" d="M0 0v5" stroke="currentColor" '
            'stroke-width="1.6" opacity=".75"/></pattern></defs>'
        )
        links = [self._link(each) for each in self._columns]
        parts = [head, *self._lines(), *self._labels(), *links, *self._reasons(), *self._lateness(), self._now()]
        return "".join([*parts, "</svg>"])

    # the ground

    def _lines(self) -> Iterator[str]:
        for ms in self._up.lines(22):
            y = _BASE - self._up(ms)
            yield _rule(f"M{number(_GUTTER)} {number(y)}H{number(self._size.width)}")
            yield text(_GUTTER - 6, y + 3.5, NICE[ms], "end")
        yield text(_GUTTER - 6, _BASE + 3.5, "tick", "end")
        yield text(_GUTTER - 6, _LATE_FROM + 20, "late", "end")

    def _labels(self) -> Iterator[str]:
        """As many as fit."""
        last, free_from = "", 0.0
        for column in self._columns:
            said = self._words.label(column.tick.at_ms)
            x = max(self._middle(column), _GUTTER + len(said) * _LETTER / 2 - 20)
            if said != last and x >= free_from and x + len(said) * _LETTER / 2 < self._size.width:
                free_from = x + _LABEL_APART
                yield _rule(f"M{number(self._middle(column))} {number(_BASE)}v4")
                yield text(x, _FOOT, said, "middle")
                last = said

    def _now(self) -> str:
        x = self._x(self._size.most_past)
        return (
            f'<g class="now">{path(f"M{number(x)} {number(_TOP - 12)}V{number(_LATE_FROM + _DOWN)}", "1.8")}'
            f'<circle cx="{number(x)}" cy="{number(_BASE)}" r="4.5" {FILLED}/>'
            f"{text(x + 6, _TOP - 14, 'now', 'start', 'now strong')}</g>"
        )

    # a tick

    def _link(self, column: Column) -> str:
        tick, selected = column.tick, is_meant(column.tick, self._selected_ms)
        moment_ms = self._selected_ms if selected and self._selected_ms is not None else tick.at_ms
        return (
            f'<a class="{_tone(tick)}" href="{escape(self._words.href(moment_ms))}"'
            f'{CURRENT if selected else ""} aria-label="{escape(self._said(tick))}">'
            f"<title>{escape(self._said(tick))}</title>"
            f"{self._shape(column)}{self._frame(column, selected=selected)}</a>"
        )

    def _frame(self, column: Column, *, selected: bool) -> str:
        """The whole column is the link; around the one that is asked about it can be seen."""
        x, wide = self._x(column.place), self._step * column.width
        if selected and isinstance(column.tick, LeftOut):  # one of those that were left out together
            x, wide = x + self._step * self._place_in(column.tick, column.width), self._step
        kind = 'class="chosen" stroke-width="1.8"' if selected else 'class="hit"'
        place = f'x="{number(x)}" y="{number(_TOP - 12)}" width="{number(wide)}"'
        return f'<rect {kind} {place} height="170" rx="5"/>'

    def _place_in(self, ticks: LeftOut, width: int) -> int:
        if self._selected_ms == ticks.at_ms:
            return 0
        return width - 1 if self._selected_ms == ticks.last_ms else width // 2

    def _shape(self, column: Column) -> str:
        match column.tick:
            case Ran(state=State.SKIPPED):
                return self._hatched(column)
            case Ran() as ran:
                return self._bar(column, ran) + self._dot(column, ran)
            case LeftOut():
                return self._hatched(column)
            case Coming(note=note):
                return self._dashed(column, marked=bool(note))
            case never:
                assert_never(never)

    def _bar(self, column: Column, ran: Ran) -> str:
        length = self._up(ran.took_ms) if ran.took_ms is not None else 6.0
        x, wide = self._inner(column)
        top, middle = _BASE - length, self._middle(column)
        match ran.state:
            case State.SUCCEEDED:
                return rect(x, top, wide, length, 'fill="currentColor" opacity=".84"')
            case State.FAILED:
                return rect(x, top, wide, length, 'fill="currentColor"') + cross(middle, top - 8)
            case State.TIMED_OUT:
                return hollow(x, top, wide, length) + hourglass(middle, top - 8)
            case State.LOST:
                return hollow(x, top, wide, length, dashes="2.5 1.5") + broken_ring(middle, top - 8)
            case State.CANCELLED:
                return hollow(x, top, wide, length) + struck_ring(middle, top - 8)
            case State.RUNNING:
                return rect(x, top, wide, length, 'fill="currentColor" opacity=".45"') + arc(middle, top - 8)
            case _:
                return ring(middle, _BASE - 8)

    def _dot(self, column: Column, ran: Ran) -> str:
        """How late it began: a dot where that is nothing to speak of."""
        if ran.late_ms is None:
            return ""
        if ran.late_ms < LATE_MS:
            place = f'cx="{number(self._middle(column))}" cy="{number(_LATE_FROM + 1.5)}"'
            return f'<circle class="dim" {place} r="1.2" {FILLED}/>'
        x, wide = self._inner(column)
        return f'<g class="slow">{rect(x, _LATE_FROM - 1, wide, self._late(ran.late_ms), FILLED)}</g>'

    def _hatched(self, column: Column) -> str:
        x, wide = self._inner(column)
        length = _HATCHED
        fill = f'fill="url(#{self._size.id})" stroke="currentColor" stroke-opacity=".5"'
        return rect(x, _BASE - length, wide, length, fill)

    def _dashed(self, column: Column, *, marked: bool) -> str:
        x, wide = self._inner(column)
        length = self._usual[len(self._usual) // 2]
        kind = 'class="gap"' if marked else 'fill="none" opacity=".55"'
        return rect(x, _BASE - length, wide, length, f'{kind} stroke="currentColor" stroke-dasharray="3 2.4"')

    # words on it

    def _reasons(self) -> Iterator[str]:
        """Above what was left out and its neighbours, as far as they do not run into each other; the same one is not
        said again and again. And the time of a moved tick."""
        free_from, last = 0.0, ""
        for column in self._columns:
            said, tone = self._reason(column.tick)
            start = self._x(column.place) + 2
            end = start + len(said) * _LETTER
            if said and said != last and start >= free_from and end < self._size.width:
                free_from, last = end + 4, said
                yield text(start, self._clear_above(start, end), said, "start", tone)

    def _reason(self, tick: Tick) -> tuple[str, str]:
        match tick:
            case LeftOut(reason=reason, count=count):
                many = f" \u00d7{count:,}" if count is not None and count > 3 else ""
                return REASONS.get(reason, reason) + many, "lab strong"
            case Coming(at_ms=at_ms, note=note) if note:
                return self._words.moment(at_ms).split(" ", 3)[-1], "slow strong"
            case _:
                return "", ""

    def _clear_above(self, start: float, end: float) -> float:
        """Where text stands over nothing that is drawn."""
        return max(_BASE - max(self._reach(each) for each in self._between(start, end)) - 5, _LINE)

    def _reach(self, column: Column) -> float:
        """How high it is drawn, with the mark on it."""
        match column.tick:
            case Ran(state=State.SKIPPED) | LeftOut():
                return _HATCHED
            case Ran(state=state, took_ms=took_ms):
                bar = self._up(took_ms) if took_ms is not None else 6.0
                return bar if state == State.SUCCEEDED else bar + 12
            case Coming():
                return self._usual[len(self._usual) // 2]
            case never:
                assert_never(never)

    def _between(self, start: float, end: float) -> list[Column]:
        """The columns that stand in there."""
        return [
            each for each in self._columns if self._x(each.place) < end and start < self._x(each.place + each.width)
        ]

    def _lateness(self) -> Iterator[str]:
        """How late the latest was, below its bar and its neighbours."""
        for column in reversed(self._columns):
            tick = column.tick
            if isinstance(tick, Ran) and tick.late_ms == self._latest_ms and tick.late_ms is not None:
                said = f"{duration(tick.late_ms)} late"
                half = len(said) * _LETTER / 2
                x = max(self._middle(column), _GUTTER + half)
                yield text(x, self._clear_below(x - half, x + half), said, "middle", "slow strong")
                return

    def _clear_below(self, start: float, end: float) -> float:
        late = [each.tick.late_ms or 0 for each in self._between(start, end) if isinstance(each.tick, Ran)]
        return _LATE_FROM + max(self._late(ms) for ms in late) + _LINE - 1

    def _said(self, tick: Tick) -> str:
        moment = self._words.moment(tick.at_ms)
        match tick:
            case Ran():
                return f"{moment} {_course(tick)}"
            case LeftOut(reason=reason, count=count):
                how_many = "many ticks" if count is None else "left" if count == 1 else f"{count:,} ticks left"
                return f"{moment} {how_many} out: {REASONS.get(reason, reason)}"
            case Coming(note=note):
                return f"{moment} to come" + (f", {note}" if note else "")
            case never:
                assert_never(never)

    # where

    def _x(self, place: float) -> float:
        return _GUTTER + place * self._step

    def _middle(self, column: Column) -> float:
        return self._x(column.place + column.width / 2)

    def _inner(self, column: Column) -> tuple[float, float]:
        margin = self._step * 0.2
        return self._x(column.place) + margin, self._step * column.width - 2 * margin


def _rule(d: str) -> str:
    return f'<path class="rule" d="{d}" stroke="currentColor"/>'


def _course(ran: Ran) -> str:
    state = str(ran.state).replace("_", " ")
    told = state if ran.took_ms is None else f"{state} after {duration(ran.took_ms)}"
    if (ran.late_ms or 0) >= LATE_MS:
        told += f", {duration(ran.late_ms or 0)} late"
    return f"by hand, {told}" if ran.by_hand else told


def _tone(tick: Tick) -> str:
    match tick:
        case Ran(state=state):
            return TONES.get(State(state), "dim")
        case LeftOut():
            return "hold"
        case Coming(note=note):
            return "slow" if note else "dim"
        case never:
            assert_never(never)
