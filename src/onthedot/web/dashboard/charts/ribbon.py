"""The ribbon: how late runs began, minute by minute, from the half of them to 99 of 100."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from math import log10

from markupsafe import Markup, escape

from onthedot.moments import from_ms
from onthedot.texts import counted
from onthedot.web.dashboard.charts.spans import short_span

_LEAST_MS = 1
_GRID_MS = (1, 10, 100, 1000, 10_000, 60_000, 600_000, 3_600_000)
_MOST_SPIKES = 2
_SPIKE_MS = 1000
_APART_MINUTES = 8


@dataclass(frozen=True, slots=True)
class Minute:
    """What began and ended in one minute."""

    at_ms: int
    p50_ms: float = 0
    p99_ms: float = 0
    begun: int = 0
    failed: int = 0
    latest_ms: int = 0
    why: str = ""
    """What made the latest so late, or which it was."""


@dataclass(frozen=True, slots=True)
class Size:
    """Of the picture, in its own units: the plot lies between left and right, top and base; counts are below it."""

    width: int
    height: int
    left: int = 44

    @property
    def right(self) -> int:
        """Where the plot ends."""
        return self.width - 8

    @property
    def base(self) -> int:
        """Where a millisecond lies."""
        return self.height - 44

    @property
    def floor(self) -> int:
        """Where the bars of the counts stand."""
        return self.height - 14


WIDE, NARROW = Size(508, 232), Size(320, 208)
_TOP = 20
_LETTER, _LINE = 5.6, 12
"""About how wide a letter is, and how high a line."""


def draw(minutes: Sequence[Minute], zone: tzinfo, *, grace_ms: int, size: Size) -> Markup:
    """The SVG. Minutes without runs break the ribbon."""
    scale = _Scale.of(minutes, grace_ms, size)
    return Markup(
        f'<svg class="ribbon" viewBox="0 0 {size.width} {size.height}" role="img" aria-label="{escape(tell(minutes))}">'
        f"{_grid(scale)}{_band(minutes, scale)}{_bars(minutes, scale)}"
        f"{_spikes_and_grace(minutes, scale, grace_ms)}{_times(minutes, scale, zone)}</svg>"
    )


def tell(minutes: Sequence[Minute]) -> str:
    """The picture in a sentence."""
    began = [each for each in minutes if each.begun]
    if not began:
        return "No run began in this time."
    worst = max(began, key=lambda each: each.latest_ms)
    half = sorted(each.p50_ms for each in began)[len(began) // 2]
    runs, failed = sum(each.begun for each in began), sum(each.failed for each in minutes)
    told = (
        f"{counted(runs, 'run')}: half began within {short_span(half)}, the latest {short_span(worst.latest_ms)} late"
    )
    return f"{told}; {failed:,} failed" if failed else told


def spikes(minutes: Sequence[Minute]) -> list[int]:
    """Which minutes are named, by their place: the latest ones that stand out, and not two near each other."""
    began = sorted(each.p99_ms for each in minutes if each.begun)
    if not began:
        return []
    usual = began[len(began) // 2]
    found: list[int] = []
    for place in sorted(range(len(minutes)), key=lambda place: -minutes[place].latest_ms):
        latest = minutes[place].latest_ms
        stands_out = latest >= max(_SPIKE_MS, 5 * usual)
        if stands_out and all(abs(place - other) >= _APART_MINUTES for other in found) and len(found) < _MOST_SPIKES:
            found.append(place)
    return found


@dataclass(frozen=True, slots=True)
class _Scale:
    size: Size
    count: int
    """Of minutes."""
    most_ms: float
    """At the top."""
    most_begun: int

    @classmethod
    def of(cls, minutes: Sequence[Minute], grace_ms: int, size: Size) -> _Scale:
        latest = max((max(each.p99_ms, each.latest_ms) for each in minutes), default=0)
        most = max(latest * 1.2, grace_ms * 2.2)
        return cls(size, len(minutes), most, max((each.begun for each in minutes), default=0))

    def x(self, place: float) -> float:
        """The middle of a minute."""
        return self.size.left + (place + 0.5) * (self.size.right - self.size.left) / max(self.count, 1)

    def y(self, ms: float) -> float:
        """By the logarithm."""
        part = log10(max(ms, _LEAST_MS)) / log10(self.most_ms)
        return self.size.base - part * (self.size.base - _TOP)


def _grid(scale: _Scale) -> str:
    size = scale.size
    shown = [ms for ms in _GRID_MS if ms < scale.most_ms]
    lines = "".join(f"M{size.left} {scale.y(ms):.1f}H{size.right}" for ms in shown)
    texts = "".join(
        f'<text x="{size.left - 6}" y="{scale.y(ms) + 3.5:.1f}" class="at-end">{short_span(ms)}</text>' for ms in shown
    )
    return f'<path class="lines" d="{lines}"/>{texts}'


@dataclass(frozen=True, slots=True)
class _Word:
    """A text, and about how much room it takes."""

    said: str
    kind: str
    x: float
    y: float
    at_end: bool

    @property
    def edges(self) -> tuple[float, float]:
        wide = len(self.said) * _LETTER
        return (self.x - wide, self.x) if self.at_end else (self.x, self.x + wide)

    def is_on(self, other: _Word) -> bool:
        """Whether one could not read both."""
        (left, right), (first, last) = self.edges, other.edges
        return left < last and first < right and abs(self.y - other.y) < _LINE

    def __str__(self) -> str:
        kind = f"{self.kind} at-end" if self.at_end else self.kind
        return f'<text x="{self.x:.1f}" y="{self.y:.1f}" class="{kind}">{escape(self.said)}</text>'


def _first_clear(places: Sequence[_Word], taken: Sequence[_Word]) -> _Word:
    """The first that stands on none of the others; the last, if each does."""
    return next((each for each in places if not any(each.is_on(other) for other in taken)), places[-1])


def _grace(scale: _Scale, grace_ms: int, taken: Sequence[_Word]) -> str:
    size, y = scale.size, scale.y(grace_ms)
    said = f"grace {short_span(grace_ms)}" + (": later than this is a misfire" if size.width > 400 else "")
    sides = ((size.right, True), (size.left + 4, False))
    places = [_Word(said, "grace-word", x, at_y, at_end) for at_y in (y - 4, y + 12) for x, at_end in sides]
    return f'<path class="grace" d="M{size.left} {y:.1f}H{size.right}"/>{_first_clear(places, taken)}'


def _band(minutes: Sequence[Minute], scale: _Scale) -> str:
    bands, uppers, lowers = "", "", ""
    for stretch in _stretches(minutes):
        upper = [(scale.x(place), scale.y(minutes[place].p99_ms)) for place in stretch]
        lower = [(scale.x(place), scale.y(minutes[place].p50_ms)) for place in stretch]
        if len(stretch) == 1:  # a minute by itself is as wide as a minute
            half = (scale.x(1) - scale.x(0)) / 2
            upper, lower = ([(x - half, y), (x + half, y)] for ((x, y),) in (upper, lower))
        bands += f"M{_points(upper)}L{_points(lower[::-1])}Z"
        uppers += f"M{_points(upper)}"
        lowers += f"M{_points(lower)}"
    return f'<path class="band" d="{bands}"/><path class="p99" d="{uppers}"/><path class="p50" d="{lowers}"/>'


def _stretches(minutes: Sequence[Minute]) -> list[list[int]]:
    """The places of minutes in which runs began, as they follow one another."""
    found: list[list[int]] = []
    for place, minute in enumerate(minutes):
        if not minute.begun:
            continue
        if found and found[-1][-1] == place - 1:
            found[-1].append(place)
        else:
            found.append([place])
    return found


def _points(points: Sequence[tuple[float, float]]) -> str:
    return "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _bars(minutes: Sequence[Minute], scale: _Scale) -> str:
    """How many began in each minute, and how many failed."""
    floor, high = scale.size.floor, 22
    wide = max((scale.size.right - scale.size.left) / max(scale.count, 1) - 0.8, 0.6)
    counts, failed = "", ""
    for place, minute in enumerate(minutes):
        x = scale.x(place) - wide / 2
        tall = max(high * minute.begun / scale.most_begun, 1.2) if minute.begun else 0.0
        if tall:
            counts += f"M{x:.1f} {floor}v-{tall:.1f}h{wide:.1f}v{tall:.1f}z"
        if minute.failed:
            part = min(max(high * minute.failed / max(scale.most_begun, 1), 2.6), 10)
            failed += f"M{x:.1f} {floor}v-{part:.1f}h{wide:.1f}v{part:.1f}z"
    return f'<path class="count" d="{counts}"/><path class="failed" d="{failed}"/>'


def _spikes_and_grace(minutes: Sequence[Minute], scale: _Scale, grace_ms: int) -> str:
    """No word stands on another."""
    words: list[_Word] = []
    marks = ""
    for place in spikes(minutes):
        x, y = scale.x(place), scale.y(minutes[place].latest_ms)
        words.append(_first_clear(_spike_words(minutes[place], scale, place), words))
        marks += (
            f'<path class="stem" d="M{x:.1f} {y:.1f}V{scale.y(minutes[place].p99_ms):.1f}"/>'
            f'<circle class="peak" cx="{x:.1f}" cy="{y:.1f}" r="3.4"/>'
        )
    return f"{_grace(scale, grace_ms, words)}{marks}{''.join(map(str, words))}"


def _spike_words(minute: Minute, scale: _Scale, place: int) -> list[_Word]:
    """Where its name may stand: beside it, or a line or two lower."""
    x, y = scale.x(place), scale.y(minute.latest_ms)
    leftwards = x > (scale.size.left + scale.size.right) / 2
    text = f"{short_span(minute.latest_ms)}: {minute.why}" if minute.why else short_span(minute.latest_ms)
    room = int((x - scale.size.left if leftwards else scale.size.right - x) / _LETTER)
    text = text if len(text) <= room else f"{text[: max(room - 1, 4)]}…"
    beside = x - 8 if leftwards else x + 8
    return [_Word(text, "spike", beside, y + 4 + line * _LINE, leftwards) for line in range(4)]


def _times(minutes: Sequence[Minute], scale: _Scale, zone: tzinfo) -> str:
    if not minutes:
        return ""
    y, told = scale.size.height - 2, ""
    for quarter in range(4):
        place = quarter * len(minutes) // 4
        at = from_ms(minutes[place].at_ms).astimezone(zone)
        left = scale.x(place) - (scale.x(1) - scale.x(0)) / 2
        told += f'<text x="{left:.1f}" y="{y}">{at:%H:%M}</text>'
    return f'{told}<text x="{scale.size.right}" y="{y}" class="at-end">now</text>'
