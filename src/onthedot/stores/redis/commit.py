"""What a transaction relies upon and what it writes, gathered until one script compares the one and does the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from onthedot.stores.redis.places import Places

Value: TypeAlias = str | int
_PART = 2000
"""So many values in one group: a script can hand some 8,000 to a command. Even, since values may come in pairs."""
_MOST = 1_000_000
"""A server takes no longer command (1,048,576)."""
_ADDING = ("HSET", "RPUSH", "SADD", "ZADD", "ZINCRBY")


class TooMuch(Exception):
    """More than a server takes at once."""


class Commit:
    """Values are gathered by command and key, since a script pays by the call."""

    def __init__(self) -> None:
        self._relied: dict[tuple[str, str], list[Value]] = {}
        self._writes: dict[tuple[str, str], list[Value]] = {}

    def __bool__(self) -> bool:
        return bool(self._writes)

    # what must be as it was read

    def expect_row(self, table: str, row_id: str, stamp: str) -> None:
        """The row has this stamp; an empty one: there is none."""
        self._relied.setdefault(("row", table), []).extend((row_id, stamp))

    def expect_value(self, table: str, field: str, value: str) -> None:
        """The field has this value; an empty one: there is none."""
        self._relied.setdefault(("value", table), []).extend((field, value))

    def expect_size(self, name: str, size: int) -> None:
        """The set has so many members."""
        self._relied["size", name] = [size]

    # what is written

    def write(self, command: str, key: str, *values: Value) -> None:
        """One more command, or more values of one that is gathered already."""
        self._writes.setdefault((command, key), []).extend(values)

    def move(self, before: Places, after: Places) -> None:
        """Out of the indexes in which a row stood, into those in which it stands now."""
        for place, score in before.items():
            if place not in after:
                index, member = place
                self.write("SREM" if score is None else "ZREM", index, member)
        for place, score in after.items():
            if place in before and before[place] == score:
                continue
            index, member = place
            if score is None:
                self.write("SADD", index, member)
            else:
                self.write("ZADD", index, score, member)

    def count(self, key: str, changes: Mapping[str, int]) -> None:
        """Add to the scores of members."""
        for member, change in changes.items():
            if change:
                self.write("ZINCRBY", key, change, member)

    # the script's arguments

    def arguments(self) -> list[Value]:
        """For commit.lua. What is refused for want of memory comes first, so that it is refused before any write."""
        relied = [group for (what, key), values in self._relied.items() for group in _groups(what, key, values)]
        ordered = sorted(self._writes.items(), key=lambda item: item[0][0] not in _ADDING)
        writes = [group for (command, key), values in ordered for group in _groups(command, key, values)]
        flat = [len(relied), *(value for group in (*relied, *writes) for value in group)]
        if len(flat) > _MOST:
            raise TooMuch(f"{len(flat):,} values in one transaction; a Redis server takes {_MOST:,}")
        return flat


def _groups(what: str, key: str, values: list[Value]) -> Iterator[list[Value]]:
    most = 2 if what == "ZINCRBY" else _PART
    for start in range(0, max(len(values), 1), most):  # DEL has none
        part = values[start : start + most]
        yield [what, key, len(part), *part]
