"""Which exception a traceback is of, read from its text: that is what a run keeps."""

from __future__ import annotations

import builtins
import re

_HEADER = "Traceback (most recent call last):"
_CHAINED = (
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
)
_RAISED = re.compile(r"([A-Za-z_][\w.]*)(?::|$)")


def class_path(text: str) -> str | None:
    """The whole name of the class that was raised last; None where the text names none."""
    raised = _RAISED.match(_last_raised(text.strip("\n").split("\n")))
    if raised is None:
        return None
    name = raised[1]
    if "." in name:
        return name.replace("<locals>.", "")
    return f"builtins.{name}" if isinstance(getattr(builtins, name, None), type) else None


def _last_raised(lines: list[str]) -> str:
    """Of a chain the last link. What an exception says may itself hold a traceback, which is none of the chain."""
    first = next((number for number, line in enumerate(lines) if line == _HEADER), None)
    if first is None:
        return lines[-1] if len(lines) == 1 else _after_frames(lines, 0)
    while True:
        chained = (
            number
            for number in range(first + 1, len(lines))
            if lines[number] == _HEADER and any(line in _CHAINED for line in lines[max(number - 2, 0) : number])
        )
        following = next(chained, None)
        if following is None:
            return _after_frames(lines, first + 1)
        first = following


def _after_frames(lines: list[str], first: int) -> str:
    frames = False
    for line in lines[first:]:
        if line.startswith(" "):
            frames = True
        elif frames and line:
            return line
    return lines[-1]
