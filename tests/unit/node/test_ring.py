"""TimeRing: each hint once, never early, at the first drain at or after its moment."""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from types import FrameType
from typing import Any

import pytest

from onthedot.node.ring import Hint, TimeRing

T = 1_790_000_000_000  # a whole second, in epoch milliseconds
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000


def ring_of(**moments: int) -> TimeRing[str]:
    ring: TimeRing[str] = TimeRing()
    for key, moment_ms in moments.items():
        ring.put(key, moment_ms)
    return ring


def due(ring: TimeRing[str], now_ms: int) -> list[str]:
    hints = ring.due(now_ms)
    ring._check()
    return [hint.key for hint in hints]


def test_a_hint_comes_out_once_with_all_that_was_put() -> None:
    ring: TimeRing[str] = TimeRing()
    ring.put("a", T, priority=5)
    assert ring.due(T) == [Hint(moment_ms=T, priority=5, key="a")]
    assert ring.due(T) == []


def test_a_hint_is_due_at_its_millisecond_and_not_one_before() -> None:
    ring = ring_of(a=T + 700)
    assert due(ring, T + 699) == []
    assert due(ring, T + 700) == ["a"]


def test_hints_of_one_second_come_out_one_by_one_as_their_moments_come() -> None:
    ring = ring_of(c=T + 900, a=T, b=T + 300)
    assert [due(ring, T + ms) for ms in (0, 299, 300, 899, 900)] == [["a"], [], ["b"], [], ["c"]]


@pytest.mark.parametrize("away", [MINUTE, MINUTE + 1, 61 * SECOND, HOUR, 30 * DAY])
def test_a_hint_that_shares_the_slot_but_not_the_date_is_not_now(away: int) -> None:
    ring = ring_of(now=T, far=T + away)
    assert due(ring, T) == ["now"]
    assert due(ring, T + away - 1) == []
    assert due(ring, T + away) == ["far"]


