"""The attempts of a run as bars on a line of time: who tried, how it ended, what was waited for in between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo

from markupsafe import Markup

from onthedot.durations import spoken_duration
from onthedot.insight.run_report import Try
from onthedot.model.attempt import Attempt
from onthedot.moments import from_ms

MOST_ROWS = 8
"""So many attempts are drawn, the latest; a table tells all."""

_LEAST_SPAN_MS = 10
_LETTER, _PADDING, _GAP = 6.1, 8, 6
_HEIGHT, _ROUND = 26, 4
_USUALLY_WIDTH = 92
_LONGEST_ERROR = 120
_LABELS = {
    "failed": "failed",
    "timed_out": "out of time",
    "node_died": "the node died",
    "node_stopped": "the node stopped",
    "handed_back": "handed back",
}
_SECOND, _MINUTE, _HOUR, _DAY = 1000, 60_000, 3_600_000, 86_400_000
_STEPS = (
    *(number * size for size in (1, 10, 100) for number in (1, 2, 5)),
    *(number * _SECOND for number in (1, 2, 5, 10, 15, 30)),
    *(number * _MINUTE for number in (1, 2, 5, 10, 15, 30)),
    *(number * _HOUR for number in (1, 2, 3, 6, 12)),
    *(number * _DAY for number in (1, 2, 7, 14, 30, 90, 365)),
)


@dataclass(frozen=True, slots=True)
class Course:
    """All that is drawn."""

    tries: tuple[Try, ...]
    due_ms: int
    """When the first was to begin."""
    now_ms: int
    is_live: bool = True
    next_ms: int | None = None
    """Of a run that waits: when it tries again."""
    usual_ms: int | None = None
    progress: float | None = None

    @property
    def first_ms(self) -> int:
        """Where the line of time begins."""
        return min([self.due_ms, *(each.attempt.started_ms for each in self.drawn)])

    @property
    def last_ms(self) -> int:
        """Where it ends: now, or what is still to come."""
        ends = [each.attempt.ended_ms or self.now_ms for each in self.drawn]
        ahead = [ms for ms in (self.usual_end_ms, self.next_ms) if ms is not None]
        last = max([*ends, *ahead, *([self.now_ms] if self.is_live else [])], default=self.now_ms)
        return max(last, self.first_ms + _LEAST_SPAN_MS)

    @property
    def drawn(self) -> tuple[Try, ...]:
        """The latest ones."""
        return self.tries[-MOST_ROWS:]

    @property
    def usual_end_ms(self) -> int | None:
        """When the attempt that runs usually ends."""
        last = self.tries[-1].attempt if self.tries else None
        if last is None or last.ended_ms is not None or self.usual_ms is None:
            return None
        return last.started_ms + self.usual_ms


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a row."""

    kind: str
    first_ms: int
    last_ms: int
    label: str = ""
    short: str = ""
    """The label where there is little room."""


@dataclass(frozen=True, slots=True)
class Row:
    """One attempt: what it did, and what was waited for after it."""

    number: int
    node: str
    work: Span
    tail: Span | None = None


def rows(course: Course) -> list[Row]:
    """What is drawn of each attempt, the first on top."""
    starts = [each.attempt.started_ms for each in course.drawn]
    after = [*starts[1:], course.next_ms]
    return [_row(each, later, course) for each, later in zip(course.drawn, after, strict=True)]


def _row(each: Try, later_ms: int | None, course: Course) -> Row:
    attempt = each.attempt
    if attempt.ended_ms is None:
        return Row(attempt.number, each.node, _running(attempt, course), _rest(course))
    if attempt.outcome == "node_died":
        heard_ms = min(max(each.heard_ms or attempt.started_ms, attempt.started_ms), attempt.ended_ms)
        work = Span("node_died", attempt.started_ms, heard_ms, "the node died", "died")
        return Row(attempt.number, each.node, work, _lease(heard_ms, attempt.ended_ms))
    return Row(attempt.number, each.node, _ended(attempt), _back_off(attempt, later_ms))


