"""What is worth knowing about a file of schedules, though nothing is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator

from onthedot.app.files.entry import Entry, JobFile
from onthedot.moments import END_MS, iso
from onthedot.triggers.herd import find_herds


def notes_of(job_file: JobFile, now_ms: int) -> list[str]:
    """What was read but cannot be honoured, what will never run again, and minutes in which hundreds begin."""
    running = [entry.trigger.with_key(entry.name) for entry in job_file.entries if entry.enabled]
    return [*job_file.notes, *_ended(job_file.entries, now_ms), *map(str, find_herds(running, now_ms))]


def _ended(entries: tuple[Entry, ...], now_ms: int) -> Iterator[str]:
    for entry in entries:
        trigger = entry.trigger.with_key(entry.name)
        last = trigger.prev_ms(END_MS) if trigger.next_ms(now_ms) is None else None
        if last is not None:
            where = "" if entry.line is None else f"line {entry.line}: "
            yield f"{where}{entry.name} will not run again; its last tick was {iso(last)}"
