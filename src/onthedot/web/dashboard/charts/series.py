"""Hours or days side by side: how many runs ended and how, or between what durations most of them lay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from onthedot.durations import spoken_duration
from onthedot.web.dashboard.charts.log_scale import NICE, scale_of
from onthedot.web.dashboard.charts.shapes import number, text

_HIGH, _LEFT, _TOP, _FOOT = 120.0, 52.0, 8.0, 18.0
_APART = 24.0


@dataclass(frozen=True, slots=True)
class Ends:
    """A period: how many ended well, badly, and neither; with what is said of it."""

    good: int
    bad: int
    other: int
    said: str

    @property
    def total(self) -> int:
        """All of them."""
        return self.good + self.bad + self.other


@dataclass(frozen=True, slots=True)
class Span:
    """A period: the median, and what all but one in twenty and all but one in a hundred did not exceed; None of
    nothing."""

    p50_ms: int | None
    p95_ms: int | None
    p99_ms: int | None
    said: str


def draw_ends(periods: Sequence[Ends], wide: float, first: str, last: str) -> Markup:
    """Bars that stand on each other: what ended well, then neither, then badly on top."""
    most = max((each.total for each in periods), default=0) or 1
    step = _step(periods, wide)
    parts = [_line(_HIGH, wide), text(_LEFT - 6, _TOP + 8, f"{most:,}", "end"), text(_LEFT - 6, _HIGH, "0", "end")]
    for place, each in enumerate(periods):
        parts.append(f"<g>{''.join(_stack(each, place, step, most))}<title>{Markup.escape(each.said)}</title></g>")
    return _framed(parts, wide, (first, last), f"{sum(each.total for each in periods):,} runs ended")


def _stack(each: Ends, place: int, step: float, most: int) -> Iterator[str]:
    x, y = _LEFT + place * step, _HIGH
    for kind, count in (("good", each.good), ("other", each.other), ("bad", each.bad)):
        if count:
            high = max(count / most * (_HIGH - _TOP), 1.5)
            y -= high
            yield _bar(kind, x, y, step, high)
    yield _bar("none", x, _TOP, step, _HIGH - _TOP)  # so that a title shows wherever the pointer is


def _bar(kind: str, x: float, y: float, step: float, high: float) -> str:
    wide = max(step - min(step / 4, 2), 0.5)
    return f'<rect class="{kind}" x="{number(x)}" y="{number(y)}" width="{number(wide)}" height="{number(high)}"/>'


def draw_spans(periods: Sequence[Span], wide: float, first: str, last: str) -> Markup:
    """On a logarithmic scale: a line from the median to the 99th percentile, with a mark at the 95th."""
    known = [ms for each in periods for ms in (each.p50_ms, each.p99_ms) if ms is not None]
    scale = scale_of(known, _HIGH - _TOP)
    step = _step(periods, wide)
    parts = [_line(_HIGH, wide)]
    for ms in scale.lines(_APART):
        y = _HIGH - scale(ms)
        parts += [_line(y, wide, "grid"), text(_LEFT - 6, y + 4, NICE[ms], "end")]
    for place, each in enumerate(periods):
        if each.p50_ms is None or each.p95_ms is None or each.p99_ms is None:
            continue
        x = number(_LEFT + (place + 0.5) * step)
        p50, p95, p99 = (number(_HIGH - scale(ms)) for ms in (each.p50_ms, each.p95_ms, each.p99_ms))
        parts.append(
            f'<g><path class="span" d="M{x} {p50}V{p99}"/><circle class="p50" cx="{x}" cy="{p50}" r="2.6"/>'
            f'<circle class="p95" cx="{x}" cy="{p95}" r="2"/><title>{Markup.escape(each.said)}</title></g>'
        )
    longest = f", {spoken_duration(max(known))} at most" if known else ""
    return _framed(parts, wide, (first, last), f"median to 99th percentile{longest}")


def _step(periods: Sequence[object], wide: float) -> float:
    return (wide - _LEFT) / max(len(periods), 1)


def _line(y: float, wide: float, kind: str = "base") -> str:
    return f'<path class="{kind}" d="M{number(_LEFT)} {number(y)}H{number(wide)}"/>'


def _framed(parts: Sequence[str], wide: float, ends: tuple[str, str], label: str) -> Markup:
    first, last = (
        text(x, _HIGH + 14, said, anchor) for x, said, anchor in zip((_LEFT, wide), ends, ("start", "end"), strict=True)
    )
    inside = Markup("".join([*parts, first, last]))  # all of it is numbers, or escaped above
    return Markup('<svg class="series" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        number(wide), number(_HIGH + _FOOT), label, inside
    )