def _running(attempt: Attempt, course: Course) -> Span:
    part = "" if course.progress is None else f"{round(course.progress * 100)} %"
    return Span(
        "running",
        attempt.started_ms,
        max(course.now_ms, attempt.started_ms),
        f"running, {part}" if part else "running",
        part or "running",
    )


def _rest(course: Course) -> Span | None:
    """Up to where it usually ends."""
    end_ms = course.usual_end_ms
    return Span("rest", course.now_ms, end_ms) if end_ms is not None and end_ms > course.now_ms else None


def _lease(heard_ms: int, taken_ms: int) -> Span:
    waited = spoken_duration(taken_ms - heard_ms)
    return Span(
        "lease", heard_ms, taken_ms, f"{waited} until its lease was over, then taken over", f"taken over after {waited}"
    )


def _ended(attempt: Attempt) -> Span:
    outcome = attempt.outcome or "ended"
    short = _LABELS.get(outcome, outcome)
    label = f"{short}: {attempt.error[:_LONGEST_ERROR]}" if attempt.error else short
    return Span(outcome, attempt.started_ms, attempt.ended_ms or attempt.started_ms, label, short)


def _back_off(attempt: Attempt, later_ms: int | None) -> Span | None:
    ended_ms = attempt.ended_ms or attempt.started_ms
    if later_ms is None or later_ms <= ended_ms:
        return None
    waited = spoken_duration(later_ms - ended_ms)
    word = "back-off" if attempt.outcome in ("failed", "timed_out") else "waited"
    return Span("back_off", ended_ms, later_ms, f"{word} {waited}", waited)


# the line of time


