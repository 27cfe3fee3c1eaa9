"""What is worth knowing about a file of schedules, though nothing is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onthedot.app.files.entry import Entry, JobFile
from onthedot.moments import END_MS, iso
from onthedot.triggers.base import Trigger
from onthedot.triggers.codec import encode
from onthedot.triggers.combine import uses_of
from onthedot.triggers.herd import find_herds
from onthedot.triggers.pinned import direct_pins


def notes_of(job_file: JobFile, now_ms: int) -> list[str]:
    """What was read but cannot be honoured, what will never run again, and minutes in which hundreds begin."""
    known = [entry for entry in job_file.entries if not names_elsewhere(entry.trigger)]
    running = [entry.trigger.with_key(entry.name) for entry in known if entry.enabled]
    told = [*job_file.notes, *_elsewhere(job_file.entries), *_ended(known, now_ms)]
    return [*told, *map(str, find_herds(running, now_ms))]


def names_elsewhere(trigger: Trigger) -> list[str]:
    """What it names and the file does not say: only a store can know it."""
    pinned = {each.use for each in direct_pins(encode(trigger))}
    return sorted({use.told for use in uses_of(trigger) if use not in pinned})


def _elsewhere(entries: Sequence[Entry]) -> Iterator[str]:
    for entry in entries:
        for told in names_elsewhere(entry.trigger):
            where = "" if entry.line is None else f"line {entry.line}: "
            yield f"{where}{entry.name} uses {told}, which is not in this file: the store must have it"


def _ended(entries: Sequence[Entry], now_ms: int) -> Iterator[str]:
    for entry in entries:
        trigger = entry.trigger.with_key(entry.name)
        last = trigger.prev_ms(END_MS) if trigger.next_ms(now_ms) is None else None
        if last is not None:
            where = "" if entry.line is None else f"line {entry.line}: "
            yield f"{where}{entry.name} will not run again; its last tick was {iso(last)}"