@pytest.mark.parametrize("stall", [2 * SECOND, 59 * SECOND, MINUTE, 61 * SECOND, HOUR, 30 * DAY])
def test_a_stall_of_any_length_loses_nothing(stall: int) -> None:
    ring: TimeRing[int] = TimeRing()
    assert ring.due(T) == []
    moments = [T + 1, T + SECOND, T + stall // 2, T + stall - 1, T + stall, T + stall + 1]
    for number, moment_ms in enumerate(moments):
        ring.put(number, moment_ms)
    assert [hint.key for hint in ring.due(T + stall)] == [0, 1, 2, 3, 4]
    assert [hint.key for hint in ring.due(T + stall + 1)] == [5]


@pytest.mark.parametrize("step", [1, SECOND, 59 * SECOND, MINUTE, HOUR, 30 * DAY])
def test_a_clock_that_steps_back_neither_replays_nor_skips_nor_fires_early(step: int) -> None:
    ring = ring_of(before=T, after=T + 1)
    assert due(ring, T) == ["before"]
    ring.put("late", T - step)  # past by the old clock, exactly now by the new one
    ring.put("between", T)  # past by the old clock, still to come by the new one
    assert due(ring, T - step - 1) == []
    assert due(ring, T - step) == ["late"]
    assert due(ring, T - 1) == []
    assert due(ring, T) == ["between"]
    assert due(ring, T + 1) == ["after"]


def test_a_hint_put_after_its_moment_comes_out_at_the_next_drain() -> None:
    ring = ring_of()
    assert due(ring, T) == []
    ring.put("a_moment_ago", T - 1)
    ring.put("yesterday", T - DAY)
    ring.put("before_1970", -1)
    assert due(ring, T) == ["before_1970", "yesterday", "a_moment_ago"]


def test_order_is_by_moment_then_higher_priority_then_as_put() -> None:
    ring: TimeRing[str] = TimeRing()
    ring.put("later", T + 1, priority=99)
    ring.put("low", T, priority=-1)
    ring.put("second", T)
    ring.put("high", T, priority=7)
    ring.put("third", T)
    ring.put("earlier", T - 30 * SECOND, priority=-99)
    assert due(ring, T + 1) == ["earlier", "high", "second", "third", "low", "later"]


def test_putting_a_key_again_moves_it() -> None:
    ring = ring_of(earlier=T + 10 * SECOND, later=T + SECOND, same_second=T)
    ring.put("earlier", T)
    ring.put("later", T + 10 * SECOND)
    ring.put("same_second", T + 5)
    assert len(ring) == 3
    assert due(ring, T) == ["earlier"]
    assert due(ring, T + SECOND) == ["same_second"]
    assert due(ring, T + 10 * SECOND) == ["later"]


def test_putting_a_key_again_changes_its_priority() -> None:
    ring = ring_of(a=T, b=T)
    ring.put("b", T, priority=1)
    assert due(ring, T) == ["b", "a"]


def test_putting_the_same_hint_again_keeps_its_place() -> None:
    ring = ring_of(a=T, b=T)
    ring.put("a", T)
    assert due(ring, T) == ["a", "b"]


def test_a_hint_that_came_out_can_be_put_again() -> None:
    ring = ring_of(a=T)
    assert due(ring, T) == ["a"]
    ring.put("a", T)
    assert due(ring, T) == ["a"]


def test_a_removed_hint_does_not_come_out() -> None:
    ring = ring_of(a=T, b=T)
    assert ring.remove("a") is True
    assert ring.remove("a") is False
    assert due(ring, T) == ["b"]


def test_length_and_membership_follow_what_is_held() -> None:
    ring = ring_of(a=T, b=T + 1)
    assert len(ring) == 2
    assert "a" in ring
    ring.due(T)
    assert len(ring) == 1
    assert "a" not in ring
    assert "b" in ring


def test_peek_is_the_earliest_moment_held_and_removes_nothing() -> None:
    ring = ring_of(hour=T + HOUR, soon=T + 5_250, minute=T + MINUTE)
    assert ring.peek() == T + 5_250
    ring.put("overdue", T - HOUR)
    assert ring.peek() == T - HOUR
    assert len(ring) == 4
    ring.remove("overdue")
    ring.remove("soon")
    assert ring.peek() == T + MINUTE


def test_peek_of_an_empty_ring_is_none() -> None:
    assert ring_of().peek() is None


def test_a_moment_that_is_no_int_is_refused_and_changes_nothing() -> None:
    ring = ring_of(a=T)
    with pytest.raises(TypeError):
        ring.put("a", T + 0.5)  # type: ignore[arg-type]
    ring._check()
    assert ring.due(T) == [Hint(T, 0, "a")]


def test_a_drain_does_not_look_at_what_is_not_due() -> None:
    """Measured in byte codes, not seconds: 20,000 hints waiting in the slot cost what 20 cost.

    In a process of its own: a trace function in one that has had greenlets may never come back.
    """
    beside_many, beside_few = subprocess.run(
        [sys.executable, __file__, "20000", "20"], capture_output=True, text=True, check=True
    ).stdout.split()
    assert int(beside_many) == int(beside_few) > 0


def test_endless_moves_keep_the_memory_bounded() -> None:
    ring: TimeRing[int] = TimeRing()
    most = 0
    for turn in range(500):
        for key in range(50):
            ring.put(key, T + (turn * 7_919 + key * 104_729) % (5 * MINUTE))
        most = max(most, sum(len(slot._heap) for slot in ring._slots))
    ring._check()
    assert len(ring) == 50
    assert most <= 100


@pytest.fixture
def busy_switching() -> Iterator[None]:
    """Let threads interrupt each other as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("busy_switching")
def test_threads_that_put_move_and_drain_lose_nothing_and_get_nothing_twice() -> None:
    putters, drainers, each = 4, 3, 1_500
    ring: TimeRing[tuple[int, int]] = TimeRing()
    start, all_put = Barrier(putters + drainers), Event()

    def put(putter: int) -> None:
        start.wait()
        for number in range(each):
            key = (putter, number)
            ring.put(key, T + DAY + number)  # nobody drains that far, so only the move makes it due
            ring.put(key, T + number % 90 * SECOND)
            ring.put((putter, -number - 1), T)  # may be drained before it is removed, but not both
            removed[putter] += ring.remove((putter, -number - 1))

    def drain() -> list[Hint[tuple[int, int]]]:
        start.wait()
        taken, last_turn = [], False
        while not last_turn:
            last_turn = all_put.is_set()
            taken += ring.due(T + HOUR)
        return taken

    removed: Counter[int] = Counter()
    with ThreadPoolExecutor(putters + drainers) as threads:
        drains = [threads.submit(drain) for _ in range(drainers)]
        puts = [threads.submit(put, putter) for putter in range(putters)]
        try:
            for done in puts:
                done.result()
        finally:
            all_put.set()
        taken = Counter(hint.key for done in drains for hint in done.result())

    ring._check()
    assert len(ring) == 0
    assert max(taken.values()) == 1
    assert {key for key in taken if key[1] >= 0} == {(p, n) for p in range(putters) for n in range(each)}
    for putter in range(putters):
        assert removed[putter] + sum(key[0] == putter and key[1] < 0 for key in taken) == each


def byte_codes(call: Callable[[int], object], argument: int) -> int:
    """Count the byte codes of onthedot that a call executes."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if not frame.f_globals["__name__"].startswith("onthedot."):
            return None  # a callback of the garbage collector, for one
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call(argument)
    finally:
        sys.settrace(before)
    return count


def work_of_drains(waiting: int) -> int:
    ring: TimeRing[int] = TimeRing()
    for key in range(waiting):
        ring.put(key, T + 500 + key % 500)
    assert ring.due(T) == []
    ring.put(-1, T + 100)
    work = sum(byte_codes(ring.due, T + ms) for ms in (0, 99, 100, 101, 499))
    assert len(ring) == waiting
    return work


if __name__ == "__main__":
    work_of_drains(1)  # Python 3.12 leaves some of the first that it traces out
    sys.stdout.write(" ".join(str(work_of_drains(int(waiting))) for waiting in sys.argv[1:]))