def ticks(first_ms: int, last_ms: int, zone: tzinfo, most: int) -> list[tuple[int, str]]:
    """At most so many round moments, with their texts; where they are less than a second apart, how long after the
    first they are: clocks show no tenths."""
    span_ms = last_ms - first_ms
    is_brief = span_ms < 2 * _SECOND
    steps = (each for each in _STEPS if is_brief or each >= _SECOND)
    step = next((each for each in steps if span_ms / each <= most), _STEPS[-1])
    if is_brief:
        return [(first_ms + ms, spoken_duration(ms) if ms else "0") for ms in range(0, span_ms + 1, step)]
    shift_ms = _offset_ms(first_ms, zone)
    begin = -((-first_ms - shift_ms) // step) * step - shift_ms
    return [(ms, _told(from_ms(ms).astimezone(zone), step)) for ms in range(begin, last_ms + 1, step)]


def _offset_ms(ms: int, zone: tzinfo) -> int:
    offset = from_ms(ms).astimezone(zone).utcoffset()
    return 0 if offset is None else int(offset.total_seconds()) * 1000


def _told(moment: datetime, step: int) -> str:
    is_midnight = moment.hour == moment.minute == 0
    if step >= _DAY or (step >= _HOUR and is_midnight):
        return f"{moment.day} {moment:%b}"
    return f"{moment:%H:%M}" if step >= _MINUTE else f"{moment:%H:%M:%S}"


# drawing


@dataclass(frozen=True, slots=True)
class Sheet:
    """How much room there is."""

    name: str
    width: int
    left: float
    right: float
    row: int
    """From one attempt to the next."""
    most_ticks: int
    is_wide: bool

    def bar_y(self, number: int) -> int:
        """Where the bar of a row begins."""
        return (12 if self.is_wide else 28) + number * self.row


WIDE = Sheet("only-l", 1012, 112, 996, 38, 7, is_wide=True)
NARROW = Sheet("only-s", 334, 6, 326, 56, 4, is_wide=False)


@dataclass(frozen=True, slots=True)
class Scale:
    """From moments to places on the sheet."""

    first_ms: int
    last_ms: int
    sheet: Sheet

    def x(self, ms: int) -> float:
        """To a tenth of a pixel."""
        part = (ms - self.first_ms) / (self.last_ms - self.first_ms)
        return round(self.sheet.left + part * (self.sheet.right - self.sheet.left), 1)


def draw(course: Course, zone: tzinfo) -> Markup:
    """Twice: for a wide screen and for a narrow one; the style shows one of them."""
    return Markup("").join(_draw(course, zone, sheet) for sheet in (WIDE, NARROW))


def _draw(course: Course, zone: tzinfo, sheet: Sheet) -> Markup:
    shown = rows(course)
    scale = Scale(course.first_ms, course.last_ms, sheet)
    foot = sheet.bar_y(len(shown) - 1) + _HEIGHT + (14 if course.usual_end_ms is None else 16)
    parts = [
        *_axis(scale, zone, foot),
        *(part for number, row in enumerate(shown) for part in _draw_row(row, number, scale, course.usual_end_ms)),
        *_usually(course, scale, sheet.bar_y(len(shown) - 1)),
        _line(scale.x(course.due_ms), foot, "due"),
        *([_line(scale.x(course.now_ms), foot, "now")] if course.is_live else []),
    ]
    return Markup('<svg class="attempts {}" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        sheet.name, sheet.width, foot + 18, summary(course), Markup("").join(parts)
    )


def summary(course: Course) -> str:
    """For those who cannot see it: "attempt 1 on a: the node died; attempt 2 on b: running"."""
    return "; ".join(f"attempt {row.number} on {row.node}: {row.work.label}" for row in rows(course))


def _axis(scale: Scale, zone: tzinfo, foot: int) -> Iterator[Markup]:
    sheet = scale.sheet
    for ms, text in ticks(scale.first_ms, scale.last_ms, zone, sheet.most_ticks):
        x = scale.x(ms)
        half = len(text) * 3
        anchor = "start" if not sheet.is_wide and x - half < 0 else "end" if x + half > sheet.width else "middle"
        yield Markup('<path class="grid-line" d="M{} 6V{}"/>').format(x, foot)
        yield Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>').format(x, foot + 15, anchor, text)


def _draw_row(row: Row, number: int, scale: Scale, usual_end_ms: int | None) -> Iterator[Markup]:
    y = scale.sheet.bar_y(number)
    yield from _heading(row, y, scale.sheet)
    for span in filter(None, (row.tail, row.work)):
        yield _box(span, y, scale)
    is_marked = row.work.kind == "running" and usual_end_ms is not None
    yield from _labels(row, y, scale, scale.x(usual_end_ms) if is_marked and usual_end_ms is not None else None)


def _heading(row: Row, y: int, sheet: Sheet) -> Iterator[Markup]:
    name = f"attempt {row.number}"
    if sheet.is_wide:
        node = _cut(row.node, sheet.left - 20)
        yield Markup('<text class="name" x="0" y="{}">{}</text>').format(y + 12, name)
        yield Markup('<text x="0" y="{}"><title>{}</title>on {}</text>').format(y + 26, row.node, node)
    else:
        node = _cut(row.node, sheet.width - 90)
        said = Markup('<text x="{}" y="{}"><tspan class="name">{}</tspan> on {}</text>')
        yield said.format(sheet.left + 8, y - 6, name, node)


def _box(span: Span, y: int, scale: Scale) -> Markup:
    x, width = _place(span, scale)
    hatch = Markup(' fill="url(#hatch)"') if span.kind == "lease" else ""
    return Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}" rx="{}"{}/>').format(
        span.kind.replace("_", "-"), x, y, width, _HEIGHT, min(_ROUND, round(width / 2, 1)), hatch
    )


def _place(span: Span, scale: Scale) -> tuple[float, float]:
    """Where it begins, and how wide it is: what is too short to be seen is drawn a little longer."""
    x = scale.x(span.first_ms)
    return x, round(max(scale.x(span.last_ms) - x, 3), 1)


