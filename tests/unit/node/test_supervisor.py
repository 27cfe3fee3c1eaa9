"""Loops that survive whatever happens in them, and are restarted where they do not."""

from __future__ import annotations

from threading import Event

import pytest
from tests.patience import LONGEST_S

from onthedot.clock import ManualClock, SystemClock
from onthedot.errors import Clash, StoreUnavailable
from onthedot.loop import Loop
from onthedot.node.supervisor import STUCK_MS, Supervisor


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(3), KeyboardInterrupt(), MemoryError(), GeneratorExit()])
def test_a_loop_goes_on_after_whatever_is_raised_in_a_pass(error: BaseException) -> None:
    raised: list[BaseException] = []
    passed = Event()

    def run_once() -> int | None:
        if not raised:
            raise error
        passed.set()
        return None

    loop = Loop("x", run_once, SystemClock(), lambda name, each: raised.append(each))
    loop.start()
    assert passed.wait(LONGEST_S)
    assert raised == [error]
    loop.stop()
    loop.join(LONGEST_S)


def test_while_the_store_is_away_a_loop_tries_again_within_a_second() -> None:
    away, clash, other = (_longest_pause_ms(each) for each in (StoreUnavailable("x"), Clash("x"), ValueError("x")))
    assert 500 <= away <= 1000
    assert min(clash, other) >= 5000


def _longest_pause_ms(error: Exception) -> int:
    def run_once() -> int | None:
        raise error

    loop = Loop("x", run_once, ManualClock(0), lambda name, each: None)
    return max(loop.step() or 0 for _ in range(12))


class BrokenOnce(SystemClock):
    """A clock whose first wait ends the thread, as nothing in a pass could."""

    broken = False

    def wait(self, event: Event, for_ms: int | None) -> bool:
        if not self.broken:
            self.broken = True
            raise SystemExit
        return super().wait(event, for_ms)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_loop_whose_thread_has_ended_is_restarted_and_told() -> None:
    passes: list[int] = []
    told: list[str] = []
    second = Event()

    def run_once() -> None:
        passes.append(1)
        if len(passes) == 2:
            second.set()

    loop = Loop("x", run_once, BrokenOnce(), lambda name, error: None)
    supervisor = Supervisor([loop], told.append)
    supervisor.start()
    loop._thread.join(LONGEST_S)
    supervisor.look()
    assert second.wait(LONGEST_S)
    assert told == ["x"]
    supervisor.stop()
    supervisor.look()
    assert told == ["x"], "one that was stopped stays so"


def test_a_pass_that_does_not_end_is_not_healthy() -> None:
    clock, inside, leave = ManualClock(0), Event(), Event()

    def run_once() -> None:
        inside.set()
        leave.wait(LONGEST_S)

    loop = Loop("x", run_once, clock, lambda name, error: None)
    supervisor = Supervisor([loop], lambda name: None)
    assert supervisor.stuck() == []
    supervisor.start()
    assert inside.wait(LONGEST_S)
    clock.advance(STUCK_MS)
    assert supervisor.stuck() == []
    clock.advance(1)
    assert supervisor.stuck() == ["x"]
    leave.set()
    loop.stop()
    loop.join(LONGEST_S)
    assert supervisor.stuck() == []
