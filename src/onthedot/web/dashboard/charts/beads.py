"""The last 24 ticks of a schedule in one line: dots that went well, taller marks that did not, dashes left out.

One path for each kind of mark, since a page has thousands of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from onthedot.model.states import State
from onthedot.texts import counted

MOST = 24
LEFT_OUT = "left_out"
"""In place of a state: a tick that became no run."""
_STEP, _HEIGHT, _MIDDLE = 6.2, 16, 8


@dataclass(frozen=True, slots=True)
class _Shape:
    """How one kind of mark is drawn: its class, the path of one at x, and the attributes of all."""

    tone: str
    path: str
    attributes: str = ""


_DOT = 'stroke-width="4.6" stroke-linecap="round"'
_SHAPES = {
    State.SUCCEEDED: _Shape("ok", "M{x} 8h0", _DOT),
    State.FAILED: _Shape("bad", "M{x} 3.5v9", 'stroke-width="4" stroke-linecap="round"'),
    State.TIMED_OUT: _Shape("slow", "M{l} 2.5h3v11h-3z", 'stroke-width="1.3" stroke-linejoin="round"'),
    State.LOST: _Shape("lost", "M{x} 2v12", 'stroke-width="3.6" stroke-dasharray="3.2 1.2"'),
    State.CANCELLED: _Shape("hold", "M{l} 9.5l3-3", 'stroke-width="1.5" stroke-linecap="round"'),
    State.SKIPPED: _Shape("hold", "M{x} 2.5v11", 'stroke-width="1.8" stroke-dasharray="1.8 1.3"'),
    LEFT_OUT: _Shape("hold", "M{x} 2.5v11", 'stroke-width="1.8" stroke-dasharray="1.8 1.3"'),
    State.RUNNING: _Shape("now", "M{l} 8a1.6 1.6 0 1 0 3.2 0a1.6 1.6 0 1 0-3.2 0", 'stroke-width="1.5"'),
    State.WAITING: _Shape("dim", "M{l} 8a1.6 1.6 0 1 0 3.2 0a1.6 1.6 0 1 0-3.2 0", 'stroke-width="1.2"'),
}
_NONE = _Shape("faint", "M{x} 8h0", 'stroke-width="1.6" stroke-linecap="round"')
"""Where there was no tick yet."""


def beads(kinds: Sequence[str]) -> Markup:
    """Of the newest MOST of them, oldest first; it says in words how many failed and were left out."""
    shown = list(kinds[-MOST:])
    padding = MOST - len(shown)
    paths: dict[_Shape, str] = {}
    for place, kind in enumerate([*[""] * padding, *shown]):
        shape = _SHAPES.get(kind, _NONE)
        x = 3 + place * _STEP
        paths[shape] = paths.get(shape, "") + shape.path.format(x=_short(x), l=_short(x - 1.6))
    drawn = "".join(f'<path class="{shape.tone}" d="{path}" {shape.attributes}/>' for shape, path in paths.items())
    return Markup(  # only numbers and words of ours
        f'<svg class="beads" width="149" height="{_HEIGHT}" viewBox="0 0 149 {_HEIGHT}" fill="none" '
        f'stroke="currentColor" preserveAspectRatio="xMaxYMid slice" role="img" aria-label="{in_words(shown)}">'
        f"{drawn}</svg>"
    )


def in_words(kinds: Sequence[str]) -> str:
    """What the marks say: "last 24 ticks: 3 failed, 1 left out"."""
    if not kinds:
        return "no tick yet"
    named = {"failed": (State.FAILED,), "timed out": (State.TIMED_OUT,), "lost": (State.LOST,),
             "cancelled": (State.CANCELLED,), "left out": (State.SKIPPED, LEFT_OUT)}  # fmt: skip
    found = [(sum(kind in those for kind in kinds), word) for word, those in named.items()]
    told = ", ".join(f"{count} {word}" for count, word in found if count) or "all went well"
    return f"last {counted(len(kinds), 'tick')}: {told}"


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
