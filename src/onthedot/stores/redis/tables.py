"""What a transaction knows of one hash of rows: what it has read, what it relies upon, what it will write."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from onthedot.model.key import Key
from onthedot.model.node import Node
from onthedot.model.run import Run
from onthedot.model.schedule import Schedule
from onthedot.stores.redis import indexes as entries
from onthedot.stores.redis import mapping
from onthedot.stores.redis.commit import Commit
from onthedot.stores.redis.indexes import IndexEntries
from onthedot.stores.redis.remembered import Remembered

T = TypeVar("T")

STAMP = 12
"""So many characters before the JSON of a row are its stamp: another one with every write, and the same never again."""


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """One hash of rows."""

    name: str
    to_text: Callable[[T], str]
    from_text: Callable[[str, str], T]
    entries: Callable[[T], IndexEntries]


SCHEDULES: Kind[Schedule] = Kind("schedules", mapping.schedule_text, mapping.schedule_from, entries.schedule_entries)
RUNS: Kind[Run] = Kind("runs", mapping.run_text, mapping.run_from, entries.run_entries)
KEYS: Kind[Key] = Kind("keys", mapping.key_text, mapping.key_from, entries.key_entries)
NODES: Kind[Node] = Kind("nodes", mapping.node_text, mapping.node_from, entries.node_entries)


_NOTHING = "", None
"""What is known of a row that was not read: it is new."""


class Table(Generic[T]):
    """What was read stays as it was read once anything rests on it: the comparison at the end tells if it changed."""

    def __init__(self, kind: Kind[T], remembered: Remembered[T] | None = None) -> None:
        self._kind = kind
        self._remembered = remembered
        self._offered: dict[str, tuple[str, T]] = {}
        """What was remembered when the server was asked whether it still is so."""
        self._read: dict[str, tuple[str, T | None]] = {}
        self._relied: set[str] = set()
        self._written: dict[str, T | None] = {}

    @property
    def name(self) -> str:
        """The key of the hash."""
        return self._kind.name

    def unknown(self, ids: Iterable[str]) -> list[str]:
        """Those that were not read yet."""
        return [each for each in dict.fromkeys(ids) if each not in self._read]

    def asked(self, ids: Sequence[str]) -> list[str | int]:
        """For `rows.lua`: the ids, and the stamps of those that are remembered."""
        if self._remembered is not None:
            self._offered |= self._remembered.among(ids)
        offered = self._offered
        return [self.name, len(ids), *ids, *[offered[each][0] if each in offered else "" for each in ids]]

    def learn(self, ids: Iterable[str], texts: Iterable[str | Literal[1] | None]) -> None:
        """What the hash has under these ids now; 1: what was remembered when it was asked."""
        for each, text in zip(ids, texts, strict=True):
            if each in self._relied or each in self._written:
                continue
            if text is None:
                self._read[each] = "", None
            elif text == 1:
                self._read[each] = self._offered[each]
            elif each not in self._read or self._read[each][0] != text[:STAMP]:  # else it was read already
                self._read[each] = text[:STAMP], self._kind.from_text(each, text[STAMP:])

    def recall(self, row_id: str, stamp: str) -> T | None:
        """The row that has this stamp, which the server has just told; None where it is not remembered."""
        known = None if self._remembered is None else self._remembered.get(row_id)
        if known is None or known[0] != stamp:
            return None
        if row_id not in self._relied and row_id not in self._written:
            self._read[row_id] = known
        return known[1]

    def known(self, ids: Iterable[str]) -> list[T]:
        """Rows that have been read or written, in the order of the ids; without those that do not exist."""
        found = (self._written[each] if each in self._written else self._read[each][1] for each in ids)
        return [value for value in found if value is not None]

    def read(self, ids: Iterable[str]) -> list[T]:
        """Those of these that have been read and exist."""
        return [row for each in ids if (row := self.before(each)) is not None]

    def before(self, row_id: str) -> T | None:
        """The row as it was read."""
        return self._read.get(row_id, _NOTHING)[1]

    def stamps(self, ids: Iterable[str]) -> list[str]:
        """Of rows that have been read."""
        return [self._read[each][0] for each in ids]

    def rely(self, ids: Collection[str]) -> list[T]:
        """The same as `known`; but they, and what does not exist of them, must stay so until the end."""
        self._relied.update(ids)
        return self.known(ids)

    def write(self, row_id: str, value: T | None) -> None:
        """The row as it shall be; None: it shall not be."""
        self._written[row_id] = value

    def written(self) -> Iterable[tuple[str, T | None]]:
        """Each row that is written: its id, as it shall be."""
        return self._written.items()

    def changes(self) -> list[tuple[str, T | None, T | None]]:
        """Each row that is written: its id, as it was, as it shall be."""
        read = self._read
        return [(each, read.get(each, _NOTHING)[1], value) for each, value in self._written.items()]

    def gather(self, commit: Commit, stamp: str) -> None:
        """Everything that is to be compared and written."""
        compared = list(self._relied.union(self._written))
        commit.expect_rows(self.name, compared, [self._read.get(each, _NOTHING)[0] for each in compared])
        to_text, entries = self._kind.to_text, self._kind.entries
        for each, before, value in self.changes():
            if value is None:
                commit.write("HDEL", self.name, each)
            else:
                commit.values("HSET", self.name).extend((each, stamp + to_text(value)))
            commit.move({} if before is None else entries(before), {} if value is None else entries(value))
