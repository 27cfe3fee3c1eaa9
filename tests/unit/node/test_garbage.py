"""Collections of garbage wait for a crowd, for a bounded time, and only where they were on."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest

from onthedot.clock import ManualClock
from onthedot.node.garbage import BETWEEN_MS, CROWD, HELD_FOR_MS, Collections


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.enable()
    yield
    (gc.enable if was_on else gc.disable)()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def test_they_wait_while_a_crowd_begins_and_go_on_when_it_is_over(clock: ManualClock) -> None:
    collections = Collections(clock)
    collections.note(CROWD - 1)
    assert gc.isenabled()
    collections.note(CROWD)
    assert not gc.isenabled()
    collections.look(crowd_goes_on=True)
    assert not gc.isenabled()
    collections.look(crowd_goes_on=False)
    assert gc.isenabled()


def test_however_long_a_crowd_lasts_they_have_their_turn(clock: ManualClock) -> None:
    collections = Collections(clock)
    collections.note(CROWD)
    clock.advance(HELD_FOR_MS)
    collections.look(crowd_goes_on=True)
    assert gc.isenabled()
    collections.note(CROWD)
    assert gc.isenabled(), "it was let go just now"
    clock.advance(BETWEEN_MS)
    collections.note(CROWD)
    assert not gc.isenabled()
    collections.let_go()


def test_who_has_turned_them_off_keeps_that(clock: ManualClock) -> None:
    collections = Collections(clock)
    gc.disable()
    collections.note(CROWD)
    collections.let_go()
    assert not gc.isenabled()


def test_several_nodes_of_a_process_wait_for_each_other(clock: ManualClock) -> None:
    one, two = Collections(clock), Collections(clock)
    one.note(CROWD)
    two.note(CROWD)
    one.let_go()
    one.let_go()
    assert not gc.isenabled()
    two.let_go()
    assert gc.isenabled()


def test_a_child_that_is_forked_in_a_crowd_has_its_collections(clock: ManualClock) -> None:
    collections = Collections(clock)
    collections.note(CROWD)
    child = os.fork()
    if child == 0:
        is_on = gc.isenabled()
        Collections(clock).note(CROWD)
        os._exit(0 if is_on and not gc.isenabled() else 1)
    collections.let_go()
    assert os.waitpid(child, 0)[1] == 0
    assert gc.isenabled()
