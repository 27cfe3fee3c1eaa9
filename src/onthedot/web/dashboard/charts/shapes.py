"""The shapes of states, as the marks of lists have them, to be placed in a chart."""

from __future__ import annotations

from html import escape

FILLED = 'fill="currentColor"'


def rect(x: float, y: float, wide: float, high: float, attributes: str) -> str:
    """A bar."""
    round_ = min(2.5, wide / 3)
    place = f'x="{number(x)}" y="{number(y)}" width="{number(wide)}" height="{number(high)}"'
    return f'<rect {place} rx="{number(round_)}" {attributes}/>'


def hollow(x: float, y: float, wide: float, high: float, dashes: str = "") -> str:
    """A bar of which only the edge is drawn."""
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return rect(
        x + 0.8, y + 0.8, wide - 1.6, high - 0.8, f'fill="none" stroke="currentColor" stroke-width="1.6"{dashed}'
    )


def path(d: str, width: str = "2") -> str:
    """A line."""
    return f'<path d="{d}" fill="none" stroke="currentColor" stroke-width="{width}" stroke-linecap="round"/>'


def cross(x: float, y: float) -> str:
    """Failed."""
    return path(f"M{number(x - 3)} {number(y - 3)}l6 6m0-6l-6 6")


def hourglass(x: float, y: float) -> str:
    """Timed out."""
    return f'<path d="M{number(x - 3)} {number(y - 4)}h6l-2 4 2 4h-6l2-4z" fill="currentColor"/>'


def ring(x: float, y: float, attributes: str = 'stroke-width="1.5"') -> str:
    """Waiting."""
    return f'<circle cx="{number(x)}" cy="{number(y)}" r="3.6" fill="none" stroke="currentColor" {attributes}/>'


def broken_ring(x: float, y: float) -> str:
    """Lost."""
    return ring(x, y, 'stroke-width="1.8" stroke-dasharray="3.4 2.2"')


def arc(x: float, y: float) -> str:
    """Running."""
    return path(f"M{number(x)} {number(y - 3.6)}a3.6 3.6 0 1 1-3.6 3.6")


def struck_ring(x: float, y: float) -> str:
    """Cancelled."""
    return ring(x, y) + path(f"M{number(x - 2.4)} {number(y + 2.4)}l4.8-4.8", "1.5")


def text(x: float, y: float, said: str, anchor: str, tone: str = "") -> str:
    """A word, escaped."""
    named = f' class="{tone}"' if tone else ""
    return f'<text{named} x="{number(x)}" y="{number(y)}" text-anchor="{anchor}">{escape(said)}</text>'


def number(value: float) -> str:
    """As short as it can be drawn."""
    return f"{value:.1f}".removesuffix(".0")
