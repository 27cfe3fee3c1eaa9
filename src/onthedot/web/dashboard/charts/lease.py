"""The lease of a node as a ring that runs out, and its clock as a needle."""

from __future__ import annotations

from math import log10

from markupsafe import Markup

_HALF = 54
_WIDEST_MS = 1000
"""The ends of the scale; what is further away stands there, in another colour."""


def lease_ring(until_ms: int, lease_ms: int, now_ms: int) -> Markup:
    """How much is left, with its seconds; a broken ring where it is over. times.js lets it run out in sight."""
    left_ms = until_ms - now_ms
    if left_ms <= 0 or lease_ms <= 0:
        return _ring(Markup('<circle r="15" class="over"/>'), "×", "the lease is over", Markup(""))
    seconds, part = -(-left_ms // 1000), min(left_ms / lease_ms, 1) * 100
    arc = Markup(
        '<circle r="15" class="left" pathLength="100" transform="rotate(-90)" stroke-dasharray="{:.1f} 100"/>'
    ).format(part)
    data = Markup(' data-until="{}" data-lease="{}"').format(until_ms, lease_ms)
    return _ring(arc, str(seconds), f"lease: {seconds} s left", data)


def _ring(inside: Markup, text: str, label: str, data: Markup) -> Markup:
    return Markup(
        '<svg class="lease" width="44" height="44" viewBox="-22 -22 44 44" role="img" aria-label="{}"{}>'
        '<circle r="15" class="ground"/>{}<text y="4" text-anchor="middle">{}</text></svg>'
    ).format(label, data, inside, text)


def clock_needle(skew_ms: int | None) -> Markup:
    """How far a clock is from the store's, by a scale that shows milliseconds and a second alike."""
    if skew_ms is None:
        return Markup('<span class="dim tiny">says nothing of its clock</span>')
    far = abs(skew_ms) >= _WIDEST_MS
    x = 60 + _offset(skew_ms)
    return Markup(
        '<svg class="needle" width="120" height="30" viewBox="0 0 120 30" role="img" aria-label="{}">'
        '<path d="M6 12H114M6 9v6M114 9v6"/><path class="middle" d="M60 7v10"/>'
        '<circle cx="{:.1f}" cy="12" r="4.4"{}/><text x="6" y="28">−1 s</text>'
        '<text x="114" y="28" text-anchor="end">+1 s</text></svg>'
    ).format(f"its clock is {skew_text(skew_ms)}", x, Markup(' class="far"') if far else "")


def _offset(skew_ms: int) -> float:
    part = log10(1 + min(abs(skew_ms), _WIDEST_MS)) / log10(1 + _WIDEST_MS)
    return part * _HALF * (1 if skew_ms > 0 else -1)


def skew_text(skew_ms: int) -> str:
    """+2 ms; from a second on, in words: 1.2 s ahead."""
    if abs(skew_ms) < _WIDEST_MS:
        return f"{'+' if skew_ms >= 0 else '−'}{abs(skew_ms)} ms"
    return f"{abs(skew_ms) / 1000:,.1f} s {'ahead' if skew_ms > 0 else 'behind'}"
