"""Places before the store are as many as they say, whatever becomes of who takes one."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import anyio
import pytest
from tests.patience import LONGEST_S

from onthedot.web import places
from onthedot.web.places import HEALTH, LOOKS, look
from onthedot.web.problems import Refused


class _Hanging:
    """A question to a store that says nothing until it is let go; counts how often it is asked."""

    def __init__(self) -> None:
        self.times = 0
        self.answer = Event()

    def __call__(self) -> str:
        self.times += 1
        self.answer.wait(LONGEST_S)
        return "answered"


@pytest.fixture
def hanging() -> Iterator[_Hanging]:
    asked = _Hanging()
    yield asked
    asked.answer.set()


def test_who_is_left_behind_holds_the_only_place_until_it_ends(
    hanging: _Hanging, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ask() -> None:
        monkeypatch.setattr(places, "PATIENCE_S", 0.05)
        assert [await HEALTH.in_time(hanging) for _ in range(5)] == [None] * 5
        assert hanging.times == 1, "each of them would keep a thread and a connection"
        hanging.answer.set()
        monkeypatch.setattr(places, "PATIENCE_S", LONGEST_S)
        assert await HEALTH.in_time(hanging) == "answered"

    anyio.run(ask)


def test_a_question_that_fails_or_is_cancelled_gives_its_place_back(
    hanging: _Hanging, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise ValueError("no")

    async def ask() -> None:
        for _ in range(2 * LOOKS.most):
            with pytest.raises(ValueError, match="no"):
                await HEALTH.in_time(fail)
            with pytest.raises(ValueError, match="no"):
                await look(fail)
        monkeypatch.setattr(places, "PATIENCE_S", 0.05)
        async with anyio.create_task_group() as group:
            for _ in range(LOOKS.most):
                group.start_soon(look, hanging)
            while hanging.times < LOOKS.most:
                await anyio.sleep(0.01)
            with pytest.raises(Refused):
                await look(hanging)
            with anyio.move_on_after(0.01):
                await look(hanging)
            hanging.answer.set()
        monkeypatch.setattr(places, "PATIENCE_S", LONGEST_S)
        assert await look(hanging) == "answered"

    anyio.run(ask)
