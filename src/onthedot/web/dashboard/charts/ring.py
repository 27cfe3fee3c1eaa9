"""The ring: one minute as a clock face. Outside what comes, inside what became of what came.

`static/ring.js` draws the same once a second in the browser; whoever changes a number here changes it there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from math import cos, log, radians, sin
from typing import Any

from markupsafe import Markup, escape

from onthedot.moments import from_ms

SLOTS = 60
LABELLED = 20
"""A slot with more to come than this is named."""
LEFT_OUT = "left_out"
"""Among the states: ticks that did not become runs."""
WORST_FIRST = (
    "failed",
    "timed_out",
    "lost",
    LEFT_OUT,
    "cancelled",
    "running",
    "waiting",
    "succeeded",
)
"""What a slot shows first, from the rim inwards."""
WORDS = {
    "failed": "failed",
    "timed_out": "timed out",
    "lost": "lost",
    LEFT_OUT: "left out",
    "cancelled": "cancelled",
    "running": "running",
    "waiting": "waiting",
    "succeeded": "succeeded",
}
_MARKS_IN_SLOT = 5
_MOST_LABELS = 3
_APART = 5
"""Slots between two labels."""
_RIM, _INNER, _FACE = 127.5, 113.0, 62
_MARK_STEP = 9.4
_TICKS = {"q": "124V-131", "t": "126V-130"}
"""On the rim: of every fifth second, and of the others."""


@dataclass(frozen=True, slots=True)
class Ring:
    """A minute as it stands: what is to come in it, and what became of the minute before."""

    now_ms: int
    coming: Sequence[int]
    """How many begin in each second after the present one; the ring shows 60, a browser may go on with the others."""
    came: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    """By second since 1970: the ticks of the present second and the 59 before, by what became of them."""
    ahead_ms: int = 5000
    """How far ahead nodes hold moments in their rings."""

    @property
    def second(self) -> int:
        """The present one, since 1970."""
        return self.now_ms // 1000

    @property
    def window_ms(self) -> tuple[int, int]:
        """What comes lies in [first, end)."""
        return (self.second + 1) * 1000, (self.second + 1 + SLOTS) * 1000

    @property
    def to_come(self) -> int:
        """In the next minute."""
        return sum(self.coming[:SLOTS])

    def coming_at(self, ahead: int) -> int:
        """How many begin so many seconds after the present one, 1 to 60."""
        return self.coming[ahead - 1] if ahead <= len(self.coming) else 0

    def came_at(self, behind: int) -> Mapping[str, int]:
        """What became of those of so many seconds ago, 0 to 59."""
        return self.came.get(self.second - behind, {})

    def totals(self) -> dict[str, int]:
        """Of the last minute, by what became of it."""
        found: dict[str, int] = {}
        for behind in range(SLOTS):
            for state, count in self.came_at(behind).items():
                found[state] = found.get(state, 0) + count
        return found


def slots_of(moments: Iterable[tuple[int, str]]) -> dict[int, dict[str, int]]:
    """Ticks by their second and state, from pairs of their moment and what became of them."""
    slots: dict[int, dict[str, int]] = {}
    for moment_ms, state in moments:
        slot = slots.setdefault(moment_ms // 1000, {})
        slot[state] = slot.get(state, 0) + 1
    return slots


def summary(ring: Ring) -> str:
    """ "214 to come · 103 came · 1 failed · 2 left out"."""
    totals = ring.totals()
    came = sum(count for state, count in totals.items() if state != LEFT_OUT)
    told = [f"{ring.to_come:,} to come", f"{came:,} came"]
    told += [f"{totals[state]:,} {WORDS[state]}" for state in WORST_FIRST[:5] if totals.get(state)]
    return " · ".join(told)


def document(ring: Ring, zone: tzinfo, zone_name: str) -> dict[str, Any]:
    """What a browser draws it from."""
    return {
        "now": ring.now_ms,
        "offset": _offset_ms(ring.now_ms, zone),
        "zone": zone_name,
        "ahead": ring.ahead_ms,
        "coming": list(ring.coming),
        "came": {str(second): dict(states) for second, states in sorted(ring.came.items())},
        "summary": summary(ring),
    }


def draw(ring: Ring, zone: tzinfo, zone_name: str) -> Markup:
    """The SVG. `data-` attributes say where a browser draws anew."""
    local = from_ms(ring.now_ms).astimezone(zone)
    slots = "".join(_slot(ring, slot) for slot in range(SLOTS))
    title = f"The minute after {local:%H:%M:%S} {zone_name}: {summary(ring)}"
    return Markup(
        '<svg class="ring" viewBox="-204 -212 408 416" role="img" aria-labelledby="ring-title">'
        f'<title id="ring-title">{escape(title)}</title>{_SHAPES}'
        f'<circle r="{_RIM}" class="rim"/><circle r="{_FACE}" class="rim"/>'
        f"<g data-ring-slots>{slots}{_names(ring)}{_labels(ring, zone)}</g>"
        f'<path class="held" d="{_arc(ring)}" data-ring-held/>'
        f'<g transform="rotate({ring.now_ms % 60_000 * 6 / 1000:.2f})" data-ring-turn><g class="hand" data-ring-hand>'
        f'<path d="M0-66V-176"/><circle cy="-{_RIM}" r="6.2"/></g></g>'
        f'<text y="-16" class="mid" data-ring-day>{local:%a} {local.day} {local:%b}</text>'
        f'<text y="9" class="time" textLength="106" lengthAdjust="spacingAndGlyphs" data-ring-time>'
        f"{local:%H:%M:%S}</text>"
        f'<text y="26" class="mid">store&#39;s clock</text>'
        f'<text y="40" class="mid">{escape(short_zone(zone_name))}</text></svg>'
    )


def table(ring: Ring, zone: tzinfo) -> Markup:
    """The same for whoever cannot see it: a row for each second in which something comes or came."""
    rows = [_row(ring, zone, ring.second - behind, past=True) for behind in range(SLOTS - 1, -1, -1)]
    rows += [_row(ring, zone, ring.second + ahead, past=False) for ahead in range(1, SLOTS + 1)]
    body = "".join(rows) or '<tr><td colspan="2">Nothing came in the last minute, nothing comes in the next.</td></tr>'
    return Markup(
        '<table class="ring-table"><caption class="off">The last minute and the next, second by second</caption>'
        f'<thead><tr><th scope="col">second</th><th scope="col">ticks</th></tr></thead><tbody>{body}</tbody></table>'
    )


def tell_slot(coming: int, came: Mapping[str, int]) -> str:
    """ "119 to come; 108 succeeded, 1 failed"; empty where there is nothing."""
    past = ", ".join(f"{came[state]:,} {WORDS[state]}" for state in WORST_FIRST if came.get(state))
    return "; ".join(part for part in (f"{coming:,} to come" if coming else "", past) if part)


def bar_length(count: int) -> float:
    """Of the bar outside; by the logarithm, so that a herd does not dwarf the single run."""
    return min(6 + 11.55 * log(1 + count), 64)


def _slot(ring: Ring, slot: int) -> str:
    """One of the sixty: its tick on the rim, its bar, its marks."""
    behind = (ring.second - slot) % SLOTS
    ahead = SLOTS - behind if behind else SLOTS
    coming, came = ring.coming_at(ahead), ring.came_at(behind)
    name = "q" if slot % 5 == 0 else "t"
    tick = f'<path class="{name}{" is-now" if behind == 0 else ""}" d="M0-{_TICKS[name]}"/>'
    title = f"<title>:{slot:02}: {tell_slot(coming, came)}</title>" if coming or came else ""
    width = "coming herd" if coming > LABELLED else "coming"
    bar = f'<path class="{width}" d="M0-139V-{139 + bar_length(coming):.1f}" opacity="{_fade_ahead(ahead)}"/>'
    inside = f'<g opacity="{_fade_behind(behind)}">{_marks(came)}</g>' if came else ""
    return f'<g transform="rotate({slot * 6})">{title}{tick}{bar if coming else ""}{inside}</g>'


def _fade_ahead(ahead: int) -> str:
    return f"{max(1 - 0.0145 * (ahead - 1), 0.34):.2f}"


def _fade_behind(behind: int) -> str:
    return f"{max(1 - 0.0165 * behind, 0.22):.2f}"


def _marks(came: Mapping[str, int]) -> str:
    return "".join(
        f'<use href="#ring-{state}" y="-{_INNER - _MARK_STEP * number:.1f}"/>'
        for number, state in enumerate(shown_marks(came))
    )


def shown_marks(came: Mapping[str, int]) -> list[str]:
    """Five at most, the worst at the rim; every state that there is has one, as long as there is room."""
    present = [state for state in WORST_FIRST if came.get(state)][:_MARKS_IN_SLOT]
    left = {state: came[state] - 1 for state in present}
    shown = dict.fromkeys(present, 1)
    for state in reversed(present):
        room = _MARKS_IN_SLOT - sum(shown.values())
        shown[state] += min(left[state], room)
    return [state for state in present for _ in range(shown[state])]


def _names(ring: Ring) -> str:
    """Of the quarters, where no bar is in the way."""
    places = {15: (191, 4), 30: (0, 198), 45: (-191, 4)}
    free = (slot for slot in places if ring.coming_at((slot - ring.second - 1) % SLOTS + 1) <= LABELLED)
    return "".join(f'<text x="{places[slot][0]}" y="{places[slot][1]}" class="mid">:{slot}</text>' for slot in free)


def _labels(ring: Ring, zone: tzinfo) -> str:
    """The names of the fullest slots that are not too near to one another."""
    herds = sorted((-ring.coming_at(ahead), ahead) for ahead in range(1, SLOTS + 1) if ring.coming_at(ahead) > LABELLED)
    chosen: list[int] = []
    for _, ahead in herds:
        if len(chosen) < _MOST_LABELS and all(_APART <= abs(ahead - other) <= SLOTS - _APART for other in chosen):
            chosen.append(ahead)
    return "".join(_label(ring, ahead, zone) for ahead in chosen)


def _label(ring: Ring, ahead: int, zone: tzinfo) -> str:
    at = from_ms((ring.second + ahead) * 1000).astimezone(zone)
    count, slot = ring.coming_at(ahead), (ring.second + ahead) % SLOTS
    x, y, anchor = label_place(slot, 139 + bar_length(count))
    name = moment_name(at.minute, at.second)
    more = f'<tspan x="{x:.0f}" dy="15" class="why">{name}</tspan>' if name else ""
    return f'<text x="{x:.0f}" y="{y:.0f}" class="herd" text-anchor="{anchor}">{count:,} at {at:%H:%M:%S}{more}</text>'


def label_place(slot: int, radius: float) -> tuple[float, float, str]:
    """Where a bar of that length ends: beside it at the top and the bottom, else at the edge of the picture."""
    angle = radians(slot * 6)
    x, y = sin(angle) * radius, -cos(angle) * radius
    if slot <= 2 or slot >= 58:
        return x + 13, max(y + 12, -196), "start"
    if 28 <= slot <= 32:
        return x + 12, min(y - 2, 196), "start"
    side = (204, "end") if slot < 30 else (-204, "start")
    is_upper = slot < 18 or slot > 42
    return side[0], max(min(y + (-13 if is_upper else 20), 198), -200), side[1]


def short_zone(name: str) -> str:
    """As it fits into the clock: "Europe/Berlin" is "Berlin"."""
    return name.rpartition("/")[2].replace("_", " ")


def moment_name(minute: int, second: int) -> str:
    """What people call it, "the full hour"; empty where they have no name for it."""
    names = {0: "the full hour", 15: "a quarter past", 30: "half past", 45: "a quarter to"}
    return "" if second else names.get(minute, "the full minute")


def _arc(ring: Ring) -> str:
    """The look-ahead, from the hand on."""
    first = radians(ring.now_ms % 60_000 * 6 / 1000)
    last = first + radians(ring.ahead_ms * 6 / 1000)
    return (
        f"M{sin(first) * _RIM:.1f} {-cos(first) * _RIM:.1f}"
        f"A{_RIM} {_RIM} 0 0 1 {sin(last) * _RIM:.1f} {-cos(last) * _RIM:.1f}"
    )


def _row(ring: Ring, zone: tzinfo, second: int, *, past: bool) -> str:
    behind, ahead = ring.second - second, second - ring.second
    told = tell_slot(0, ring.came_at(behind)) if past else tell_slot(ring.coming_at(ahead), {})
    at = from_ms(second * 1000).astimezone(zone)
    return f'<tr><th scope="row">{at:%H:%M:%S}</th><td>{escape(told)}</td></tr>' if told else ""


def _offset_ms(now_ms: int, zone: tzinfo) -> int:
    offset = from_ms(now_ms).astimezone(zone).utcoffset()
    return 0 if offset is None else int(offset.total_seconds() * 1000)


def legend(ring: Ring) -> list[str]:
    """The states that are to be explained below it: those that there are, and always the one that there should be."""
    totals = ring.totals()
    return [state for state in reversed(WORST_FIRST) if totals.get(state) or state == "succeeded"]


_SHAPES = (
    "<defs>"
    '<circle id="ring-succeeded" r="3.2" class="m-ok"/>'
    '<path id="ring-failed" d="M-3-3l6 6M3-3l-6 6" class="m-bad"/>'
    '<path id="ring-timed_out" d="M-3.2-3.4H3.2L-3.2 3.4H3.2Z" class="m-slow"/>'
    '<circle id="ring-lost" r="3" class="m-lost"/>'
    f'<path id="ring-{LEFT_OUT}" d="M-3.8 0h7.6" class="m-hold"/>'
    '<path id="ring-cancelled" d="M3 0a3 3 0 1 1-6 0a3 3 0 1 1 6 0M-2.1 2.1l4.2-4.2" class="m-off"/>'
    '<circle id="ring-running" r="3.1" class="m-now"/>'
    '<circle id="ring-waiting" r="3.1" class="m-ink"/>'
    "</defs>"
)
