"""Spans of time as short as a chart has room for."""

from __future__ import annotations

_STEPS = ((1000, "ms"), (60_000, "s"), (3_600_000, "min"), (86_400_000, "h"))


def short_span(ms: float) -> str:
    """Two figures at most: "0.4 ms", "12 ms", "1.5 s", "42 s", "5 min", "11 h", "3 d"."""
    unit_ms = 1.0
    for limit, unit in _STEPS:
        if ms < limit:
            return f"{_figures(ms / unit_ms)} {unit}"
        unit_ms = float(limit)
    return f"{_figures(ms / unit_ms)} d"


def exact_span(ms: int) -> str:
    """As one counts down: "0.6 s", "42.6 s", "5 min", "11 h 30 min", "3 d 4 h"."""
    if ms < 60_000:
        return f"{max(ms, 0) / 1000:.1f} s"
    minutes = ms // 60_000
    for small, small_unit, big_unit in ((60, "min", "h"), (1440, "h", "d")):
        if minutes < small:
            return f"{minutes} min"
        if minutes < small * 24:
            big, rest = divmod(minutes, small)
            rest //= small // 60
            return f"{big} {big_unit} {rest} {small_unit}" if rest else f"{big} {big_unit}"
    return f"{minutes // 1440} d"


def _figures(number: float) -> str:
    text = f"{number:.1f}" if number < 9.95 else f"{number:.0f}"
    return text.removesuffix(".0")
