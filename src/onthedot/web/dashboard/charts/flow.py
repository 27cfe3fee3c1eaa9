"""The graph of a flow: a box for each step, lines to what comes after it; of a run with how far each is.

On wide pages it reads from left to right, on narrow ones downwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from markupsafe import Markup

from onthedot.insight.flow_layout import Spot, depths, layers, lines, said
from onthedot.model.step_status import StepStatus
from onthedot.web.dashboard.charts.shapes import number, text

_WIDE, _HIGH = 162, 50
_NARROW_WIDE = 142
_GAP, _BESIDE, _EDGE = 34, 16, 6
_LETTER, _SMALL_LETTER = 9, 6
_TONES = {"running": "now", "succeeded": "ok", "failed": "bad", "skipped": "hold", "cancelled": "dim", "waiting": "dim"}

Link = Callable[[StepStatus], str | None]


Place = tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Way:
    """Which way it reads, and how wide a box is."""

    down: bool
    wide: int

    @property
    def beside(self) -> float:
        """How much a box takes of its layer."""
        return self.wide if self.down else _HIGH

    @property
    def along(self) -> float:
        """How much a layer takes."""
        return _HIGH if self.down else self.wide

    def place(self, layer: int, across: float) -> Place:
        """Of the upper left corner."""
        along = layer * (self.along + _GAP)
        return (across, along) if self.down else (along, across)

    def ends(self, place: Place) -> tuple[Place, Place]:
        """Where lines reach a box, and where they leave it."""
        x, y = place
        if self.down:
            return (x + self.wide / 2, y), (x + self.wide / 2, y + _HIGH)
        return (x, y + _HIGH / 2), (x + self.wide, y + _HIGH / 2)

    def past(self, place: Place) -> tuple[Place, Place]:
        """The same where a line only goes past a layer."""
        x, y = place
        return ((x, y), (x, y + _HIGH)) if self.down else ((x, y), (x + self.wide, y))

    def curve(self, start: Place, end: Place) -> str:
        """From one point to another."""
        (x, y), (u, v) = start, end
        turn = (x, (y + v) / 2, u, (y + v) / 2) if self.down else ((x + u) / 2, y, (x + u) / 2, v)
        return f"C{' '.join(map(number, (*turn, u, v)))}"


def draw(steps: Sequence[StepStatus], link: Link, *, live: bool, down: bool = False) -> Markup:
    """The picture. Where it is not `live`, no step has a state."""
    way = _Way(down, _NARROW_WIDE if down else _WIDE)
    places = _places(steps, way)
    boxes = [places[step.name] for step in steps]
    wide = max(x for x, _ in boxes) + way.wide + _EDGE
    high = max(y for _, y in boxes) + _HIGH + _EDGE
    parts = [
        *_lines(steps, places, way),
        *(_box(step, places[step.name], way, link(step), live=live) for step in steps),
    ]
    size = f'width="{number(wide)}" height="{number(high)}" viewBox="0 0 {number(wide)} {number(high)}"'
    return Markup(f'<svg class="flow" {size} role="group" aria-label="The steps as a graph">{"".join(parts)}</svg>')


def _places(steps: Sequence[StepStatus], way: _Way) -> Mapping[Spot, Place]:
    """Of each box its upper left corner; of a line that goes past, where it begins to."""
    found: dict[Spot, Place] = {}
    for depth, layer in enumerate(layers(steps)):
        sizes = [way.beside if isinstance(spot, str) else 0 for spot in layer]
        at = -(sum(sizes) + _BESIDE * (len(layer) - 1)) / 2
        for spot, size in zip(layer, sizes, strict=True):
            found[spot] = way.place(depth, at)
            at += size + _BESIDE
    left, top = (min(place[axis] for place in found.values()) for axis in (0, 1))
    return {spot: (x - left + _EDGE, y - top + _EDGE) for spot, (x, y) in found.items()}


def _lines(steps: Sequence[StepStatus], places: Mapping[Spot, Place], way: _Way) -> Iterator[str]:
    by_name, depth = {step.name: step for step in steps}, depths(steps)
    for start, end in lines(steps):
        _, at = way.ends(places[start])
        path = f"M{number(at[0])} {number(at[1])}"
        for layer in range(depth[start] + 1, depth[end]):
            into, out = way.past(places[start, end, layer])
            path += f"{way.curve(at, into)}L{number(out[0])} {number(out[1])}"
            at = out
        path += way.curve(at, way.ends(places[end])[0])
        goes_on = by_name[start].state == "succeeded" and by_name[end].state not in ("waiting", "skipped")
        kind = f"edge{' done' if goes_on else ''}{' loose' if by_name[end].closing else ''}"
        yield f'<path class="{kind}" d="{path}"/>'


def _box(step: StepStatus, place: tuple[float, float], way: _Way, link: str | None, *, live: bool) -> str:
    x, y = place
    state = step.state if live else "waiting"
    size = f'width="{way.wide}" height="{_HIGH}" rx="8"'
    behind = f'<rect class="behind" x="{number(x + 5)}" y="{number(y - 5)}" {size}/>' if step.mapped else ""
    kind = f"box {state}{' closing' if step.closing else ''}"
    drawn = f'{behind}<rect class="{kind}" x="{number(x)}" y="{number(y)}" {size}/>{_progress(step, x, y, way)}'
    note = _note(step, live=live)
    name_x = x + 12
    if live:
        at = f'x="{number(x + 11)}" y="{number(y + (12 if note else 20))}" width="12" height="12" viewBox="0 0 12 12"'
        drawn += f'<svg class="g {_TONES[state]}" {at}><use href="#m-{state}"/></svg>'
        name_x += 17
    drawn += text(name_x, y + (22 if note else 30), _cut(step.name, (way.wide - 30) // _LETTER), "start", "name")
    drawn += (
        text(name_x, y + 38, _cut(note, (way.wide - 30) // _SMALL_LETTER), "start", f"note {state}") if note else ""
    )
    label = ": ".join(filter(None, [step.name, ", ".join(dict.fromkeys(filter(None, [state if live else "", note])))]))
    titled = f"<title>{escape(label)}</title>{drawn}"
    return f"<g>{titled}</g>" if link is None else f'<a href="{escape(link)}" aria-label="{escape(label)}">{titled}</a>'


def _note(step: StepStatus, *, live: bool) -> str:
    """What stands under the name."""
    if live and step.total is not None:
        return said(step)
    of = f"flow {step.task[1:]}" if step.task.startswith("@") else ""
    return ", ".join(
        filter(None, [said(step) if step.total is None else "", "for each item" if step.mapped else "", of])
    )


def _progress(step: StepStatus, x: float, y: float, way: _Way) -> str:
    """Of a map: how many of its runs have ended, and how many of those badly."""
    if not step.mapped or not step.total or step.state == "skipped":
        return ""
    whole = way.wide - 24
    good, bad = ((count / step.total) * whole for count in (step.ended - step.failed, step.failed))
    at = f'y="{number(y + _HIGH - 7)}" height="3"'
    track = f'<rect class="track" x="{number(x + 12)}" {at} width="{whole}" rx="1.5"/>'
    parts = f'<rect class="good" x="{number(x + 12)}" {at} width="{number(good)}"/>'
    return f'{track}{parts}<rect class="bad" x="{number(x + 12 + good)}" {at} width="{number(bad)}"/>'


def _cut(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}…"
