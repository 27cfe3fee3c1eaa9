"""The store's time, told without asking each time: never early by more than an answer allows, never thrown by one."""

from __future__ import annotations

from random import Random

from onthedot.clock import ManualClock, StoreClock


class Server:
    """Tells its own time, and takes as long as it is told to before and after it has looked."""

    def __init__(self, ahead_ms: int = 5000) -> None:
        self.clock = ManualClock(0)
        self.ahead_ms = ahead_ms
        self.before_ms = self.after_ms = 0

    def now_ms(self) -> int:
        self.clock.advance(self.before_ms)
        told = self.clock.monotonic_ms() + self.ahead_ms
        self.clock.advance(self.after_ms)
        return told

    def error_of(self, clock: StoreClock) -> int:
        return clock.now_ms() - (self.clock.monotonic_ms() + self.ahead_ms)


def test_one_slow_answer_changes_nothing() -> None:
    server = Server()
    clock = StoreClock(server.now_ms, server.clock)
    clock.settle()
    assert server.error_of(clock) == 0
    server.after_ms = 400  # the middle of this round trip is 200 ms wrong
    clock.measure()
    assert server.error_of(clock) == 0


def test_a_slow_first_answer_is_set_right_by_the_next_quick_one() -> None:
    server = Server()
    clock = StoreClock(server.now_ms, server.clock)
    server.before_ms = 300
    clock.measure()
    assert server.error_of(clock) != 0
    server.before_ms = 0
    clock.measure()
    assert server.error_of(clock) == 0


def test_a_clock_that_is_set_is_followed_at_once() -> None:
    server = Server()
    clock = StoreClock(server.now_ms, server.clock)
    clock.settle()
    for step in (3_600_000, -7_200_000, 17):
        server.ahead_ms += step
        clock.measure()
        assert server.error_of(clock) == 0


def test_it_is_never_wrong_by_more_than_the_quickest_round_trip_since_the_clock_moved() -> None:
    dice = Random(5)
    server = Server()
    clock = StoreClock(server.now_ms, server.clock)
    quickest = 1 << 30
    for _ in range(500):
        server.before_ms, server.after_ms = dice.randrange(50), dice.randrange(50)
        clock.measure()
        quickest = min(quickest, server.before_ms + server.after_ms)
        assert abs(server.error_of(clock)) <= quickest
        server.clock.advance(1000)


def test_the_wall_clock_of_this_machine_does_not_matter() -> None:
    server = Server()
    clock = StoreClock(server.now_ms, server.clock)
    clock.settle()
    server.clock.step(600_000)
    assert server.error_of(clock) == 0
    clock.measure()
    assert clock.skew_ms == 600_000 - server.ahead_ms
