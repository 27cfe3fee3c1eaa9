"""A journal that tasks write themselves, so that what the store says can be held against what was done.

Each process appends to a file of its own, one JSON object a line, on disk before the task goes on: what a process did
before it was killed is known. A line has the run, its claim number and attempt, the schedule and its nominal moment,
the node, whether the task begins or ends, and the time by the process's own clocks.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, Literal
from uuid import uuid4

from onthedot.clock import Clock, SystemClock
from onthedot.execution.context import Context

_BOOT = Path("/proc/sys/kernel/random/boot_id")


def this_machine() -> str:
    """The same for processes whose monotonic time has the same beginning."""
    boot = _BOOT.read_text().strip() if _BOOT.exists() else ""
    return f"{socket.gethostname()}/{boot}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line: a task begins, or ends."""

    what: Literal["begin", "end"]
    run: str
    claim_no: int
    attempt: int
    schedule: str | None
    scheduled_ms: int
    node: str
    wall_ms: int
    monotonic_ms: int
    machine: str = ""
    raised: str | None = None
    """The type of what the task raised, where it ended so."""
    fence: int = 0
    """What the task was given to pass on; 0 in a journal of an earlier version."""
    at_ms: int | None = None
    """When, by the store's clock; None where that cannot be told. Not written: see `told_by`."""


class Journal:
    """What tasks write into: `with journal.entry(ctx): …` around what they do. Safe in threads, and after a fork."""

    def __init__(self, folder: str | Path, clock: Clock | None = None) -> None:
        self._folder = Path(folder)
        self._clock = clock or SystemClock()
        self._machine = this_machine()
        self._lock = Lock()
        self._file: tuple[int, int] | None = None
        """The process that opened it, and its number."""

    @contextmanager
    def entry(self, context: Context) -> Iterator[None]:
        """The task begins; and it ends, with or without an error. A task that is killed has no end."""
        self._write(context, "begin")
        try:
            yield
        except BaseException as error:
            self._write(context, "end", type(error).__name__)
            raise
        self._write(context, "end")

    def _write(self, context: Context, what: Literal["begin", "end"], raised: str | None = None) -> None:
        run = context.run
        entry = Entry(
            what,
            run.id,
            run.claim_no,
            run.attempt,
            run.schedule,
            run.scheduled_ms,
            run.owner or "",
            self._clock.now_ms(),
            self._clock.monotonic_ms(),
            self._machine,
            raised,
            run.fence,
        )
        line = json.dumps({name: value for name, value in asdict(entry).items() if name != "at_ms"}) + "\n"
        with self._lock:
            file = self._opened()
            os.write(file, line.encode())
            os.fsync(file)

    def _opened(self) -> int:
        if self._file is None or self._file[0] != os.getpid():
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / f"{os.getpid()}-{uuid4().hex}.jsonl"
            self._file = os.getpid(), os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        return self._file[1]

    def close(self) -> None:
        """Let go of the file; another entry opens another."""
        with self._lock:
            if self._file is not None and self._file[0] == os.getpid():
                os.close(self._file[1])
            self._file = None


def read_journals(folder: str | Path) -> Iterator[Entry]:
    """Every whole line of every process; the last one of a process that was killed in the midst of it is left out."""
    for path in sorted(Path(folder).glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                if line.endswith("\n"):
                    yield entry_of(json.loads(line))


def entry_of(values: dict[str, Any]) -> Entry:
    """What a line says."""
    return Entry(**values)


def told_by(entries: Iterable[Entry], offset_ms: int, machine: str) -> Iterator[Entry]:
    """The entries of this machine with their moments by the store's clock: monotonic time plus the offset. Wall clocks
    may be wrong, and are. Those of another machine stay without."""
    for entry in entries:
        yield replace(entry, at_ms=entry.monotonic_ms + offset_ms) if entry.machine == machine else entry
