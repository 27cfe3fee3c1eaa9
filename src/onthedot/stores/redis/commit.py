"""What a transaction relies upon and what it writes, gathered until one script compares the one and does the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from onthedot.stores.redis.indexes import IndexEntries

Value: TypeAlias = str | int
_PART = 2000
"""So many values in one group: a script can hand some 8,000 to a command. Even, since values may come in pairs."""
_MOST = 1_000_000
"""A server takes no longer command (1,048,576)."""
_ADDING = ("HSET", "RPUSH", "SADD", "ZADD", "ZADD NX", "ZINCRBY")
_SINGLE = ("LREM", "ZINCRBY", "ZREMRANGEBYSCORE")
"""They take two values, and no more."""


class TooMuch(Exception):
    """More than a server takes at once."""


class Commit:
    """Values are gathered by command and key, since a script pays by the call."""

    def __init__(self) -> None:
        self._relied: list[list[Value]] = []
        self._writes: dict[tuple[str, str], list[Value]] = {}

    def __bool__(self) -> bool:
        return bool(self._writes)

    # what must be as it was read

    def expect_rows(self, table: str, ids: Sequence[str], stamps: Sequence[str]) -> None:
        """The rows have these stamps; an empty one: there is none."""
        self._expect("row", table, ids, stamps)

    def expect_values(self, table: str, wanted: Mapping[str, str]) -> None:
        """The fields have these values; an empty one: there is none."""
        self._expect("value", table, list(wanted), list(wanted.values()))

    def expect_size(self, name: str, size: int) -> None:
        """The set has so many members."""
        self._relied.append(["size", name, 1, size])

    def _expect(self, what: str, table: str, fields: Sequence[str], values: Sequence[str]) -> None:
        for start in range(0, len(fields), _PART):
            part = fields[start : start + _PART]
            self._relied.append([what, table, 2 * len(part), *part, *values[start : start + _PART]])

    # what is written

    def write(self, command: str, key: str, *values: Value) -> None:
        """One more command, or more values of one that is gathered already. It may have an option: "ZADD NX"."""
        self.values(command, key).extend(values)

    def values(self, command: str, key: str) -> list[Value]:
        """What is gathered for a command, to be added to."""
        gathered = self._writes.get((command, key))
        if gathered is None:
            gathered = self._writes[command, key] = []
        return gathered

    def move(self, before: IndexEntries, after: IndexEntries) -> None:
        """Out of the indexes in which a row stood, into those in which it stands now."""
        for place, score in before.items():
            if place not in after:
                index, member = place
                self.values("SREM" if score is None else "ZREM", index).append(member)
        for place, score in after.items():
            if score is None:
                if place not in before:
                    index, member = place
                    self.values("SADD", index).append(member)
            elif before.get(place) != score:
                index, member = place
                self.values("ZADD", index).extend((score, member))

    def count(self, key: str, changes: Mapping[str, int]) -> None:
        """Add to the scores of members."""
        for member, change in changes.items():
            if change:
                self.write("ZINCRBY", key, change, member)

    # the script's arguments

    def in_order(self) -> list[tuple[str, str, list[Value]]]:
        """Command, key and values of all writes, those first that need memory."""
        ordered = sorted(self._writes.items(), key=lambda item: item[0][0].partition(" ")[0] not in _ADDING)
        return [(command, key, values) for (command, key), values in ordered]

    def arguments(self) -> list[Value]:
        """For commit.lua. What is refused for want of memory comes first, so that it is refused before any write."""
        writes = [group for command, key, values in self.in_order() for group in _groups(command, key, values)]
        flat: list[Value] = [len(self._relied)]
        for group in (*self._relied, *writes):
            flat += group
        if len(flat) > _MOST:
            raise TooMuch(f"{len(flat):,} values in one transaction; a Redis server takes {_MOST:,}")
        return flat


def _groups(what: str, key: str, values: list[Value]) -> Iterator[list[Value]]:
    command, *flags = what.split()
    most = 2 if command in _SINGLE else _PART
    for start in range(0, max(len(values), 1), most):  # DEL has none
        part = values[start : start + most]
        yield [command, key, len(flags) + len(part), *flags, *part]
