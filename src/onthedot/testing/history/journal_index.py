"""The journal by run, on disk: a million lines are found again without a million objects."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import islice

from onthedot.testing.history.journal import Entry, entry_of

_BATCH = 5000
_ASKED_AT_ONCE = 500


class JournalIndex:
    """Entries in a temporary file, which is gone when it is closed."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._file = sqlite3.connect("")  # a temporary file, of which only a part is in memory
        self._file.execute("CREATE TABLE entries (run TEXT, body TEXT)")
        self._count = 0
        self.elsewhere = 0
        """How many have no moment of the store's time."""
        self._fill(iter(entries))

    def __len__(self) -> int:
        return self._count

    def _fill(self, entries: Iterator[Entry]) -> None:
        while batch := list(islice(entries, _BATCH)):
            rows = [(entry.run, json.dumps(asdict(entry))) for entry in batch]
            self._file.executemany("INSERT INTO entries (run, body) VALUES (?, ?)", rows)
            self._count += len(batch)
            self.elsewhere += sum(entry.at_ms is None for entry in batch)
        self._file.execute("CREATE INDEX of_run ON entries (run)")

    def of(self, runs: Sequence[str]) -> tuple[Entry, ...]:
        """The entries of these runs, in the order in which each process wrote them."""
        found: list[Entry] = []
        for first in range(0, len(runs) if self._count else 0, _ASKED_AT_ONCE):
            some = runs[first : first + _ASKED_AT_ONCE]
            marks = ", ".join("?" * len(some))
            rows = self._file.execute(f"SELECT body FROM entries WHERE run IN ({marks}) ORDER BY rowid", some)
            found += [entry_of(json.loads(body)) for (body,) in rows]
        return tuple(found)

    def runs(self) -> Iterator[str]:
        """Every run that it knows, once."""
        for (run,) in self._file.execute("SELECT DISTINCT run FROM entries ORDER BY run"):
            yield run

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
