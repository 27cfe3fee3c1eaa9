"""Which line of an error says what went wrong. Many messages end with an address of further help, or with a `^`."""

from __future__ import annotations

_HEADER = "Traceback (most recent call last):"
_GROUP_HEADER = "  + Exception Group Traceback (most recent call last):"
_CHAINED = (
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
)


def telling_line(error: str | None) -> str:
    """Of a traceback the line that names what was raised last; of any other text the last line; empty for nothing."""
    text = (error or "").strip("\n")
    raised = raised_line(text)
    return raised if raised is not None else text.strip().rpartition("\n")[2]


def raised_line(text: str) -> str | None:
    """Of a traceback the line that names what was raised last; None where the text is none.

    Of a chain it is that of the last link. What an exception says may itself hold a traceback, which is none of the
    chain.
    """
    lines = text.strip("\n").split("\n")
    if _GROUP_HEADER in lines:
        return _after_frames(lines, lines.index(_GROUP_HEADER) + 1, "  | ")
    first = next((number for number, line in enumerate(lines) if line == _HEADER), None)
    if first is None:  # its beginning may have been cut off
        frames = [number for number, line in enumerate(lines) if line.startswith('  File "')]
        return _after_frames(lines, frames[-1], "") if frames else None
    while (following := _next_link(lines, first)) is not None:
        first = following
    return _after_frames(lines, first + 1, "")


def _next_link(lines: list[str], first: int) -> int | None:
    return next(
        (
            number
            for number in range(first + 1, len(lines))
            if lines[number] == _HEADER and any(line in _CHAINED for line in lines[max(number - 2, 0) : number])
        ),
        None,
    )


def _after_frames(lines: list[str], first: int, margin: str) -> str | None:
    """The first line that is not indented; where it only names the class, with the next that says something."""
    inside = [line.removeprefix(margin) for line in lines[first:]]
    found = next((number for number, line in enumerate(inside) if line and not line.startswith(" ")), None)
    if found is None:
        return None
    line = inside[found].rstrip()
    more = next((each.strip() for each in inside[found + 1 :] if each.strip()), "") if line.endswith(":") else ""
    return f"{line} {more}".rstrip()
