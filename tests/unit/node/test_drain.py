"""A node that stops waits for its last runs, says for which, and comes to an end."""

from __future__ import annotations

from threading import Event as Flag
from typing import Any

from onthedot.events import Emitter, Event, HandedBack, Stopping
from onthedot.model.node import Node
from onthedot.node.drain import LOOK_MS, SAY_AGAIN_MS, Drain

NODE = Node("id", "here")


class Standing:
    """A clock that stands still, also while somebody waits by it."""

    def now_ms(self) -> int:
        return 0

    def monotonic_ms(self) -> int:
        return 0

    def wait(self, event: Flag, for_ms: int | None) -> bool:
        return event.is_set()


class Passing(Standing):
    """A clock that passes while somebody waits by it."""

    passed_ms = 0

    def monotonic_ms(self) -> int:
        return self.passed_ms


class Busy:
    """Of a worker what matters here: which runs are left."""

    def __init__(self, clock: Standing, left: dict[int, list[tuple[str, int]]]) -> None:
        self._clock = clock
        self._left = left
        self.looks = 0

    def wait_empty(self, for_ms: int) -> bool:
        if isinstance(self._clock, Passing):
            self._clock.passed_ms += for_ms
        self.looks += bool(for_ms)
        return not self.running()

    def running(self) -> list[tuple[str, int]]:
        return next(runs for since, runs in sorted(self._left.items(), reverse=True) if self.looks >= since)

    def hand_back(self, *, entered: bool) -> None:
        self._left = {0: []}


def draining(clock: Standing, left: dict[int, list[tuple[str, int]]]) -> tuple[Drain, Busy, list[Event]]:
    told: list[Event] = []
    emitter = Emitter(lambda event, error: None)
    for kind in (Stopping, HandedBack):
        emitter.subscribe(kind, told.append)
    worker: Any = Busy(clock, left)
    return Drain(worker, clock, emitter, lambda: NODE), worker, told


def test_it_says_what_it_waits_for_when_that_changes() -> None:
    drain, _, told = draining(Passing(), {0: [("a", 900), ("b", 100)], 3: [("b", 500)], 5: []})
    assert drain.wait(30_000)
    assert told == [Stopping("id", "here", 2, ("a", "b"), 900), Stopping("id", "here", 1, ("b",), 500)]


def test_it_says_so_again_after_a_while() -> None:
    drain, worker, told = draining(Passing(), {0: [("a", 1)]})
    assert not drain.wait(3 * SAY_AGAIN_MS)
    assert len(told) == 3
    assert worker.looks == 3 * SAY_AGAIN_MS // LOOK_MS


def test_it_comes_to_an_end_where_the_clock_stands_still() -> None:
    drain, _, told = draining(Standing(), {0: [("a", 1)]})
    assert not drain.wait(30_000)
    assert len(told) == 1


def test_nothing_is_said_where_nothing_runs_or_no_time_is_given() -> None:
    idle, _, told = draining(Passing(), {0: []})
    assert idle.wait(30_000)
    hasty, worker, also_told = draining(Passing(), {0: [("a", 1)]})
    assert not hasty.wait(0)
    assert (told, also_told, worker.looks) == ([], [], 0)


def test_who_is_in_a_hurry_is_not_kept_waiting() -> None:
    drain, worker, told = draining(Passing(), {0: [("a", 1)]})
    drain.hurry()
    assert not drain.wait(30_000)
    drain.hand_back()
    assert (worker.looks, told) == (0, [HandedBack("id", "here", 1, ("a",))])