def _labels(row: Row, y: int, scale: Scale, mark_x: float | None) -> Iterator[Markup]:
    """Inside the bar if it fits; else with what stands after it, or beside the row."""
    x, width = _place(row.work, scale)
    inside = _fitting(row.work, width, scale.sheet)
    if inside:
        yield _text(inside, _clear_of(mark_x, x + _PADDING, inside, x + width), y, f"on-{row.work.kind}")
    if row.tail is not None and row.tail.label:
        yield _tail_label(row, row.tail, "" if inside else f"{row.work.short}, ", y, scale)
    elif not inside:
        yield _beside(row.work.label, row, y, scale)


def _clear_of(mark_x: float | None, x: float, text: str, end: float) -> float:
    """Behind the mark that it would else stand across, if there is room."""
    width = len(text) * _LETTER
    if mark_x is None or not x - _GAP < mark_x < x + width or mark_x + _GAP + width > end:
        return x
    return mark_x + _GAP


def _tail_label(row: Row, tail: Span, before: str, y: int, scale: Scale) -> Markup:
    x, width = _place(tail, scale)
    whole = replace(tail, label=before + tail.label, short=before + tail.short)
    inside = "" if tail.kind == "lease" else _fitting(whole, width, scale.sheet)
    if inside:
        return _text(inside, x + width / 2, y, "aside", "middle")
    return _beside(whole.label if scale.sheet.is_wide else whole.short, row, y, scale)


def _fitting(span: Span, width: float, sheet: Sheet) -> str:
    """The label, or its short form; a long one is cut where its beginning says something."""
    room = width - 2 * _PADDING
    texts = (span.label, span.short) if sheet.is_wide else (span.short,)
    found = next((text for text in texts if len(text) * _LETTER <= room), "")
    is_cut = found == span.short != span.label and sheet.is_wide and room > (len(span.short) + 12) * _LETTER
    return _cut(span.label, room) if is_cut else found


def _beside(text: str, row: Row, y: int, scale: Scale) -> Markup:
    """To the right of the row, or to its left where there is more room."""
    spans = [each for each in (row.work, row.tail) if each is not None]
    begin = scale.x(row.work.first_ms) - _GAP
    end = max(sum(_place(each, scale)) for each in spans) + _GAP
    right, left = scale.sheet.width - end, begin - scale.sheet.left
    kind = "aside" if row.tail is not None and row.tail.label else f"by-{row.work.kind}"
    if len(text) * _LETTER <= right or right >= left:
        return _text(_cut(text, right), end, y, kind)
    return _text(_cut(text, left), begin, y, kind, "end")


def _text(text: str, x: float, y: int, kind: str, anchor: str = "start") -> Markup:
    return Markup('<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>').format(
        kind.replace("_", "-"), round(x, 1), y + 17, anchor, text
    )


def _cut(text: str, room: float) -> str:
    most = max(int(room / _LETTER), 1)
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _usually(course: Course, scale: Scale, y: int) -> Iterator[Markup]:
    if course.usual_end_ms is None:
        return
    x = scale.x(course.usual_end_ms)
    is_past = course.usual_end_ms <= course.now_ms
    fits_left = x - _USUALLY_WIDTH > 0
    anchor = "end" if fits_left and (is_past or x + _USUALLY_WIDTH > scale.sheet.width) else "start"
    yield Markup('<path class="usual{}" d="M{} {}v{}"/>').format(" past" if is_past else "", x, y, _HEIGHT)
    yield Markup('<path class="usual" d="M{} {}v5"/>').format(x, y + _HEIGHT)
    yield Markup('<text x="{}" y="{}" text-anchor="{}">usually ends here</text>').format(x, y + _HEIGHT + 14, anchor)


def _line(x: float, foot: int, kind: str) -> Markup:
    return Markup('<path class="{0}-line" d="M{1} 4V{2}"/><circle class="{0}-dot" cx="{1}" cy="5" r="3.6"/>').format(
        kind, x, foot
    )
