"""A queue by moment whose entries can be moved and removed by key."""

from collections.abc import Hashable, Iterator
from heapq import heapify, heappop, heappush
from operator import index
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

# An entry is one int, `moment << 60 | number`: one comparison orders it by moment, then by when it was put there.
# Numbers are never used twice; at a million a second 60 bits last for 36,000 years.
_BITS = 60
_NUMBER = (1 << _BITS) - 1


class IndexedHeap(Generic[K]):
    """Keys ordered by moment: the earliest is always at hand, and any key can be moved or removed.

    A moment is any int, in the caller's unit. Equal moments come out in the order in which they were pushed or last
    updated. Not thread-safe: its owner holds the lock.

    Deletion is lazy. An entry that was moved or removed stays in the heap as a stale int until it comes to the head or
    more than half of the heap is stale; then the heap is rebuilt. So the heap never holds more than two ints for each
    key, however often keys are moved, and the times given below are amortised.
    """

    __slots__ = ("_entries", "_heap", "_keys", "_last_number")

    def __init__(self) -> None:
        self._heap: list[int] = []
        self._entries: dict[K, int] = {}
        # By number, not by entry: ints hash modulo 2**61 - 1, where entries with regularly falling moments all collide.
        self._keys: dict[int, K] = {}
        self._last_number = 0

    def push(self, key: K, moment: int) -> None:
        """Add a key that is not here yet. O(log n), and O(1) for a moment later than most."""
        if key in self._entries:
            raise ValueError(f"{key!r} is already in the heap. Move it with update().")
        self._add(key, moment)

    def peek(self) -> tuple[K, int] | None:
        """Return the earliest key and its moment, or None when empty. O(1), changes nothing."""
        if not self._heap:
            return None
        entry = self._heap[0]
        return self._keys[entry & _NUMBER], entry >> _BITS

    def pop(self) -> tuple[K, int]:
        """Remove and return the earliest key and its moment. O(log n)."""
        if not self._heap:
            raise IndexError("The heap is empty. Ask peek() or len() first.")
        entry = heappop(self._heap)
        key = self._keys.pop(entry & _NUMBER)
        del self._entries[key]
        self._drop_stale()
        return key, entry >> _BITS

    def pop_due(self, now: int) -> list[tuple[K, int]]:
        """Remove and return every key whose moment is now or earlier, in order. O(k log n) for k keys, O(1) for 0."""
        first_later = (index(now) + 1) << _BITS
        due = []
        while self._heap and self._heap[0] < first_later:
            due.append(self.pop())
        return due

    def due(self, now: int) -> list[tuple[K, int]]:
        """Return what `pop_due` would, in no promised order, and leave it here. O(k) for k keys and stale entries."""
        first_later = (index(now) + 1) << _BITS
        heap, keys = self._heap, self._keys
        size, places, entries = len(heap), [0], []
        while places:  # level by level: where a parent is later than now, so are its children
            places = [place for place in places if place < size and heap[place] < first_later]
            entries += [heap[place] for place in places]
            places = [child for place in places for child in (2 * place + 1, 2 * place + 2)]
        return [(keys[entry & _NUMBER], entry >> _BITS) for entry in entries if entry & _NUMBER in keys]

    def update(self, key: K, moment: int) -> None:
        """Move a key to another moment, behind those already there; KeyError if it is not here. O(log n)."""
        old = self._entries[key]
        self._add(key, moment)
        del self._keys[old & _NUMBER]
        self._drop_stale()

    def remove(self, key: K) -> int:
        """Remove a key and return its moment; KeyError if it is not here. O(log n), O(1) away from the head."""
        entry = self._entries.pop(key)
        del self._keys[entry & _NUMBER]
        self._drop_stale()
        return entry >> _BITS

    def moment_of(self, key: K) -> int:
        """Return the moment of a key; KeyError if it is not here. O(1)."""
        return self._entries[key] >> _BITS

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[K]:
        """Iterate over the keys in no promised order."""
        return iter(self._entries)

    def _add(self, key: K, moment: int) -> None:
        number = self._last_number + 1
        # index(): a numpy integer would silently overflow in the shift, and a float must fail before anything changes.
        entry = index(moment) << _BITS | number
        self._last_number = number
        self._entries[key] = entry
        self._keys[number] = key
        heappush(self._heap, entry)

    def _drop_stale(self) -> None:
        """Make the head live and keep at least half of the heap live. Called whenever an entry became stale."""
        heap, keys = self._heap, self._keys
        while heap and heap[0] & _NUMBER not in keys:
            heappop(heap)
        if len(heap) > 2 * len(keys):
            heap[:] = self._entries.values()
            heapify(heap)

    def _check(self) -> None:
        """Assert every invariant. O(n), for tests."""
        heap, entries, keys = self._heap, self._entries, self._keys
        assert all(heap[(i - 1) // 2] < heap[i] for i in range(1, len(heap))), "not a heap"
        assert keys == {entry & _NUMBER: key for key, entry in entries.items()}, "keys and entries disagree"
        assert entries.keys() == set(keys.values()), "two numbers for one key"
        assert set(entries.values()) <= set(heap), "a live entry is missing from the heap"
        assert not heap or heap[0] & _NUMBER in keys, "the head is stale"
        assert len(heap) <= 2 * len(entries), "more than half of the heap is stale"
        assert all(0 < entry & _NUMBER <= self._last_number for entry in heap), "a number from nowhere"
        assert len({entry & _NUMBER for entry in heap}) == len(heap), "a number used twice"
