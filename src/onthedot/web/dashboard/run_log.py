"""A run's log as a page shows it: the last lines, in parts by attempt, older ones by a link."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from onthedot.insight.run_report import Try
from onthedot.model.log_line import LogLine
from onthedot.web.dashboard.room import size

SHOWN = 200
MOST_BYTES = 30_000
"""Of HTML, of all lines of a page together."""
LONGEST = 3_000
"""Of one line; the plain text has all of it."""
_AROUND = 110
"""What stands around the text of a line."""
_SCANNED = 10_000
"""So many lines are searched for warnings, at most, before a link leads on."""
_PAGE = 1000
_KINDS = {"WARNING": "w", "ERROR": "e", "CRITICAL": "e", "PROGRESS": "p"}

Read = Callable[[int, int], Sequence[LogLine]]
"""The lines after so many, up to so many."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one attempt said."""

    heading: str
    claim_no: int
    lines: tuple[LogLine, ...]


@dataclass(frozen=True, slots=True)
class LogPage:
    """Some lines of a log."""

    parts: tuple[Part, ...]
    end: int
    """How many lines there are in all."""
    older: int | None
    """Where the page before this one ends; None where there is none."""
    newest: bool
    """Whether it shows the end of the log, so that it can be followed."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which lines."""

    warnings: bool = False
    claim_no: int | None = None
    before: int | None = None
    """Only lines before this one, counted from 0."""

    def takes(self, line: LogLine) -> bool:
        """Whether it is one of them."""
        loud = not self.warnings or kind_of(line) in ("w", "e")
        return loud and self.claim_no in (None, line.claim_no)

    @property
    def all(self) -> bool:
        """Whether no line is left out."""
        return not self.warnings and self.claim_no is None


def kind_of(line: LogLine) -> str:
    """How loud it is: w, e, p (progress), or nothing."""
    return _KINDS.get(line.level, "")


def headings_of(tries: Sequence[Try]) -> dict[int, str]:
    """What stands above the lines of each claim."""
    return {each.attempt.claim_no: f"attempt {each.attempt.number} on {each.node}" for each in tries}


def read_page(read: Read, wanted: Wanted, tries: Sequence[Try]) -> LogPage:
    """The last of the wanted lines; how long the log is costs little."""
    end = length(read)
    stop = end if wanted.before is None else max(min(wanted.before, end), 0)
    found, start = _backwards(read, wanted, stop)
    return LogPage(_parts([line for _, line in found], tries), end, start or None, stop == end)


def length(read: Read) -> int:
    """How many lines there are, found by looking here and there: the store counts none."""
    first = len(read(0, SHOWN + 1))
    if first <= SHOWN:
        return first
    low, step = SHOWN, SHOWN
    while read(low + step, 1):
        low, step = low + step, step * 2
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if read(middle, 1) else (low, middle)
    return high


def _backwards(read: Read, wanted: Wanted, stop: int) -> tuple[list[tuple[int, LogLine]], int]:
    """The last wanted lines before `stop`, and where to go on from; 0 at the beginning of the log."""
    found: list[tuple[int, LogLine]] = []
    size = SHOWN if wanted.all else _PAGE
    start, least = stop, max(stop - _SCANNED, 0)
    while start > least and len(found) < SHOWN:
        until, start = start, max(start - size, least)
        taken = [each for each in enumerate(read(start, until - start), start) if wanted.takes(each[1])]
        found = [*taken, *found]
    kept = _fitting(found[-SHOWN:])
    return kept, kept[0][0] if len(kept) < len(found) else start


def _fitting(lines: list[tuple[int, LogLine]]) -> list[tuple[int, LogLine]]:
    """The last ones that fit on a page together."""
    room, kept = MOST_BYTES, 0
    for _, line in reversed(lines):
        room -= _AROUND + min(size(line.text), LONGEST)
        if room < 0 and kept:
            break
        kept += 1
    return lines[len(lines) - kept :]


def _parts(lines: Sequence[LogLine], tries: Sequence[Try]) -> tuple[Part, ...]:
    headings = headings_of(tries)
    return tuple(
        Part(headings.get(claim_no, f"claim {claim_no}"), claim_no, tuple(said))
        for claim_no, said in groupby(lines, key=lambda line: line.claim_no)
    )
