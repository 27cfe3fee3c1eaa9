"""IndexedHeap: the earliest first, and any key can be moved or removed."""

import random

import pytest

from onthedot import heap as public
from onthedot.heap import IndexedHeap


def heap_of(**moments: int) -> IndexedHeap[str]:
    heap: IndexedHeap[str] = IndexedHeap()
    for key, moment in moments.items():
        heap.push(key, moment)
    return heap


def drain(heap: IndexedHeap[str]) -> list[tuple[str, int]]:
    return [heap.pop() for _ in range(len(heap))]


def test_users_import_it_from_the_planner() -> None:
    assert public.IndexedHeap is IndexedHeap


def test_keys_come_out_by_moment() -> None:
    assert drain(heap_of(c=3, a=1, b=2)) == [("a", 1), ("b", 2), ("c", 3)]


def test_any_int_is_a_moment() -> None:
    heap = heap_of(never=2**80, later=1, zero=0, past=-1, long_ago=-(2**80))
    heap._check()
    assert [moment for _, moment in drain(heap)] == [-(2**80), -1, 0, 1, 2**80]


def test_equal_moments_come_out_in_the_order_of_pushing() -> None:
    assert [key for key, _ in drain(heap_of(c=7, a=7, b=7))] == ["c", "a", "b"]


def test_an_updated_key_goes_behind_those_already_at_its_moment() -> None:
    heap = heap_of(a=7, b=7, c=7)
    heap.update("a", 7)
    assert [key for key, _ in drain(heap)] == ["b", "c", "a"]


def test_peek_shows_the_earliest_and_changes_nothing() -> None:
    heap = heap_of(a=2, b=1)
    before = list(heap._heap)
    assert heap.peek() == ("b", 1)
    assert heap.peek() == ("b", 1)
    assert heap._heap == before


def test_peek_of_an_empty_heap_is_none() -> None:
    assert heap_of().peek() is None


def test_peek_never_shows_what_was_moved_away_or_removed() -> None:
    heap = heap_of(a=1, b=2, c=3, d=4)
    heap.update("a", 9)
    assert heap.peek() == ("b", 2)
    heap.remove("c")
    heap.remove("b")
    assert heap.peek() == ("d", 4)
    heap.pop()
    assert heap.peek() == ("a", 9)


def test_update_moves_earlier_and_later() -> None:
    heap = heap_of(a=10, b=20, c=30)
    heap.update("c", 5)
    heap.update("a", 40)
    heap._check()
    assert drain(heap) == [("c", 5), ("b", 20), ("a", 40)]


def test_remove_returns_the_moment_of_the_key() -> None:
    heap = heap_of(a=1, b=-2)
    assert heap.remove("b") == -2
    assert "b" not in heap
    assert drain(heap) == [("a", 1)]


def test_a_removed_or_popped_key_can_be_pushed_again() -> None:
    heap = heap_of(a=1, b=2)
    heap.remove("a")
    heap.pop()
    heap.push("a", 4)
    heap.push("b", 3)
    heap._check()
    assert drain(heap) == [("b", 3), ("a", 4)]


def test_pop_due_takes_what_is_now_or_earlier_and_leaves_the_rest() -> None:
    heap = heap_of(later=11, now=10, past=-5)
    assert heap.pop_due(10) == [("past", -5), ("now", 10)]
    assert heap.pop_due(10) == []
    assert heap.peek() == ("later", 11)


def test_length_membership_iteration_and_moments_know_live_keys_only() -> None:
    heap = heap_of(a=1, b=2, c=3)
    heap.remove("b")
    heap.update("c", 4)
    assert len(heap) == 2
    assert sorted(heap) == ["a", "c"]
    assert "a" in heap
    assert "b" not in heap
    assert heap.moment_of("c") == 4


def test_none_is_a_key_like_any_other() -> None:
    heap: IndexedHeap[str | None] = IndexedHeap()
    heap.push(None, 1)
    assert heap.peek() == (None, 1)
    assert heap.pop_due(1) == [(None, 1)]


def test_pushing_a_present_key_is_refused_with_the_remedy() -> None:
    heap = heap_of(a=1)
    with pytest.raises(ValueError, match=r"'a' is already in the heap\. Move it with update\(\)"):
        heap.push("a", 2)
    assert drain(heap) == [("a", 1)]


def test_popping_an_empty_heap_is_an_index_error() -> None:
    with pytest.raises(IndexError, match="empty"):
        heap_of().pop()


def test_an_absent_key_is_a_key_error() -> None:
    heap = heap_of(a=1)
    with pytest.raises(KeyError):
        heap.update("b", 1)
    with pytest.raises(KeyError):
        heap.remove("b")
    with pytest.raises(KeyError):
        heap.moment_of("b")
    heap._check()
    assert drain(heap) == [("a", 1)]


def test_a_moment_that_is_no_int_is_refused_and_changes_nothing() -> None:
    heap = heap_of(a=1, b=2)
    with pytest.raises(TypeError):
        heap.push("c", 1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        heap.update("a", 1.5)  # type: ignore[arg-type]
    heap._check()
    assert drain(heap) == [("a", 1), ("b", 2)]


def test_numpy_moments_do_not_overflow() -> None:
    numpy = pytest.importorskip("numpy")
    heap = heap_of(middle=1_790_000_000_000)
    heap.push("last", numpy.int64(1_790_000_000_001))
    heap.push("first", numpy.int64(1_789_999_999_999))
    assert drain(heap) == [("first", 1_789_999_999_999), ("middle", 1_790_000_000_000), ("last", 1_790_000_000_001)]


def test_endless_rescheduling_keeps_the_heap_at_twice_its_keys_at_most() -> None:
    heap: IndexedHeap[int] = IndexedHeap()
    for key in range(100):
        heap.push(key, 0)
    rng = random.Random(1)
    longest = 0
    for now in range(50_000):
        heap.update(rng.randrange(100), now + rng.randrange(-1000, 1000))
        longest = max(longest, len(heap._heap))
    heap._check()
    assert 100 < longest <= 200


def test_the_heap_shrinks_while_keys_are_removed_behind_the_head() -> None:
    heap: IndexedHeap[int] = IndexedHeap()
    for key in range(1000):
        heap.push(key, key)
    for key in range(999, 0, -1):
        heap.remove(key)
        assert len(heap._heap) <= 2 * len(heap)
    assert heap.pop() == (0, 0)
    assert heap._heap == []


def test_rebuilding_is_rare() -> None:
    """It costs O(n), so n moves must lie between two of them: then a move is O(log n) amortised."""
    heap: IndexedHeap[int] = IndexedHeap()
    for key in range(1000):
        heap.push(key, key)
    rebuilds = 0
    for moment in range(1_000, 11_000):
        before = len(heap._heap)
        heap.update(moment % 7 + 900, moment)
        rebuilds += len(heap._heap) < before
    assert 1 <= rebuilds <= 10


def test_regularly_falling_moments_do_not_collide_in_the_index() -> None:
    """Indexed by packed entries, pushing was quadratic: int hashes are modulo 2**61 - 1, and there all of them met."""
    for step in (1, 2, 8, 1000):
        heap: IndexedHeap[int] = IndexedHeap()
        for key in range(1000):
            heap.push(key, -step * (key // max(1, 8 // step)))
        assert len({hash(number) for number in heap._keys}) == 1000
