"""The time ring as a clock face: 60 slots, one for each second, with what is coming in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import cos, pi, sin

from rich.text import Text

from onthedot.cli.living.facts import Facts

RADIUS = 8
"""In lines; a column is about half as wide as a line is high."""
_SIGNS = "·•●"
_ENDED = {"succeeded": "bold green", "failed": "bold red", "timed_out": "bold red", "lost": "bold red"}
_RECENT_MS = 8000


def clock_face(facts: Facts, radius: int = RADIUS) -> Text:
    """The hand goes round; ahead of it lies what is coming, behind it what has just ended."""
    coming = Counter(moment // 1000 % 60 for moment in facts.coming_ms)
    recent = {
        run.finished_ms // 1000 % 60: _ENDED.get(run.state, "yellow")
        for run in reversed(facts.ended)
        if run.finished_ms is not None and facts.now_ms - run.finished_ms < _RECENT_MS
    }
    second = facts.now_ms // 1000 % 60
    cells: dict[tuple[int, int], tuple[str, str]] = {}
    for slot in range(60):
        cells[_place(slot, radius)] = _cell(slot, second, coming[slot], recent.get(slot))
    for step in range(2, radius - 1):
        cells[_place(second, radius, step / radius)] = ("∙", "dim cyan")
    middle = [f"{facts.now_ms // 3_600_000 % 24:02}:{facts.now_ms // 60_000 % 60:02}:{second:02}", "UTC"]
    return _drawn(cells, radius, middle)


def _cell(slot: int, second: int, coming: int, ended: str | None) -> tuple[str, str]:
    if slot == second:
        return "◆", "bold cyan"
    behind = (second - slot) % 60
    if ended is not None and behind * 1000 < _RECENT_MS:
        return "●", ended
    if not coming:
        return _SIGNS[0], "dim"
    return _SIGNS[1 if coming < 3 else 2], "white" if coming < 6 else "bold magenta"


def _place(slot: int, radius: int, part: float = 1.0) -> tuple[int, int]:
    """Line and column of a slot; 0 is at the top."""
    angle = 2 * pi * slot / 60
    return round(radius - radius * part * cos(angle)), round(2 * radius + 2 * radius * part * sin(angle))


def _drawn(cells: dict[tuple[int, int], tuple[str, str]], radius: int, middle: Sequence[str]) -> Text:
    for number, text in enumerate(middle):
        for offset, sign in enumerate(text):
            cells[radius + number, 2 * radius - len(text) // 2 + offset] = (sign, "bold" if not number else "dim")
    face = Text()
    for line in range(2 * radius + 1):
        for column in range(4 * radius + 1):
            face.append(*cells.get((line, column), (" ", "")))
        face.append("\n")
    return face
