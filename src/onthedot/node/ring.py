"""The time ring: hints about what comes due within the next seconds."""

from collections.abc import Hashable, Iterable
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

from onthedot.heap import IndexedHeap

K = TypeVar("K", bound=Hashable)

SLOTS = 60


class Hint(NamedTuple, Generic[K]):
    """Look at `key` when `moment_ms` (epoch milliseconds) has come; a higher priority goes first."""

    moment_ms: int
    priority: int
    key: K


class TimeRing(Generic[K]):
    """Hints in 60 slots, one for each second of the minute. Thread-safe, by one lock.

    A hint owns nothing: the store decides what really happens. The ring promises only that each hint comes out
    once, never before its moment, and at the first `due` at or after it.

    There is no hand that goes around. Each drain looks at the head of every slot, and due means `<=`, with no lower
    bound. So nothing rests on when the ring was drained before: a stall of any length, a clock that steps either way, a
    hint put too late and one that is hours away in the slot of this second are all the same case.
    """

    __slots__ = ("_hints", "_lock", "_slots")

    def __init__(self) -> None:
        self._lock = Lock()
        self._hints: dict[K, Hint[K]] = {}
        self._slots: tuple[IndexedHeap[K], ...] = tuple(IndexedHeap() for _ in range(SLOTS))

    def put(self, key: K, moment_ms: int, priority: int = 0) -> None:
        """Hold one hint for this key, instead of the one held before. O(log n).

        Putting the very same hint again changes nothing, its place included: the pre-read does so every second.
        """
        hint = Hint(moment_ms, priority, key)
        slot = self._slot(hint)
        with self._lock:
            held = self._hints.get(key)
            if held == hint:
                return
            if held is not None:
                self._slot(held).remove(key)
            slot.push(key, moment_ms)
            self._hints[key] = hint

    def remove(self, key: K) -> bool:
        """Forget the hint for this key; say whether there was one. O(log n)."""
        with self._lock:
            held = self._hints.pop(key, None)
            if held is None:
                return False
            self._slot(held).remove(key)
            return True

    def due(self, now_ms: int) -> list[Hint[K]]:
        """Remove and return every hint whose moment is now or earlier: by moment, higher priority first, then as put.

        O(k log n) for k due hints; what is not due is not looked at, except for one head in each slot.
        """
        with self._lock:
            due = [self._hints.pop(key) for slot in self._taken() for key, _ in slot.pop_due(now_ms)]
        # Equal moments come from one slot and in put order, which a stable sort keeps.
        due.sort(key=lambda hint: (hint.moment_ms, -hint.priority))
        return due

    def peek(self) -> int | None:
        """Return the earliest moment held, in epoch milliseconds, or None when empty. O(1): one head in each slot."""
        with self._lock:
            heads = [slot.peek() for slot in self._taken()]
        return min((head[1] for head in heads if head is not None), default=None)

    def __len__(self) -> int:
        with self._lock:
            return len(self._hints)

    def __contains__(self, key: object) -> bool:
        with self._lock:
            return key in self._hints

    def _taken(self) -> Iterable[IndexedHeap[K]]:
        """The slots that may hold something: few hints are in few of them."""
        if len(self._hints) > SLOTS // 4:
            return self._slots
        return [self._slots[number] for number in {hint.moment_ms // 1000 % SLOTS for hint in self._hints.values()}]

    def _slot(self, hint: Hint[K]) -> IndexedHeap[K]:
        return self._slots[hint.moment_ms // 1000 % SLOTS]

    def _check(self) -> None:
        """Assert every invariant. O(n), for tests."""
        with self._lock:
            for slot in self._slots:
                slot._check()
            assert sum(map(len, self._slots)) == len(self._hints), "a key is in two slots, or in none"
            for key, hint in self._hints.items():
                assert hint.key == key, "a hint under another key"
                assert self._slot(hint).moment_of(key) == hint.moment_ms, "a hint and its slot disagree"
